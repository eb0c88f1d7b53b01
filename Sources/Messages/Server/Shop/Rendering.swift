import HoldfastCore
import HoldfastJSON
import HoldfastMessageData
import HoldfastServerParts

extension Frame {
  /// The text of the frame.
  public var payload: [UInt8] {
    switch self {
    case .message(let message): StreamCodec.encode(message)
    case .edited(let message): StreamCodec.encode(.edited(message))
    case .deleted(let deletion): StreamCodec.encode(.deleted(deletion))
    case .draining(let window): StreamCodec.encodeDraining(within: window)
    }
  }
}

extension Answer {
  /// The encoded body.
  public var bytes: [UInt8] {
    switch body {
    case .error(let message): Envelope.error(status: status, message: message)
    case .message(let message, let note):
      Envelope.message(message, status: status, note: note)
    case .deletion(let deletion, let note):
      Envelope.deletion(deletion, note: note)
    case .note(let note): note.noteBytes
    case .messages(let messages): Envelope.messages(messages)
    case .page(let page, let query, let total):
      PageCodec.encode(page, query: query, total: total)
    case .streamHealth(let health): health.bytes
    }
  }

  /// All header fields except `Content-Length`.
  public var headers: [(String, String)] {
    var fields = HTTPFields.json
    if events { fields.append((StreamHeader.events, "1")) }
    if status == 426 { fields += HTTPFields.upgradeRequired }
    return fields
      + HTTPFields.of(
        status: status, retryAfter: retryAfter, allow: allow, challenge: challenge)
  }
}

extension String {
  /// The text as the member `message` of an object.
  var noteBytes: [UInt8] {
    var writer = JSONWriter()
    writer.object { $0.entry("message", self) }
    return writer.bytes
  }
}

extension ShopStreamHealth {
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
