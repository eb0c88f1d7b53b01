import LinkWire

// What it holds in memory beside what it shows; each has a bound.
extension StreamModel {
  /// Messages that wait for the store, or are on their way to it.
  public var unstoredCount: Int { commits.count }
  /// Offsets that it knows beyond its cursor.
  public var aheadCount: Int { recovery.ahead.count }

  /// The newest message that it knows of, kept or on its way to the store.
  var newestKnown: TimelineKey? {
    [timeline.newest, commits.messages.map(\.key).max()].compactMap(\.self).max()
  }
  /// The oldest message in memory, kept or on its way to the store.
  var oldestKnown: TimelineKey? {
    [timeline.oldest, commits.messages.map(\.key).min()].compactMap(\.self).min()
  }
}
