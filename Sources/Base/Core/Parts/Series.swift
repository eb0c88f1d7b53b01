/// A series of attempts that share one schedule. It ends once a link is stable.
struct Series: Sendable, Hashable {
  /// The schedule that a series uses.
  enum Origin: Sendable, Hashable {
    case first
    case reconnect
  }

  var origin: Origin
  /// The number of attempts that failed so far.
  var failures = 0
  /// Whether a link was lost before this series or during it.
  var hadLink = false
  /// Whether credentials were refreshed in this series because the server rejected them.
  var refreshed = false
  /// The jitter window of the next attempt, set after a refusal or close by the server.
  var jitterWindow: Duration?
  /// Whether the feature prepares the connection before the next attempt.
  var prepares = false
  /// Whether the series is a single attempt from standby. If the attempt fails, the standby
  /// continues.
  var isProbe = false

  static let first = Series(origin: .first, prepares: true)
  static let reconnect = Series(origin: .reconnect)

  /// The series with all attempts available again, for use on a new network path.
  var fresh: Series {
    var series = Series(origin: origin, prepares: prepares)
    series.jitterWindow = jitterWindow
    return series
  }

  /// The series after a request by the user: an immediate attempt, followed by the first waits.
  ///
  /// The restarted series still records whether credentials were refreshed. A probe is returned
  /// unchanged.
  var restarted: Series {
    guard !isProbe else { return self }
    var series = Series(origin: .first, prepares: prepares)
    series.hadLink = hadLink || origin == .reconnect
    series.refreshed = refreshed
    return series
  }

  /// Whether the series has no failed attempt and follows no lost link.
  var isNew: Bool { origin == .first && failures == 0 && !hadLink }

  /// The index of the next attempt in the schedule; `nil` for the immediate first attempt.
  var scheduleIndex: Int? {
    switch origin {
    case .first: failures == 0 ? nil : failures - 1
    case .reconnect: failures
    }
  }
}
