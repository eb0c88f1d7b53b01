import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastDemo

@Suite struct DemoCheckerTests {
  /// The input of a checker that finds no fault: five messages, stored in order. Two pairs of
  /// messages have the same time stamp.
  ///
  /// The first run showed three of the messages, and the second run all five.
  private var fair: MessageChecker {
    let all = (1...5).map { Self.entry($0) }
    let shown = all.map { Self.shown($0) }
    return MessageChecker(
      accepted: all.reversed(), runs: [Array(shown[..<3]), shown], timeline: all)
  }

  private static func entry(_ number: UInt64, at second: Int64? = nil) -> MessageChecker.Entry {
    let time = second ?? Int64(number / 2)
    return MessageChecker.Entry(
      key: TimelineKey(
        createdAt: Timestamp(nanoseconds: time * 1_000_000_000),
        id: UUID128(high: 7, low: number)),
      text: "message \(number)")
  }

  private static func shown(_ entry: MessageChecker.Entry, via: String = "live")
    -> MessageChecker.Shown
  {
    MessageChecker.Shown(id: entry.key.id, text: entry.text, via: via)
  }

  /// Returns a run that shows the messages with these numbers, each over its delivery path.
  private static func run(_ steps: [(UInt64, String)]) -> [MessageChecker.Shown] {
    steps.map { shown(entry($0.0), via: $0.1) }
  }

  private static func counts(_ change: (inout Counts) -> Void) -> Counts {
    var counts = Counts(sent: 5, shown: 5)
    change(&counts)
    return counts
  }

  @Test func `reports nothing for a correct run, even after a second launch`() {
    #expect(fair.counts == Counts(sent: 5, shown: 5))
    #expect(fair.counts.isClean)
  }

  @Test func `finds a message that was never shown`() {
    var checker = fair
    checker.runs[1].removeLast()
    #expect(checker.counts == Self.counts { ($0.shown, $0.lost) = (4, 1) })
    #expect(!checker.counts.isClean)
  }

  @Test func `finds a message that was shown but not stored`() {
    var checker = fair
    checker.timeline.remove(at: 2)
    #expect(checker.counts == Self.counts { $0.lost = 1 })
    #expect(!checker.counts.isClean)
  }

  @Test func `finds a message shown twice by one run`() {
    var checker = fair
    checker.runs[0].append(checker.runs[0][1])
    #expect(checker.counts == Self.counts { $0.duplicated = 1 })
    #expect(!checker.counts.isClean)
  }

  @Test func `finds a message that was stored twice`() {
    var checker = fair
    checker.timeline.insert(checker.timeline[2], at: 2)
    #expect(checker.counts == Self.counts { $0.duplicated = 1 })
    #expect(!checker.counts.isClean)
  }

  @Test(arguments: ["live", "catchUp", "poll", "history"])
  func `finds messages shown in the wrong order`(via: String) {
    var checker = fair
    checker.runs[1] = Self.run([(1, via), (3, via), (2, via), (4, via), (5, via)])
    #expect(checker.counts == Self.counts { $0.outOfOrder = 1 })
    #expect(!checker.counts.isClean)
  }

  @Test func `accepts fetched messages that belong above live ones`() {
    var checker = fair
    checker.runs[1] = Self.run(
      [(4, "live"), (1, "catchUp"), (2, "catchUp"), (5, "live"), (3, "catchUp")])
    #expect(checker.counts == Self.counts { _ in })
  }

  @Test func `checks the order of live messages across fetched ones`() {
    var checker = fair
    checker.runs[1] = Self.run(
      [(5, "live"), (1, "catchUp"), (2, "catchUp"), (3, "catchUp"), (4, "live")])
    #expect(checker.counts == Self.counts { $0.outOfOrder = 1 })
  }

  @Test(arguments: [("live", 0), ("catchUp", 1)])
  func `uses the log's order for live messages when a clock went back`(
    via: String, outOfOrder: Int
  ) {
    var checker = fair
    for index in checker.accepted.indices {
      checker.accepted[index].offset =
        [1: 1, 3: 2, 2: 3, 4: 4, 5: 5][
          checker.accepted[index].key.id.low]
    }
    checker.runs = [Self.run([(1, via), (3, via), (2, via), (4, via), (5, via)])]
    #expect(checker.counts == Self.counts { $0.outOfOrder = outOfOrder })
  }

