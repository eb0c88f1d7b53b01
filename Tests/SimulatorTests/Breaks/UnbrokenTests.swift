import HoldfastCore
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastWorlds
import Testing

@testable import HoldfastLinkChecks
@testable import HoldfastMessageChecks
@testable import HoldfastMessageWorld
@testable import HoldfastWorldKernel

/// Tests of the stream and link checkers for findings that no deliberate defect causes.
///
/// For each finding there is a script that must cause it.
struct UnbrokenTests {
  /// An expected finding, and the script that causes it.
  struct Fault: Sendable, CustomTestStringConvertible {
    var kind: Finding.Kind
    var detail: String
    var play: @Sendable (inout Script) -> Void

    init(_ kind: Finding.Kind, _ detail: String, play: @escaping @Sendable (inout Script) -> Void) {
      self.kind = kind
      self.detail = detail
      self.play = play
    }

    var testDescription: String { "\(kind.rawValue): \(detail)" }
  }

  @Test(arguments: faults)
  func `a finding that no defect causes can occur`(fault: Fault) {
    var script = Script()
    fault.play(&script)
    script.end()
    let found = script.findings.contains { $0.kind == fault.kind && $0.detail == fault.detail }
    #expect(found, "\(script.findings)")
  }

  @Test(
    arguments: [
      (1, "never shown: 2 (m1, m2)"), (2, "never shown: 1 (m2)"), (3, nil), (5, nil),
    ] as [(UInt64, String?)])
  func `what was removed below the first message shown is not missed`(
    oldest: UInt64, missing: String?
  ) {
    var script = Script()
    script.accept(Self.all)
    script.facts.own.oldest = ShopPosition(epoch: "e", offset: oldest)
    script.show(Array(Self.all[2...]))
    script.end()
    let found = script.findings.map(\.detail).filter { $0.hasPrefix("never shown") }
    #expect(found == [missing].compactMap { $0 })
  }

  private static let faults: [Fault] =
    shown + changed + illustrated + sent + fetched + tried + stored + secret

  private static let all = (1...5).map { ShopMessage.number($0) }

  private static let shown = [
    Fault(.duplicated, "shown without a message") { $0.show([]) },
    Fault(.duplicated, "shown and never accepted: m1") { $0.show([.number(1)]) },
    Fault(.reordered, "m1 was shown after m2") { $0.show([.number(2), .number(1)]) },
    Fault(.reordered, "edited and never shown: m2") { script in
      script.tick(at: 1, [.update(.edited([.number(2)]))])
    },
    Fault(.lost, "never shown: 1 (m2)") { script in
      script.accept(all)
      script.facts.own.oldest = ShopPosition(epoch: "e", offset: 3)
      script.show([all[0], all[2], all[3], all[4]])
    },
    Fault(.lost, "received edits were not stored: m1 (edited)") { script in
      script.store(TimelineChange(messages: all))
      var edited = ShopMessage.number(1, text: "m1 (edited)")
      edited.updatedAt = ShopMessage.start.advanced(by: .seconds(100))
      script.give(.frame(AttemptID(1), .message(edited)), at: 1)
    },
  ]

  private static let deletion = ShopDeletion(
    id: all[1].id, shop: Facts.shop, position: ShopPosition(epoch: "e", offset: 2),
    changed: ShopPosition(epoch: "e", offset: 6))

  private static let changed = [
    Fault(.lost, "removed, and not deleted: m2") { script in
      script.accept(all)
      script.store(TimelineChange(deletions: [DeletedMessage(id: all[1].id)]))
    },
    Fault(.outdated, "stored again after its deletion: m2") { script in
      script.accept(all)
      script.change(.deleted(deletion))
      script.store(
        TimelineChange(deletions: [DeletedMessage(id: deletion.id, changed: deletion.changed)]))
      script.store(TimelineChange(messages: [all[1]]))
    },
    Fault(.early, "the cursor is past a deletion: m2") { script in
      script.facts.own.settings.wantsEvents = true
      script.accept(all)
      script.change(.deleted(deletion))
      script.store(TimelineChange(messages: all, cursor: ShopCursor(position: deletion.changed)))
    },
    Fault(.outdated, "the screen differs from the store: 1 (m2)") { script in
      script.accept(all)
      script.store(TimelineChange(messages: all))
      script.show([all[1]])
      script.store(
        TimelineChange(deletions: [DeletedMessage(id: deletion.id, changed: deletion.changed)]))
    },
    Fault(.lost, "edits of the user were never made: two") { script in
      script.accept(all)
      var edit = OutboxEntry.number(1)
      (edit.text, edit.action) = ("two", .edit(all[1].id))
      script.store(TimelineChange(outboxPut: [edit]))
    },
    Fault(.lost, "deletions of the user were never made: 1") { script in
      script.accept(all)
      var entry = OutboxEntry.number(1)
      (entry.text, entry.action) = ("", .delete(all[1].id))
      script.store(TimelineChange(outboxPut: [entry]))
    },
  ]

