import LinkCore
import LinkHealth

/// Questions about random samples, answered beside a second account.
struct HealthAnswerWalk: TwinWalk {
  var chance: Chance
  var stray: String?

  init(_ chance: Chance) { self.chance = chance }

  /// Asks so many questions; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    compareLimits(AnswerLimits(), .oneFrame, .parts)
    for _ in 0..<times where stray == nil {
      tryQuestion()
      if happens(4) { trySummary() }
      if happens(4) { tryParts() }
    }
    return stray
  }

  private static let usual = AnswerLimits(
    maxBytes: 199_000, pageLimit: 5_000, batch: .seconds(6_480_000))

  /// Compares the limits that nothing changes, those of one frame and those of parts.
  mutating func compareLimits(
    _ usual: AnswerLimits, _ frame: AnswerLimits, _ parts: AnswerLimits
  ) {
    compare("a frame", frame, AnswerLimits(maxBytes: 199_000))
    compare("parts", parts, AnswerLimits(maxBytes: 8_388_608))
    compare("limits", usual, Self.usual)
  }

  // MARK: - Questions

  private mutating func tryQuestion() {
    var query = query()
    let isSpread = AnswerKind.all(query.valueType).contains(where: \.isSpread)
    let isExact = query.groupBy != nil && isSpread ? !happens(6) : happens(4)
    var scene = scene(query.groupBy, isExact: isExact)
    (query.start, query.end) = (scene.start, scene.end)
    fill(&scene, query)
    let store = AnswerStore(scene.samples, isLoose: happens(3))
    let limits = AnswerLimits(
      maxBytes: one([199_000, 8 << 20]), pageLimit: one([0, 1, 2, 3, 7, 5_000]),
      batch: batch(scene))
    let stored = stored(scene, query.valueType)
    var trial = AnswerTrial(scene: scene, limits: limits, stored: stored, store: store)
    if happens(12), !scene.isLong {
      (trial.limits, trial.stored, trial.isPlain) = (Self.usual, StoredHealth(), true)
    } else if !isSpread || query.groupBy == nil || scene.isExact, happens(2) {
      var twin = trial.twin
      query.maxBytes = 8 << 20
      _ = twin.answer(.healthData(query))
      query.maxBytes = nil
      let most =
        1_500 + twin.lengths.prefix(one([1, 2, number(0...twin.lengths.count)])).reduce(0, +)
      if happens(2) {
        (query.maxBytes, trial.isTight) = (most + number(-1...1), true)
      } else {
        trial.limits.maxBytes = max(0, happens(9) ? 0 : most + number(-1...1))
      }
    }
    ask(.healthData(query), trial)
  }

  private mutating func trySummary() {
    let none = HealthTime.local(CivilTime(nanoseconds: 0))
    var scene = scene(nil, isExact: true)
    let metrics = (0..<number(0...3)).map { _ in
      SummaryMetric(
        valueType: one(HealthValueType.allCases),
        groupBy: happens(3) ? one([.day, .total]) : nil,
        statistic: happens(3) ? one(HealthStatistic.allCases) : nil)
    }
    let rejected = (0..<(happens(3) ? number(1...3) : 0)).map { place in
      RejectedMetric(place: number(-1...4), valueType: "NO\(place)", reason: "a \"word\"")
    }
    var query = SummaryQuery(
      start: scene.start, end: scene.end, metrics: metrics, rejected: rejected)
    let words = metrics.isEmpty ? [HealthValueType.steps, .sleep] : metrics.map(\.valueType)
    for word in Set(words).sorted(by: { $0.rawValue < $1.rawValue }) {
      fill(&scene, HealthDataQuery(valueType: word, start: none, end: none, groupBy: .day))
    }
    let store = AnswerStore(scene.samples, isLoose: false)
    var limits = AnswerLimits(maxBytes: 300_000, pageLimit: number(2...9), batch: batch(scene))
    let stored = stored(scene, .steps)
    let trial = AnswerTrial(scene: scene, limits: limits, stored: stored, store: store)
    if scene.isExact, happens(2) {
      var twin = trial.twin
      _ = twin.answer(.summary(query))
      let sum = twin.lengths.prefix(number(1...max(1, twin.lengths.count))).reduce(0, +)
      let most = twin.spent + 1_500 + sum + one([-1, 0, 0, 1, -600])
      if happens(2) { query.maxBytes = most } else { limits.maxBytes = most }
    }
    var last = AnswerTrial(scene: scene, limits: limits, stored: stored, store: store)
    last.isTight = query.maxBytes != nil
    ask(.summary(query), last)
  }

  private mutating func query() -> HealthDataQuery {
    let none = HealthTime.local(CivilTime(nanoseconds: 0))
    let word: HealthValueType =
      happens(4) ? one(HealthValueType.allCases) : one(Self.rich)
    let grouping = happens(5) ? nil : one(Self.groupings)
    let isAsked = grouping == nil ? happens(8) : !happens(4)
    // What compares nights has no hours.
    let isHourly = word == .sleep && grouping == .hour && !happens(6)
    let all: [HealthStatistic] = HealthStatistic.allCases + [.latest]
    let statistics = isHourly ? [.sum, .count, .latest] : all
    return HealthDataQuery(
      valueType: word, start: none, end: none, groupBy: grouping,
      statistic: isAsked ? one(statistics) : nil)
  }

  private static let groupings: [HealthGrouping] = [
    .hour, .day, .day, .week, .month, .total, .total,
  ]
  /// Those with the most rules.
  private static let rich: [HealthValueType] = [
    .sleep, .sleep, .sleep, .steps, .steps, .bodyMetrics, .bodyMetrics, .workout, .heartRate,
  ]

  private mutating func batch(_ scene: AnswerScene) -> Duration {
    let hours = max(1, (scene.to - scene.from) / AnswerClock.hour)
    let least =
      .seconds(3_600 * (hours / 5))
      + one([Duration.zero, .zero, .zero, .seconds(-1), .seconds(1), .nanoseconds(1)])
    let usual = scene.isLong ? least : Self.usual.batch
    return one([least, least, usual, .seconds(1 << 40)])
  }

  private mutating func stored(_ scene: AnswerScene, _ word: HealthValueType) -> StoredHealth {
    var stored = StoredHealth()
    for kind in AnswerKind.all(word) where !happens(3) {
      stored.lastSamples[kind.id] = Timestamp(nanoseconds: one(scene.edges) + Int64(number(0...9)))
    }
    if happens(2) { stored.lastImport = Timestamp(nanoseconds: one(scene.edges)) }
    return stored
  }

  // MARK: - Comparing

  /// Asks both, and compares all that can be seen.
  private mutating func ask(_ question: HealthQuestion, _ trial: AnswerTrial) {
    let (scene, store) = (trial.scene, trial.store)
    var twin = trial.twin
    // With little room it may end before that.
    let isWide = trial.limits.maxBytes > 99_999 && !trial.isTight
    twin.failing = isWide && happens(9) ? number(1...3) : 0
    let text = twin.answer(question)
    var answering = trial.answering(question)
    var reads: [HealthSampleQuery] = []
    while case .read(let query) = answering.step, reads.count < 9_999 {
      reads.append(query)
      if reads.count == twin.failing {
        answering.fail(HealthAnswerTwin.fault)
      } else {
        answering.take(store.page(query))
      }
    }
    func words(_ what: String) -> String {
      "\(what) of \(question) in \(scene.zone) at \(scene.now), \(trial.limits): \(scene.samples)"
    }
    guard let found = AnswerSeen(answering, reads) else {
      return compareAnswer(nil, AnswerSeen(twin, text), isBrief: twin.isBrief, words)
    }
    // Behind the end of what it keeps it may leave out samples and sums, and need not read.
    let isOpen = text.contains("\"skipped\":") || text.contains("add up")
    guard !twin.isBrief || !isOpen else { return }
    compareAnswer(found, AnswerSeen(twin, text), isBrief: twin.isBrief, words)
    if happens(4) { compareEnd(of: answering, before: scene.samples, words) }
  }

  /// Compares what is seen of an answer, which is nothing of one that does not end.
  mutating func compareAnswer(
    _ found: AnswerSeen?, _ must: AnswerSeen, isBrief: Bool, _ words: (String) -> String
  ) {
    guard let found else { return compare("an answer", "endless", "done") }
    if found.text != must.text, !Self.isClose(found.text, must.text) {
      compare(words("the answer"), found.text, must.text)
    }
    compare(words("the success"), found.succeeded, must.succeeded)
    compare(words("the count"), found.points, must.points)
    compare(words("the cut"), found.isCut, must.isCut)
    if !isBrief { compare(words("what was read"), found.reads, must.reads) }
  }

  /// Compares an answer that is done with the same after one more page.
  mutating func compareEnd(
    of answering: HealthAnswering, before samples: [HealthSample], _ words: (String) -> String
  ) {
    var later = answering
    later.take(HealthSamplePage(samples: samples))
    compare(words("what follows the end"), later.step, answering.step)
  }

  /// Returns whether two texts differ only in how numbers are rounded.
  private static func isClose(_ left: String, _ right: String) -> Bool {
    let marks: Set<Character> = [",", ":", "{", "}", "[", "]", "\""]
    let one = left.split { marks.contains($0) }
    let two = right.split { marks.contains($0) }
    guard one.count == two.count else { return false }
    return zip(one, two).allSatisfy { one, two in
      guard one != two, let one = Double(one), let two = Double(two) else { return one == two }
      return abs(one - two) <= 1e-12 * max(abs(one), abs(two))
    }
  }
}

