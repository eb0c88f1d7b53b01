import Testing

@testable import HoldfastProtocols

@Suite struct LimitTests {
  static func end(
    _ oversize: WebSocketLimits.Oversize, bytes: Int = 10, fragments: Int = 3,
    deflate: DeflateParameters? = nil
  ) -> End {
    End(
      limits: WebSocketLimits(maxMessageBytes: bytes, maxFragments: fragments, oversize: oversize),
      deflate: deflate)
  }

  @Test func `by default a message has at most 1 MiB in 1024 frames`() {
    let explicit = WebSocketLimits(maxMessageBytes: 1 << 20, maxFragments: 1024, oversize: .skip)
    #expect(WebSocketLimits(oversize: .skip) == explicit)
  }

  @Test func `limits always allow at least an empty message in one frame`() {
    let limits = WebSocketLimits(maxMessageBytes: -1, maxFragments: 0, oversize: .skip)
    #expect(limits.maxMessageBytes == 0)
    #expect(limits.maxFragments == 1)
  }

  @Test(arguments: [(9, false), (10, false), (11, true)])
  func `the length in a frame header is checked against the limit`(_ count: Int, _ tooBig: Bool) {
    let head = Array(frame(2, [UInt8](repeating: 1, count: count)).prefix(2))
    #expect(Self.end(.close).failure(head) == (tooBig ? 1009 : nil))
    #expect(Self.end(.skip).failure(head) == nil)
  }

  @Test(arguments: [(4, false), (5, false), (6, true)])
  func `the total size of a message's fragments is limited`(_ count: Int, _ tooBig: Bool) {
    let part = [UInt8](repeating: 1, count: count)
    let bytes = frame(2, [1, 2, 3, 4, 5], final: false) + frame(0, part)
    #expect(Self.end(.close).failure(bytes) == (tooBig ? 1009 : nil))
    let skipped = Self.end(.skip).events(bytes)
    #expect(skipped == [tooBig ? .oversized(bytes: 11) : .binary([1, 2, 3, 4, 5] + part)])
  }

  @Test(arguments: [(2, false), (3, false), (4, true)])
  func `the number of a message's fragments is limited`(_ count: Int, _ tooMany: Bool) {
    let middle = (0..<(count - 2)).flatMap { _ in frame(0, [1], final: false) }
    let bytes = frame(2, [1], final: false) + middle + frame(0, [1])
    #expect(Self.end(.close).failure(bytes) == (tooMany ? 1009 : nil))
    let whole = WebSocketEvent.binary([UInt8](repeating: 1, count: count))
    #expect(Self.end(.skip).events(bytes) == [tooMany ? .oversized(bytes: 4) : whole])
  }

  @Test func `a huge length is refused or skipped before memory is reserved for it`() {
    let head = hex("82 7f 7f ff ff ff ff ff ff ff")
    #expect(End.client.failure(head) == 1009)
    let skipping = End(limits: WebSocketLimits(oversize: .skip))
    #expect(skipping.reads(head) == Outcome(events: [], output: [], state: .open))
  }

  @Test func `without a limit, memory for a huge declared length is not allocated up front`() {
    let end = Self.end(.close, bytes: .max)
    let outcome = end.reads(hex("82 7f 40 00 00 00 00 00 00 00 61"))
    #expect(outcome == Outcome(events: [], output: [], state: .open))
  }

  @Test func `lengths whose sum exceeds 64 bits are skipped without overflow`() {
    var connection = Self.end(.skip).connection()
    var events: [WebSocketEvent] = []
    let huge = hex("7f 7f ff ff ff ff ff ff ff")
    connection.receive([0x02] + huge, into: &events)
    var message = IncomingMessage(opcode: .binary, compressed: false)
    let limits = WebSocketLimits(maxMessageBytes: 1, oversize: .skip)
    for _ in 0..<3 { try? message.begin(.max / 2, within: limits) }
    #expect(message.wireBytes == .max)
    #expect(events == [])
  }

  @Test func `a skipped message leaves the connection open and other messages intact`() {
    let long = [UInt8](repeating: 0x61, count: 100_000)
    let bytes =
      frame(1, [0x61]) + frame(1, long) + frame(2, long, final: false) + frame(9, [7])
      + frame(0, long) + frame(1, [0x62])
    let expected: [WebSocketEvent] = [
      .text([0x61]), .oversized(bytes: 100_000), .ping([7]), .oversized(bytes: 200_000),
      .text([0x62]),
    ]
    let outcome = Self.end(.skip).reads(bytes)
    #expect(outcome.events == expected)
    #expect(outcome.state == .open)
    var random = Seeded(1)
    #expect(Self.end(.skip).reads(random.pieces(bytes, longest: 4096)) == outcome)
  }

  @Test func `a skipped message is not held in memory`() {
    var connection = Self.end(.skip).connection()
    var events: [WebSocketEvent] = []
    let part = [UInt8](repeating: 1, count: 65_536)
    connection.receive(Array(frame(2, part + part).prefix(10)), into: &events)
    connection.receive(part, into: &events)
    let held = connection.message
    #expect(held?.fate == .skipped)
    #expect(held?.heldBytes == 0)
    connection.receive(part, into: &events)
    #expect(events == [.oversized(bytes: 131_072)])
  }

