import HoldfastMessageData
import HoldfastMessageServer
import HoldfastSocketEngine

@testable import HoldfastBackend
@testable import HoldfastProtocols

/// The properties of arbitrary requests and of their interpretation by the backend.
enum RequestProperty {
  private static let statuses = [400, 413, 414, 417, 431, 501, 505]

  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let limits =
      choices.byte() & 1 == 0
      ? HTTPLimits()
      : HTTPLimits(maxHeadBytes: 160, maxHeaderCount: 6, maxTargetBytes: 14, maxBodyBytes: 12)
    let events = try sameHoweverCut(Array(choices.rest)) { read($0, limits: limits) }
    for event in events {
      switch event {
      case .announced: throw Broken("no path is announced unless that is asked for")
      case .needsContinue(let head): try hold(head.expectsContinue, "100 only where it is expected")
      case .failed(let error):
        try hold(statuses.contains(error.status), "\(error.status) is a status of the reader")
        try hold(event == events.last, "nothing follows a failure")
      case .request(let head, let body):
        try isBounded(head, body, limits)
        try means(head, body)
        _ = call(head, body)
      }
    }
  }

  static func read(
    _ pieces: [[UInt8]], limits: HTTPLimits = HTTPLimits()
  ) -> [HTTPRequestReader.Event] {
    var reader = HTTPRequestReader(limits: limits)
    var events: [HTTPRequestReader.Event] = []
    for piece in pieces {
      reader.receive(piece)
      while let event = reader.next() { events.append(event) }
    }
    return events
  }

  private static func isBounded(
    _ head: HTTPRequestHead, _ body: [UInt8], _ limits: HTTPLimits
  ) throws(Broken) {
    try hold(body.count <= limits.maxBodyBytes, "no body is beyond the limit")
    try hold(head.headers.count <= limits.maxHeaderCount, "no more fields than the limit")
    try hold(head.target.utf8.count <= limits.maxTargetBytes + 1, "no target beyond the limit")
    for field in head.headers {
      try hold(Text.isFieldName(field.name), "a field's name is a token")
      try hold(field.name == field.name.lowercased(), "a field's name is in lower case")
      try hold(Text.fieldValue(field.value) == field.value, "a field's value is clean")
    }
    try hold(head.segments.allSatisfy { $0 != "." && $0 != ".." }, "no path leads upward")
  }

  /// Checks that a request in its simplest form has the same meaning, so that all readers agree on
  /// it.
  private static func means(_ head: HTTPRequestHead, _ body: [UInt8]) throws(Broken) {
    var plain = head
    plain.headers.removeAll { ["content-length", "transfer-encoding"].contains($0.name) }
    plain.headers.append(HTTPField(name: "content-length", value: String(body.count)))
    var bytes = Array("\(head.method) \(head.target) HTTP/1.\(head.minorVersion)\r\n".utf8)
    FieldLines.append(plain.headers.map { ($0.name, $0.value) }, to: &bytes)
    bytes += Array("\r\n".utf8) + body
    let wide = HTTPLimits(
      maxHeadBytes: 1 << 20, maxHeaderCount: 1 << 10, maxTargetBytes: 1 << 20,
      maxBodyBytes: 1 << 20)
    var events = read([bytes], limits: wide)
    events.removeAll { event in
      if case .needsContinue = event { true } else { false }
    }
    try hold(events == [.request(plain, body: body)], "a request means one thing only")
  }

  private static func call(_ head: HTTPRequestHead, _ body: [UInt8]) -> Call {
    Call.read(
      method: head.method, path: head.wholePath, query: head.query.map { ($0.name, $0.value) },
      key: head.first("idempotency-key"), body: body, limits: MessageLimits())
  }
}

