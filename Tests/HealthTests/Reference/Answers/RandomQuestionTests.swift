import HoldfastCore
import HoldfastHealth
import Testing

/// Tests that compare the answers to random questions with a reference implementation.
@Suite struct RandomQuestionTests {
  @Test(arguments: randomSeeds)
  func `answers match the reference implementation`(seed: UInt64) {
    var random = RandomQuestions(generator: RandomSource(seed: seed))
    for number in 0..<8 {
      let drawn = number < 6 ? random.question() : random.summary()
      let expected = drawn.expected()
      let found = drawn.found()
      let difference = found.map { $0.difference(from: expected) } ?? "the answer does not end"
      guard let difference else { continue }
      Issue.record("seed \(seed): \(difference) in \(drawn)")
      return
    }
  }

  @Test(arguments: randomSeeds)
  func `statistics of readings match the reference implementation`(seed: UInt64) throws {
    var random = RandomQuestions(generator: RandomSource(seed: seed))
    for _ in 0..<3 {
      let (scenario, type, known) = random.readings()
      let isLoose = random.happens(2)
      let expected = ReadingsOutcome(expected: scenario, type, known, isLoose: isLoose)
      let read = ReadingsOutcome(found: scenario, type, isLoose: isLoose)
      let found = try #require(read, "seed \(seed): another page is wanted")
      #expect(firstDifference(found, expected) == nil, "seed \(seed): \(scenario)")
    }
  }

  @Test(arguments: AnswerScenario.zones.indices)
  func `local times around each zone change match the reference implementation`(index: Int) {
    let zone = AnswerScenario.zones[index]
    let (clock, hour) = (ReferenceClock(zone), ReferenceClock.hour)
    let changes = zone.transitions.map(\.at.nanoseconds)
    for edge in changes + [AnswerScenario.day * ReferenceClock.day] {
      for near in [-25, -14, -2, -1, 0, 1, 2, 11, 14, 24] as [Int64] {
        for shift in [-1_800_000_000_000, -1, 0, 1] as [Int64] {
          let moment = edge + near * hour + shift
          let (time, local) = (Timestamp(nanoseconds: moment), clock.local(moment))
          let locals = [moment, local - 1, local, local + 1]
          let found = locals.map { zone.instant(of: CivilTime(nanoseconds: $0)).nanoseconds }
          #expect(zone.secondsEast(at: time) == clock.secondsEast(moment), "\(moment) in \(zone)")
          #expect(zone.local(at: time).nanoseconds == local, "\(moment) in \(zone)")
          #expect(found == locals.map { clock.moment(of: $0) }, "\(moment) in \(zone)")
        }
      }
    }
  }

  @Test func `units are converted only within their dimension`() {
    let known = [
      "mass", "energy", "count", "beats", "length", "time", "pressure", "speed", "volume",
    ].compactMap { ReferenceDimension.all[$0] }
    for (dimension, other) in known.flatMap({ one in known.map { (one, $0) } }) {
      for from in dimension.units.compactMap(\.self) {
        for to in other.units.compactMap(\.self) where from != to {
          let both = known.first { $0.units.contains(from) && $0.units.contains(to) }
          let expected = both.map { 2.5 / $0.amount(1, in: from) * $0.amount(1, in: to) }
          let found = HealthUnits.convert(2.5, from: from, to: to)
          let isClose = abs((found ?? 0) - (expected ?? 0)) <= 1e-12 * (expected ?? 1)
          #expect(isClose && (found == nil) == (expected == nil), "\(from) to \(to)")
        }
      }
    }
  }
}
