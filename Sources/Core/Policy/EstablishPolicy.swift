/// What counts as connected.
public struct EstablishPolicy: Sendable, Hashable {
  /// What makes an attempt a success.
  public var milestone: Milestone
  /// Time for the transport to open.
  public var openTimeout: Duration
  /// Time from the start of the attempt to the milestone; at least `openTimeout`.
  public var timeout: Duration
  /// Time for what the feature does before a first or foreground connect; `nil` when nothing is.
  public var prepare: Duration?

  /// What counts as connected.
  public enum Milestone: String, Sendable, Hashable, CaseIterable {
    /// The transport is open.
    case opened
    /// The feature says so: a code, a welcome, a discovered peripheral.
    case confirmed
  }

  public init(
    milestone: Milestone, openTimeout: Duration, timeout: Duration, prepare: Duration? = nil
  ) {
    self.milestone = milestone
    self.openTimeout = openTimeout
    self.timeout = timeout
    self.prepare = prepare
  }
}
