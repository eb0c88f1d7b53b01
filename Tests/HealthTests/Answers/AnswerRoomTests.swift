import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

/// Tests of the samples that an answer reads and keeps if there is little room or nothing left to
/// read.
@Suite struct AnswerRoomTests {
  /// Returns an answer grouped by day, from January 5 to 8, 2026.
  private static func answer(
    _ valueType: HealthValueType, _ statistic: HealthStatistic,
    _ limits: AnswerLimits = AnswerLimits()
  ) throws -> HealthAnswer {
    try HealthAnswer(
      ask(valueType, "2026-01-05T00:00:00Z", "2026-01-08T00:00:00Z", .day, statistic), zone: .utc,
      now: at("2027-01-01T00:00:00Z"), limits: limits, stored: StoredHealth())
  }

  private static func pulse(_ start: String, _ source: String) -> HealthSample {
    quantity("HeartRate", 60, "count/min", start, source: source)
  }

  @Test func `a sample that does not fit uses no space in the discarded span`() throws {
    // There is room for four cells. Each span also has a cell for all sources.
    var answer = try Self.answer(.heartRate, .average, AnswerLimits(maxBytes: 240))
    let second = ["A", "B", "C"].map { Self.pulse("2026-01-06T09:00:00Z", $0) }
    answer.take(HealthSamplePage(samples: [Self.pulse("2026-01-05T09:00:00Z", "A")] + second))
    #expect(answer.nextStart == at("2026-01-06T00:00:00Z"))
    let first = at("2026-01-05T00:00:00Z")
    #expect(answer.cells.all.map(\.bucket.start) == [first, first])
  }

  @Test func `a span with more data than fits ends the reading`() throws {
    var answer = try Self.answer(.heartRate, .average, AnswerLimits(maxBytes: 240))
    let samples = ["A", "B", "C", "D"].map { Self.pulse("2026-01-05T09:00:00Z", $0) }
    answer.take(HealthSamplePage(samples: samples))
    #expect(answer.refusal == .tooMuchAtOnce)
    #expect(answer.wanted == nil)
  }

  @Test func `there is room for at least two spans, so that one can be discarded`() throws {
    var answer = try Self.answer(.heartRate, .average, AnswerLimits(maxBytes: 0))
    let days = (5...7).map { "2026-01-0\($0)T00:00:00Z" }
    answer.take(HealthSamplePage(samples: days.map { Self.pulse($0, "A") }))
    #expect(answer.nextStart == at(days[1]))
    #expect(answer.cells.all.map(\.bucket.start) == [at(days[0]), at(days[0])])
  }

  @Test func `merged sums that are complete do not wait for the last page`() throws {
    let days = ["2026-01-05", "2026-01-06", "2026-01-07"]
    let samples = days.map { steps(1, $0 + "T09:00:00Z", $0 + "T09:30:00Z") }
    let position = HealthSamplePosition(
      type: samples[2].type, start: samples[2].start, key: samples[2].key)
    var answer = try Self.answer(.steps, .sum)
    answer.take(HealthSamplePage(samples: samples, next: position))
    let merged = answer.cells.all.filter { $0.source == Sources.merged }
    #expect(merged.map(\.bucket.start) == days.prefix(2).map { at($0 + "T00:00:00Z") })
    #expect(answer.merge?.finished == [])
  }

  @Test func `a page that arrives after the reading has ended changes nothing`() throws {
    var answer = try Self.answer(.steps, .sum)
    answer.take(HealthSamplePage(samples: []))
    #expect(answer.wanted == nil)
    let late = steps(1, "2026-01-05T09:00:00Z", "2026-01-05T09:30:00Z")
    answer.take(HealthSamplePage(samples: [late]))
    let points = try answer.collected()
    #expect(points.isEmpty)
  }

  @Test func `an answer that its second type fills reads no further`() {
    let first = at("2026-01-05T09:00:00Z")
    let samples = (0..<2_000).map { second in
      let start = first.advanced(by: .seconds(second))
      return HealthSample(
        type: "HKQuantityTypeIdentifierRestingHeartRate", value: .quantity(60), start: start,
        end: start, source: "Watch")
    }
    let shelf = Shelf(samples)
    var answering = HealthAnswering(
      .healthData(ask(.heartRate, "2026-01-05", "2026-01-06")), zone: .utc,
      now: at("2027-01-01T00:00:00Z"), limits: AnswerLimits(maxBytes: 5_000, pageLimit: 10))
    var pages = 0
    while case .read(let query) = answering.step {
      answering.take(shelf.page(query))
      pages += 1
    }
    // A point takes more than 50 bytes, so fewer than 70 points fill the rest of the answer.
    #expect(pages <= 10)
  }

