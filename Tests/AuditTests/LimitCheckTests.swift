import HoldfastCore
import Testing

@testable import HoldfastSessionAudit

/// Tests of findings about sizes, load and silence in hand-written records.
@Suite struct LimitCheckTests {
  private static let hello = #"{"type":"hello","auth_version":1}"#

  @Test func `a connection that ended before the frame was sent does not answer it`() {
    let record = Tape.cut([
      (1, 0, .opening), (1, 1, .opened(headers: [:])), (1, 2, .ended(.reset)),
      (1, 3, .sent("the header of a frame")),
    ])
    let expected = "the audit ended before an answer: sent the header of a frame; nothing came back"
    #expect(Tape.evidence([.huge: record]).finding(.hugeFrame) == Finding(.unseen, expected))
  }

  @Test func `without the frame a pong on another connection shows nothing`() {
    let record = Tape.cut([
      (0, 0, .opening), (0, 1, .opened(headers: [:])), (0, 2, .sent("a WebSocket ping")),
      (0, 3, .pong),
    ])
    let expected =
      "opened a connection; the upgrade succeeded after 1.00 ms; sent a WebSocket ping after "
      + "2.00 ms; received a WebSocket pong after 3.00 ms"
    #expect(Tape.evidence([.huge: record]).finding(.bystander) == Finding(.unseen, expected))
  }

