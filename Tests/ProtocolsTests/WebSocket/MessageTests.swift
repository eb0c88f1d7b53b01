import Testing

@testable import HoldfastProtocols

/// Tests of fragments, of control frames between them, and of the rule that texts are UTF-8.
@Suite struct MessageTests {
  @Test func `control frames between fragments are delivered at once`() {
    let bytes =
      frame(1, octets("Hel"), final: false) + frame(9, [1]) + frame(0, octets("l"), final: false)
      + frame(10, [2]) + frame(0, octets("o"))
    let outcome = End.client.reads(bytes)
    #expect(outcome.events == [.ping([1]), .pong([2]), .text(octets("Hello"))])
    #expect(End.server.events(outcome.output) == [.pong([1])])
    #expect(outcome.state == .open)
  }

  @Test func `empty fragments and empty messages are accepted`() {
    let bytes =
      frame(1) + frame(2) + frame(2, final: false) + frame(0, final: false) + frame(0)
      + frame(1, final: false) + frame(0, [0x61])
    #expect(End.client.events(bytes) == [.text([]), .binary([]), .binary([]), .text([0x61])])
  }

  @Test(arguments: [0, 1, 124, 125])
  func `a ping is answered with its own payload`(_ count: Int) {
    let payload = [UInt8](repeating: 0xFE, count: count)
    let outcome = End.client.reads(frame(9, payload))
    #expect(outcome.events == [.ping(payload)])
    #expect(End.server.events(outcome.output) == [.pong(payload)])
  }

  @Test func `ten pings in one read are answered in order`() {
    let pings = (0..<10).flatMap { frame(9, [$0]) }
    let outcome = End.client.reads(pings)
    #expect(outcome.events == (0..<10).map { .ping([$0]) })
    #expect(End.server.events(outcome.output) == (0..<10).map { .pong([$0]) })
  }

  @Test(arguments: [0, 124, 125, 126, 500])
  func `the payload of a sent ping is cut at 125 bytes`(_ count: Int) {
    var connection = End.client.connection()
    var out: [UInt8] = []
    connection.ping([UInt8](repeating: 3, count: count), into: &out)
    #expect(End.server.events(out) == [.ping([UInt8](repeating: 3, count: min(125, count)))])
  }

  @Test func `a ping is sent after the pongs that are due`() {
    var connection = End.client.connection()
    var (events, out): ([WebSocketEvent], [UInt8]) = ([], [])
    connection.receive(frame(9, [1]), into: &events)
    let isSent = connection.ping([2], into: &out)
    out += connection.takeOutput()
    #expect(isSent)
    #expect(End.server.events(out) == [.pong([1]), .ping([2])])
  }

  /// The ends of every row of table 3-7 of the Unicode standard, and other texts.
  static let validTexts = [
    "", "00", "7f", "c2 80", "df bf", "e0 a0 80", "ec bf bf", "ed 80 80", "ed 9f bf", "ee 80 80",
    "ef bf bf", "f0 90 80 80", "f3 bf bf bf", "f4 80 80 80", "f4 8f bf bf",
    "ce ba e1 bd b9 cf 83 ce bc ce b5", "61 61 61 61 61 61 61 61 61 c3 a4 61",
  ]

  static let invalidTexts = [
    "80", "bf", "c0 80", "c1 bf", "c2 00", "c2 c0", "e0 80 80", "e0 9f bf", "ed a0 80", "ed bf bf",
    "f0 80 80 80", "f0 8f bf bf", "f4 90 80 80", "f5 80 80 80", "f8 88 80 80 80", "fe", "ff",
    "c3 28", "e2 28 a1", "e2 82 28", "f0 28 8c bc", "f0 90 28 bc", "f0 28 8c 28",
    "61 61 61 61 61 61 61 80", "61 61 61 61 61 61 61 61 61 ff", "c3 a4 e2 28 a1",
  ]

  static let unfinishedTexts = [
    "c2", "e0 a0", "e1", "f0 90 80", "f4", "61 61 61 61 61 61 61 61 c3",
  ]

  @Test(arguments: validTexts)
  func `valid UTF-8 is accepted as text, wherever it is split`(_ text: String) {
    let payload = hex(text)
    #expect(End.client.events(frame(1, payload)) == [.text(payload)])
    for cut in 0...payload.count {
      let bytes =
        frame(1, Array(payload[..<cut]), final: false) + frame(0, Array(payload[cut...]))
      #expect(End.client.events(bytes) == [.text(payload)])
      #expect(End.client.reads(bytes.map { [$0] }).events == [.text(payload)])
    }
  }

  @Test(arguments: invalidTexts + unfinishedTexts)
  func `invalid or unfinished UTF-8 fails with 1007`(_ text: String) {
    let payload = hex(text)
    #expect(End.client.failure(frame(1, payload)) == 1007)
    let masked = frame(1, payload, mask: [1, 2, 3, 4])
    #expect(End.server.failure(masked) == 1007)
    for cut in 0...payload.count {
      let bytes =
        frame(1, Array(payload[..<cut]), final: false) + frame(0, Array(payload[cut...]))
      #expect(End.client.failure(bytes) == 1007)
    }
  }

  @Test(arguments: invalidTexts)
  func `a text that cannot become valid fails before its frame is complete`(_ text: String) {
    let payload = hex(text)
    let promised = hex("81 7e 10 00") + payload
    #expect(End.client.failure(promised) == 1007)
    #expect(End.client.failure(frame(1, payload, final: false)) == 1007)
  }

  @Test(arguments: unfinishedTexts)
  func `a text that may still become valid does not fail yet`(_ text: String) {
    #expect(End.client.events(frame(1, hex(text), final: false)) == [])
  }

  @Test func `a binary message may contain bytes that are not UTF-8`() {
    #expect(End.client.events(frame(2, [0xFF, 0xC0])) == [.binary([0xFF, 0xC0])])
  }

  @Test func `one wrong octet anywhere in a long text fails with 1007`() {
    let text = [UInt8](repeating: 0x61, count: 140)
    for index in text.indices {
      var damaged = text
      damaged[index] = 0xFF
      #expect(End.client.failure(frame(1, damaged)) == 1007, "\(index)")
    }
  }

  @Test func `an octet after the end of a text does not complete its last character`() {
    let bytes = hex("e2 82 28 82")
    let isValid = unsafe bytes.withUnsafeBytes { all in
      unsafe UTF8Validator.isValid(UnsafeRawBufferPointer(rebasing: all[..<3]))
    }
    #expect(!isValid)
  }
}
