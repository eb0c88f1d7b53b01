import Testing

@testable import HoldfastProtocols

@Suite struct DeflateTests {
  static let end = End(deflate: DeflateParameters())
  static let keeping = End(
    deflate: DeflateParameters(serverNoContextTakeover: false, clientNoContextTakeover: false))
  static let hello = octets("Hello")

  @Test func `the examples of RFC 7692 section 7.2.3 are read`() {
    let examples = [
      "c1 07 f2 48 cd c9 c9 07 00",
      "41 03 f2 48 cd 80 04 c9 c9 07 00",
      "c1 0b 00 05 00 fa ff 48 65 6c 6c 6f 00",
      "c1 08 f3 48 cd c9 c9 07 00 00",
      "c1 0d f2 48 05 00 00 00 ff ff ca c9 c9 07 00",
    ]
    for example in examples {
      #expect(Self.end.events(hex(example)) == [.text(Self.hello)], "\(example)")
      let octetwise = hex(example).map { [$0] }
      #expect(Self.end.reads(octetwise).events == [.text(Self.hello)], "\(example)")
    }
    #expect(Self.end.events(hex("c1 01 00")) == [.text([])])
  }

  @Test func `compressed messages that are received are counted`() {
    // These are a single frame and two fragments from RFC 7692 section 7.2.3.1, and an uncompressed
    // text from RFC 6455 section 5.7.
    let bytes = hex(
      "c1 07 f2 48 cd c9 c9 07 00 41 03 f2 48 cd 80 04 c9 c9 07 00 81 05 48 65 6c 6c 6f")
    for pieces in [[bytes], bytes.map { [$0] }] {
      var connection = Self.end.connection()
      var events: [WebSocketEvent] = []
      for piece in pieces { connection.receive(piece, into: &events) }
      let counts = [connection.takeCompressedMessages(), connection.takeCompressedMessages()]
      #expect(events.count == 3 && counts == [2, 0])
    }
  }

  @Test func `a second message may refer to the first only if the window persists`() {
    let bytes = hex("c1 07 f2 48 cd c9 c9 07 00 c1 05 f2 00 11 00 00")
    #expect(Self.keeping.events(bytes) == [.text(Self.hello), .text(Self.hello)])
    #expect(Self.end.failure(bytes) == 1007)
  }

  @Test func `the window persists after a final block`() {
    let bytes = hex("c1 08 f3 48 cd c9 c9 07 00 00 c1 05 f2 00 11 00 00")
    let expected: [WebSocketEvent] = [.text(Self.hello), .text(Self.hello)]
    #expect(Self.keeping.events(bytes) == expected)
    #expect(Self.keeping.reads(bytes.map { [$0] }).events == expected)
  }

  @Test func `a reference beyond the negotiated window reads the same however octets arrive`() {
    var random = Seeded(3)
    let noise = random.bytes(600)
    var deflater = Deflater(windowBits: 15)
    let bytes = frame(2, deflater?.message(noise + noise) ?? [], reserved: 4)
    let end = End(deflate: DeflateParameters(serverMaxWindowBits: 9))
    #expect(end.events(bytes) == [.binary(noise + noise)])
    #expect(end.reads(bytes.map { [$0] }) == end.reads(bytes))
  }

  @Test func `a message may end with a final block and nothing after it`() {
    #expect(Self.end.events(hex("c1 07 f3 48 cd c9 c9 07 00")) == [.text(Self.hello)])
    #expect(Self.end.events(hex("c1 00")) == [.text([])])
  }

  @Test func `the octets that a sender removed may complete a final block`() {
    let bytes = hex("c1 01 01 c1 07 f2 48 cd c9 c9 07 00")
    #expect(Self.keeping.events(bytes) == [.text([]), .text(Self.hello)])
  }

  /// Uses one stored block with as many octets as zlib is given room for in one step.
  @Test func `input may end exactly where the output buffer is full`() {
    let data = (0..<16_384).map { UInt8(truncatingIfNeeded: $0) }
    let block = hex("00 00 40 ff bf") + data
    let bytes = frame(2, block, final: false, reserved: 4) + frame(0, [0])
    #expect(Self.end.events(bytes) == [.binary(data)])
  }

  @Test func `a message of one octet ends at the end of a block`() {
    let bytes = hex("c1 01 00 c1 07 f2 48 cd c9 c9 07 00")
    #expect(Self.keeping.events(bytes) == [.text([]), .text(Self.hello)])
  }

  @Test(arguments: [
    "c1 01 07", "c1 01 02", "c1 03 f2 48 cd", "c1 02 ff ff", "c1 05 00 05 00 fa fe", "c1 01 06",
    "c1 08 f3 48 cd c9 c9 07 00 07",
  ])
  func `data that does not inflate to a complete message fails with 1007`(_ bytes: String) {
    #expect(Self.end.failure(hex(bytes)) == 1007)
  }

