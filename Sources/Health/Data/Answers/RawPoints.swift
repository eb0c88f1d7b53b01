import HoldfastCore
import HoldfastHealthSamples

/// The samples of an answer without statistics.
struct RawPoints: Sendable {
  var all: [TimedPoint] = []
  /// The number of bytes of the current type. Each type may fill the answer, which is truncated at
  /// the end.
  var bytes = 0
  /// The index of the current type.
  var index = 0
  /// The times of the workouts among the samples.
  var sessions: [Range<Timestamp>] = []
  /// The number of sessions that were read, if those that several sources report count once.
  var arrived = 0
  /// The position of each listed session among those that were read.
  private var orders: [Int] = []

  /// Inserts a session in the order in which the sessions were read, which is chronological.
  fileprivate mutating func insert(_ point: TimedPoint, _ session: SessionMerge.Session) {
    let place = (orders.lastIndex { $0 < session.order } ?? -1) + 1
    all.insert(point, at: place)
    sessions.insert(session.sample.span, at: place)
    orders.insert(session.order, at: place)
  }

  /// Removes the sessions from the start of the last one on. Returns that start and the removed
  /// points.
  fileprivate mutating func removeLast() -> (cut: Timestamp, points: ArraySlice<TimedPoint>)? {
    guard let cut = all.last?.start else { return nil }
    let place = all.firstIndex { $0.start >= cut } ?? all.startIndex
    let removed = all[place...]
    all.removeSubrange(place...)
    sessions.removeSubrange(place...)
    orders.removeSubrange(place...)
    return (cut, removed)
  }
}

extension HealthAnswer {
  /// Returns the number of bytes that a sample takes in the answer. A row of a table is shorter than
  /// a point. At the end, the answer is cut to its rows.
  func length(of point: TimedPoint) -> Int {
    query.options.format == .table ? point.length / 5 : point.length
  }

  /// Adds a session that counts to the list. If there is no room for it, the answer is truncated
  /// before the last ones.
  ///
  /// All sessions are read nevertheless, because a later one may be the same as an earlier one.
  mutating func place(_ session: SessionMerge.Session, _ kind: HealthKind) {
    let start = session.sample.start
    guard window.members.contains(start), let point = point(of: session.sample, kind) else {
      return
    }
    let timed = TimedPoint(point, start: start)
    raw.insert(timed, session)
    raw.bytes += length(of: timed)
    while raw.bytes > room, let (cut, removed) = raw.removeLast() {
      raw.bytes -= removed.reduce(0) { $0 + length(of: $1) }
      (window.to, nextStart) = (cut, cut)
    }
  }
}