  @Test func `finds a phone that prints two messages swapped`() async {
    let scene = Scene()
    await scene.launched(.messages)
    for number: UInt64 in [1, 2, 4, 3, 5] {
      await scene.note { $0.accept(Self.entry(number)) }
      let id = Self.entry(number).key.id
      let line = #"{"event":"message","id":"\#(id)","text":"message \#(number)","via":"live"}"#
      await scene.receive(AppLine(line), from: .messages)
    }
    let facts = await scene.facts
    let checker = MessageChecker(
      accepted: facts.accepted, runs: facts.runs, timeline: facts.accepted)
    #expect(checker.counts == Self.counts { $0.outOfOrder = 1 })
  }

  @Test func `orders messages of the same instant by id`() {
    var checker = fair
    #expect(checker.timeline[1].key.createdAt == checker.timeline[2].key.createdAt)
    checker.runs[1].swapAt(1, 2)
    #expect(checker.counts == Self.counts { $0.outOfOrder = 1 })
  }

  @Test func `finds a text that was changed on the screen or in the store`() {
    var checker = fair
    checker.runs[1][4].text = "something else"
    checker.timeline[0].text = ""
    #expect(checker.counts == Self.counts { $0.altered = 2 })
    #expect(!checker.counts.isClean)
  }

  @Test func `finds a message that nobody sent`() {
    var checker = fair
    checker.accepted.removeAll { $0 == Self.entry(5) }
    #expect(checker.counts == Self.counts { ($0.sent, $0.unknown) = (4, 1) })
    #expect(!checker.counts.isClean)
  }

  @Test func `does not accept a run without messages as proof`() {
    #expect(MessageChecker().counts == Counts())
    #expect(!MessageChecker().counts.isClean)
  }
}

@Suite struct DemoLedgerTests {
  private static let bounds = Outcome.Bounds(noticed: .seconds(2), whole: .seconds(4))
  private static let answered = Questions(asked: 2, answeredOnce: 2)

  @Test(arguments: [
    (Duration.milliseconds(1999), Duration.milliseconds(3999), true),
    (.seconds(2), .seconds(4), true),
    (.milliseconds(2001), .seconds(4), false),
    (.seconds(2), .milliseconds(4001), false),
  ])
  func `checks both times against their bounds`(noticed: Duration, whole: Duration, isHeld: Bool) {
    let outcome = Outcome(trouble: .cut, noticed: noticed, whole: whole, bounds: Self.bounds)
    #expect(outcome.isHeld == isHeld)
  }

  @Test func `is not clean if a fault was never noticed or never healed`() {
    #expect(!Outcome(trouble: .cut, noticed: nil, whole: .zero, bounds: Self.bounds).isHeld)
    #expect(!Outcome(trouble: .cut, noticed: .zero, whole: nil, bounds: Self.bounds).isHeld)
    let blind = Outcome.Bounds(noticed: nil, whole: .seconds(4))
    #expect(Outcome(trouble: .kill, noticed: nil, whole: .zero, bounds: blind).isHeld)
  }

  @Test func `is clean only with every fault and without other problems`() {
    let outcomes = Trouble.all.map {
      Outcome(trouble: $0, noticed: .zero, whole: .zero, bounds: Self.bounds)
    }
    let ledger = Ledger(
      counts: Counts(sent: 1, shown: 1), outcomes: outcomes, sections: [Self.answered.section])
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
    var part = ledger
    (part.counts, part.hasTraffic) = (Counts(), false)
    #expect(part.isClean)
    part.expected.removeLast()
    #expect(!part.isClean)
    part.outcomes.removeLast()
    #expect(part.isClean)
    var silent = ledger
    silent.sections[0].rows[2].isGood = false
    #expect(!silent.isClean)
    var empty = ledger
    empty.sections[0].rows = []
    #expect(!empty.isClean)
    var late = ledger
    late.outcomes[0].whole = .seconds(5)
    #expect(!late.isClean)
  }
}