/// All that is seen of an answer and of how it came about.
struct AnswerSeen {
  var text: String
  var succeeded: Bool
  /// How many points were made.
  var points: Int
  var isCut: Bool
  var reads: [HealthSampleQuery]

  /// What is seen of an answer that is done.
  init?(_ answering: HealthAnswering, _ reads: [HealthSampleQuery]) {
    guard case .done(let object) = answering.step else { return nil }
    (text, succeeded) = (HealthAnswerWalk.text(object.bytes), object.succeeded)
    (points, isCut, self.reads) = (answering.points, answering.isCut, reads)
  }

  /// What must be seen, by a second account that gave this answer.
  init(_ twin: HealthAnswerTwin, _ text: String) {
    (self.text, succeeded) = (text, text.hasPrefix("{\"success\":true"))
    (points, isCut, reads) = (twin.points, twin.isCut, twin.reads)
  }
}

/// All that an answer is made of.
struct AnswerTrial {
  var scene: AnswerScene
  var limits: AnswerLimits
  var stored: StoredHealth
  var store: AnswerStore
  /// Whether the answering is told neither limits nor what is stored.
  var isPlain = false
  /// Whether the question leaves little room.
  var isTight = false

  var twin: HealthAnswerTwin {
    HealthAnswerTwin(scene.zone, at: scene.now, limits, stored, store)
  }

  func answering(_ question: HealthQuestion) -> HealthAnswering {
    guard !isPlain else { return HealthAnswering(question, zone: scene.zone, now: scene.now) }
    return HealthAnswering(
      question, zone: scene.zone, now: scene.now, limits: limits, stored: stored)
  }
}
