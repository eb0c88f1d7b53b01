import HoldfastCore

/// The number of answered requests by route and status, and the times until their answers.
///
/// The routes are names that the code contains, so their number is bounded.
public struct RequestCounts: Sendable, Hashable {
  /// The requests of one route.
  package struct Route: Sendable, Hashable {
    var answers: [Int: UInt64] = [:]
    var times = Histogram(Histogram.requests)
  }

  private(set) var routes: [String: Route] = [:]

  /// Creates a value in which all counts are zero.
  public init() {}

  /// Counts a request that was answered `time` after its arrival.
  public mutating func answered(_ route: String, status: Int, after time: Duration) {
    routes[route, default: Route()].add(status, time)
  }

  /// Adds the counts of another instance.
  public mutating func add(_ other: RequestCounts) {
    routes.merge(other.routes) { $0.adding($1) }
  }
}

extension RequestCounts.Route {
  fileprivate mutating func add(_ status: Int, _ time: Duration) {
    answers[status, default: 0] += 1
    times.add(time)
  }

  fileprivate func adding(_ other: Self) -> Self {
    var sum = self
    sum.answers.merge(other.answers) { $0 + $1 }
    sum.times.add(other.times)
    return sum
  }
}
