import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSession

/// Tests of the daily connection counts before they are stored.
@Suite struct SessionDayTests {
  private static let day = Duration.seconds(86_400)

  private func wall(_ time: Duration) -> Timestamp {
    Timestamp(nanoseconds: 0).advanced(by: time)
  }

  @Test func `counts a recovered loss with its duration, on the day it ended`() {
    var metrics = SessionMetrics()
    metrics.noteTry(at: wall(.zero))
    metrics.noteConnected(at: wall(.zero), .second(1))
    metrics.noteLoss(at: .second(5))
    metrics.noteTry(at: wall(Self.day))
    metrics.noteConnected(at: wall(Self.day), .second(12))
    // No connection was lost before this one.
    metrics.noteConnected(at: wall(Self.day), .second(20))
    let days = metrics.take()
    #expect(days.map(\.day) == [0, 1])
    #expect(days.map(\.tries) == [1, 1])
    #expect(days.map(\.connects) == [1, 2])
    #expect(days.map(\.reconnects) == [0, 1])
    #expect(days.map(\.reconnecting) == [.zero, .seconds(7)])
    #expect(metrics.take() == [])
  }

  @Test func `counts round trips and stores their sum and maximum`() {
    var metrics = SessionMetrics()
    for milliseconds in [20, 70, 30] {
      metrics.noteRoundTrip(.milliseconds(milliseconds), at: wall(.zero))
    }
    let days = metrics.take()
    #expect(days.map(\.roundTrips) == [3])
    #expect(days.map(\.roundTripSum) == [.milliseconds(120)])
    #expect(days.map(\.longestRoundTrip) == [.milliseconds(70)])
  }

  /// A day begins exactly at midnight UTC, also before 1970.
  @Test(arguments: [
    (Int64(0), 0), (-1, -1), (86_399_999_999_999, 0), (86_400_000_000_000, 1),
    (-86_400_000_000_000, -1), (-86_400_000_000_001, -2),
  ])
  func `a day begins at midnight in UTC`(nanoseconds: Int64, day: Int) {
    var metrics = SessionMetrics()
    metrics.noteTry(at: Timestamp(nanoseconds: nanoseconds))
    #expect(metrics.take().map(\.day) == [day])
  }

  @Test(arguments: [(14, 0), (15, 1)])
  func `keeps 14 days until they are stored, and forgets older ones`(count: Int, first: Int) {
    var metrics = SessionMetrics()
    for day in 0..<count { metrics.noteTry(at: wall(Self.day * day)) }
    let days = metrics.take()
    #expect(days.map(\.day) == Array(first..<count))
    #expect(days.allSatisfy { $0.tries == 1 })
  }

  @Test func `stores how long a session was without its connection`() {
    var harness = SessionHarness.connected()
    harness.pass(.seconds(100))
    harness.give(.link(.lost(harness.attempt, .reset), at: harness.wall))
    let lostAt = harness.now
    while harness.opens == 0, let due = harness.model.deadline {
      harness.pass(harness.now.duration(to: due))
    }
    harness.connect()
    let waited = lostAt.duration(to: harness.now)
    harness.lose()
    var sum = SessionDay(day: 0)
    for day in harness.store.days { sum.add(day) }
    #expect([sum.tries, sum.connects, sum.reconnects] == [2, 2, 1])
    #expect(sum.reconnecting == waited)
  }
}
