import LinkCore
import LinkWire

extension Frame {
  /// The text of the frame.
  public var payload: [UInt8] {
    switch self {
    case .message(let message): StreamCodec.encode(message)
    case .draining(let window): StreamCodec.encodeDraining(within: window)
    }
  }
}

extension Answer {
  /// The body as bytes.
  public var bytes: [UInt8] {
    switch body {
    case .error(let message): Envelope.error(status: status, message: message)
    case .message(let message, let note):
      Envelope.message(message, status: status, note: note)
    case .messages(let messages): Envelope.messages(messages)
    case .page(let page, let query, let total):
      PageCodec.encode(page, query: query, total: total)
    case .health(let health): health.bytes
    case .streamHealth(let health): health.bytes
    case .metrics(let text): [UInt8](text.utf8)
    }
  }

  /// The header fields that belong to it, without the length.
  public var headers: [(String, String)] {
    var fields = [("Content-Type", contentType), ("Cache-Control", "no-store")]
    // RFC 9110 section 11.6.1: a 401 names its scheme.
    if status == 401 { fields.append(("WWW-Authenticate", "Bearer")) }
    // RFC 9110 section 15.5.22: a 426 names what it wants.
    if status == 426 { fields += [("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")] }
    if let allow { fields.append(("Allow", allow)) }
    if let retryAfter { fields.append(("Retry-After", String(retryAfter.retrySeconds))) }
    return fields
  }

  private var contentType: String {
    switch body {
    case .metrics: "text/plain; version=0.0.4; charset=utf-8"
    case .error, .message, .messages, .page, .health, .streamHealth: "application/json"
    }
  }
}

extension Duration {
  /// As `Retry-After` says it (RFC 9110 section 10.2.3): whole seconds, rounded up, and at least
  /// one, since a client told to wait no time would come back at once.
  package var retrySeconds: Int64 {
    let (seconds, rest) = components
    return max(1, rest > 0 ? seconds + 1 : seconds)
  }
}

extension Health {
  fileprivate var bytes: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("status")
    switch self {
    case .ok: writer.string("ok")
    case .draining: writer.string("draining")
    case .failing(let reason):
      writer.string("failing")
      writer.key("reason")
      writer.string(reason)
    }
    writer.endObject()
    return writer.bytes
  }
}

extension StreamHealth {
  fileprivate var bytes: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("status")
    writer.string(isServing ? "ok" : "draining")
    writer.key("active_connections")
    writer.int(connections)
    writer.key("active_shops")
    writer.int(shops)
    writer.key("uptime_seconds")
    writer.int(uptime.components.seconds)
    writer.endObject()
    return writer.bytes
  }
}