  @Test func `an answer reports its number of points and whether it was cut`() throws {
    let samples = (10..<40).map { second in
      quantity("StepCount", 1, "count", "2026-01-05T09:00:\(second)Z")
    }
    let shelf = Shelf(samples)
    for (maxBytes, isCut) in [(32_768, false), (4_000, true)] {
      var answering = HealthAnswering(
        .healthData(ask(.steps, "2026-01-05", "2026-01-06")), zone: .utc,
        now: at("2027-01-01T00:00:00Z"), limits: AnswerLimits(maxBytes: maxBytes))
      while case .read(let query) = answering.step { answering.take(shelf.page(query)) }
      guard case .done(let object) = answering.step else { continue }
      let reply = try HealthReply.read(object.bytes)
      #expect(answering.points == reply.points.count)
      #expect(answering.isCut == isCut)
      #expect((reply.nextStart != nil) == isCut)
    }
  }

  @Test func `a question for the nights of an empty interval reads nothing`() {
    let answering = HealthAnswering(
      .healthData(ask(.sleep, "2026-01-05", "2026-01-05", .day)), zone: .utc,
      now: at("2027-01-01T00:00:00Z"))
    let isDone = if case .done = answering.step { true } else { false }
    #expect(isDone)
  }

  @Test func `an answer in one frame leaves 1,000 of its 200,000 bytes`() {
    let limits = AnswerLimits(
      maxBytes: 200_000 - 1_000, pageLimit: 5_000, batch: .seconds(75 * 86_400))
    #expect(AnswerLimits.oneFrame == limits)
  }

  @Test func `a sample that ends before it starts has no length`() {
    let backwards = steps(1, "2026-01-05T10:01:00Z", "2026-01-05T10:00:00Z")
    #expect(backwards.minutes == 0)
  }

  @Test func `a page that arrives after a refusal is ignored`() throws {
    var answer = try Self.answer(.heartRate, .average)
    answer.refusal = .unreadable(reason: "locked")
    answer.take(HealthSamplePage(samples: [Self.pulse("2026-01-05T09:00:00Z", "A")]))
    #expect(answer.cells.all.isEmpty)
  }

  @Test func `nights are read from 12 hours before to 12 hours after the interval`() throws {
    // Days of sleep last from 21:00 to 21:00.
    let wanted = try #require(try Self.answer(.sleep, .sum).wanted)
    #expect(wanted.from == at("2026-01-04T09:00:00Z"))
    #expect(wanted.to == at("2026-01-08T09:00:00Z"))
  }

  @Test func `a day that exceeds the maximum number of compared days ends the reading`() throws {
    var answer = try Self.answer(.steps, .average)
    let bucket = answer.days.bucket(at: at("2026-01-05T09:00:00Z"))
    for source in 0..<SleepLog.most {
      _ = answer.cells.update(type: 0, source: source, bucket: bucket) {
        $0.take(1, for: .averagePerDay)
      }
    }
    let next = steps(1, "2026-01-06T09:00:00Z", "2026-01-06T09:30:00Z")
    answer.take(HealthSamplePage(samples: [next]))
    #expect(answer.refusal == .tooManyDays)
  }

  @Test func `a night that exceeds the maximum number of nights ends the reading`() throws {
    let night = ("2026-01-05T22:00:00Z", "2026-01-06T06:00:00Z")
    let span = SleepSpan(start: at(night.0), end: at(night.1), stage: .core, track: 0)
    let session = try #require(SleepSession([span], [SourceRank(kind: .watch, name: "Watch")]))
    var answer = try Self.answer(.sleep, .sum)
    let bucket = answer.days.bucket(at: session.end)
    for source in 0..<SleepLog.most {
      answer.nights.add(session, of: source, in: bucket, isNight: true)
    }
    answer.take(HealthSamplePage(samples: [stage("AsleepCore", night.0, night.1)]))
    #expect(answer.refusal == .tooManyDays)
  }
}
