import HoldfastCore
import Testing

@testable import HoldfastSessionAudit

/// Tests of servers that only seem to meet a practice. In `VerdictTests` a server meets all
/// practices.
@Suite struct SeemingTests {
  typealias Server = (number: Int, faults: Set<PretendServer.Fault>, verdict: PracticeVerdict)

  /// The faults that make a server seem to meet a practice, and the correct verdict.
  static let servers: [Server] = connecting + speaking

  private static let connecting: [Server] = [
    // The server sends `pong` at intervals, regardless of pings.
    (3, [.pongsUnasked, .noProtocolPong], .not), (14, [.pongsUnasked], .partly),
    // All ids are equal. A response is deleted after one delivery. Unknown messages, such as
    // acknowledgements, are ignored.
    (4, [.sameID], .partly), (4, [.deliversOnce], .partly),
    (4, [.noMessageID, .noReplay], .not),
    // The numbers start again in each window of a history.
    (5, [.restartsPlaces], .partly),
    // A missing key is refused, but any key or answer is accepted. Writing requires a login, but
    // reading does not. A client is admitted only once.
    (6, [.takesAnyKey], .not), (6, [.takesAnyAnswer], .not), (6, [.readsEarly], .not),
    (7, [.letsInOnce], .not),
    // The handler gives short answers, or fails for large prompts. The requested response size is
    // ignored.
    (8, [.shortAnswers], .unseen), (8, [.failsLarge], .partly), (19, [.ignoresSize], .not),
    // Nested members are in camel case. The agreed version was never offered. The histories of the
    // older version are empty.
    (11, [.camelInside], .partly), (11, [.overstatesVersion], .partly),
    (11, [.emptyOlder], .partly),
    // The challenge is ignored, or is the same for all connections. Any answer is accepted, or a
    // replayed answer is.
    (39, [.ignoresChallenge], .not), (39, [.sameChallenge], .not), (39, [.takesAnyAnswer], .not),
    (39, [.acceptsReplayedChallenge], .not),
  ]

  private static let speaking: [Server] = [
    // All ids are equal, so the response to a repeated prompt has the same id as the first
    // response.
    (12, [.sameID], .partly), (12, [.sameID, .runsTwice], .not),
    // The server reports only authentication errors.
    (13, [.ignoresInvalid, .closesOld], .partly),
    // The server sends heartbeats before it disconnects a silent client.
    (16, [.beatsOften, .endsSilentClients], .not),
    // The server answers quickly, but handles one message at a time.
    (17, [.inTurn], .not),
    // The server agrees to compression, but sends uncompressed messages.
    (18, [.plainMessages], .partly),
    // The server ignores the cursor of one version.
    (20, [.ignoresOffset], .partly),
    // The server confirms a prompt that it refuses, or confirms a prompt only after it has answered
    // it.
    (22, [.acksBadPrompt], .partly), (22, [.lateAck], .partly),
    // The batch is empty, or contains only the first of two histories.
    (23, [.emptyBatch], .not), (23, [.halfBatch], .partly),
    // The server sends only one heartbeat, either with its greeting or later.
    (24, [.greetsAlive], .not), (24, [.beatsOnce], .partly),
    // The time stamps are those of another day.
    (38, [.farStamps], .partly),
  ]

  @Test(arguments: servers)
  func `detects a server that only seems to meet a practice`(
    number: Int, faults: Set<PretendServer.Fault>, verdict: PracticeVerdict
  ) {
    let entry = PretendAudit.report(.session, faults).entries[number - 1]
    #expect(entry.verdict == verdict, "\(entry.evidence)")
  }

  @Test func `every practice with a verdict has a server that only seems to meet it`() {
    // Three practices have their own tests below.
    let numbers = Set(Self.servers.map(\.number) + [15, 36, 40])
    #expect(numbers == Set(Practice.all.filter { !$0.checked.isEmpty }.map(\.number)))
  }

  @Test func `practices of a client have no verdict for a server`() {
    let faults = PretendServer.Fault.allCases.map { Set([$0]) } + [[]]
    let verdicts = faults.flatMap { PretendAudit.report(.session, $0).entries }
      .filter { $0.practice.checked.isEmpty }.map(\.verdict)
    #expect(Set(verdicts) == [.unseen])
  }

