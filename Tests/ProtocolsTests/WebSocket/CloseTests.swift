import Testing

@testable import HoldfastProtocols

@Suite struct CloseTests {
  /// The close codes of RFC 6455 section 7.4 and the IANA registry. Each range is tested below, at
  /// and above its ends.
  static let codes: [(UInt16, Bool)] = [
    (0, false), (1, false), (999, false), (1000, true), (1001, true), (1002, true), (1003, true),
    (1004, false), (1005, false), (1006, false), (1007, true), (1008, true), (1009, true),
    (1010, true), (1011, true), (1012, true), (1013, true), (1014, true), (1015, false),
    (1016, false), (1100, false), (2000, false), (2999, false), (3000, true), (3999, true),
    (4000, true), (4999, true), (5000, false), (65_535, false),
  ]

  @Test(arguments: codes)
  func `a valid close code is echoed, an invalid one fails with 1002`(_ code: UInt16, _ valid: Bool)
  {
    let outcome = End.client.reads(closeFrame(code, octets("bye")))
    #expect(outcome.state == .closed)
    let answer = End.server.events(outcome.output)
    if valid {
      #expect(outcome.events == [.closed(code: code, reason: "bye")])
      #expect(answer == [.closed(code: code, reason: "")])
    } else {
      let detail = "a close code that may not be sent"
      #expect(outcome.events == [.failed(WebSocketError(code: 1002, detail: detail))])
      #expect(answer == [.closed(code: 1002, reason: detail)])
    }
  }

  @Test(arguments: codes)
  func `closing with a code that may not be sent sends 1000`(_ code: UInt16, _ valid: Bool) {
    var connection = End.server.connection()
    var out: [UInt8] = []
    connection.close(code: code, reason: "", into: &out)
    let seen = code == 1005 ? 1005 : valid ? code : 1000
    #expect(End.client.events(out) == [.closed(code: seen, reason: "")])
  }

  @Test func `an empty close is reported as 1005 and answered with an empty close`() {
    let outcome = End.server.reads(frame(8, mask: [1, 2, 3, 4]))
    #expect(outcome.events == [.closed(code: 1005, reason: "")])
    #expect(outcome.output == hex("88 00"))
  }

  @Test func `a close with half a code fails with 1002`() {
    #expect(End.client.failure(frame(8, [3])) == 1002)
  }

  @Test func `a reason that is not UTF-8 fails with 1007`() {
    #expect(End.client.failure(closeFrame(1000, [0xCE, 0xBA, 0xE1])) == 1007)
  }

