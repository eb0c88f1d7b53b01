import LinkCore
import Testing

@testable import LinkHealth

/// Answers that are just full.
@Suite struct HealthAnswerEdgeTests {
  @Test func `merged sums behind a cut take no room from those before it`() throws {
    let hours = (0..<6).map { "2026-01-05T0\($0)" }
    let samples = hours.map { steps(1, "\($0):00:00Z", "\($0):30:00Z") }
    let query = ask(.steps, "2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z", .hour, .sum)
    // Room for four spans.
    var answer = try HealthAnswer(
      query, zone: .utc, now: at("2027-01-01T00:00:00Z"), limits: AnswerLimits(maxBytes: 240),
      stored: StoredHealth())
    answer.take(HealthSamplePage(samples: samples))
    let starts = [0, 1, 0, 1].map { samples[$0].start }
    #expect(answer.nextStart == samples[2].start)
    #expect(answer.cells.all.map(\.bucket.start) == starts)
    #expect(answer.cells.all.map(\.source) == [1, 1, Sources.merged, Sources.merged])
  }

  @Test func `samples of the second of two types may fill an answer to its last byte`() throws {
    let samples = (10..<40).map { second in
      quantity("RestingHeartRate", 60, "count/min", "2026-01-05T09:00:\(second)Z")
    }
    let shelf = Shelf(samples)
    let query = ask(.heartRate, "2026-01-05T00:00:00", "2026-01-06T00:00:00")
    let points = try shelf.parts(query).points
    #expect(points.count == 30)
    // Each with its comma.
    let room = points.reduce(HealthAnswer.around) { $0 + $1.length + 1 }
    let reply = try shelf.parts(query, limits: AnswerLimits(maxBytes: room))
    #expect(reply == HealthReply(query: query, points: points))
  }
}