  @Test func `the buffered part of a message is released as soon as it is skipped`() {
    var connection = Self.end(.skip).connection()
    var events: [WebSocketEvent] = []
    let beginning = frame(2, [1, 2, 3, 4, 5], final: false)
    connection.receive(beginning + frame(0, [6, 7, 8, 9, 10, 11], final: false), into: &events)
    let message = connection.message
    #expect(message?.fate == .skipped && message?.heldBytes == 0)
    #expect(events == [])
  }

  @Test(arguments: [(9, false), (10, false), (11, true), (100_000, true)])
  func `a compressed message is limited by its inflated size`(_ count: Int, _ tooBig: Bool) {
    let deflate = DeflateParameters()
    let text = [UInt8](repeating: 0x61, count: count)
    var deflater = Deflater(windowBits: 15)
    let payload = deflater?.message(text) ?? []
    let bytes = frame(1, payload, reserved: 4) + frame(1, [0x62])
    #expect(
      Self.end(.close, deflate: deflate).failure(bytes) == (tooBig ? 1009 : nil))
    let skipped = Self.end(.skip, deflate: deflate).events(bytes)
    let first = tooBig ? WebSocketEvent.oversized(bytes: UInt64(payload.count)) : .text(text)
    #expect(skipped == [first, .text([0x62])])
  }

  @Test func `a skipped compressed message still updates a window that later ones use`() {
    let deflate = DeflateParameters(serverNoContextTakeover: false)
    var random = Seeded(3)
    let noise = random.bytes(2000)
    var deflater = Deflater(windowBits: 15)
    let long = deflater?.message(noise) ?? []
    let short = deflater?.message(Array(noise[500..<600])) ?? []
    #expect(short.count < 50)
    let bytes = frame(2, long, reserved: 4) + frame(2, short, reserved: 4)
    let events = Self.end(.skip, bytes: 1000, deflate: deflate).events(bytes)
    #expect(events == [.oversized(bytes: UInt64(long.count)), .binary(Array(noise[500..<600]))])
  }

  @Test func `the rest of a skipped compressed text is not validated`() {
    let deflate = DeflateParameters(serverNoContextTakeover: false)
    var deflater = Deflater(windowBits: 15)
    // The first 1,001 octets end in the middle of a character.
    let long = deflater?.message(Array(String(repeating: "é", count: 200_000).utf8)) ?? []
    let short = deflater?.message(Array("ééé".utf8)) ?? []
    let bytes = frame(1, long, reserved: 4) + frame(1, short, reserved: 4)
    let events = Self.end(.skip, bytes: 1_001, deflate: deflate).events(bytes)
    #expect(events == [.oversized(bytes: UInt64(long.count)), .text(Array("ééé".utf8))])
  }

  @Test func `a skipped message is not inflated beyond the limit`() {
    var deflater = Deflater(windowBits: 15)
    let long = deflater?.message([UInt8](repeating: 0x61, count: 100)) ?? []
    // An empty block is followed by a block whose type does not exist.
    let payload = long + hex("00 00 ff ff 07")
    let bytes = frame(2, payload, reserved: 4) + frame(2, [0x62])
    let events = Self.end(.skip, deflate: DeflateParameters()).events(bytes)
    #expect(events == [.oversized(bytes: UInt64(payload.count)), .binary([0x62])])
  }

  @Test func `no zlib stream is held for the rest of a skipped message`() {
    var deflater = Deflater(windowBits: 15)
    let payload = deflater?.message([UInt8](repeating: 0x61, count: 1_000)) ?? []
    var connection = Self.end(.skip, deflate: DeflateParameters()).connection()
    var events: [WebSocketEvent] = []
    var held: [Bool] = []
    for bytes in [frame(2, payload, final: false, reserved: 4), frame(0, [0], final: false)] {
      connection.receive(bytes, into: &events)
      let isHeld = connection.inflater != nil
      held.append(isHeld)
    }
    #expect(held == [true, false])
    let message = connection.message
    #expect(message?.fate == .skipped)
  }

  @Test func `a compressed length far beyond the limit is refused when the frame header arrives`() {
    let end = Self.end(.close, deflate: DeflateParameters())
    // A message of 10 octets has at most 10 + 10 / 8 + 16384 octets in compressed form.
    #expect(end.failure(hex("c2 7e 40 0b")) == nil)
    #expect(end.failure(hex("c2 7e 40 0c")) == 1009)
    // For 72 octets, the maximum is 72 + 72 / 8 + 16384 = 16465.
    let larger = Self.end(.close, bytes: 72, deflate: DeflateParameters())
    #expect(larger.failure(hex("c2 7e 40 51")) == nil)
    #expect(larger.failure(hex("c2 7e 40 52")) == 1009)
  }
}