@Suite struct DemoFeedTests {
  @Test(arguments: [
    ([1, 2, 3], ["order 1", "order 2"], true), ([1, 3], ["order 1", "order 2"], false),
    ([1, 2, 2, 3], ["order 1", "order 2"], false), ([2, 1, 3], ["order 1", "order 2"], false),
    ([1, 2, 3], ["order 1"], false), ([1, 2, 3], ["order 1", "order 2", "order 2"], false),
    ([], [], false),
  ])
  func `is clean only if every line arrived once in order, and every order once`(
    lines: [Int], orders: [String], isClean: Bool
  ) {
    var counts = FeedCounts(sent: 2)
    counts.count(lines: lines, of: 3, orders)
    #expect(counts.section.isClean == isClean)
    #expect(!FeedCounts().section.isClean)
  }
}

@Suite struct DemoDrinksTests {
  @Test(
    arguments: [
      ([1, 2, 3], [[1], [2, 3]], true), ([1, 3], [[1, 2, 3]], false),
      ([1, 2, 2, 3], [[1, 2, 3]], false), ([1, 2, 3], [[1, 2], [2, 3]], false),
      ([1, 2, 3], [[1, 2, 2, 3]], false), ([1, 2, 3], [[1, 3]], false), ([], [], false),
    ] as [([Int], [[Int]], Bool)])
  func `is clean only if every drink was stored once and shown once over all runs`(
    stored: [Int], shown: [[Int]], isClean: Bool
  ) {
    let counts = DrinkCounts(poured: 3, stored: stored, shown: shown)
    #expect(counts.section.isClean == isClean)
    #expect(!DrinkCounts(poured: 0, stored: [], shown: []).section.isClean)
  }
}

@Suite struct DemoQuestionsTests {
  private static func day(_ steps: Double) -> Set<DaySteps> {
    [DaySteps(day: "2025-10-26", source: "watch", steps: steps)]
  }

  private static func checked(
    _ answer: Assistant.Answer, expecting right: Set<DaySteps> = day(7)
  ) -> Questions {
    var questions = Questions()
    questions.note(answer, expecting: right)
    return questions
  }

  @Test func `counts one right answer as answered once`() {
    let questions = Self.checked(.answered([Self.day(7)]))
    #expect(questions == Questions(asked: 1, answeredOnce: 1))
    #expect(questions.section.isClean)
  }

  @Test func `finds missing, repeated and wrong answers`() {
    let refused = Self.checked(.refused("away"))
    #expect(refused == Questions(asked: 1, unanswered: 1))
    let twice = Self.checked(.answered([Self.day(7), Self.day(7)]))
    #expect(twice == Questions(asked: 1))
    let wrong = Self.checked(.answered([Self.day(8)]))
    #expect(wrong == Questions(asked: 1, answeredOnce: 1, wrong: 1))
    for questions in [refused, twice, wrong] { #expect(!questions.section.isClean) }
  }

  @Test func `does not accept an empty answer as proof`() {
    #expect(Self.checked(.answered([[]]), expecting: []).wrong == 1)
    #expect(!Questions().section.isClean)
  }

  @Test func `sums an export by day and source from its text alone`() {
    func record(_ source: String, _ day: String, _ type: String, _ value: String) -> String {
      " <Record type=\"HKQuantityTypeIdentifier\(type)\" sourceName=\"\(source)\" unit=\"count\""
        + " startDate=\"\(day) 08:00:00 +0100\" endDate=\"\(day) 08:05:00 +0100\""
        + " value=\"\(value)\"/>"
    }
    let export = [
      "<HealthData locale=\"en_CH\">", record("A", "2025-10-26", "StepCount", "5"),
      record("A", "2025-10-26", "StepCount", "2"), record("B", "2025-10-26", "StepCount", "1"),
      record("A", "2025-10-27", "StepCount", "4"), record("A", "2025-10-27", "HeartRate", "60"),
      " <WorkoutStatistics type=\"HKQuantityTypeIdentifierStepCount\" sum=\"9\"/>",
    ].joined(separator: "\n")
    #expect(
      HealthData.steps(in: export) == [
        DaySteps(day: "2025-10-26", source: "A", steps: 7),
        DaySteps(day: "2025-10-26", source: "B", steps: 1),
        DaySteps(day: "2025-10-27", source: "A", steps: 4),
      ])
  }
}
