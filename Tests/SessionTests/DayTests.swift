import LinkCore
import LinkStorage
import Testing

@testable import Session

/// Tests of the counts of days without a connection.
@Suite struct DayTests {
  @Test func `stores attempts without a connection by day when the series ends`() {
    var bench = SessionBench.opening()
    for _ in 1...40 {
      bench.give(.link(.lost(bench.attempt, .refused), at: bench.wall))
      bench.pass(.seconds(60))
    }
    #expect(bench.model.link.status.phase == .failed)
    let first = bench.opens
    #expect(bench.store.days.map(\.tries) == [first])
    #expect(bench.store.days.map(\.connects) == [0])
    bench.pass(.seconds(86_400))
    bench.give(.start)
    #expect(bench.opens == first + 1)
    bench.give(.stop)
    #expect(bench.store.days.map(\.day) == [0, 1])
    #expect(bench.store.days.map(\.tries) == [first, 1])
    #expect(bench.model.isStopped)
  }

  @Test func `stores attempts when the link is held back`() {
    var bench = SessionBench.opening()
    bench.give(.link(.device(.reachability(.unreachable)), at: bench.wall))
    #expect(bench.store.days.map(\.tries) == [1])
  }

  @Test func `an attempt on a new day stores the previous day's counts during a series`() {
    var bench = SessionBench.opening()
    let morning = bench.wall.advanced(by: .seconds(86_400))
    bench.give(.link(.lost(bench.attempt, .refused), at: morning))
    bench.pass(.seconds(10))
    #expect(bench.opens == 2)
    #expect(bench.store.days.map(\.day) == [0])
    #expect(bench.store.days.map(\.tries) == [1])
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