  @Test(arguments: [
    (999, Finding.Outcome.shown, "999 ms"), (1_000, .partly, "1.00 s"), (1_999, .partly, "2.00 s"),
    (2_000, .missing, "2.00 s"),
  ])
  func `after much data a pong is good below one second, and missing from two on`(
    milliseconds: Int, outcome: Finding.Outcome, time: String
  ) {
    let record = Tape.session([
      (2, .sent(#"{"type":"prompt"}"#)), (2, Tape.ping), (2, Tape.came(#"{"type":"ack"}"#)),
      (2 + milliseconds, Tape.pong),
    ])
    let expected =
      "sent 8 prompts of 20 kB, then `ping`; `pong` after \(time), behind 0 of the 8 responses"
    #expect(Tape.evidence([.congestion: record]).finding(.congestion) == Finding(outcome, expected))
  }

  @Test func `an unanswered fault is missing, even if pings are not answered`() {
    let record = Tape.session([(2, .sent("nonsense")), (3_002, .late("`error`"))])
    let expected = "sent nonsense; waited in vain for `error` after 3.00 s"
    #expect(Tape.evidence([.faults: record]).finding(.malformed) == Finding(.missing, expected))
  }

  @Test func `an error without a pong does not show that the connection stayed`() {
    let error = #"{"type":"error","message":"no"}"#
    let record = Tape.session([
      (2, .sent("nonsense")), (3, Tape.came(error)), (3, Tape.ping), (3_003, .late("`pong`")),
    ])
    let pings = Tape.session([(2, Tape.ping), (3, Tape.pong)])
    let expected = "sent nonsense; received \(error) after 1.00 ms"
    #expect(
      Tape.evidence([.pings: pings, .faults: record]).finding(.malformed)
        == Finding(.partly, expected))
  }

  @Test(arguments: [(49_999, Finding.Outcome.unseen), (50_000, .missing)])
  func `a heartbeat is missing 48 seconds after the login`(
    milliseconds: Int, outcome: Finding.Outcome
  ) {
    let record = Tape.session([
      (2_000, .sent("connect with the key")), (milliseconds, .late("`heartbeat`")),
    ])
    let expected =
      "nothing came by itself in 48.00 s: sent connect with the key; waited in vain for "
      + "`heartbeat` after 48.00 s"
    #expect(Tape.evidence([.idle: record]).finding(.heartbeat) == Finding(outcome, expected))
  }

  @Test func `a heartbeat without a login is timed from the start`() {
    let record = Tape.record([
      (0, .opening), (1, .opened(headers: [:])), (30_000, .serverPing),
    ])
    let expected = "without a word of ours \(record.between(0, 2))"
    #expect(Tape.evidence([.stranger: record]).finding(.heartbeat) == Finding(.shown, expected))
  }

  @Test func `without a ping after a silence the evidence is the first eight messages`() {
    let beats = (1...9).map { (2_000 + $0, Tape.came(#"{"type":"heartbeat"}"#)) }
    let record = Tape.session([(2_000, .sent("connect with the key"))] + beats)
    let replies = (1...8).map { #"received {"type":"heartbeat"} after \#($0).00 ms"# }
    let expected = "sent connect with the key; " + replies.joined(separator: "; ")
    #expect(Tape.evidence([.idle: record]).finding(.silentClient) == Finding(.missing, expected))
  }

  @Test func `an unanswered ping after a silence is missing if other pings are answered`() {
    let record = Tape.session([
      (2_000, .sent("connect with the key")), (47_000, Tape.ping), (50_000, .late("`pong`")),
    ])
    let pings = Tape.session([(2, Tape.ping), (3, Tape.pong)])
    let expected =
      #"said nothing for 45.00 s, then sent {"type":"ping"}; waited in vain for `pong` after "#
      + "3.00 s"
    #expect(
      Tape.evidence([.pings: pings, .idle: record]).finding(.silentClient)
        == Finding(.missing, expected))
  }

  @Test(arguments: [(11_999, Finding.Outcome.unseen), (12_000, .shown)])
  func `ten seconds between the login and a ping count as silence`(
    milliseconds: Int, outcome: Finding.Outcome
  ) {
    let record = Tape.session([
      (2_000, .sent("connect with the key")), (milliseconds, Tape.ping),
      (milliseconds + 1, Tape.pong), (milliseconds + 2, Tape.came(#"{"type":"heartbeat"}"#)),
    ])
    let expected =
      #"said nothing for 10.00 s, then sent {"type":"ping"}; received {"type":"pong"} after "#
      + "1.00 ms"
    #expect(Tape.evidence([.idle: record]).finding(.silentClient) == Finding(outcome, expected))
  }

  @Test func `a silent connection that ended was closed, even if pings are not answered`() {
    let record = Tape.session([
      (2_000, .sent("connect with the key")), (47_000, Tape.ping), (47_001, .ended(.reset)),
    ])
    let expected =
      #"said nothing for 45.00 s, then sent {"type":"ping"}; the connection was reset after "#
      + "1.00 ms"
    #expect(Tape.evidence([.idle: record]).finding(.silentClient) == Finding(.missing, expected))
  }

  @Test func `a plain server that answers after a silence keeps the connection`() {
    let record = Tape.record([
      (0, .opening), (1, .opened(headers: [:])), (50_001, .sent("a WebSocket ping")),
      (50_002, .pong), (50_003, .serverPing),
    ])
    let expected =
      "said nothing for 50.00 s, then sent a WebSocket ping; received a WebSocket pong after "
      + "1.00 ms"
    #expect(Tape.evidence([.stranger: record]).finding(.silentClient) == Finding(.shown, expected))
  }

  @Test(arguments: [(49_999, Finding.Outcome.unseen), (50_000, .missing)])
  func `a connection without a login must be closed within 50 seconds`(
    milliseconds: Int, outcome: Finding.Outcome
  ) {
    let record = Tape.record([
      (0, .opening), (1, .opened(headers: [:])), (1, Tape.came(Self.hello)),
      (milliseconds, .late("the end of the connection")),
    ])
    let expected = "a connection that sent nothing was open after 50.00 s"
    #expect(
      Tape.evidence([.stranger: record]).finding(.strangerClosed) == Finding(outcome, expected))
  }

  @Test func `an error does not show that the connection stayed if it ended afterwards`() {
    let error = #"{"type":"error","message":"no"}"#
    let record = Tape.session([
      (2, .sent("nonsense")), (3, Tape.came(error)), (4, .ended(.reset)),
    ])
    let expected = "sent nonsense; received \(error) after 1.00 ms"
    #expect(
      Tape.evidence([.faults: record]).finding(.malformed) == Finding(.partly, expected))
  }

  @Test func `after an unanswered ping the evidence is the first message that arrived`() {
    let heartbeat = #"{"type":"heartbeat"}"#
    let record = Tape.session([
      (2_000, .sent("connect with the key")), (47_000, Tape.ping),
      (47_001, Tape.came(heartbeat)), (50_000, .late("`pong`")),
    ])
    let pings = Tape.session([(2, Tape.ping), (3, Tape.pong)])
    let expected =
      #"said nothing for 45.00 s, then sent {"type":"ping"}; received \#(heartbeat) after "#
      + "1.00 ms"
    #expect(
      Tape.evidence([.pings: pings, .idle: record]).finding(.silentClient)
        == Finding(.missing, expected))
  }

  @Test func `messages after an event are those that arrived later`() {
    let record = Tape.record([(0, Tape.pong), (1, Tape.ping), (2, Tape.pong)])
    #expect(record.messages().map(\.at) == [0, 2])
    #expect(record.messages(after: 0).map(\.at) == [2])
    #expect(record.messages(after: 2).map(\.at) == [])
  }

  /// The statuses of the requested pages, and the finding about the server's health.
  private static let pages: [([String: Int], Finding)] = [
    ([:], Finding(.unseen, "no page was requested")),
    (
      ["/healthz": 404, "/health": 200],
      Finding(.shown, "GET /health was answered by 200 ok after 1.00 ms")
    ),
    (
      ["/healthz": 404, "/health": 503],
      Finding(
        .missing,
        "GET /healthz was answered by 404 ok after 1.00 ms; GET /health was answered by 503 ok "
          + "after 1.00 ms")
    ),
  ]

  @Test(arguments: pages)
  func `either health page is accepted`(statuses: [String: Int], found: Finding) {
    var evidence = Tape.evidence([:])
    evidence.pages = statuses.mapValues {
      AuditEvidence.Page(status: $0, text: "ok", time: .milliseconds(1))
    }
    #expect(evidence.finding(.health) == found)
  }
}
