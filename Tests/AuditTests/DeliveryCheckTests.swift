import HoldfastCore
import Testing

@testable import HoldfastSessionAudit

/// Tests of findings about prompts, responses and histories in hand-written records.
@Suite struct DeliveryCheckTests {
  private static let prompt = #"{"type":"prompt","text":"audit: one"}"#
  private static let second = #"{"type":"prompt","text":"audit: two"}"#
  private static let third = #"{"type":"prompt","text":"audit: three"}"#
  private static let acknowledgment = #"{"type":"message_ack","message_id":"m"}"#
  private static let subscription = #"{"type":"subscribe"}"#

  private static func response(_ id: String, text: String = "x") -> AuditRecord.Kind {
    Tape.came(#"{"type":"response","message_id":"\#(id)","success":true,"text":"\#(text)"}"#)
  }

  private static func finding(
    _ probe: Probe, _ main: [(Int, AuditRecord.Kind)]
  ) -> Finding {
    Tape.evidence([.main: Tape.session(main)]).finding(probe)
  }

  @Test func `an ack after the acknowledgement of the response does not confirm the prompt`() {
    let found = Self.finding(
      .promptAck,
      [
        (2, .sent(Self.prompt)), (5, Self.response("m")), (6, .sent(Self.acknowledgment)),
        (7, Tape.came(#"{"type":"ack","message":"ok"}"#)),
      ])
    let expected =
      #"sent \#(Self.prompt); received {"type":"response","message_id":"m","success":true,"#
      + #""text":"x"} after 3.00 ms; sent \#(Self.acknowledgment) after 4.00 ms; received "#
      + #"{"type":"ack","message":"ok"} after 5.00 ms"#
    #expect(found == Finding(.partly, expected))
  }

  @Test func `a pong after the next message does not show that an ack caused no error`() {
    let found = Self.finding(
      .ackQuiet,
      [
        (2, Self.response("m")), (2, .sent(Self.acknowledgment)), (2, Tape.ping),
        (3, .sent(Self.prompt)), (4, Tape.pong),
      ])
    let expected =
      #"sent \#(Self.acknowledgment); sent {"type":"ping"} after 0.00 ms; sent \#(Self.prompt) "#
      + #"after 1.00 ms; received {"type":"pong"} after 2.00 ms"#
    #expect(found == Finding(.unseen, expected))
  }

  /// Returns the evidence of a prompt whose response is delivered to a second connection.
  ///
  /// `further` adds events on later connections.
  private static func replay(_ further: [(Int, Int, AuditRecord.Kind)]) -> AuditEvidence {
    let first: [(Int, Int, AuditRecord.Kind)] = [
      (0, 0, .opening), (0, 1, .opened(headers: [:])), (0, 1, Tape.connected),
      (0, 2, .sent(prompt)), (0, 3, Tape.came(#"{"type":"ack","message":"ok"}"#)),
    ]
    return Tape.evidence([
      .replay: Tape.cut(first + returning(1, at: 4) + [(1, 7, response("m"))] + further)
    ])
  }

  private static func returning(_ socket: Int, at time: Int) -> [(Int, Int, AuditRecord.Kind)] {
    [
      (socket, time, .opening), (socket, time + 1, .opened(headers: [:])),
      (socket, time + 1, .sent("connect with the key")), (socket, time + 2, Tape.connected),
    ]
  }

  private static let delivered =
    "a prompt was sent and the connection dropped without `message_ack`; sent connect with the "
    + #"key; received {"type":"response","message_id":"m","success":true,"text":"x"} after "#
    + "2.00 ms; without `message_ack` again, "

  /// A response is not a replay if its connection was already open when the handler ended.
  @Test(arguments: [true, false])
  func `a response that arrives on two connections is kept until it is acknowledged`(isStored: Bool)
  {
    let again: [(Int, Int, AuditRecord.Kind)] =
      isStored ? [(2, 13, Self.response("m"))] : [(2, 3_010, .late("`replay`"))]
    let evidence = Self.replay(Self.returning(2, at: 8) + again)
    let end =
      isStored
      ? #"received {"type":"response","message_id":"m","success":true,"text":"x"} after 4.00 ms"#
      : #"received {"type":"connected","message":"hi","session_id":"a"} after 1.00 ms; waited in "#
        + "vain for `replay` after 3.00 s"
    #expect(
      evidence.finding(.replay)
        == Finding(
          isStored ? .shown : .missing, Self.delivered + "sent connect with the key; " + end))
  }

  @Test func `the response to another prompt is not a replay`() {
    let prompt = #"{"type":"prompt","text":"audit: lost","new_session_id":"c"}"#
    let other = #"{"type":"response","success":true,"text":"x","session_id":"d"}"#
    let record = Tape.cut(
      [
        (0, 0, .opening), (0, 1, .opened(headers: [:])), (0, 1, Tape.connected),
        (0, 2, .sent(prompt)), (0, 3, Tape.came(#"{"type":"ack","message":"ok"}"#)),
      ] + Self.returning(1, at: 4) + [(1, 7, Tape.came(other)), (1, 8_006, .late("`replay`"))])
    let main = Tape.session([(2, .sent(Self.prompt)), (3, Self.response("m"))])
    #expect(Tape.evidence([.main: main, .replay: record]).finding(.replay).outcome == .missing)
  }

  @Test func `without an accepted prompt nothing can be replayed`() {
    let connected = Tape.came(#"{"type":"connected","message":"hi","session_id":"a"}"#)
    let record = Tape.cut([
      (0, 0, .opening), (0, 1, .opened(headers: [:])), (0, 1, connected),
      (0, 2, .sent(Self.prompt)), (1, 4, .opening), (1, 5, .opened(headers: [:])),
      (1, 5, .sent("connect with the key")), (1, 6, connected),
    ])
    let expected = "no prompt was taken: \(record.outline)"
    #expect(Tape.evidence([.replay: record]).finding(.replay) == Finding(.unseen, expected))
  }

  @Test func `a fourth connection that was not accepted does not show the effect of an ack`() {
    let evidence = Self.replay(
      Self.returning(2, at: 8) + [(2, 11, Self.response("m")), (2, 11, .sent(Self.acknowledgment))]
        + Self.returning(3, at: 12).dropLast())
    let expected =
      "there was no fourth connection: \(Tape.outline); sent \(Self.prompt) after 2.00 ms; "
      + #"received {"type":"ack","message":"ok"} after 3.00 ms"#
    #expect(evidence.finding(.ackEnds) == Finding(.unseen, expected))
  }

  /// The arguments are the time of the response on the third connection, the end of the wait on the
  /// fourth connection, and the outcome.
  ///
  /// The outcome is `shown` only if the wait was long enough for another response.
  @Test(arguments: [(11, 1_014, Finding.Outcome.shown), (1_011, 2_014, .unseen)])
  func `the wait for an acknowledged response must be as long as its first delivery took`(
    comes: Int, ends: Int, outcome: Finding.Outcome
  ) {
    let evidence = Self.replay(
      Self.returning(2, at: 8)
        + [(2, comes, Self.response("m")), (2, comes, .sent(Self.acknowledgment))]
        + Self.returning(3, at: ends - 1_002) + [(3, ends, Tape.ping)])
    #expect(evidence.finding(.ackEnds).outcome == outcome)
  }

  /// In the first case, a response quotes both prompts. In the others, the first response is
  /// repeated. The responses are in the right order in the second case, and in the wrong order in
  /// the third.
  @Test(arguments: [
    (["audit: two", "audit: two and audit: three"], Finding.Outcome.unseen),
    (["audit: two", "audit: two", "audit: three"], .shown),
    (["audit: three", "audit: three", "audit: two"], .missing),
  ])
  func `a response belongs to the prompt that its first unambiguous text names`(
    texts: [String], outcome: Finding.Outcome
  ) {
    let answers = texts.enumerated().map { (5 + $0, Self.response("\($0)", text: $1)) }
    let found = Self.finding(.order, [(2, .sent(Self.second)), (2, .sent(Self.third))] + answers)
    #expect(found.outcome == outcome)
  }

  @Test func `a prompt that was refused immediately did not overtake another`() {
    let refusal = #"{"type":"response","success":false,"error":"busy","idempotency_key":"k3"}"#
    let answer = #"{"type":"response","success":true,"text":"x","idempotency_key":"k2"}"#
    let found = Self.finding(
      .order,
      [
        (2, .sent(#"{"type":"prompt","text":"audit: two","idempotency_key":"k2"}"#)),
        (2, .sent(#"{"type":"prompt","text":"audit: three","idempotency_key":"k3"}"#)),
        (5, Tape.came(refusal)), (6, Tape.came(answer)),
      ])
    #expect(found.outcome == .unseen)
    #expect(found.evidence.hasPrefix("a prompt failed: "))
  }

  @Test func `the first two responses after two prompts answer these prompts`() {
    let found = Self.finding(
      .order,
      [
        (2, .sent(Self.second)), (2, .sent(Self.third)),
        (5, Self.response("a", text: "audit: two")), (6, Self.response("b", text: "audit: three")),
        (7, Self.response("c")),
      ])
    #expect(found.outcome == .shown)
  }

  @Test func `responses without a key that do not echo the prompt have no order`() {
    let found = Self.finding(
      .order,
      [
        (2, .sent(Self.second)), (2, .sent(Self.third)), (5, Self.response("a")),
        (6, Self.response("b")),
      ])
    let expected =
      "responses do not tell which prompt they answer: sent two prompts at once; sent "
      + #"\#(Self.third); received {"type":"response","message_id":"a","success":true,"text":"x"} "#
      + #"after 3.00 ms; received {"type":"response","message_id":"b","success":true,"text":"x"} "#
      + "after 4.00 ms"
    #expect(found == Finding(.unseen, expected))
  }

  @Test func `if one history is empty, the other one is used`() {
    let older = Tape.session([(2, .sent(Self.subscription)), (3, Tape.history(2, stamped: 2))])
    let evidence = Tape.evidence([
      .main: Tape.session([(2, .sent(Self.subscription)), (3, Tape.history(0))]),
      .olderHistory: older,
    ])
    let expected = "2 of 2 messages have a time; \(older.between(3, 4))"
    #expect(evidence.finding(.stamps) == Finding(.shown, expected))
  }

  @Test func `without an answered prompt a history may be empty`() {
    let main = Tape.session([(2, .sent(Self.subscription)), (3, Tape.history(0))])
    let evidence = Tape.evidence([.main: main, .olderHistory: Tape.session()])
    #expect(evidence.finding(.stamps) == Finding(.unseen, main.aftermath(of: 3)))
  }

  @Test func `without a history the evidence is what arrived instead`() {
    let evidence = Tape.evidence([.main: Tape.session(), .olderHistory: Tape.session()])
    #expect(evidence.finding(.delta) == Finding(.unseen, Tape.outline))
  }

  @Test(
    arguments: [
      ([1, 2], .shown), ([1, 1], .partly), ([2, 1], .partly), ([1, nil], .partly),
      ([nil, nil], .missing),
    ] as [([UInt64?], Finding.Outcome)])
  func `all messages of a history must be numbered in ascending order`(
    positions: [UInt64?], outcome: Finding.Outcome
  ) {
    let record = Tape.session([
      (2, .sent(Self.subscription)), (3, Tape.history(positions: positions)),
    ])
    let count = positions.compactMap(\.self).count
    let expected = "\(count) of 2 messages are numbered; \(record.between(3, 4))"
    #expect(Tape.evidence([.main: record]).finding(.places) == Finding(outcome, expected))
  }

  @Test func `a prompt that was sent once does not show the effect of its key`() {
    let found = Self.finding(.sameKey, [(2, .sent(Self.prompt)), (5, Self.response("a"))])
    let expected =
      "not sent twice: \(Tape.outline); sent \(Self.prompt) after 2.00 ms; received "
      + #"{"type":"response","message_id":"a","success":true,"text":"x"} after 5.00 ms"#
    #expect(found == Finding(.unseen, expected))
  }

  @Test func `a response after the next prompt does not answer a repetition`() {
    let found = Self.finding(
      .sameKey,
      [
        (2, .sent(Self.prompt)), (5, Self.response("a")), (6, .sent(Self.prompt)),
        (7, .sent(Self.second)), (8, Self.response("b")),
      ])
    #expect(found.outcome == .unseen)
  }

  @Test(arguments: [("a", Finding.Outcome.shown), ("b", .missing)])
  func `the same response twice shows a single effect, even without a history`(
    id: String, outcome: Finding.Outcome
  ) {
    let found = Self.finding(
      .sameKey,
      [
        (2, .sent(Self.prompt)), (5, Self.response("a")), (6, .sent(Self.prompt)),
        (7, Self.response(id)),
      ])
    #expect(found.outcome == outcome)
  }
}
