import Testing

@testable import HoldfastProtocols

/// Tests of the examples of RFC 6455 section 5.7, and of every kind of invalid head.
@Suite struct FrameTests {
  static let hello = octets("Hello")

  @Test func `the examples of RFC 6455 section 5.7 are read`() {
    #expect(End.client.events(hex("81 05 48 65 6c 6c 6f")) == [.text(Self.hello)])
    let masked = hex("81 85 37 fa 21 3d 7f 9f 4d 51 58")
    #expect(End.server.events(masked) == [.text(Self.hello)])
    let fragments = hex("01 03 48 65 6c 80 02 6c 6f")
    #expect(End.client.events(fragments) == [.text(Self.hello)])
    #expect(End.client.events(hex("89 05 48 65 6c 6c 6f")) == [.ping(Self.hello)])
    let pong = hex("8a 85 37 fa 21 3d 7f 9f 4d 51 58")
    #expect(End.server.events(pong) == [.pong(Self.hello)])
    let short = [UInt8](repeating: 1, count: 256)
    #expect(End.client.events(hex("82 7E 01 00") + short) == [.binary(short)])
    let long = [UInt8](repeating: 2, count: 65_536)
    #expect(End.client.events(hex("82 7F 00 00 00 00 00 01 00 00") + long) == [.binary(long)])
  }

  @Test func `the examples of RFC 6455 section 5.7 are written`() {
    var connection = End.server.connection()
    var out: [UInt8] = []
    connection.send(text: Self.hello, into: &out)
    #expect(out == hex("81 05 48 65 6c 6c 6f"))
    #expect(out == WebSocketFrame.text(Self.hello))
    out = []
    connection.ping(Self.hello, into: &out)
    #expect(out == hex("89 05 48 65 6c 6c 6f"))
    out = []
    #expect(connection.send(binary: [UInt8](repeating: 1, count: 256), into: &out))
    #expect(out.prefix(4) == hex("82 7E 01 00")[...])
    out = []
    connection.send(binary: [UInt8](repeating: 1, count: 65_536), into: &out)
    #expect(out.prefix(10) == hex("82 7F 00 00 00 00 00 01 00 00")[...])
    #expect(WebSocketFrame.binary([9]) == hex("82 01 09"))
  }

  @Test(arguments: [0, 1, 125, 126, 127, 65_535, 65_536, 65_537])
  func `every width of length is written in its shortest form and read back`(_ count: Int) {
    let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    for (sender, reader) in [(End.client, End.server), (End.server, End.client)] {
      var connection = sender.connection()
      var out: [UInt8] = []
      connection.send(binary: payload, into: &out)
      let head = 2 + (count < 126 ? 0 : count < 65_536 ? 2 : 8) + (sender.role == .client ? 4 : 0)
      #expect(out.count == head + count)
      #expect(reader.events(out) == [.binary(payload)])
    }
  }

  static let wrongHeads: [(String, String)] = [
    ("RSV1 without an extension", "c1 00"), ("RSV2", "a1 00"), ("RSV3", "91 00"),
    ("RSV1 on a ping", "c9 00"), ("a reserved data opcode", "83 00"), ("opcode 7", "87 00"),
    ("a reserved control opcode", "8b 00"), ("opcode 15", "8f 00"),
    ("a fragmented ping", "09 00"), ("a fragmented close", "08 00"), ("a fragmented pong", "0a 00"),
    ("a ping of 126 bytes", "89 7e 00 7e"), ("a close of 126 bytes", "88 7e 00 7e"),
    ("a continuation of nothing", "80 00"), ("an open continuation of nothing", "00 00"),
    ("a message inside a message", "01 01 61 81 01 62"),
    ("a binary inside a text", "01 01 61 02 01 62"),
    ("a second start behind a ping", "01 01 61 89 00 81 01 62"),
    ("a length of 125 in 16 bits", "82 7e 00 7d"), ("a length of 0 in 16 bits", "82 7e 00 00"),
    ("a length of 65535 in 64 bits", "82 7f 00 00 00 00 00 00 ff ff"),
    ("a length with its highest bit", "82 7f 80 00 00 00 00 01 00 00"),
    ("a masked frame from a server", "81 80 00 00 00 00"),
  ]

