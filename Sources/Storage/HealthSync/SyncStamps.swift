package import LinkCore
import LinkWire

/// The effective times of the batches of one person: their stamps, bounded by the server's clock.
///
/// The clock of a phone may be ahead, by minutes or by years, and a phone that reads many pages in
/// a second stamps them ahead of its clock. A stamp that is later than the server's clock gets as its
/// effective time the arrival of the first batch with it, in the order of the stamps of its phone; a
/// copy that arrives later has the same effective time.
package struct SyncStamps: Sendable, Hashable {
  /// The newest stamp of a phone, and its latest effective time.
  private struct Newest: Sendable, Hashable {
    var made: Timestamp
    var counts: Timestamp
  }

  private var newest: [String: Newest] = [:]
  /// The latest effective time of a batch.
  private var latest: Timestamp?
  /// The effective times of the stamps that were bounded, by phone.
  private var bounded: [String: [Timestamp: Timestamp]] = [:]

  /// Creates an empty value.
  package init() {}

  /// Records a stamp, and returns the effective time of its batch.
  ///
  /// - Parameter arrived: The server's clock; `nil` bounds nothing.
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

  /// The newest stamp of a phone.
  package func newest(of device: String) -> Timestamp? { newest[device]?.made }

  /// Returns the last stamp that is ordered after another one; ours: the clock of a phone is wrong
  /// by hours at most, or by years. A clock that was years ahead and was corrected gives newer
  /// batches an earlier stamp.
  package static func horizon(of made: Timestamp) -> Timestamp {
    made.advanced(by: .seconds(86_400))
  }

  /// Returns the effective time of a stamp that arrives for the first time.
  ///
  /// - Parameters:
  ///   - latest: The latest effective time of the person's batches: the server's clock may have gone
  ///     back.
  ///   - before: The latest effective time of the phone's earlier stamps that arrived before this
  ///     one or were bounded.
  ///   - behind: The effective time of the phone's next stamp, if that has arrived and was bounded.
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
    // Stamps that were not bounded are whole seconds, and may be the one just before.
    let second = SyncTime(behind).instant
    let whole = second < behind ? second : second.advanced(by: .seconds(-1))
    let least = max(before ?? whole, whole)
    return Timestamp(nanoseconds: least.nanoseconds / 2 + behind.nanoseconds / 2)
  }
}