/// The properties of the opening handshake, for servers and clients.
enum HandshakeProperty {
  /// The key of RFC 6455 section 1.3, so that the corpus can contain the response to it.
  private static let key = Array("the sample nonce".utf8)

  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let choice = choices.byte()
    if choice & 1 == 0 {
      try asServer(Array(choices.rest), choice)
    } else {
      try asClient(Array(choices.rest), choice)
    }
  }

  private static func asServer(_ bytes: [UInt8], _ choice: UInt8) throws(Broken) {
    for case .request(let head, _) in RequestProperty.read([bytes]) {
      let chosen = head.first("sec-websocket-protocol") ?? ""
      let outcome = ServerHandshake.accept(
        head, allowsDeflate: choice & 2 == 0,
        extraHeaders: choice & 4 == 0 ? [] : [("Sec-WebSocket-Protocol", chosen)])
      switch outcome {
      case .refuse(let status, _, _):
        try hold([400, 405, 426].contains(status), "\(status) is a status of a refused handshake")
      case .upgrade(let response, let deflate):
        try isUnderstood(response, deflate, by: head, subprotocol: choice & 4 == 0 ? nil : chosen)
      }
    }
  }

  /// Checks that the client that sent this request interprets the response in the same way as the
  /// server.
  private static func isUnderstood(
    _ response: [UInt8], _ deflate: DeflateParameters?, by head: HTTPRequestHead,
    subprotocol: String?
  ) throws(Broken) {
    let key = head.first("sec-websocket-key").flatMap(Base64.decode) ?? []
    var client = ClientHandshake(
      host: "a", target: "/", headers: [], key: key, offersDeflate: true,
      subprotocols: [subprotocol].compactMap(\.self))
    let outcome = client.receive(response)
    // A client offers only tokens as subprotocols, so it never offered any other text.
    if let subprotocol, !Text.isToken(subprotocol.utf8) { return }
    guard case .upgraded(_, let agreed, let rest) = outcome else {
      throw Broken("an upgrade is understood, not \(String(describing: outcome))")
    }
    try hold(rest.isEmpty, "nothing follows the response")
    try hold(agreed?.serverMaxWindowBits == deflate?.serverMaxWindowBits, "same window")
    try hold(agreed?.serverNoContextTakeover == deflate?.serverNoContextTakeover, "same takeover")
  }

  private static func asClient(_ bytes: [UInt8], _ choice: UInt8) throws(Broken) {
    let outcome = try sameHoweverCut(bytes) { pieces -> ClientHandshake.Outcome? in
      var client = ClientHandshake(
        host: "a", target: "/", headers: [], key: key, offersDeflate: choice & 2 == 0,
        subprotocols: choice & 4 == 0 ? [] : ["chat"])
      for piece in pieces {
        if let outcome = client.receive(piece) { return withoutRest(outcome) }
      }
      return nil
    }
    guard case .upgraded(let headers, let agreed, _)? = outcome else { return }
    try hold(headers["upgrade"]?.lowercased() == "websocket", "an upgrade names its protocol")
    try hold(agreed == nil || choice & 2 == 0, "nothing is agreed that was not offered")
    try hold(8...15 ~= agreed?.serverMaxWindowBits ?? 8, "a window has 8 to 15 bits")
  }

  /// Returns an outcome without the bytes after the head, whose number depends on the pieces.
  private static func withoutRest(_ outcome: ClientHandshake.Outcome) -> ClientHandshake.Outcome {
    switch outcome {
    case .upgraded(let headers, let extensions, _):
      .upgraded(headers: headers, extensions: extensions, rest: [])
    case .refused(let head, _): .refused(head, bodyPrefix: [])
    case .malformed: outcome
    }
  }
}

/// The properties of heads with arbitrary fields. Each must be read as exactly one head.
enum FieldProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let status = Int(choices.byte()) * 4
    let fields = [(choices.text(), choices.text()), (choices.text(), choices.text())]
    try isOneRequest(target: choices.text(), fields: fields)
    try isOneResponse(status: status, fields: fields, body: Array(choices.rest))
    try isDate(String(decoding: bytes, as: UTF8.self))
  }

  private static func isDate(_ text: String) throws(Broken) {
    if let seconds = HTTPDate.seconds(text) {
      // The years 1 to 9999.
      try hold((-62_135_596_800...253_402_300_800).contains(seconds), "a date has a year")
    }
    guard let delay = RetryAfter.duration(text, date: nil, now: 0) else { return }
    try hold(delay >= .zero, "a delay is never negative")
  }

  private static func isOneRequest(
    target: String, fields: [(String, String)]
  ) throws(Broken) {
    let client = ClientHandshake(
      host: "a", target: target, headers: fields, key: Array(repeating: 1, count: 16),
      offersDeflate: true)
    var reader = HTTPRequestReader()
    reader.receive(client.requestBytes)
    switch reader.next() {
    case nil: throw Broken("a request is whole")
    case .needsContinue, .failed, .announced: break
    case .request(let head, let body):
      try hold(body.isEmpty && reader.bufferedBytes == 0, "nothing follows a request to upgrade")
      try hold(head.headers.count <= 6 + fields.count, "no field creates another")
      try hold(head.first("host") == "a", "no field replaces the host")
    }
  }

  private static func isOneResponse(
    status: Int, fields: [(String, String)], body: [UInt8]
  ) throws(Broken) {
    let written = HTTPResponseWriter.bytes(
      status: status, headers: fields, body: body, keepAlive: true)
    var reader = ResponseHeadReader()
    reader.receive(written)
    guard let head = try? reader.next() else {
      return try hold(status > 599, "a response of \(status) can be read")
    }
    let bodyless = head.status < 200 || head.status == 204 || head.status == 304
    try hold(reader.takeRest() == (bodyless ? [] : body), "the body stays the body")
    try hold(head.headers.count <= 2 + fields.count, "no field creates another")
    let length = head.headers.filter { $0.name == "content-length" }.map(\.value)
    try hold(length == (bodyless ? [] : [String(body.count)]), "the length is that of the writer")
  }
}
