@testable import HoldfastProtocols

/// The events, the output and the final state of an end after it has received its input.
struct Received: Equatable {
  var events: [WebSocketEvent]
  var output: [UInt8]
  var state: WebSocketConnection.State
}

/// One end of a connection. An input determines its configuration.
struct End {
  var role: WebSocketRole
  var deflate: DeflateParameters?
  var limits: WebSocketLimits

  init(
    role: WebSocketRole, deflate: DeflateParameters?,
    limits: WebSocketLimits = WebSocketLimits(oversize: .close)
  ) {
    (self.role, self.deflate, self.limits) = (role, deflate, limits)
  }

  /// Creates an end. Bit 0 is the role, bits 1 to 3 are the compression, and bits 4 and 5 are the
  /// limits.
  init(choice: UInt8) {
    role = choice & 1 == 0 ? .client : .server
    deflate = Self.agreement(choice >> 1 & 7)
    let oversize: WebSocketLimits.Oversize = choice & 16 == 0 ? .close : .skip
    limits =
      choice & 32 == 0
      ? WebSocketLimits(oversize: oversize)
      : WebSocketLimits(maxMessageBytes: 100, maxFragments: 3, oversize: oversize)
  }

  static func agreement(_ choice: UInt8) -> DeflateParameters? {
    guard choice & 1 == 1 else { return nil }
    let bits = choice & 4 == 0 ? 15 : 9
    return DeflateParameters(
      serverNoContextTakeover: choice & 2 == 0, clientNoContextTakeover: choice & 2 == 0,
      serverMaxWindowBits: bits, clientMaxWindowBits: bits)
  }

  func connection() -> WebSocketConnection {
    WebSocketConnection(role: role, limits: limits, extensions: deflate, maskSeed: 7)
  }

  func reads(_ pieces: [[UInt8]]) -> Received {
    var connection = connection()
    var events: [WebSocketEvent] = []
    for piece in pieces { connection.receive(piece, into: &events) }
    let state = connection.state
    return Received(events: events, output: connection.takeOutput(), state: state)
  }
}

/// The properties of arbitrary frames that either end receives.
enum WebSocketProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let end = End(choice: choices.byte())
    let received = try sameHoweverCut(Array(choices.rest)) { end.reads($0) }
    try isBounded(received, end.limits)
    try answersWell(received, end)
  }

  static func isBounded(_ received: Received, _ limits: WebSocketLimits) throws(Broken) {
    for (index, event) in received.events.enumerated() {
      let isLast = index == received.events.count - 1
      switch event {
      case .text(let text):
        try hold(text.count <= limits.maxMessageBytes, "no text is beyond the limit")
        try hold(String(validating: text, as: UTF8.self) != nil, "a text is UTF-8")
      case .binary(let payload):
        try hold(payload.count <= limits.maxMessageBytes, "no message is beyond the limit")
      case .ping(let payload), .pong(let payload):
        try hold(payload.count <= 125, "control frames have at most 125 octets")
      case .oversized: try hold(limits.oversize == .skip, "this limit fails the connection")
      case .closed, .ended: try hold(isLast && received.state == .closed, "nothing follows a close")
      case .failed(let error):
        try hold(isLast && received.state == .closed, "nothing follows a failure")
        try hold([1002, 1007, 1009].contains(error.code), "\(error.code) is a code of a failure")
      }
    }
  }

  /// Checks that the peer can read every frame that this end sends in response.
  private static func answersWell(_ received: Received, _ end: End) throws(Broken) {
    let peer = End(role: end.role.peer, deflate: end.deflate).reads([received.output])
    var expected = received.events.compactMap { event -> WebSocketEvent? in
      if case .ping(let payload) = event { .pong(payload) } else { nil }
    }
    switch received.events.last {
    case .closed(let code, _): expected.append(.closed(code: code, reason: ""))
    case .failed(let error): expected.append(.closed(code: error.code, reason: error.detail))
    case .text, .binary, .ping, .pong, .oversized, .ended, nil: break
    }
    try hold(peer.events == expected, "pings and closes are answered in order")
  }
}

