package import LinkCore
import LinkWire

/// The times at which the batches of one person count: their stamps, bounded by the server's clock.
///
/// The clock of a phone may be ahead, by minutes or by years, and a phone that reads many pages in
/// a second stamps them ahead of its clock. A stamp that is later than the server's clock counts as
/// of the time at which a batch with it came first, in the order of the stamps of its phone; a copy
/// that comes later counts as of the same time.
package struct SyncStamps: Sendable, Hashable {
  /// The newest stamp of a phone, and the latest time at which one of it counts.
  private struct Newest: Sendable, Hashable {
    var made: Timestamp
    var counts: Timestamp
  }

  private var newest: [String: Newest] = [:]
  /// The latest time at which a batch counts.
  private var latest: Timestamp?
  /// The stamps that count as of another time than they say, by phone.
  private var bounded: [String: [Timestamp: Timestamp]] = [:]

  /// No stamps.
  package init() {}

  /// Notes a stamp, and returns the time at which its batch counts.
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

  /// The last stamp whose order behind another one is heeded; ours: the clock of a phone is wrong by
  /// hours at most, or by years. One that was years ahead and was set right says something newer
  /// with an earlier stamp.
  package static func horizon(of made: Timestamp) -> Timestamp {
    made.advanced(by: .seconds(86_400))
  }

  /// Returns the time at which a stamp counts that comes for the first time.
  ///
  /// - Parameters:
  ///   - latest: The latest time at which a batch of the person counts: the server's clock may have
  ///     gone back.
  ///   - before: When the stamps of the phone before this one count at the latest, if they came
  ///     before it or were bounded.
  ///   - behind: When the next stamp of the phone counts, if it was bounded and has come already.
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