  /// The end of a connection is no evidence of a time limit if a frame on another connection caused
  /// it (practice 15).
  @Test(arguments: [
    (LinkFailure.reset, PracticeVerdict.unseen), (.closed(code: 1008, reason: ""), .met),
  ])
  func `a connection that ended with all others shows no time limit`(
    end: LinkFailure, verdict: PracticeVerdict
  ) {
    let hello = Tape.came(#"{"type":"hello","auth_version":1}"#)
    let stranger = Tape.record([
      (0, .opening), (1, .opened(headers: [:])), (1, hello), (500, .ended(end)),
    ])
    let huge = Tape.cut([
      (0, 0, .opening), (0, 1, .opened(headers: [:])),
      (1, 1, .opening), (1, 2, .opened(headers: [:])), (1, 2, .sent("the header of a frame")),
      (1, 500, .ended(.reset)), (0, 500, .ended(.reset)), (0, 500, .sent("a WebSocket ping")),
      (0, 501, .late("a WebSocket pong")),
    ])
    let report = Tape.evidence([.stranger: stranger, .huge: huge]).report(server: "")
    #expect(report.entries[14].verdict == verdict)
  }

  /// The end of a connection is no evidence of a frame limit if a connection without the frame ends
  /// just as soon (practice 8).
  @Test(arguments: [
    (1_500, 1000, Finding.Outcome.unseen), (1_500, 1009, .shown), (30_000, 1000, .shown),
  ])
  func `a frame limit is shown only by a close that the frame caused`(
    time: Int, code: UInt16, outcome: Finding.Outcome
  ) {
    let stranger = Tape.record([
      (0, .opening), (1, .opened(headers: [:])), (time, .ended(.closed(code: 1000, reason: ""))),
    ])
    let huge = Tape.cut([
      (1, 1, .opening), (1, 2, .opened(headers: [:])), (1, 2, .sent("the header of a frame")),
      (1, 1_400, .ended(.closed(code: code, reason: ""))),
    ])
    let evidence = Tape.evidence([.stranger: stranger, .huge: huge])
    #expect(evidence.finding(.hugeFrame).outcome == outcome)
  }

  /// The arguments are the text of a page, and the verdict on metrics in the Prometheus text format
  /// (practice 36).
  @Test(arguments: [
    ("# HELP a b\n# TYPE a counter\na{b=\"c d\"} 1.5e3\n", PracticeVerdict.met),
    ("# TYPE a gauge\na NaN\n", .met), ("<!doctype html><title>Sockets</title>", .unseen),
    ("ok", .unseen), ("Error 404", .unseen), ("# TYPE a counter\n", .unseen),
    ("# TYPE a counter\na many\n", .unseen),
  ])
  func `an arbitrary page is not accepted as metrics`(page: String, verdict: PracticeVerdict) {
    #expect(PretendAudit.report(page: page).entries[35].verdict == verdict)
  }

  /// An error that answers the next message is not an error about the first message (practices 40
  /// and 13).
  @Test func `an error about an unknown ping does not report a corrupted message`() {
    let error = Tape.came(#"{"type":"error","message":"unknown: ping"}"#)
    let record = Tape.session([
      (2, .sent("nonsense")), (3_002, .late("`error`")), (3_002, Tape.ping), (3_003, error),
    ])
    let refusal = Tape.record([
      (0, .opening), (1, .opened(headers: [:])), (1, .sent("connect with a wrong key")),
      (2, Tape.came(#"{"type":"auth_error","message":"no"}"#)), (3, .ended(.reset)),
    ])
    let evidence = Tape.evidence([.faults: record, .wrongKey: refusal])
    #expect(evidence.finding(.malformed).outcome == .missing)
    #expect(evidence.finding(.distinctErrors).outcome == .partly)
  }

  /// The server has a protocol of its own: it expects `login` first, and refuses all other
  /// messages.
  @Test func `a server of another protocol fails no practice of this one`() {
    let refusal = Tape.came(#"{"type":"error","code":"unauthorized","message":"log in first"}"#)
    let close = AuditRecord.Kind.ended(.closed(code: 4401, reason: "unauthorized"))
    let start: [(Int, AuditRecord.Kind)] = [(0, .opening), (1, .opened(headers: [:]))]
    func record(_ sent: String) -> AuditRecord {
      Tape.record(start + [(1, .sent(sent)), (2, refusal), (2, close)])
    }
    var evidence = Tape.evidence([
      .pings: record(#"{"type":"ping"}"#), .early: record(#"{"type":"unsubscribe"}"#),
      .wrongKey: record("connect with a wrong key"), .missingKey: record("connect with no key"),
      .garbage: record(#"{"type":"prompt","text":"#),
      // Slack and other servers send the same greeting, and close connections that do not log in.
      .stranger: Tape.record(
        start + [
          (1, Tape.came(#"{"type":"hello"}"#)), (2, Tape.came(#"{"type":"connected"}"#)),
          (5_000, close), (5_000, .sent("a WebSocket ping")),
        ]),
      .opening: Tape.record(start + [(1, .sent("a WebSocket ping")), (2, .pong)]),
    ])
    evidence.hasKey = false
    let report = evidence.report(server: "")
    let others = report.entries.filter { ![3, 14, 18].contains($0.practice.number) }
    #expect(others.filter { $0.verdict != .unseen }.map(\.practice.number) == [])
    #expect(report.entries[5].evidence.contains("log in first"))
  }
}