  @Test(arguments: wrongHeads)
  func `an invalid frame head fails with 1002`(_ what: String, _ bytes: String) {
    #expect(End.client.failure(hex(bytes)) == 1002, "\(what)")
  }

  @Test func `a client that does not mask fails with 1002`() {
    #expect(End.server.failure(hex("81 00")) == 1002)
  }

  @Test func `a missing mask and an unexpected one fail with different details`() {
    let masked = WebSocketError(code: 1002, detail: "a server's frame is masked")
    #expect(End.client.events(hex("81 80 00 00 00 00")) == [.failed(masked)])
    let plain = WebSocketError(code: 1002, detail: "a client's frame is not masked")
    #expect(End.server.events(hex("81 00")) == [.failed(plain)])
  }

  @Test func `RSV1 on a continuation fails with 1002 even if deflate was negotiated`() {
    let end = End(deflate: DeflateParameters())
    #expect(end.failure(hex("41 00 c0 00")) == 1002)
    #expect(end.failure(hex("c9 00")) == 1002)
  }

  @Test func `an invalid first octet fails before the second one arrives`() {
    for octet: UInt8 in [0x83, 0x91, 0xA1, 0xC1, 0x09, 0x80] {
      #expect(End.client.failure([octet]) == 1002)
    }
    #expect(End.client.failure(hex("89 7e")) == 1002)
    #expect(End.client.failure(hex("82 7f 80")) == 1002)
  }

  @Test func `octets beyond the received span are not read`() {
    // The third octet would be invalid, but only the two octets before it are received.
    let here = hex("82 7f 80")[..<2]
    var connection = End.client.connection()
    var events: [WebSocketEvent] = []
    unsafe connection.receive(here.span.bytes, into: &events)
    #expect(events == [])
  }

  @Test func `a failure sends a close with its code and stops the reading`() {
    let outcome = End.client.reads(hex("83 00 81 01 61"))
    let error = WebSocketError(code: 1002, detail: "a reserved opcode")
    #expect(outcome.events == [.failed(error)])
    #expect(outcome.state == .closed)
    let answer = End.server.events(outcome.output)
    #expect(answer == [.closed(code: 1002, reason: "a reserved opcode")])
  }

  @Test func `masking at any offset and length equals masking octet by octet`() {
    let payload = (0..<100).map { UInt8($0) }
    let key: [UInt8] = [0x12, 0x34, 0x56, 0x78]
    let mask: UInt32 = 0x7856_3412
    for phase in 0..<8 {
      for count in 0..<payload.count {
        var bytes = Array(payload[..<count])
        Masking.apply(mask, phase: phase, to: &bytes, from: 0)
        #expect(bytes == payload[..<count].enumerated().map { $1 ^ key[($0 + phase) % 4] })
      }
    }
  }

  @Test func `each SHA-1 digest of the seed and a counter yields five masking keys`() {
    var source = MaskSource(seed: 1)
    let keys = (0..<10).map { _ in source.next() }
    for counter: UInt8 in [0, 1] {
      let words = keys[(Int(counter) * 5)...].prefix(5).reversed()
      let digest = words.flatMap { word -> [UInt8] in
        stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
      }
      let block = hex("00 00 00 00 00 00 00 01 00 00 00 00 00 00 00") + [counter]
      #expect(digest == SHA1.digest(block))
    }
  }

  @Test func `masking keys differ and are determined by the seed`() {
    var source = MaskSource(seed: 1)
    var again = MaskSource(seed: 1)
    var other = MaskSource(seed: 2)
    let keys = (0..<1000).map { _ in source.next() }
    #expect(Set(keys).count == 1000)
    #expect((0..<1000).map { _ in again.next() } == keys)
    #expect((0..<1000).map { _ in other.next() } != keys)
    for bit in 0..<64 {
      var near = MaskSource(seed: 1 ^ 1 << UInt64(bit))
      #expect(near.next() != keys[0], "bit \(bit)")
    }
  }
}
