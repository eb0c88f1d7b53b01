import LinkCore
import LinkWire
import Testing

@testable import SessionAudit

/// Servers that only seem to meet a practice. `VerdictTests` has a server that meets all of them.
@Suite struct SeemingTests {
  typealias Server = (number: Int, faults: Set<PretendServer.Fault>, verdict: PracticeVerdict)

  /// The faults with which a server seems to meet a practice, and the verdict that it deserves.
  static let servers: [Server] = connecting + speaking

  private static let connecting: [Server] = [
    // The server sends `pong` now and then, whatever it receives.
    (3, [.pongsUnasked, .noProtocolPong], .not), (14, [.pongsUnasked], .partly),
    // All ids are the same; a response is forgotten after one delivery; unknown messages, such as
    // acknowledgements, are ignored.
    (4, [.sameID], .partly), (4, [.deliversOnce], .partly),
    (4, [.noMessageID, .noReplay], .not),
    // The numbers restart with each window of a history.
    (5, [.restartsPlaces], .partly),
    // A missing key is refused, but any key or answer is accepted; writing needs a login, but
    // reading does not; a client is admitted only once.
    (6, [.takesAnyKey], .not), (6, [.takesAnyAnswer], .not), (6, [.readsEarly], .not),
    (7, [.letsInOnce], .not),
    // The handler gives short answers or fails for large prompts, or the size is ignored.
    (8, [.shortAnswers], .unseen), (8, [.failsLarge], .partly), (19, [.ignoresSize], .not),
    // Members inside of members are in camel case; the agreed version was never offered; the
    // histories of the older version are empty.
    (11, [.camelInside], .partly), (11, [.overstatesVersion], .partly),
    (11, [.emptyOlder], .partly),
    // The challenge is ignored or is the same for all connections, or any answer or a replayed
    // answer is accepted.
    (39, [.ignoresChallenge], .not), (39, [.sameChallenge], .not), (39, [.takesAnyAnswer], .not),
    (39, [.acceptsReplayedChallenge], .not),
  ]

  private static let speaking: [Server] = [
    // The response to a repeated prompt has the id of the first response, because all ids are the
    // same.
    (12, [.sameID], .partly), (12, [.sameID, .runsTwice], .not),
    // The server reports errors of authentication and no others.
    (13, [.ignoresInvalid, .closesOld], .partly),
    // The server sends heartbeats before it disconnects a silent client.
    (16, [.beatsOften, .endsSilentClients], .not),
    // The server answers soon, but one message after another.
    (17, [.inTurn], .not),
    // The server agrees to compression, but sends plain messages.
    (18, [.plainMessages], .partly),
    // The cursor of one version is ignored.
    (20, [.ignoresOffset], .partly),
    // The server confirms a prompt that it refuses, or one that it has already answered.
    (22, [.acksBadPrompt], .partly), (22, [.lateAck], .partly),
    // The batch is empty, or contains only the first of two histories.
    (23, [.emptyBatch], .not), (23, [.halfBatch], .partly),
    // The only heartbeat belongs to the greeting, or is never repeated.
    (24, [.greetsAlive], .not), (24, [.beatsOnce], .partly),
    // The times are of another day.
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
    // Three of the practices have their own tests below.
    let numbers = Set(Self.servers.map(\.number) + [15, 36, 40])
    #expect(numbers == Set(Practice.all.filter { !$0.checked.isEmpty }.map(\.number)))
  }

  @Test func `practices of a client have no verdict for a server`() {
    let faults = PretendServer.Fault.allCases.map { Set([$0]) } + [[]]
    let verdicts = faults.flatMap { PretendAudit.report(.session, $0).entries }
      .filter { $0.practice.checked.isEmpty }.map(\.verdict)
    #expect(Set(verdicts) == [.unseen])
  }

  /// A connection that ended because of a frame on another connection shows no time limit (practice
  /// 15).
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

  /// A connection that ends by itself just as soon shows no limit of frames (practice 8).
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

  /// The arguments are the text of a page, and the verdict on metrics in the text format of
  /// Prometheus (practice 36).
  @Test(arguments: [
    ("# HELP a b\n# TYPE a counter\na{b=\"c d\"} 1.5e3\n", PracticeVerdict.met),
    ("# TYPE a gauge\na NaN\n", .met), ("<!doctype html><title>Sockets</title>", .unseen),
    ("ok", .unseen), ("Error 404", .unseen), ("# TYPE a counter\n", .unseen),
    ("# TYPE a counter\na many\n", .unseen),
  ])
  func `an arbitrary page is not accepted as metrics`(page: String, verdict: PracticeVerdict) {
    #expect(PretendAudit.report(page: page).entries[35].verdict == verdict)
  }

  /// An error that answers the next message is not an error about the first one (practices 40 and
  /// 13).
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

  /// A server with a protocol of its own, which expects `login` first and refuses everything else.
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
      // Slack and others send the same greeting, and close connections that do not log in.
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
