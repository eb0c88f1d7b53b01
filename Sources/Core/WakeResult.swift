/// The result of a background wake, reported to the system when its time is given back.
public enum WakeResult: String, Sendable, Hashable, Codable {
  /// All that there was is stored.
  case done
  /// Something is left for the next time.
  case later
}