  private static let image = StoredImage(
    id: MessageID(high: 5, low: 5), shop: Facts.shop, user: "other", type: .png, size: 9,
    createdAt: ShopMessage.start)

  private static let illustrated = [
    Fault(.orphaned, "the message has lost its image: m1") { script in
      var claimed = image
      claimed.message = all[0].id
      script.note(.images([claimed]))
      let url = "http://shop.example/api/v1/auth/shops/messages/image/\(image.id)"
      script.accept([.number(1, text: "m1\n[IMAGE:\(url)]")])
      script.note(.images([]))
    },
    Fault(.orphaned, "the image \(image.id) without a message is kept") { script in
      script.note(.images([image]))
      script.tick(at: 100_000)
    },
    Fault(.lost, "removed by a page, and on the server: m2") { script in
      script.accept(all)
      var kept = all[1]
      kept.position = ShopPosition(epoch: "d", offset: 9)
      script.store(TimelineChange(messages: [kept]))
      script.store(TimelineChange(covered: [CoveredRange(epoch: "e")]))
    },
  ]

  private static let sent = [
    Fault(.reordered, "own 1 was sent after messages written later") { script in
      script.store(TimelineChange(outboxPut: [.number(1), .number(2)]))
      script.accept([.number(1, text: "own 2"), .number(2, text: "own 1")])
    },
    Fault(.early, "reported as sent before the server had it: \(all[0].id)") { script in
      script.tick(at: 1, [.update(.outboxDone(OutboxEntry.number(1).id, message: all[0].id))])
    },
  ]

  private static let fetched = [
    Fault(.storm, "more than 180 fruitless requests within a minute") { script in
      for number in 0...180 {
        let (id, at) = (FetchID(UInt64(number)), Double(number) / 4)
        script.tick(at: at, [.fetch(id, .after(ShopPosition(epoch: "e", offset: 0), limit: 100))])
        script.give(.fetchFailed(id, .reset), at: at)
      }
    },
    Fault(.storm, "a page was requested after a terminal answer") { script in
      script.facts.status = LinkStatus(phase: .failed, reason: .signIn)
      script.give(.link(.lost(AttemptID(1), .reset), at: ShopMessage.start), at: 1)
      script.tick(at: 2, [.fetch(FetchID(1), .page(number: 1, limit: 50))])
    },
    Fault(.needless, "older messages were requested although no reader waits") { script in
      script.scroll(from: 4, in: all, isAsked: false)
    },
    Fault(.needless, "older messages were requested where history begins") { script in
      script.scroll(from: 1, in: all)
    },
    Fault(.needless, "a page was requested that is stored: m4") { script in
      script.scroll(from: 5, in: all)
    },
  ]

  private static let tried = [
    Fault(.storm, "more than 10 tries within 60.0 seconds") { script in
      for number in 0...10 { script.tick(at: Double(number), [.open(AttemptID(UInt64(number)))]) }
    },
    Fault(.storm, "came back 2 times too early in the window of a drain") { script in
      for number in UInt64(1)...2 {
        let (attempt, at) = (AttemptID(number), Double(number) * 1000)
        script.give(.frame(attempt, .draining(within: .seconds(300))), at: at)
        script.give(
          .link(.lost(attempt, .closed(code: 1001, reason: "")), at: ShopMessage.start), at: at + 1)
        script.tick(at: at + 1, [.open(AttemptID(number + 1))])
      }
    },
    Fault(.storm, "credentials were refreshed while a refresh runs") { script in
      for second in [1.0, 2] { script.tick(at: second, [.refreshCredentials]) }
    },
    Fault(.storm, "refreshed 3 times in a row for refusals") { script in
      let refused = LinkFailure.http(status: 401, retryAfter: nil, detail: "")
      for second in [0.0, 20, 40] {
        script.give(
          .link(.lost(AttemptID(1), refused), at: ShopMessage.start), at: second,
          [.refreshCredentials])
        script.give(.credentials(.available(expiresIn: nil)), at: second + 1)
      }
    },
    Fault(.falselyConnected, "connected, and the server never took it") { $0.tick(at: 1) },
  ]

