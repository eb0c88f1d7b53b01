import HoldfastCore
import Testing

@testable import HoldfastSessionAudit

/// Tests of findings about hand-written records.
@Suite struct CheckTests {
  @Test func `the first end in a record gives the reason that no connection was established`() {
    let record = Tape.record([
      (0, .opening), (0, .opening), (1, .ended(.refused)), (2, .ended(.reset)),
    ])
    #expect(Tape.evidence([.burst: record]).obstacle == LinkFailure.refused)
  }

  @Test func `an established connection leaves no obstacle`() {
    let record = Tape.record([(0, .opening), (1, .opened(headers: [:])), (2, .ended(.reset))])
    #expect(Tape.evidence([.opening: record]).obstacle == nil)
  }

  @Test func `without a connection the evidence is how it ended`() {
    let record = Tape.record([(0, .opening), (1, .ended(.refused))])
    let expected =
      "no connection: opened a connection; the connection was refused after 1.00 ms"
    #expect(Tape.evidence([.opening: record]).finding(.protocolPing) == Finding(.unseen, expected))
  }

  @Test(arguments: [(0, Finding.Outcome.unseen), (1, .shown), (2, .missing)])
  func `without a second response, the history shows how often a prompt ran`(
    count: Int, outcome: Finding.Outcome
  ) {
    let prompt = #"{"type":"prompt","text":"audit: one"}"#
    let record = Tape.session([
      (2, .sent(prompt)),
      (5, Tape.came(#"{"type":"response","message_id":"b","success":true,"text":"c"}"#)),
      (6, .sent(prompt)), (9_006, .late("`response`")),
      (9_006, .sent(#"{"type":"subscribe"}"#)), (9_007, Tape.history(count)),
    ])
    let expected =
      "sent \(prompt) twice; the first response after 3.00 ms; then sent \(prompt); waited in vain "
      + "for `response` after 9.00 s; sent {\"type\":\"subscribe\"} after 9.00 s; the history has "
      + "the prompt \(count) times"
    #expect(Tape.evidence([.main: record]).finding(.sameKey) == Finding(outcome, expected))
  }

  @Test(arguments: [(1, Finding.Outcome.unseen), (2, .missing)])
  func `a history with nothing after the cursor does not show what would be sent`(
    count: Int, outcome: Finding.Outcome
  ) {
    let again = #"{"type":"subscribe","session_id":"a","last_seq":1}"#
    let older = Tape.session([
      (2, .sent(#"{"type":"subscribe","session_id":"a","last_seq":0}"#)),
      (3, Tape.history(count)), (3, .sent(again)), (3_003, .late("`session_history`")),
    ])
    let expected =
      "the whole history has \(count) messages; sent \(again); waited in vain for "
      + "`session_history` after 3.00 s"
    let evidence = Tape.evidence([.main: Tape.session(), .olderHistory: older])
    #expect(evidence.finding(.delta) == Finding(outcome, expected))
  }

  @Test func `a missing delta of one version is reported although the other script was cut`() {
    let again = #"{"type":"subscribe","session_id":"a","from_offset":2}"#
    let newer = Tape.session([
      (2, .sent(#"{"type":"subscribe","session_id":"a","from_offset":0}"#)), (3, Tape.history(3)),
      (3, .sent(again)), (3_003, .late("`session_history`")),
    ])
    var older = Tape.session([
      (2, .sent(#"{"type":"subscribe","session_id":"a","last_seq":0}"#)), (3, Tape.history(2)),
      (3, .sent(#"{"type":"subscribe","session_id":"a","last_seq":1}"#)),
    ])
    older.isComplete = false
    let evidence = Tape.evidence([.main: newer, .olderHistory: older])
    let expected =
      "the whole history has 3 messages; sent \(again); waited in vain for `session_history` after "
      + "3.00 s"
    #expect(evidence.finding(.delta) == Finding(.missing, expected))
  }

  @Test(arguments: [(0, Finding.Outcome.missing), (1, .partly), (2, .shown)])
  func `all messages of a history must have a time`(stamped: Int, outcome: Finding.Outcome) {
    let record = Tape.session([
      (2, .sent(#"{"type":"subscribe"}"#)), (3, Tape.history(2, stamped: stamped)),
    ])
    let expected = "\(stamped) of 2 messages have a time; \(record.between(3, 4))"
    #expect(Tape.evidence([.main: record]).finding(.stamps) == Finding(outcome, expected))
  }

  private static func answer(_ text: String, key: String? = nil) -> String {
    let member = key.map { #","idempotency_key":"\#($0)""# } ?? ""
    return #"{"type":"response","success":true,"text":"\#(text)"\#(member)}"#
  }

  @Test(arguments: [
    ([answer("x", key: "k2"), answer("y", key: "k3")], Finding.Outcome.shown),
    ([answer("x", key: "k3"), answer("y", key: "k2")], .missing),
    ([answer("audit: two"), answer("audit: three")], .shown),
    ([answer("audit: three"), answer("audit: two")], .missing),
  ])
  func `a response identifies its prompt by its key or as an echo`(
    answers: [String], outcome: Finding.Outcome
  ) {
    let third = #"{"type":"prompt","text":"audit: three","idempotency_key":"k3"}"#
    let record = Tape.session([
      (2, .sent(#"{"type":"prompt","text":"audit: two","idempotency_key":"k2"}"#)),
      (2, .sent(third)), (5, Tape.came(answers[0])), (6, Tape.came(answers[1])),
    ])
    let expected =
      "sent two prompts at once; sent \(third); received \(answers[0]) after 3.00 ms; received "
      + "\(answers[1]) after 4.00 ms"
    #expect(Tape.evidence([.main: record]).finding(.order) == Finding(outcome, expected))
  }

  @Test func `a ping that was not sent is not missing an answer`() {
    let record = Tape.record([(0, .opening), (1, .opened(headers: [:]))])
    let expected = "not sent: opened a connection; the upgrade succeeded after 1.00 ms"
    #expect(Tape.evidence([.pings: record]).finding(.applicationPing) == Finding(.unseen, expected))
  }

  @Test func `without a login, findings that need one are unseen`() {
    let record = Tape.record([
      (0, .opening), (1, .opened(headers: [:])),
      (2, Tape.came(#"{"type":"hello","auth_version":1}"#)),
    ])
    let expected =
      "`connected` did not come: opened a connection; the upgrade succeeded after 1.00 ms; "
      + #"received {"type":"hello","auth_version":1} after 2.00 ms"#
    #expect(Tape.evidence([.main: record]).finding(.batch) == Finding(.unseen, expected))
  }

  @Test func `the end of another connection does not show a wait for an answer`() {
    let record = Tape.cut([
      (0, 0, .opening), (0, 1, .opened(headers: [:])),
      (1, 1, .opening), (1, 2, .opened(headers: [:])), (1, 2, .sent("the header of a frame")),
      (0, 3, .sent("a WebSocket ping")), (1, 4, .ended(.reset)),
    ])
    let expected =
      "the audit ended before an answer: on another connection: sent a WebSocket ping; nothing "
      + "came back"
    #expect(Tape.evidence([.huge: record]).finding(.bystander) == Finding(.unseen, expected))
  }

  @Test func `a repeated answer to a challenge counts as refused only after an error`() {
    func hello(_ challenge: String) -> AuditRecord.Kind {
      Tape.came(
        #"{"type":"hello","message":"hi","version":"0.5.0","challenge":"\#(challenge)"}"#)
    }
    let again = "connect with the answer to the challenge of another connection"
    let record = Tape.cut([
      (0, 0, .opening), (0, 1, .opened(headers: [:])), (0, 1, hello("c")),
      (0, 1, .sent("connect with an answer to the challenge")),
      (0, 2, Tape.came(#"{"type":"connected","message":"hi","session_id":"a"}"#)),
      (1, 2, .opening), (1, 3, .opened(headers: [:])), (1, 3, hello("d")), (1, 3, .sent(again)),
      (1, 4, Tape.came(#"{"type":"auth_error","message":"no"}"#)),
    ])
    let expected = #"sent \#(again); received {"type":"auth_error","message":"no"} after 1.00 ms"#
    var evidence = Tape.evidence([.login: Tape.session(), .challengeTwice: record])
    evidence.records[.takeover] = Tape.cut([
      (0, 0, .opening), (0, 1, .opened(headers: [:])), (0, 2, Tape.connected),
      (1, 3, .opening), (1, 4, .opened(headers: [:])), (1, 4, .sent("connect")),
      (1, 5, Tape.connected),
    ])
    #expect(evidence.finding(.challengeOnce) == Finding(.shown, expected))
    // A server that refuses any second connection of a session also refuses a new answer.
    evidence.records[.takeover]?.events.removeLast()
    let reason = "a second connection of a session is refused in any case; "
    #expect(evidence.finding(.challengeOnce) == Finding(.unseen, reason + expected))
  }

  @Test func `a message that the server sends on its own is not taken for an answer to a fault`() {
    let record = Tape.session([
      (1, Tape.came(#"{"type":"heartbeat"}"#)), (2, .sent("nonsense")),
      (3, Tape.came(#"{"type":"error","message":"no"}"#)), (3, .sent(#"{"type":"ping"}"#)),
      (4, Tape.came(#"{"type":"pong"}"#)),
    ])
    let expected =
      #"sent nonsense; received {"type":"error","message":"no"} after 1.00 ms; the connection "#
      + "stayed"
    #expect(Tape.evidence([.faults: record]).finding(.malformed) == Finding(.shown, expected))
  }

  @Test func `a plain server may end a connection that does not log in`() {
    func finding(_ end: Int) -> Finding {
      let record = Tape.record([
        (0, .opening), (1, .opened(headers: [:])), (end, .ended(.reset)),
        (end, .sent("a WebSocket ping")),
      ])
      return Tape.evidence([.stranger: record]).finding(.silentClient)
    }
    let early =
      "opened a connection; the upgrade succeeded after 1.00 ms; the connection was reset "
      + "after 9.00 s; sent a WebSocket ping after 9.00 s"
    #expect(finding(9_000) == Finding(.unseen, early))
  }

  /// Returns a response of `count` bytes.
  private static func response(_ count: Int) -> AuditRecord.Kind {
    let (head, end) = (#"{"type":"response","success":true,"text":""#, "\"}")
    let text = String(repeating: "0", count: count - head.utf8.count - end.utf8.count)
    return Tape.came(head + text + end)
  }

  /// The arguments are the length of a response without a limit, its length with a limit of 50 KiB,
  /// and the outcome.
  @Test(arguments: [
    (60_000, 51_200, Finding.Outcome.shown), (51_201, 100, .shown), (60_000, 51_201, .missing),
    (51_200, 51_200, .unseen), (100, 100, .unseen),
  ])
  func `a response was cut if it is longer without the limit`(
    whole: Int, count: Int, outcome: Finding.Outcome
  ) {
    let set = AuditRecord.Kind.sent(#"{"type":"set_max_message_size","size_kb":50}"#)
    let prompt = AuditRecord.Kind.sent(#"{"type":"prompt"}"#)
    let record = Tape.session([
      (2, prompt), (3, Self.response(whole)), (4, set), (5, prompt), (8, Self.response(count)),
    ])
    let expected =
      "set 50 KiB and sent a prompt of 60000 bytes; the response has \(count) bytes, 3.00 ms; "
      + "without the size it had \(whole) bytes"
      + (outcome == .unseen ? "; the handler's answer is too short to be cut" : "")
    #expect(Tape.evidence([.size: record]).finding(.truncation) == Finding(outcome, expected))
  }

  @Test func `a refusal that leaves the connection open is partly met`() {
    func finding(_ end: AuditRecord.Kind) -> Finding {
      let record = Tape.record([
        (0, .opening), (1, .opened(headers: [:])), (1, .sent("connect with a wrong key")),
        (2, Tape.came(#"{"type":"auth_error","message":"no"}"#)), (5_001, end),
      ])
      return Tape.evidence([.wrongKey: record]).finding(.wrongKey)
    }
    let expected =
      "sent connect with a wrong key; received "
      + #"{"type":"auth_error","message":"no"} after 1.00 ms; "#
    #expect(
      finding(.late("the end of the connection"))
        == Finding(.partly, expected + "waited in vain for the end of the connection after 5.00 s"))
    #expect(
      finding(.ended(.reset))
        == Finding(.shown, expected + "the connection was reset after 5.00 s"))
  }

  private static let busy = LinkFailure.http(status: 429, retryAfter: .seconds(1), detail: "")
  private static let full = LinkFailure.http(status: 503, retryAfter: .seconds(1), detail: "")
  private static let mute = LinkFailure.http(status: 429, retryAfter: nil, detail: "")

  /// The number of connections that a burst opened, the failures of the remaining ones, and the
  /// finding.
  static let bursts: [(Int, [LinkFailure], Finding)] = [
    (20, [], burst(.shown, "20 opened within 1.00 ms, 0 refused with Retry-After, 0")),
    (18, [busy, full], burst(.shown, "18 opened within 1.00 ms, 2 refused with Retry-After, 0")),
    (18, [busy], burst(.partly, "18 opened within 1.00 ms, 1 refused with Retry-After, 0")),
    (18, [mute, mute], burst(.partly, "18 opened within 1.00 ms, 0 refused with Retry-After, 2")),
    (0, [busy], burst(.partly, "0 opened within 0.00 ms, 1 refused with Retry-After, 0")),
    (20, [.reset], burst(.partly, "20 opened within 1.00 ms, 0 refused with Retry-After, 1")),
    (0, [.reset], burst(.missing, "0 opened within 0.00 ms, 0 refused with Retry-After, 1")),
  ]

  private static func burst(_ outcome: Finding.Outcome, _ counts: String) -> Finding {
    Finding(outcome, "20 connections at once: \(counts) ended otherwise")
  }

  @Test(arguments: bursts)
  func `a burst must be accepted, or refused with Retry-After`(
    opened: Int, ends: [LinkFailure], found: Finding
  ) {
    let begun = Array(repeating: (1, AuditRecord.Kind.opened(headers: [:])), count: opened)
    let record = Tape.record(begun + ends.map { (2, AuditRecord.Kind.ended($0)) })
    #expect(Tape.evidence([.burst: record]).finding(.burst) == found)
  }

  @Test func `an unanswered ping makes round trips partly met`() {
    let ping = AuditRecord.Kind.sent(#"{"type":"ping"}"#)
    let pong = Tape.came(#"{"type":"pong"}"#)
    let record = Tape.record([
      (0, .opening), (1, .opened(headers: [:])), (1, ping), (2, pong), (2, ping), (3, pong),
      (3, ping), (3_003, .late("`pong`")),
    ])
    let expected = "3 `ping` sent, 2 answered after 1.00 ms to 1.00 ms, median 1.00 ms"
    #expect(Tape.evidence([.pings: record]).finding(.roundTrips) == Finding(.partly, expected))
  }

  @Test(arguments: [(1_999, Finding.Outcome.shown), (2_000, .partly)])
  func `a round trip of two seconds is late`(milliseconds: Int, outcome: Finding.Outcome) {
    let record = Tape.record([
      (0, .opening), (0, .opened(headers: [:])), (0, .sent(#"{"type":"ping"}"#)),
      (milliseconds, Tape.came(#"{"type":"pong"}"#)),
    ])
    let expected = "1 `ping` sent, 1 answered after 2.00 s to 2.00 s, median 2.00 s"
    #expect(Tape.evidence([.pings: record]).finding(.roundTrips) == Finding(outcome, expected))
  }

  @Test(arguments: [Probe.announced, .challenge])
  func `without a hello the evidence is what arrived instead`(probe: Probe) {
    let record = Tape.record([
      (0, .opening), (1, .opened(headers: [:])), (1, .sent(#"{"type":"ping"}"#)),
      (2, Tape.came(#"{"type":"pong"}"#)),
    ])
    let expected =
      "no `hello`: opened a connection; the upgrade succeeded after 1.00 ms; sent "
      + #"{"type":"ping"} after 1.00 ms; received {"type":"pong"} after 2.00 ms"#
    let evidence = Tape.evidence([.pings: record, .login: Tape.session()])
    #expect(evidence.finding(probe) == Finding(.missing, expected))
  }
}
