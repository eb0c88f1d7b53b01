import LinkCore

/// What the server counted since its start.
///
/// A value: it is asked, never pushed. Names follow the Prometheus conventions (base units,
/// `_total`).
public struct Metrics: Sendable, Hashable, Codable {
  /// Answers by route and status.
  struct Answered: Hashable, Comparable, Codable {
    var route: String
    var status: Int

    static func < (left: Answered, right: Answered) -> Bool {
      (left.route, left.status) < (right.route, right.status)
    }
  }

  /// Upper bounds of the latency buckets in milliseconds; the last bucket has none.
  static let bounds: [Int64] = [5, 25, 100, 500, 2_500]

  var answers: [Answered: UInt64] = [:]
  var buckets = [UInt64](repeating: 0, count: Metrics.bounds.count + 1)
  var latency = Duration.zero
  var refusedUpgrades: [Int: UInt64] = [:]
  /// By close code; under 0 stand the codes that a peer made up.
  var closes: [UInt16: UInt64] = [:]
  var acceptedUpgrades: UInt64 = 0
  var accepted: UInt64 = 0
  var repeated: UInt64 = 0
  var broadcasts: UInt64 = 0
  var frames: UInt64 = 0
  var slowReaders: UInt64 = 0
  var silent: UInt64 = 0
  var authFailures: UInt64 = 0
  var storeFailures: UInt64 = 0
  var pings: UInt64 = 0

  /// Nothing counted yet.
  public init() {}

  mutating func answered(_ route: Route, status: Int, after time: Duration) {
    answers[Answered(route: route.rawValue, status: status), default: 0] += 1
    latency += time
    let milliseconds = time.nanoseconds / 1_000_000
    let bucket = Self.bounds.firstIndex { milliseconds <= $0 } ?? Self.bounds.count
    buckets[bucket] += 1
  }

  mutating func refusedUpgrade(status: Int) {
    refusedUpgrades[status, default: 0] += 1
  }

  /// A peer may send any code: only those that mean something have a counter of their own.
  mutating func closed(code: UInt16) {
    closes[Self.isKnown(code) ? code : 0, default: 0] += 1
  }

  /// RFC 6455 section 7.4.1, the IANA registry for 1012 to 1014, and ours.
  private static func isKnown(_ code: UInt16) -> Bool {
    switch code {
    case 1000...1003, 1005...1015, 4401, 4403: true
    case _: false
    }
  }
}
