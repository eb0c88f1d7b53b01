import HoldfastCore
import Testing

@testable import HoldfastBackend

struct LogRateTests {
  private static let second = Instant.zero.advanced(by: .seconds(1))

  @Test(arguments: [(99, 0), (100, 0), (101, 1), (1_000, 900)])
  func `logs 100 lines of an event per second and counts the rest`(
    noted: Int, leftOut: UInt64
  ) {
    var rate = LogRate()
    let taken = (0..<noted).filter { _ in rate.takes(.refused, at: .zero) }.count
    #expect(taken == min(noted, 100))
    #expect(rate.ended(by: Self.second.advanced(by: .nanoseconds(-1))) == [])
    let expected = leftOut > 0 ? [LogRate.LeftOut(event: .refused, count: leftOut)] : []
    #expect(rate.ended(by: Self.second) == expected)
    #expect(rate.ended(by: Self.second) == [])
  }

  @Test(arguments: [(9, 0), (10, 0), (11, 1), (100_000, 99_990)])
  func `logs ten store failures per minute and counts the rest`(noted: Int, leftOut: UInt64) {
    for event in [LogLine.Event.storeFailure, .hookFailed] {
      var rate = LogRate()
      let minute = Instant.zero.advanced(by: .seconds(60))
      let taken = (0..<noted).filter { _ in rate.takes(event, at: .zero) }.count
      #expect(taken == min(noted, 10))
      #expect(rate.ended(by: minute.advanced(by: .nanoseconds(-1))) == [])
      let expected = leftOut > 0 ? [LogRate.LeftOut(event: event, count: leftOut)] : []
      #expect(rate.ended(by: minute) == expected)
    }
  }

  @Test func `requests that failed have a limit of their own`() {
    var rate = LogRate(limit: 1)
    let good = (0..<3).map { _ in rate.takes(.request, at: .zero) }
    let failed = (0..<2).map { _ in rate.takes(.request, isFailure: true, at: .zero) }
    #expect(good == [true, false, false] && failed == [true, false])
    #expect(
      rate.ended(by: Self.second) == [
        .init(event: .request, count: 2), .init(event: .request, count: 1),
      ])
  }

  @Test func `each act of an operator has its line, and who is not admitted has a limit`() {
    var rate = LogRate(limit: 1)
    let strangers = (0..<3).map { _ in rate.takes(.admin, isFailure: true, at: .zero) }
    let acts = (0..<3).map { _ in rate.takes(.admin, at: .zero) }
    #expect(strangers == [true, false, false] && acts == [true, true, true])
    #expect(rate.ended(by: Self.second) == [.init(event: .admin, count: 2)])
  }

  @Test func `resets the limit after one second and limits each event separately`() {
    var rate = LogRate(limit: 1)
    let first = (0..<3).map { _ in rate.takes(.refused, at: .zero) }
    #expect(first == [true, false, false])
    let other = [rate.takes(.closed, at: .zero), rate.takes(.closed, at: .zero)]
    #expect(other == [true, false])
    #expect(
      rate.ended(by: Self.second) == [
        .init(event: .refused, count: 2), .init(event: .closed, count: 1),
      ]
    )
    let again = [rate.takes(.refused, at: Self.second), rate.takes(.refused, at: Self.second)]
    #expect(again == [true, false])
  }
}
