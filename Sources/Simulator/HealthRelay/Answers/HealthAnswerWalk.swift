import LinkCore
import LinkHealth

/// Questions about random samples, answered beside a second account.
struct HealthAnswerWalk: TwinWalk {
  var chance: Chance
  var stray: String?

  init(_ chance: Chance) { self.chance = chance }

  /// Asks so many questions; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    compare("a frame", AnswerLimits.oneFrame, AnswerLimits(maxBytes: 199_000))
    compare("parts", AnswerLimits.parts, AnswerLimits(maxBytes: 8_388_608))
    compare("limits", AnswerLimits(), Self.usual)
    for _ in 0..<times where stray == nil {
      tryQuestion()
      if happens(4) { trySummary() }
      if happens(4) { tryParts() }
    }
    return stray
  }

  private static let usual = AnswerLimits(
    maxBytes: 199_000, pageLimit: 5_000, batch: .seconds(6_480_000))

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
    let must = twin.answer(question)
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
    guard case .done(let object) = answering.step else {
      return compare("an answer", "endless", "done")
    }
    // Behind the end of what it keeps it may leave out samples and sums, and need not read.
    let isOpen = must.contains("\"skipped\":") || must.contains("add up")
    guard !twin.isBrief || !isOpen else { return }
    func words(_ what: String) -> String {
      "\(what) of \(question) in \(scene.zone) at \(scene.now), \(trial.limits): \(scene.samples)"
    }
    let found = Self.text(object.bytes)
    if found != must, !Self.isClose(found, must) {
      compare(words("the answer"), found, must)
    }
    compare(words("the success"), object.succeeded, must.hasPrefix("{\"success\":true"))
    compare(words("the count"), answering.points, twin.points)
    compare(words("the cut"), answering.isCut, twin.isCut)
    if !twin.isBrief { compare(words("what was read"), reads, twin.reads) }
    if happens(4) {
      let step = answering.step
      answering.take(HealthSamplePage(samples: scene.samples))
      compare(words("what follows the end"), answering.step, step)
    }
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
