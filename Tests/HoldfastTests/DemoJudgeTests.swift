import LinkCore
import LinkWire
import Testing

@testable import HoldfastDemo

@Suite struct DemoJudgeTests {
  /// Five messages, two of the same instant, shown once each by two runs, kept in order.
  private var fair: Judge {
    let all = (1...5).map { Self.entry($0) }
    let shown = all.map { Judge.Shown(id: $0.key.id, text: $0.text) }
    return Judge(
      accepted: all.reversed(), runs: [Array(shown[..<3]), shown], timeline: all)
  }

  private static func entry(_ number: UInt64, at second: Int64? = nil) -> Judge.Entry {
    let time = second ?? Int64(number / 2)
    return Judge.Entry(
      key: TimelineKey(
        createdAt: Timestamp(nanoseconds: time * 1_000_000_000),
        id: UUID128(high: 7, low: number)),
      text: "message \(number)")
  }

  private static func counts(_ change: (inout Counts) -> Void) -> Counts {
    var counts = Counts(sent: 5, shown: 5)
    change(&counts)
    return counts
  }

  @Test func `finds nothing where all is well, also after a second launch`() {
    #expect(fair.counts == Counts(sent: 5, shown: 5))
    #expect(fair.counts.isClean)
  }

  @Test func `finds a message that was never shown`() {
    var judge = fair
    judge.runs[1].removeLast()
    #expect(judge.counts == Self.counts { ($0.shown, $0.lost) = (4, 1) })
    #expect(!judge.counts.isClean)
  }

  @Test func `finds a message that was shown and not kept`() {
    var judge = fair
    judge.timeline.remove(at: 2)
    #expect(judge.counts == Self.counts { $0.lost = 1 })
    #expect(!judge.counts.isClean)
  }

  @Test func `finds a message shown twice by one run`() {
    var judge = fair
    judge.runs[0].append(judge.runs[0][1])
    #expect(judge.counts == Self.counts { $0.duplicated = 1 })
    #expect(!judge.counts.isClean)
  }

  @Test func `finds a message kept twice`() {
    var judge = fair
    judge.timeline.insert(judge.timeline[2], at: 2)
    #expect(judge.counts == Self.counts { $0.duplicated = 1 })
    #expect(!judge.counts.isClean)
  }

  @Test func `finds messages that stand the wrong way round`() {
    var judge = fair
    judge.timeline.swapAt(0, 1)
    #expect(judge.counts == Self.counts { $0.outOfOrder = 1 })
    #expect(!judge.counts.isClean)
  }

  @Test func `orders messages of one instant by id`() {
    var judge = fair
    #expect(judge.timeline[1].key.createdAt == judge.timeline[2].key.createdAt)
    judge.timeline.swapAt(1, 2)
    #expect(judge.counts == Self.counts { $0.outOfOrder = 1 })
  }

  @Test func `finds a text that changed on its way to the screen or to the store`() {
    var judge = fair
    judge.runs[1][4].text = "something else"
    judge.timeline[0].text = ""
    #expect(judge.counts == Self.counts { $0.altered = 2 })
    #expect(!judge.counts.isClean)
  }

  @Test func `finds a message that nobody sent`() {
    var judge = fair
    judge.accepted.removeAll { $0 == Self.entry(5) }
    #expect(judge.counts == Self.counts { ($0.sent, $0.unknown) = (4, 1) })
    #expect(!judge.counts.isClean)
  }

  @Test func `takes a story without messages for no proof`() {
    #expect(Judge().counts == Counts())
    #expect(!Judge().counts.isClean)
  }
}

@Suite struct DemoLedgerTests {
  private static let bounds = Outcome.Bounds(noticed: .seconds(2), whole: .seconds(4))

  @Test(arguments: [
    (Duration.milliseconds(1999), Duration.milliseconds(3999), true),
    (.seconds(2), .seconds(4), true),
    (.milliseconds(2001), .seconds(4), false),
    (.seconds(2), .milliseconds(4001), false),
  ])
  func `holds both times to their bounds`(noticed: Duration, whole: Duration, isHeld: Bool) {
    let outcome = Outcome(trouble: .cut, noticed: noticed, whole: whole, bounds: Self.bounds)
    #expect(outcome.isHeld == isHeld)
  }

  @Test func `is not clean with a trouble that was never noticed or never healed`() {
    #expect(!Outcome(trouble: .cut, noticed: nil, whole: .zero, bounds: Self.bounds).isHeld)
    #expect(!Outcome(trouble: .cut, noticed: .zero, whole: nil, bounds: Self.bounds).isHeld)
    let blind = Outcome.Bounds(noticed: nil, whole: .seconds(4))
    #expect(Outcome(trouble: .kill, noticed: nil, whole: .zero, bounds: blind).isHeld)
  }

  @Test func `is clean only with every trouble and without other faults`() {
    let outcomes = Trouble.allCases.map {
      Outcome(trouble: $0, noticed: .zero, whole: .zero, bounds: Self.bounds)
    }
    let ledger = Ledger(counts: Counts(sent: 1, shown: 1), outcomes: outcomes)
    #expect(ledger.isClean)
    var short = ledger
    short.outcomes.removeLast()
    #expect(!short.isClean)
    var faulty = ledger
    faulty.faults = ["the timeline has 1 holes"]
    #expect(!faulty.isClean)
    var lossy = ledger
    lossy.counts.lost = 1
    #expect(!lossy.isClean)
    var late = ledger
    late.outcomes[0].whole = .seconds(5)
    #expect(!late.isClean)
  }
}