  @Test func `a block that ends one bit before the octets that a sender removed is incomplete`() {
    // The codes of the block have 1 to 15 bits. The code for the end of the block consists of 15
    // set bits.
    let octets = "04 e0 81 96 24 49 92 24 49 7e 2b 20 b1 a8 79 64 f5 ec fd ff 7b ef bd 77 0f"
    let error = WebSocketError.inconsistent("a compressed message that ends inside a block")
    #expect(Self.end.events(hex("c1 19 " + octets)).last == .failed(error))
  }

  @Test func `a lack of memory for inflating is not reported as the peer's fault`() {
    // These are `Z_MEM_ERROR` and `Z_DATA_ERROR` (zlib.h).
    #expect(
      [-4, -3].map { Inflater.fault($0) } == [
        WebSocketError(code: 1011, detail: "out of memory during decompression"),
        WebSocketError(code: 1007, detail: "compressed data that does not inflate"),
      ])
  }

  @Test func `a compressed text has to be UTF-8`() {
    var deflater = Deflater(windowBits: 15)
    let payload = deflater?.message([0x61, 0xFF]) ?? []
    #expect(Self.end.failure(frame(1, payload, reserved: 4)) == 1007)
    #expect(Self.end.failure(frame(1, payload, final: false, reserved: 4)) == 1007)
  }

  @Test func `an uncompressed message is accepted even if deflate was negotiated`() {
    #expect(Self.end.events(frame(1, Self.hello)) == [.text(Self.hello)])
  }

  @Test(arguments: [0, 127, 128, 1000, 70_000, 300_000])
  func `messages pass in both directions with all negotiated parameters`(_ count: Int) {
    let text = (0..<count).map { UInt8(0x61 + ($0 * $0 >> 4) % 20) }
    for bits in [8, 9, 12, 15] {
      for takeover in [false, true] {
        let agreed = DeflateParameters(
          serverNoContextTakeover: takeover, clientNoContextTakeover: takeover,
          serverMaxWindowBits: bits, clientMaxWindowBits: bits)
        for role in [WebSocketRole.client, .server] {
          var sender = End(role: role, deflate: agreed).connection()
          var out: [UInt8] = []
          for _ in 0..<3 { sender.send(text: text, into: &out) }
          let events = End(role: role.peer, deflate: agreed).events(out)
          #expect(events == [.text(text), .text(text), .text(text)])
          let compressed = out[0] & 0x40 != 0
          #expect(compressed == (count >= 128 && bits > 8))
        }
      }
    }
  }

  /// Relies on the rule that an end with an 8-bit window sends uncompressed messages.
  @Test func `each end compresses with the window that was agreed for it`() {
    let agreed = DeflateParameters(serverMaxWindowBits: 8, clientMaxWindowBits: 15)
    let isCompressed = [WebSocketRole.server, .client].map { role -> Bool in
      var sender = End(role: role, deflate: agreed).connection()
      var out: [UInt8] = []
      sender.send(text: [UInt8](repeating: 0x61, count: 1000), into: &out)
      return out[0] & 0x40 != 0
    }
    #expect(isCompressed == [false, true])
  }

  @Test func `only messages of 128 octets to less than 2 GiB are compressed`() {
    #expect(WebSocketConnection.compressible == 128...2_147_483_647)
  }

  @Test func `a payload that does not shrink is sent plain`() {
    var random = Seeded(9)
    let noise = random.bytes(5000)
    for end in [Self.end, Self.keeping] {
      var sender = End(role: .server, deflate: end.deflate).connection()
      var out: [UInt8] = []
      sender.send(binary: noise, into: &out)
      #expect(out.count == 5004)
      let zeros = [UInt8](repeating: 0, count: 1000)
      sender.send(binary: zeros, into: &out)
      #expect(end.events(out) == [.binary(noise), .binary(zeros)])
    }
  }

  @Test func `no zlib stream is held between messages unless the window persists`() {
    let text = [UInt8](repeating: 0x61, count: 1000)
    var held: [[Bool]] = []
    for end in [Self.end, Self.keeping] {
      var connection = end.connection()
      var out: [UInt8] = []
      connection.send(text: text, into: &out)
      var events: [WebSocketEvent] = []
      connection.receive(hex("c1 07 f2 48 cd c9 c9 07 00"), into: &events)
      let (inflates, deflates) = (connection.inflater != nil, connection.deflater != nil)
      held.append([inflates, deflates])
    }
    #expect(held == [[false, false], [true, true]])
  }

  @Test func `the window of a message without context takeover is no larger than needed`() {
    let sizes = [(0, 9), (512, 9), (513, 10), (1024, 10), (32_768, 15), (100_000, 15)]
    for (count, bits) in sizes {
      #expect(Deflater.windowBits(for: count, atMost: 15) == bits)
    }
    #expect(Deflater.windowBits(for: 100_000, atMost: 11) == 11)
  }

  @Test func `memory depends on the window, so that a small window has short blocks`() {
    var random = Seeded(5)
    let noise = random.bytes(4096)
    // The letters change every 64 octets. In a single long block, all letters would share one code.
    let data = noise.enumerated().map { UInt8($0 / 64 * 3) + $1 % 7 }
    var deflater = Deflater(windowBits: 9)
    let count = deflater?.message(data)?.count ?? 0
    #expect((2_000...2_800).contains(count), "\(count)")
  }
}
