/// A run of tries that belong together: they share one schedule and end with a stable link.
struct Series: Sendable, Hashable {
  /// Which schedule counts.
  enum Origin: Sendable, Hashable {
    case first
    case reconnect
  }

  var origin: Origin
  /// Tries that failed so far.
  var failures = 0
  /// Whether a link was lost before this series, or in it.
  var hadLink = false
  /// Whether credentials were refreshed because the server refused them in this series.
  var refreshed = false
  /// The window over which the next try is spread; set by a refusal or close of the server.
  var spread: Duration?
  /// Whether what the feature prepares comes before the next try.
  var prepares = false
  /// A single try out of standby: when it fails, standby goes on.
  var isProbe = false

  static let first = Series(origin: .first, prepares: true)
  static let reconnect = Series(origin: .reconnect)

  /// The same series with all its tries again: the way out is another one now.
  var fresh: Series {
    var series = Series(origin: origin, prepares: prepares)
    series.spread = spread
    return series
  }

  /// What follows when the user asks: a try that waits for nothing, then the first waits.
  ///
  /// What was refused in this series stays refused; a probe stays one.
  var restarted: Series {
    guard !isProbe else { return self }
    var series = Series(origin: .first, prepares: prepares)
    series.hadLink = hadLink || origin == .reconnect
    series.refreshed = refreshed
    return series
  }

  /// Whether nothing was tried in it, and no link was lost before it.
  var isNew: Bool { origin == .first && failures == 0 && !hadLink }

  /// Where in its schedule the next try stands; `nil` for the free first try.
  var scheduleIndex: Int? {
    switch origin {
    case .first: failures == 0 ? nil : failures - 1
    case .reconnect: failures
    }
  }
}