  private static let stored = [
    Fault(.stuck, "was woken, and its deadline did not move") { script in
      script.facts.deadline = .second(5)
      script.tick(at: 5)
    },
    Fault(.stuck, "its deadline passed, and it was not woken") { script in
      script.facts.deadline = .second(5)
      for second in [1.0, 6] { script.give(.refresh, at: second) }
    },
    Fault(.storm, "was closed, and still has a deadline in 3.0 seconds", play: leave),
    Fault(.storm, "was left, and still waits for 5000000000 ns", play: leave),
    Fault(.unbounded, "shown: 1001, and the bound is 1000", play: fill),
    Fault(.unbounded, "unsent: 1001, and the bound is 1000", play: fill),
    Fault(.unbounded, "unstored: 4201, and the bound is 4200", play: fill),
    Fault(.unbounded, "ahead: 10001, and the bound is 10000", play: fill),
  ]

  private static let secret = [
    Fault(.leaked, "a token appears in a status") { script in
      let reason = LinkStatus.Reason.failure(.local(detail: "x abc.def"))
      let status = LinkStatus(phase: .held, reason: reason)
      script.leak(.update(.status(StreamStatus(status))))
    },
    Fault(.leaked, "a token appears in a notice") { script in
      script.leak(.update(.notice(.unknownType("abc.def y"))))
    },
    Fault(.leaked, "a token appears in the outbox") { script in
      script.leak(.update(.outbox(.number(1, state: .failed(reason: "abc.def")))))
    },
    Fault(.leaked, "a token appears in a message") { script in
      let message = ShopMessage.number(1, text: "see abc.def")
      script.leak(.commit(CommitID(1), TimelineChange(messages: [message])))
    },
  ]

  @Sendable private static func leave(_ script: inout Script) {
    script.facts.deadline = .second(5)
    script.give(.close, at: 2)
  }

  @Sendable private static func fill(_ script: inout Script) {
    script.facts.own.memoryUse = MemoryUse(shown: 1001, unsent: 1001, unstored: 4201, ahead: 10_001)
    script.tick(at: 1)
  }
}

/// A sequence of steps and facts that is written by hand. The checkers receive each with its time
/// and state.
struct Script {
  private var link = LinkCheckers<StreamFeature>()
  private var own = StreamCheckers()
  private var world = StreamWorldCheckers()
  var facts = Facts.connected

  var findings: [Finding] { link.findings + own.findings + world.findings }

  mutating func give(
    _ input: StreamModel.Input, at second: Double, _ effects: [StreamModel.Effect] = []
  ) {
    step(input, effects, at: second)
  }

  mutating func tick(at second: Double, _ effects: [StreamModel.Effect] = []) {
    step(nil, effects, at: second)
  }

  mutating func show(_ messages: [ShopMessage]) {
    tick(at: 1, [.update(.messages(messages, via: .live))])
  }

  mutating func accept(_ messages: [ShopMessage]) {
    for message in messages { note(.accepted(message, isNew: true)) }
  }

  mutating func change(_ event: ShopEvent) { note(.changed(event)) }

  /// Makes a change durable.
  mutating func store(_ change: TimelineChange) {
    let commit = facts.own.disk.commit(change)
    note(.stored(change, commit))
  }

  /// Makes the client return an effect while a secret exists.
  mutating func leak(_ effect: StreamModel.Effect) {
    facts.secrets = ["abc.def"]
    tick(at: 1, [effect])
  }

  /// Stores the last two messages of a log, then scrolls up from the message with the given number.
  mutating func scroll(from number: UInt64, in log: [ShopMessage], isAsked: Bool = true) {
    accept(log)
    store(TimelineChange(messages: Array(log.suffix(2))))
    if isAsked { give(.loadOlder, at: 1) }
    let before = ShopPosition(epoch: "e", offset: number)
    give(.older([]), at: 2, [.fetch(FetchID(1), .before(before, limit: 50))])
  }

  /// Ends the run.
  mutating func end() {
    link.conclude(facts)
    own.conclude(facts)
    world.conclude(facts)
  }

  private mutating func step(
    _ input: StreamModel.Input?, _ effects: [StreamModel.Effect], at second: Double
  ) {
    facts.now = .second(second)
    link.stepped(input, isLate: false, effects, facts)
    own.stepped(input, isLate: false, effects, facts)
    world.stepped(input, isLate: false, effects, facts)
  }

  mutating func note(_ fact: StreamFact) {
    link.handle(.fact(fact), facts)
    own.handle(.fact(fact), facts)
    world.handle(.fact(fact), facts)
  }
}