/// The properties of arbitrary messages that one end sends to the other.
enum ExchangeProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let choice = choices.byte()
    let near = End(role: choice & 1 == 0 ? .client : .server, deflate: End.agreement(choice >> 1))
    let far = End(role: near.role.peer, deflate: near.deflate)
    var sender = near.connection()
    var (out, expected) = ([UInt8](), [WebSocketEvent]())
    for _ in 0..<16 where !choices.isEmpty {
      let kind = choices.byte()
      expected.append(send(kind, payload(kind, &choices), &sender, &out))
    }
    let received = try sameHoweverCut(out) { far.reads($0) }
    try hold(received.events == expected, "what one end sends is what the other receives")
    try WebSocketProperty.isBounded(received, far.limits)
  }

  /// Returns a few octets, or many repetitions of them, so that compression has an effect.
  private static func payload(_ kind: UInt8, _ choices: inout Choices) -> [UInt8] {
    let some = choices.take(Int(choices.byte()))
    let times = [1, 3, 17, 200][Int(kind >> 2 & 3)]
    return Array(repeatElement(some, count: times).joined())
  }

  private static func send(
    _ kind: UInt8, _ payload: [UInt8], _ sender: inout WebSocketConnection, _ out: inout [UInt8]
  ) -> WebSocketEvent {
    switch kind & 3 {
    case 0:
      sender.ping(payload, into: &out)
      return .ping(Array(payload.prefix(125)))
    case 1:
      sender.send(binary: payload, into: &out)
      return .binary(payload)
    case _:
      let text = Array(String(decoding: payload, as: UTF8.self).utf8)
      sender.send(text: text, into: &out)
      return .text(text)
    }
  }
}

/// The properties of compressed messages with an arbitrary deflate stream.
enum InflateProperty {
  private static let small = 300

  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let choice = choices.byte()
    let deflate = End.agreement(choice << 1 | 1)
    let wire = frames(&choices, cutEvery: Int(choice >> 2 & 15) + 1)
    let wide = End(role: .client, deflate: deflate)
    let all = try sameHoweverCut(wire) { wide.reads($0) }
    try WebSocketProperty.isBounded(all, wide.limits)
    let limits = WebSocketLimits(maxMessageBytes: small, oversize: .skip)
    let narrow = End(role: .client, deflate: deflate, limits: limits)
    let some = try sameHoweverCut(wire) { narrow.reads($0) }
    try WebSocketProperty.isBounded(some, limits)
    guard all.state == .open else { return }
    try hold(
      zip(all.events, some.events).allSatisfy(isSameWithinLimit)
        && all.events.count == some.events.count,
      "a limit skips what is beyond it and changes nothing else")
  }

  /// Returns frames with messages of the chosen lengths, in fragments.
  private static func frames(_ choices: inout Choices, cutEvery count: Int) -> [UInt8] {
    var wire: [UInt8] = []
    for _ in 0..<8 where !choices.isEmpty {
      let message = choices.take(Int(choices.byte()) * 4)
      var start = 0
      repeat {
        let part = message[start...].prefix(count * 64)
        let first: UInt8 = start == 0 ? 0x42 : 0
        start += part.count
        var frame: [UInt8] = []
        FrameHeader.append(.binary, compressed: true, length: part.count, mask: nil, to: &frame)
        frame[0] = first | (start == message.count ? 0x80 : 0)
        wire += frame + part
      } while start < message.count
    }
    return wire
  }

  private static func isSameWithinLimit(_ all: WebSocketEvent, _ some: WebSocketEvent) -> Bool {
    switch (all, some) {
    case (.binary(let whole), .oversized): whole.count > small
    case (_, _): all == some
    }
  }
}
