/// What became of granted time.
public enum WakeResult: String, Sendable, Hashable, Codable {
  /// All that there was is stored.
  case done
  /// Something is left for the next time.
  case later
}
