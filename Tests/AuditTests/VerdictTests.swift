import HoldfastCore
import HoldfastSessionAudit
import Testing

/// Tests of the rules that combine findings into verdicts, with servers that have one fault.
@Suite struct VerdictTests {
  @Test func `there are 40 practices in order, in 13 categories`() {
    #expect(Practice.all.map(\.number) == Array(1...40))
    #expect(PracticeCategory.allCases.count == 13)
    #expect(PracticeCategory.allCases.flatMap(\.practices) == Practice.all)
    #expect(
      PracticeCategory.allCases.map(\.practices.count) == [3, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 3])
  }

  @Test(arguments: [
    (VerdictRule.all, [Finding.Outcome.shown, .shown], PracticeVerdict.met),
    (.all, [.shown, .missing], .partly), (.all, [.partly], .partly), (.all, [.missing], .not),
    (.all, [.missing, .unseen], .not), (.all, [.shown, .unseen], .unseen), (.all, [], .unseen),
    (.all, [.shown, .missing, .unseen], .partly),
    (.any, [.missing, .shown], .met), (.any, [.missing, .partly], .partly),
    (.any, [.missing, .missing], .not), (.any, [.missing, .unseen], .unseen), (.any, [], .unseen),
  ])
  func `outcomes are combined into a verdict`(
    rule: VerdictRule, outcomes: [Finding.Outcome], verdict: PracticeVerdict
  ) {
    #expect(rule.verdict(outcomes) == verdict)
  }

  /// The numbers of the practices that have a verdict.
  private static let checked = Practice.all.filter { !$0.checked.isEmpty }.map(\.number)

  @Test func `a server without faults meets every observable practice`() {
    let report = PretendAudit.report(isEncrypted: true)
    let odd = report.entries.filter {
      $0.verdict != (Self.checked.contains($0.practice.number) ? .met : .unseen)
    }
    #expect(odd.map { "\($0.practice.number) \($0.verdict): \($0.evidence)" } == [])
    #expect(Self.checked.count == 23)
  }

  @Test(arguments: [PretendServer.Kind.session, .echo, .silent], [true, false])
  func `evidence is never empty and contains no key`(kind: PretendServer.Kind, hasKey: Bool) {
    let report = PretendAudit.report(kind, [.noChallenge], hasKey: hasKey)
    for entry in report.entries {
      #expect(!entry.evidence.isEmpty)
      #expect(!entry.evidence.contains(PretendServer.key))
    }
  }

  /// Each fault, and the verdicts that it changes.
  static let changes: [(PretendServer.Fault, [Int: PracticeVerdict])] = [
    (.noPong, [4: .unseen, 16: .unseen, 17: .not]),
    (.lateApplicationPong, [14: .partly, 17: .not]),
    (.noProtocolPong, [8: .partly]), (.abruptClose, [:]),
    (.noCompression, [18: .not]), (.untypedMessage, [11: .partly]), (.camelCase, [11: .partly]),
    (.noVersion, [11: .partly]), (.noNegotiation, [11: .partly]),
    (.acceptsOld, [13: .partly]), (.closesOld, [13: .partly]), (.newerOnly, [11: .partly]),
    (.acceptsEarly, [6: .partly]), (.silentAtWrongKey, [6: .partly, 13: .partly, 39: .partly]),
    (.closesWithoutError, [6: .partly, 13: .partly]),
    (.refusesPlainKey, [:]), (.noChallenge, [39: .not]),
    (.acceptsReplayedChallenge, [39: .not]), (.noAck, [22: .partly]),
    (.takesBadPrompt, [22: .partly]), (.noMessageID, [4: .partly, 12: .partly]),
    (.ackEarnsError, [4: .partly]), (.noReplay, [4: .partly]), (.replaysForever, [4: .partly]),
    (.swapsResponses, [5: .partly]), (.noPlaces, [5: .partly, 11: .partly, 38: .partly]),
    (.noStamps, [38: .partly]), (.runsTwice, [12: .partly]), (.ignoresCursor, [20: .not]),
    (.noBatch, [23: .not]), (.noSizeAck, [8: .partly, 19: .partly]),
    (.ignoresSize, [8: .partly, 19: .not]), (.takesHugeFrame, [8: .partly]),
    (.hugeFrameEndsAll, [8: .partly]), (.slowPong, [17: .not]),
    (.closesAtMalformed, [40: .partly]), (.closesAtUntyped, [40: .partly]),
    (.closesAtUnknown, [13: .partly, 40: .partly]), (.closesAtBinary, [40: .partly]),
    (.ignoresInvalid, [13: .partly, 22: .partly, 40: .partly]), (.noHeartbeat, [24: .not]),
    (.endsSilentClients, [16: .not, 24: .unseen]), (.keepsStrangers, [15: .not]),
    (.refusesBurst, [:]),
    (.neverAnswers, [4: .unseen, 5: .unseen, 8: .unseen, 12: .unseen, 19: .unseen]),
    (.pongsUnasked, [4: .unseen, 14: .partly, 17: .unseen]), (.plainMessages, [18: .partly]),
    (.camelInside, [11: .partly]), (.overstatesVersion, [11: .partly]),
    (.emptyOlder, [11: .partly]), (.takesAnyKey, [6: .not, 13: .partly]),
    (.takesAnyAnswer, [6: .not, 39: .not]), (.readsEarly, [6: .not]),
    (.ignoresChallenge, [39: .not]), (.sameChallenge, [39: .not]),
    (.sameID, [4: .partly, 12: .partly]), (.deliversOnce, [4: .partly]),
    (.restartsPlaces, [5: .partly, 20: .not, 38: .partly]), (.farStamps, [38: .partly]),
    (.ignoresOffset, [20: .partly]), (.emptyBatch, [23: .not]), (.halfBatch, [23: .partly]),
    (.acksBadPrompt, [22: .partly]), (.lateAck, [22: .partly]),
    (.shortAnswers, [8: .unseen, 19: .unseen]), (.failsLarge, [8: .partly, 19: .partly]),
    (.inTurn, [17: .not]), (.greetsAlive, [24: .not]), (.beatsOnce, [24: .partly]),
    (.beatsOften, [:]),
    (
      .letsInOnce,
      [
        4: .unseen, 5: .unseen, 7: .not, 8: .unseen, 11: .unseen, 12: .unseen, 13: .unseen,
        16: .unseen, 17: .unseen, 19: .unseen, 20: .unseen, 22: .unseen, 23: .unseen, 24: .unseen,
        38: .unseen, 39: .unseen, 40: .unseen,
      ]
    ),
  ]

  @Test(arguments: changes)
  func `a fault changes exactly these verdicts`(
    fault: PretendServer.Fault, changed: [Int: PracticeVerdict]
  ) {
    let sound = PretendAudit.report()
    let report = PretendAudit.report(.session, [fault])
    var found: [Int: PracticeVerdict] = [:]
    for (before, after) in zip(sound.entries, report.entries) where before.verdict != after.verdict
    {
      found[after.practice.number] = after.verdict
    }
    #expect(found == changed)
  }

  @Test func `every fault is in the table`() {
    #expect(Set(Self.changes.map(\.0)) == Set(PretendServer.Fault.allCases))
  }

  /// A check that cannot fail would be useless.
  @Test func `every judged practice can get a verdict other than met`() {
    var worse: Set<Int> = []
    for (_, changed) in Self.changes {
      worse.formUnion(changed.filter { $0.value != .unseen }.keys)
    }
    let silent = PretendAudit.report(.silent).entries.filter { $0.verdict == .not }
    // Metrics may be private, so missing metrics lead to the verdict `unseen`.
    let hidden = PretendAudit.report(pages: 404).entries.filter { $0.verdict == .unseen }
    let never = Set(Self.checked).subtracting(worse)
      .subtracting((silent + hidden).map(\.practice.number))
    #expect(never == [])
  }

  @Test func `without a key, practices that need a login are unseen`() {
    let report = PretendAudit.report(hasKey: false)
    let seen = report.entries.filter { $0.verdict != .unseen }
    #expect(seen.map(\.practice.number) == [3, 6, 14, 15, 18, 36])
    #expect(seen.allSatisfy { $0.verdict == .met })
  }

  @Test func `a wrong key leaves the same practices unseen, and the evidence says why`() {
    let report = PretendAudit.report(key: "untethered-wrong")
    let seen = report.entries.filter { $0.verdict != .unseen }.map(\.practice.number)
    #expect(seen == [3, 6, 14, 15, 18, 36])
    #expect(report.entries[3].evidence.contains("the server refused the key"))
  }

  @Test(arguments: [true, false])
  func `an echo server is judged as a plain server`(hasKey: Bool) {
    let report = PretendAudit.report(.echo, hasKey: hasKey)
    func numbers(_ verdict: PracticeVerdict) -> [Int] {
      report.entries.filter { $0.verdict == verdict }.map(\.practice.number)
    }
    #expect(numbers(.met) == [3, 14, 16, 18, 36])
    // The server may meet the other practices with its own protocol.
    #expect(numbers(.partly) == [])
    #expect(numbers(.not) == [])
  }

  @Test func `a silent server meets nothing`() {
    let report = PretendAudit.report(.silent)
    #expect(report.entries.filter { $0.verdict == .met }.map(\.practice.number) == [36])
  }

  @Test(arguments: [1, 10, 30, 46])
  func `an incomplete audit reports no missing event that it did not wait for`(seconds: Int) {
    let limit = Duration.seconds(seconds)
    for fault in [[], [.neverAnswers], [.noHeartbeat], [.keepsStrangers]]
      as [Set<PretendServer.Fault>]
    {
      let report = PretendAudit.report(.session, fault, limit: limit)
      let missed = report.entries.filter { $0.verdict == .not || $0.verdict == .partly }
      #expect(missed.map { "\($0.practice.number) \($0.verdict): \($0.evidence)" } == [])
    }
  }

  @Test func `totals add up, over categories and over verdicts`() {
    for report in [PretendAudit.report(), PretendAudit.report(.echo, [.noCompression])] {
      let all = PracticeCategory.allCases.map { AuditReport.Counts(report.entries(of: $0)) }
      let total = report.counts
      #expect(total.all == 40)
      #expect(all.map(\.met).reduce(0, +) == total.met)
      #expect(all.map(\.partly).reduce(0, +) == total.partly)
      #expect(all.map(\.not).reduce(0, +) == total.not)
      #expect(all.map(\.unseen).reduce(0, +) == total.unseen)
      #expect(all.map(\.gaps).reduce(0, +) == total.gaps)
    }
  }

  @Test func `a flood ends a script`() {
    var run = ScriptRun(
      AuditPlan(generator: RandomSource(seed: 1)).scripts[0], key: nil, at: .zero,
      wall: Timestamp(nanoseconds: 0))
    _ = run.begin(at: .zero)
    var effects = run.handle(.opened(0, headers: [:]), at: .zero)
    var count = 0
    while effects.isEmpty, count < 10_000 {
      count += 1
      effects = run.handle(.ping(0), at: .zero)
    }
    #expect(effects == [.drop(0)])
    #expect(run.isOver && !run.record.isComplete && run.record.events.count == 2_000)
  }
}
