package import HoldfastCore

/// The effective times of one person's batches: their timestamps, bounded by the server's clock.
///
/// A phone's clock may be ahead by minutes or by years. A phone that reads many pages in a second
/// also assigns them timestamps ahead of its clock. If a timestamp is later than the server's
/// clock, its effective time is the arrival time of the first batch with that timestamp. The
/// effective times are kept in the order of the phone's timestamps. A copy that arrives later has
/// the same effective time.
package struct SyncStamps: Sendable, Hashable {
  /// The most recent timestamp of a phone, and the phone's latest effective time.
  private struct Newest: Sendable, Hashable {
    var made: Timestamp
    var counts: Timestamp
  }

  private var newest: [String: Newest] = [:]
  /// The latest effective time of a batch.
  package private(set) var latest: Timestamp?
  /// The effective times of the bounded timestamps, by phone.
  private var bounded: [String: [Timestamp: Timestamp]] = [:]

  /// Creates an empty value.
  package init() {}

  /// Records a timestamp. Returns the effective time of its batch.
  ///
  /// - Parameter arrived: The time of arrival by the server's clock; `nil` for no bound.
  package mutating func note(
    _ made: Timestamp, of device: String, arrived: Timestamp?
  ) -> Timestamp {
    let known = bounded[device] ?? [:]
    let before = [
      known.filter { $0.key < made }.max { $0.key < $1.key }?.value,
      newest[device].flatMap { $0.made < made ? $0.counts : nil },
    ].compactMap(\.self).max()
    let counts =
      known[made]
      ?? Self.counts(
        made, arrived: arrived, latest: latest, before: before,
        behind: known.filter { $0.key > made && $0.key <= Self.horizon(of: made) }
          .min { $0.key < $1.key }?.value)
    if counts != made { bounded[device, default: [:]][made] = counts }
    let last = newest[device] ?? Newest(made: made, counts: counts)
    newest[device] = Newest(made: max(last.made, made), counts: max(last.counts, counts))
    latest = max(latest ?? counts, counts)
    return counts
  }

  /// Returns the most recent timestamp of a phone.
  package func newest(of device: String) -> Timestamp? { newest[device]?.made }

  /// Returns the latest timestamp that is treated as later than another one.
  ///
  /// Project choice: a phone's clock is wrong either by a few hours at most, or by years. After a
  /// clock that was years ahead is corrected, newer batches have earlier timestamps.
  package static func horizon(of made: Timestamp) -> Timestamp {
    made.advanced(by: .seconds(86_400))
  }

  /// Returns the effective time of a timestamp that arrives for the first time.
  ///
  /// - Parameters:
  ///   - latest: The latest effective time of the person's batches. It is needed since the server's
  ///     clock may have gone back.
  ///   - before: The latest effective time of the phone's earlier timestamps that arrived before
  ///     this one or were bounded.
  ///   - behind: The effective time of the phone's next timestamp, if that timestamp has arrived
  ///     and was bounded.
  package static func counts(
    _ made: Timestamp, arrived: Timestamp?, latest: Timestamp?, before: Timestamp?,
    behind: Timestamp?
  ) -> Timestamp {
    var counts = made
    if let arrived {
      let clock = SyncTime(arrived).instant
      counts = min(made, max(clock, latest ?? clock))
    }
    if let before, counts <= before { counts = before.advanced(by: .milliseconds(1)) }
    guard let behind, counts >= behind else { return counts }
    // Timestamps that were not bounded are whole seconds, and the previous second may be one of
    // them.
    let second = SyncTime(behind).instant
    let whole = second < behind ? second : second.advanced(by: .seconds(-1))
    let least = max(before ?? whole, whole)
    return Timestamp(nanoseconds: least.nanoseconds / 2 + behind.nanoseconds / 2)
  }
}
