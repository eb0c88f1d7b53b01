import Testing

@testable import HoldfastProtocols

/// Tests of the windows that the streams of both directions keep, and of the time at which output
/// is reported.
@Suite struct WindowTests {
  @Test(arguments: [(8, false), (9, true), (15, true), (16, false)])
  func `a deflate stream is created only with a window of 9 to 15 bits`(_ bits: Int, _ isMade: Bool)
  {
    let deflater = Deflater(windowBits: bits)
    let found = deflater != nil
    #expect(found == isMade)
  }

  /// Checks the example of RFC 7692 section 7.2.3.6.
  @Test func `an empty message is one octet, the rest of an empty block`() {
    var deflater = Deflater(windowBits: 15)
    let empty = deflater?.message([])
    #expect(empty == [0x00])
    _ = deflater?.message([0x61])
    let next = deflater?.message([])
    #expect(next == [0x00])
  }

  @Test func `the window of a single message lets its second half refer to its first`() {
    var random = Seeded(8)
    let noise = random.bytes(2_000)
    var sender = End(role: .server, deflate: DeflateParameters()).connection()
    var out: [UInt8] = []
    sender.send(binary: noise + noise, into: &out)
    #expect((2_000..<2_200).contains(out.count), "\(out.count)")
  }

  @Test func `a payload that is no shorter when deflated is sent plain`() throws {
    var random = Seeded(6)
    // At one specific length, the repeated part saves exactly as many octets as the block costs.
    let noise = random.bytes(200).map { $0 & 0x7F }
    let candidates: [[UInt8]] = (3..<40).map { noise + noise.prefix($0) }
    let even = candidates.first { candidate in
      var deflater = Deflater(windowBits: 9)
      let count = deflater?.message(candidate)?.count
      return count == candidate.count
    }
    let payload = try #require(even)
    var sender = End(role: .server, deflate: DeflateParameters()).connection()
    var out: [UInt8] = []
    sender.send(binary: payload, into: &out)
    #expect(out == WebSocketFrame.binary(payload))
  }

  @Test func `a window that persists is not limited by a short first message`() {
    var random = Seeded(4)
    let letters: [UInt8] = random.bytes(2_200).map { 0x61 + $0 % 20 }
    let (short, long) = (Array(letters[..<200]), Array(letters[200...]))
    var sender = End(role: .server, deflate: DeflateTests.keeping.deflate).connection()
    var sizes: [Int] = []
    for text in [short, long, long] {
      var out: [UInt8] = []
      sender.send(text: text, into: &out)
      out += sender.takeOutput()
      sizes.append(out.count)
    }
    // The third message only refers to octets of the second message.
    #expect(sizes[1] > 1_000 && sizes[2] < 100, "\(sizes)")
  }

  @Test func `the limit applies to all output of the octets received so far`() {
    // A literal and 64 references of 258 octets produce 16,513 octets, which is more than one step
    // produces.
    let references = hex("05 a3 60 14 8c 82 51 30 0a 46 c1 28 18")
    let block = hex("4a 1c") + (0..<8).flatMap { _ in references }
    let limits = WebSocketLimits(maxMessageBytes: 16_400, oversize: .close)
    let end = End(limits: limits, deflate: DeflateParameters())
    #expect(end.failure(frame(2, block, final: false, reserved: 4)) == 1009)
  }
}
