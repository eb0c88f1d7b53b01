import Testing

@testable import LinkProtocols

/// Both ends, one feeding the other in random pieces.
@Suite struct BackToBackTests {
  private enum Sent: Equatable {
    case text([UInt8])
    case binary([UInt8])
    case ping([UInt8])
  }

  private static func scalars(_ count: Int, _ random: inout Seeded) -> [UInt8] {
    let all: [ClosedRange<UInt32>] = [0x20...0x7E, 0x20...0x7E, 0xA0...0x7FF, 0x1F600...0x1F64F]
    let text = (0..<count).compactMap { _ in
      all.randomElement(using: &random).flatMap { range in
        UnicodeScalar(UInt32.random(in: range, using: &random))
      }
    }
    return text.flatMap { Array(String($0).utf8) }
  }

  private static func something(_ random: inout Seeded) -> Sent {
    let sizes = [0, 1, 5, 125, 126, 127, 128, 1000, 20_000, 70_000]
    let count = sizes.randomElement(using: &random) ?? 0
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return .ping(random.bytes(min(count, 125)))
    case 1: return .binary(random.bytes(count))
    case _: return .text(scalars(count / 2, &random))
    }
  }

  private static func send(
    _ sent: Sent, from connection: inout WebSocketConnection, into out: inout [UInt8]
  ) -> WebSocketEvent {
    switch sent {
    case .text(let text):
      connection.send(text: text, into: &out)
      return .text(text)
    case .binary(let bytes):
      connection.send(binary: bytes, into: &out)
      return .binary(bytes)
    case .ping(let payload):
      connection.ping(payload, into: &out)
      return .ping(payload)
    }
  }

  private static func agreement(_ random: inout Seeded) -> DeflateParameters? {
    guard Bool.random(using: &random) else { return nil }
    return DeflateParameters(
      serverNoContextTakeover: .random(using: &random),
      clientNoContextTakeover: .random(using: &random),
      serverMaxWindowBits: .random(in: 8...15, using: &random),
      clientMaxWindowBits: .random(in: 8...15, using: &random))
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `what one end sends the other receives, and answers`(_ seed: UInt64) {
    var random = Seeded(seed)
    let deflate = Self.agreement(&random)
    let role = Bool.random(using: &random) ? WebSocketRole.client : .server
    var near = End(role: role, deflate: deflate).connection()
    var far = End(role: role.peer, deflate: deflate).connection()
    var (out, expected, received) = ([UInt8](), [WebSocketEvent](), [WebSocketEvent]())
    for _ in 0..<12 {
      expected.append(Self.send(Self.something(&random), from: &near, into: &out))
    }
    near.close(code: 4321, reason: "fin", into: &out)
    expected.append(.closed(code: 4321, reason: "fin"))
    for piece in random.pieces(out, longest: 3000) { far.receive(piece, into: &received) }
    #expect(received == expected)
    var answers: [WebSocketEvent] = []
    for piece in random.pieces(far.takeOutput(), longest: 7) {
      near.receive(piece, into: &answers)
    }
    let pongs = expected.compactMap { event -> WebSocketEvent? in
      guard case .ping(let payload) = event else { return nil }
      return .pong(payload)
    }
    #expect(answers == pongs + [.closed(code: 4321, reason: "")])
    let states = [near.state, far.state]
    #expect(states == [.closed, .closed])
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `a compressed message cut into fragments is the same message`(_ seed: UInt64) {
    var random = Seeded(seed)
    let text = Self.scalars(3000, &random)
    var deflater = Deflater(windowBits: 12)
    let parts = random.pieces(deflater?.message(text) ?? [], longest: 900)
    var bytes: [UInt8] = []
    for (index, part) in parts.enumerated() {
      bytes += frame(
        index == 0 ? 1 : 0, part, final: index == parts.count - 1, reserved: index == 0 ? 4 : 0)
      bytes += frame(10, [UInt8(index)])
    }
    let end = End(deflate: DeflateParameters(serverMaxWindowBits: 12))
    var events = end.reads(random.pieces(bytes, longest: 100)).events
    events.removeAll { event in
      if case .pong = event { true } else { false }
    }
    #expect(events == [.text(text)])
  }
}
