import Testing

@testable import LinkProtocols

/// Valid bytes, damaged: nothing crashes, and how they are split changes nothing.
@Suite struct MutationTests {
  private static func traffic(_ role: WebSocketRole, _ deflate: DeflateParameters?) -> [UInt8] {
    var sender = End(role: role, deflate: deflate).connection()
    var out: [UInt8] = []
    let text = octets(String(repeating: "Grüße an alle, 你好. ", count: 12))
    sender.send(text: text, into: &out)
    sender.ping([1, 2, 3], into: &out)
    sender.send(binary: Array(text.reversed()), into: &out)
    let mask: [UInt8]? = role == .client ? [9, 8, 7, 6] : nil
    out += frame(1, octets("frag "), final: false, mask: mask)
    out += frame(9, [4], mask: mask)
    out += frame(0, octets("ments é"), mask: mask)
    sender.send(text: text, into: &out)
    sender.close(code: 1000, reason: "done", into: &out)
    return out
  }

  @Test(arguments: [WebSocketRole.client, .server], [WebSocketLimits.Oversize.skip, .close])
  func `damaged frames are never split differently`(
    _ role: WebSocketRole, _ oversize: WebSocketLimits.Oversize
  ) {
    var random = Seeded(role == .client ? 11 : 12)
    let agreements: [DeflateParameters?] = [
      nil, DeflateParameters(),
      DeflateParameters(serverNoContextTakeover: false, clientNoContextTakeover: false),
    ]
    for deflate in agreements {
      let whole = Self.traffic(role.peer, deflate)
      let limits = WebSocketLimits(maxMessageBytes: 400, maxFragments: 3, oversize: oversize)
      let end = End(role: role, limits: limits, deflate: deflate)
      for _ in 0..<150 {
        let damaged = random.mutated(whole)
        let once = end.reads(damaged)
        #expect(end.reads(random.pieces(damaged, longest: 40)) == once)
        #expect(end.reads(damaged.map { [$0] }) == once)
        for case .failed(let error) in once.events {
          #expect([1002, 1007, 1009].contains(error.code))
        }
      }
    }
  }

  @Test func `noise is never split differently`() {
    var random = Seeded(21)
    for _ in 0..<1000 {
      let noise = [0x81, 0x82, 0xC1, 0x01].randomElement(using: &random).map { [UInt8($0)] } ?? []
      let bytes = noise + random.bytes(60)
      let end = End(role: .server, deflate: DeflateParameters())
      let once = end.reads(bytes)
      #expect(end.reads(random.pieces(bytes, longest: 5)) == once)
    }
  }

  private static let seeds = [
    get("X-A: b\r\nExpect: 100-continue\r\nUpgrade: websocket\r\n", target: "/a/b?c=%20d&e"),
    post("Content-Length: 12\r\nConnection: close\r\n", "hello, world"),
    post("Transfer-Encoding: chunked\r\n", "5;x=y\r\nhello\r\n7\r\n, world\r\n0\r\nT: u\r\n\r\n"),
    post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "3\r\nabc\r\n0\r\n\r\n") + get(),
  ]

  @Test func `damaged requests are never split differently`() {
    var random = Seeded(31)
    let limits = HTTPLimits(
      maxHeadBytes: 160, maxHeaderCount: 6, maxTargetBytes: 14, maxBodyBytes: 12)
    let statuses = [400, 413, 414, 417, 431, 501, 505]
    for text in Self.seeds {
      for _ in 0..<400 {
        let damaged = random.mutated(octets(text + get()))
        let once = requests([damaged], limits: limits)
        #expect(requests(random.pieces(damaged, longest: 30), limits: limits) == once)
        #expect(requests(damaged.map { [$0] }, limits: limits) == once)
        for case .failed(let error) in once { #expect(statuses.contains(error.status)) }
      }
    }
  }

  @Test func `damaged requests to upgrade are judged without a crash`() {
    var random = Seeded(41)
    var verdicts = (upgraded: 0, refused: 0)
    for _ in 0..<1500 {
      let request = random.mutated(HandshakeTests.client(deflate: true).requestBytes)
      for case .request(let head, _) in requests([request]) {
        switch ServerHandshake.accept(head, allowsDeflate: true) {
        case .upgrade: verdicts.upgraded += 1
        case .refuse(let status, _, _):
          verdicts.refused += 1
          #expect([400, 405, 426].contains(status))
        }
      }
    }
    #expect(verdicts.upgraded > 100 && verdicts.refused > 100)
  }

  @Test func `damaged answers are never split differently`() {
    var random = Seeded(51)
    let lines = "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=10\r\n"
    let answer = "HTTP/1.1 100 Continue\r\n\r\n" + HandshakeTests.answer(lines)
    var kinds: Set<String> = []
    for _ in 0..<1500 {
      let damaged = random.mutated(octets(answer))
      let once = Self.verdict([damaged])
      #expect(Self.verdict(damaged.map { [$0] }) == once)
      #expect(Self.verdict(random.pieces(damaged, longest: 30)) == once)
      kinds.insert(once.map { String("\($0)".prefix(4)) } ?? "none")
    }
    #expect(kinds.isSuperset(of: ["upgr", "malf", "none"]))
  }

  /// The verdict; what follows it is left out, for it depends on the pieces by design.
  private static func verdict(_ pieces: [[UInt8]]) -> ClientHandshake.Verdict? {
    var client = HandshakeTests.client(deflate: true)
    for piece in pieces {
      switch client.receive(piece) {
      case nil: continue
      case .upgraded(let headers, let extensions, _)?:
        return .upgraded(headers: headers, extensions: extensions, rest: [])
      case .refused(let head, _)?: return .refused(head, bodyPrefix: [])
      case .malformed(let detail)?: return .malformed(detail)
      }
    }
    return nil
  }

  @Test func `the comparison can fail`() {
    let end = End.client
    #expect(end.reads(frame(1, [0x61])) != end.reads(frame(1, [0x62])))
    #expect(requests(get()) != requests(get(target: "/x")))
  }
}
