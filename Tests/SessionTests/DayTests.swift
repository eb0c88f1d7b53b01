import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSession

/// Tests of the daily counts on days without a connection.
@Suite struct DayTests {
  @Test func `stores attempts without a connection by day when the series ends`() {
    var harness = SessionHarness.opening()
    for _ in 1...40 {
      harness.give(.link(.lost(harness.attempt, .refused), at: harness.wall))
      harness.pass(.seconds(60))
    }
    #expect(harness.model.link.status.phase == .failed)
    let first = harness.opens
    #expect(harness.store.days.map(\.tries) == [first])
    #expect(harness.store.days.map(\.connects) == [0])
    harness.pass(.seconds(86_400))
    harness.give(.start)
    #expect(harness.opens == first + 1)
    harness.give(.stop)
    #expect(harness.store.days.map(\.day) == [0, 1])
    #expect(harness.store.days.map(\.tries) == [first, 1])
    #expect(harness.model.isStopped)
  }

  @Test func `stores attempts when the link is held back`() {
    var harness = SessionHarness.opening()
    harness.give(.link(.device(.reachability(.unreachable)), at: harness.wall))
    #expect(harness.store.days.map(\.tries) == [1])
  }

  @Test func `an attempt on a new day stores the previous day's counts during a series`() {
    var harness = SessionHarness.opening()
    let morning = harness.wall.advanced(by: .seconds(86_400))
    harness.give(.link(.lost(harness.attempt, .refused), at: morning))
    harness.pass(.seconds(10))
    #expect(harness.opens == 2)
    #expect(harness.store.days.map(\.day) == [0])
    #expect(harness.store.days.map(\.tries) == [1])
  }

  @Test func `returns the previous day when a new one begins`() {
    var metrics = SessionMetrics()
    let day = Timestamp(nanoseconds: 86_400_000_000_000)
    metrics.noteTry(at: Timestamp(nanoseconds: 0))
    #expect(metrics.takePast() == [])
    metrics.noteTry(at: day.advanced(by: .nanoseconds(-1)))
    #expect(metrics.takePast() == [])
    metrics.noteTry(at: day)
    #expect(metrics.takePast().map { [$0.day, $0.tries] } == [[0, 2]])
    #expect(metrics.take().map { [$0.day, $0.tries] } == [[1, 1]])
    #expect(metrics.take() == [])
  }
}
