// What it holds in memory beside what it shows; each has a bound.
extension StreamModel {
  /// Messages that wait for the store, or are on their way to it.
  public var unstoredCount: Int { writer.count }
  /// Offsets that it knows beyond its cursor.
  public var aheadCount: Int { recovery.ahead.count }
}
