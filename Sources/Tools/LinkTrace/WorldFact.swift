import HoldfastCore

extension TraceFact {
  /// Creates a fact about the world around a phone, which only its observer knows.
  ///
  /// - Parameters:
  ///   - at: The time since the beginning of the trace.
  ///   - say: One sentence that is complete without the picture, without secrets.
  public static func world(_ event: TraceEvent, at: Duration, _ say: String) -> TraceFact {
    TraceFact(event, at: at, say)
  }
}