  @Test(arguments: [0, 1, 122, 123])
  func `a reason of up to 123 bytes is read`(_ count: Int) {
    let reason = String(repeating: "x", count: count)
    #expect(
      End.client.events(closeFrame(1001, octets(reason))) == [.closed(code: 1001, reason: reason)])
  }

  @Test(arguments: [
    (String(repeating: "x", count: 123), 123), (String(repeating: "x", count: 124), 123),
    (String(repeating: "x", count: 122) + "ä", 122),
    (String(repeating: "x", count: 121) + "ä", 123),
    (String(repeating: "x", count: 121) + "😀", 121),
    (String(repeating: "x", count: 119) + "😀", 123), (String(repeating: "😀", count: 40), 120),
  ])
  func `the reason of a sent close is cut at the end of a character`(
    _ reason: String, _ length: Int
  ) {
    var connection = End.server.connection()
    var out: [UInt8] = []
    connection.close(code: 4000, reason: reason, into: &out)
    let seen = String(decoding: octets(reason).prefix(length), as: UTF8.self)
    #expect(End.client.events(out) == [.closed(code: 4000, reason: seen)])
  }

  @Test func `a close is sent once, and the peer's close ends the connection without an echo`() {
    var connection = End.server.connection()
    var out: [UInt8] = []
    connection.close(code: 1001, reason: "going", into: &out)
    let once = out
    connection.close(code: 1000, reason: "again", into: &out)
    let sent = connection.send(text: [0x61], into: &out)
    let pinged = connection.ping([], into: &out)
    #expect(out == once)
    #expect(!sent && !pinged)
    let (before, late) = (connection.state, frame(1, [0x62], mask: [1, 2, 3, 4]))
    #expect(before == .closing)
    var events: [WebSocketEvent] = []
    let close = frame(8, [0x03, 0xE9], mask: [1, 2, 3, 4])
    connection.receive(late + frame(9, mask: [1, 2, 3, 4]) + close + late, into: &events)
    #expect(events == [.text([0x62]), .ping([]), .closed(code: 1001, reason: "")])
    let (after, output) = (connection.state, connection.takeOutput())
    #expect(after == .closed && output.isEmpty)
  }

  @Test func `bytes after a close are not read`() {
    let outcome = End.client.reads([closeFrame(1000) + frame(9), frame(1, [0x61]), hex("83 00")])
    #expect(outcome.events == [.closed(code: 1000, reason: "")])
  }

  @Test func `a reply to a message is sent before the answer to a close that came with it`() {
    var connection = End.client.connection()
    var events: [WebSocketEvent] = []
    let bytes = frame(9, [1]) + frame(1, [0x61]) + closeFrame(1000)
    connection.receive(bytes, into: &events)
    var out: [UInt8] = []
    let sent = connection.send(text: [0x62], into: &out)
    out += connection.takeOutput()
    let refused = connection.send(text: [0x63], into: &out)
    #expect(sent && !refused)
    #expect(
      End.server.events(out) == [.pong([1]), .text([0x62]), .closed(code: 1000, reason: "")])
  }

  @Test func `a ping is answered before a close is sent`() {
    var connection = End.server.connection()
    var (events, out): ([WebSocketEvent], [UInt8]) = ([], [])
    connection.receive(frame(9, [1], mask: [1, 2, 3, 4]), into: &events)
    connection.close(code: 1001, reason: "", into: &out)
    #expect(events == [.ping([1])])
    #expect(End.client.events(out) == [.pong([1]), .closed(code: 1001, reason: "")])
  }

  @Test func `a transport that ends without a close is reported once`() {
    var connection = End.client.connection()
    var events: [WebSocketEvent] = []
    connection.receive(frame(1, [0x61], final: false), into: &events)
    connection.receiveEnd(into: &events)
    connection.receiveEnd(into: &events)
    #expect(events == [.ended])
    let state = connection.state
    #expect(state == .closed)
  }

  @Test(arguments: ["c2", "89 02 01", "42 05 f2 48 cd"])
  func `a connection that has ended holds no data that it read or sent`(_ bytes: String) {
    var connection = DeflateTests.keeping.connection()
    var (events, out): ([WebSocketEvent], [UInt8]) = ([], [])
    connection.send(text: [UInt8](repeating: 0x61, count: 1000), into: &out)
    connection.receive(hex(bytes), into: &events)
    connection.receiveEnd(into: &events)
    out += connection.takeOutput()
    let held = connection.heldHead + connection.control
    #expect(held == [])
    let isOpen = [connection.frame != nil, connection.message != nil]
    #expect(isOpen == [false, false])
    let (inflates, deflates) = (connection.inflater != nil, connection.deflater != nil)
    #expect(!inflates && !deflates)
  }

  @Test func `a transport that ends after a close is not reported`() {
    var connection = End.client.connection()
    var events: [WebSocketEvent] = []
    connection.receive(closeFrame(1000), into: &events)
    connection.receiveEnd(into: &events)
    #expect(events == [.closed(code: 1000, reason: "")])
  }

  @Test func `a transport that ends before the answer to a sent close is reported`() {
    var connection = End.client.connection()
    var (events, out): ([WebSocketEvent], [UInt8]) = ([], [])
    connection.close(code: 1000, reason: "", into: &out)
    connection.receiveEnd(into: &events)
    #expect(events == [.ended])
  }
}
