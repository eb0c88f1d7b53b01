import HoldfastCore
import Testing

@testable import HoldfastSessionAudit

/// Tests of findings about a server's behavior before a login, in hand-written records.
@Suite struct SocketCheckTests {
  @Test(arguments: [
    (Probe.ackQuiet, AuditScript.Name.main), (.malformed, .faults), (.protocolPing, .opening),
    (.early, .early), (.oldVersion, .oldVersion), (.closing, .opening),
  ])
  func `a probe that was not sent is unseen, and the evidence is what happened`(
    probe: Probe, name: AuditScript.Name
  ) {
    let evidence = Tape.evidence([.login: Tape.session(), name: Tape.session()])
    #expect(evidence.finding(probe) == Finding(.unseen, "not sent: \(Tape.outline)"))
  }

  @Test func `the median of five round trips is the third one`() {
    let pings = (1...5).flatMap { number in
      [(10 * number, Tape.ping), (11 * number, Tape.pong)]
    }
    let record = Tape.record([(0, .opening), (1, .opened(headers: [:]))] + pings)
    let expected = "5 `ping` sent, 5 answered after 1.00 ms to 5.00 ms, median 3.00 ms"
    #expect(Tape.evidence([.pings: record]).finding(.roundTrips) == Finding(.shown, expected))
  }

  @Test func `a connection that ended before the close frame was sent does not answer it`() {
    let record = Tape.record([
      (0, .opening), (1, .opened(headers: [:])), (2, .ended(.closed(code: 1000, reason: ""))),
      (3, .sent("a close frame with code 1000")),
    ])
    let expected = "sent a close frame with code 1000; nothing came back"
    #expect(Tape.evidence([.opening: record]).finding(.closing) == Finding(.missing, expected))
  }

  @Test func `only permessage-deflate counts as compression`() {
    let record = Tape.record([
      (0, .opening), (1, .opened(headers: ["sec-websocket-extensions": "x-webkit-mux"])),
    ])
    let expected = "offered permessage-deflate; the upgrade after 1.00 ms took no extension"
    #expect(
      Tape.evidence([.opening: record]).finding(.compression) == Finding(.missing, expected))
  }

  /// The arguments are the number of compressed messages, the length of the only message, the
  /// outcome, and the end of the evidence.
  ///
  /// If compression is agreed, the sender still decides for each message (RFC 7692 section 6).
  @Test(arguments: [
    (1, 100, Finding.Outcome.shown, "1 messages came compressed"),
    (
      0, 1_023, .unseen,
      "none of 1 messages came compressed, and none of 1 KiB that shows whether any would"
    ),
    (0, 1_024, .partly, "none of 1 messages came compressed, 1 of 1 KiB or more"),
  ])
  func `agreed compression must be used`(
    compressed: Int, count: Int, outcome: Finding.Outcome, found: String
  ) {
    let taken = "permessage-deflate; server_no_context_takeover"
    var record = Tape.record([
      (0, .opening), (1, .opened(headers: ["sec-websocket-extensions": taken])),
      (2, Tape.came(String(repeating: "a", count: count))),
    ])
    record.compressed = [0: compressed]
    let expected = "offered permessage-deflate; the upgrade after 1.00 ms took \(taken); \(found)"
    #expect(
      Tape.evidence([.opening: record]).finding(.compression) == Finding(outcome, expected))
  }

  @Test func `names that are all in another form are missing, not partly met`() {
    let text = #"{"type":"connected","message":"hi","session_id":"a","aB":1}"#
    let record = Tape.record([
      (0, .opening), (1, .opened(headers: [:])), (2, Tape.came(text)),
    ])
    let expected = "0 of 1 messages with members in snake_case; one is \(text)"
    #expect(Tape.evidence([.pings: record]).finding(.naming) == Finding(.missing, expected))
  }

  @Test func `an old version that was accepted was not refused, whatever followed`() {
    let connected = #"{"type":"connected","message":"hi","session_id":"a"}"#
    let record = Tape.record([
      (0, .opening), (1, .opened(headers: [:])), (1, .sent("connect with the key")),
      (2, Tape.came(connected)), (3, .ended(.reset)),
    ])
    let expected =
      "sent connect with the key; received \(connected) after 1.00 ms; the connection was "
      + "reset after 2.00 ms"
    let evidence = Tape.evidence([.login: Tape.session(), .oldVersion: record])
    #expect(evidence.finding(.oldVersion) == Finding(.missing, expected))
  }

  @Test(arguments: [true, false])
  func `without a history the older version is partly met if a history was requested`(
    isAsked: Bool
  ) {
    let connected = #"{"type":"connected","message":"hi","session_id":"a"}"#
    let asked: [(Int, Int, AuditRecord.Kind)] = [
      (0, 2, .sent(#"{"type":"subscribe"}"#)), (0, 3_002, .late("`session_history`")),
    ]
    let record = Tape.cut(
      [
        (0, 0, .opening), (0, 1, .opened(headers: [:])), (0, 1, .sent("connect with the key")),
        (0, 2, Tape.came(connected)),
      ] + (isAsked ? asked : []))
    let expected = "sent connect with the key; received \(connected) after 1.00 ms; no history came"
    #expect(
      Tape.evidence([.olderHistory: record]).finding(.olderHistory)
        == Finding(isAsked ? .partly : .unseen, expected))
  }

  @Test func `a history with offsets is not one of the older version`() {
    let connected = #"{"type":"connected","message":"hi","session_id":"a"}"#
    let record = Tape.cut([
      (0, 0, .opening), (0, 1, .opened(headers: [:])), (0, 1, .sent("connect with the key")),
      (0, 2, Tape.came(connected)), (0, 2, .sent(#"{"type":"subscribe"}"#)),
      (0, 3, Tape.history(1)),
    ])
    let expected =
      "sent connect with the key; received \(connected) after 1.00 ms; its history has offsets"
    #expect(
      Tape.evidence([.olderHistory: record]).finding(.olderHistory) == Finding(.partly, expected))
  }

  @Test func `without a login the single use of a challenge is unseen`() {
    let evidence = Tape.evidence([.challengeTwice: Tape.session()])
    #expect(
      evidence.finding(.challengeOnce) == Finding(.unseen, "the script login did not run"))
  }
}
