import LinkCore
import Testing

@testable import LinkHealth
@testable import LinkSimulator

/// The second accounts of samples in batches and in stores.
@Suite struct HealthSamplesTwinTests {
  typealias Walk = HealthSamplesWalk

  private static func sample(
    _ start: Int64, _ value: HealthSampleValue = .quantity(1), unit: String? = nil
  ) -> HealthSample {
    let time = Walk.moment(start)
    return HealthSample(type: "a", value: value, unit: unit, start: time, end: time, source: "s")
  }

  @Test func `the account has the published hash of a block`() {
    #expect(HealthSampleAccount.hash([]) == HealthSampleKey(high: 0, low: 0))
    #expect(
      HealthSampleAccount.hash(Array("0123456789abcdef".utf8))
        == HealthSampleKey(high: 0x4BE0_6D94_CF4A_D1A7, low: 0x87C3_5B5C_63A7_08DA))
  }

  // Batches.

  @Test func `a batch that holds something else is found`() throws {
    let workout = WorkoutValue(activity: "R")
    let samples = [Self.sample(5, unit: "m"), Self.sample(6, .workout(workout))]
    let good = HealthBatch(samples)
    let span = HealthSpan(digest: HealthSampleKey(high: 0, low: 0), count: 1)
    let changes: [(String, (inout HealthBatch) -> Void)] = [
      ("the names of HealthSample(", { $0.rows[0].unit = HealthRow.none }),
      ("the times of HealthSample(", { $0.rows[0].end = Walk.moment(7) }),
      ("the value of HealthSample(", { $0.rows[0].value = .quantity(2) }),
      ("the keys of HealthSample(", { $0.rows[0].key.low ^= 1 }),
      ("the sample of a row", { $0.names[0] = HealthName("b") }),
      ("the count of rows", { $0.rows.removeLast() }),
      ("the workouts", { $0.workouts.append(workout) }),
      ("the names of a batch", { $0.names.append(HealthName("b")) }),
      ("the spans of a batch", { $0.spans.append(span) }),
    ]
    try Walk.expect(good, changes) { $0.compareBatch($1, of: samples) }
    let key = HealthSampleAccount.key("a")
    #expect(try Walk.finding { $0.compareNames(["a"], [key], ["a"]) } == nil)
    #expect(try Walk.finds("the names of a batch") { $0.compareNames(["b"], [key], ["a"]) })
    #expect(try Walk.finds("the keys of [\"a\"]") { $0.compareNames(["a"], [], ["a"]) })
  }

  @Test func `other rows in stretches, and others that are left, are found`() throws {
    let batch = HealthBatch([
      Self.sample(5, unit: "m"), Self.sample(6, .workout(WorkoutValue(activity: "R"))),
    ])
    let stretch = HealthStretch(type: "a", from: Walk.moment(6), to: Walk.moment(9))
    #expect(Walk.places(of: batch, in: [stretch]) == [1])
    #expect(try Walk.finding { $0.compareRows(batch.rows(in: [stretch]), [1], [stretch]) } == nil)
    #expect(
      try Walk.finds("the rows in \([stretch])") { $0.compareRows([0, 1], [1], [stretch]) })
    let changes: [(String, (inout HealthBatch) -> Void)] = [
      ("what is left without [1]", { $0.rows = [] }),
      ("the names that are left", { $0.names.removeLast() }),
      ("the workouts that are left", { $0.workouts = [] }),
    ]
    try Walk.expect(batch.without([1]), changes) { $0.compareRest($1, of: batch, without: [1]) }
  }

  // Questions.

  @Test func `a question that asks for something else is found`() throws {
    let place = HealthSamplePlace(
      type: "b", start: Walk.moment(1), key: HealthSampleKey(high: 1, low: 2))
    let query = HealthSampleQuery(
      types: ["a", "b", "b"], from: Walk.moment(2), to: Walk.moment(4), after: place)
    #expect(try Walk.finding { $0.compareTypes(query.typesLeft, of: query) } == nil)
    #expect(try Walk.finding { $0.compareTypes(["b"], of: query) } == nil)
    #expect(
      try Walk.finds("the types that are left of \(query)") { walk in
        walk.compareTypes(["a", "b"], of: query)
      })
    #expect(try Walk.finding { $0.compareLimit(10_000) } == nil)
    #expect(try Walk.finds("how many samples a page holds") { $0.compareLimit(9_999) })
    // What ends where a time begins is not in it, unless it has no length.
    #expect(try Walk.finding { $0.compareCover(false, 0, 2, 2, 4) } == nil)
    #expect(try Walk.finding { $0.compareCover(true, 2, 2, 2, 4) } == nil)
    #expect(try Walk.finds("whether 0 to 2 is in 2 to 4") { $0.compareCover(true, 0, 2, 2, 4) })
  }

  @Test func `another order and another sum are found`() throws {
    let keys = [1, 2].map { HealthSampleKey(high: 0, low: $0) }
    #expect(try Walk.finding { $0.compareOrder(true, keys[0], keys[1]) } == nil)
    #expect(
      try Walk.finds("\(keys[1]) < \(keys[0])") { $0.compareOrder(true, keys[1], keys[0]) })
    let place = HealthPlace.before(Walk.moment(5))
    #expect(try Walk.finding { $0.comparePlace(place, before: 5) } == nil)
    #expect(try Walk.finds("the place before 6") { $0.comparePlace(place, before: 6) })
    let other = HealthPlace(start: Walk.moment(4), key: keys[0])
    #expect(try Walk.finds("the key before 5") { $0.comparePlace(other, before: 5) })
    #expect(try Walk.finding { $0.compareSum(HealthAddition(added: 13, known: 24)) } == nil)
    for sum in [HealthAddition(added: 12, known: 24), HealthAddition(added: 13, known: 4)] {
      #expect(try Walk.finds("what was added") { $0.compareSum(sum) })
    }
  }

  // Spans.

  @Test func `spans that are cut or kept otherwise are found`() throws {
    let good = try #require(Walk.spanned)
    let values = [Walk.values.others[0], Walk.values.ends[0], Walk.values.others[1]]
    #expect(good.spans.map(\.count) == [2, 1])
    let (one, other) = (good.spans[0], good.spans[1])
    let changes: [(String, (inout HealthBatch) -> Void)] = [
      ("the number of rows of \(values)", { $0.rows.removeLast() }),
      (
        "the lengths of the spans of \(values)",
        { $0.spans[0] = HealthSpan(digest: one.digest, count: 1) }
      ),
      (
        "the digests of the spans of \(values)",
        { $0.spans[0] = HealthSpan(digest: other.digest, count: 2) }
      ),
    ]
    try Walk.expect(good, changes) { $0.compareSpans($1, of: values) }
    #expect(
      try Walk.finding { $0.compareMarks(HealthMarks(spans: good.spans), of: good) } == nil)
    #expect(try Walk.finds("the marks of spans") { $0.compareMarks(HealthMarks(), of: good) })
  }

  @Test func `spans without a row that are others are found`() throws {
    let batch = try #require(Walk.spanned)
    let values = [Walk.values.others[0], Walk.values.ends[0], Walk.values.others[1]]
    let good = batch.without([0])
    // The span that is whole comes first.
    #expect(good.rows == [batch.rows[2], batch.rows[1]])
    func finding(_ rest: HealthBatch) throws -> String? {
      try Walk.finding { $0.compareWithout(rest, [0], batch, values) }
    }
    #expect(try finding(good) == nil)
    var other = good
    other.rows.swapAt(0, 1)
    #expect(try finding(other)?.hasPrefix("the rows of \(values) without [0] is ") == true)
    other = good
    other.spans = []
    #expect(try finding(other)?.hasPrefix("the spans of \(values) without [0] is ") == true)
    let last = good.without([1])
    #expect(try Walk.finding { $0.compareLast(last, good) } == nil)
    #expect(try Walk.finds("the rows without the last") { $0.compareLast(good, good) })
    other = last
    other.spans = []
    #expect(try Walk.finds("the spans without the last row") { $0.compareLast(other, good) })
  }

  @Test func `fingerprints that tell values apart otherwise are found`() throws {
    #expect(try Walk.finding { $0.compareSameness(true, 1, 1) } == nil)
    #expect(try Walk.finding { $0.compareSameness(false, 1, 2) } == nil)
    #expect(try Walk.finds("whether 1 has the fingerprint of 2") { $0.compareSameness(true, 1, 2) })
    #expect(
      try Walk.finds("whether 1 has the fingerprint of 1") { $0.compareSameness(false, 1, 1) })
  }
}
