public import LinkCore

/// The numbers and rules of one bottle's link beside its policy.
public struct BottleSettings: Sendable, Hashable, Codable {
  /// When to connect: the burst is `establish.openTimeout`, its delay in the foreground
  /// `gate.foreground`, the wait after a loss `retry.reconnect`, the idle time `liveness.idle`.
  public var policy: LinkPolicy
  /// Whether drinks are fetched; a program that only sends a command leaves them to another one.
  public var syncs = true
  /// How long a refresh or a command may scan without finding the bottle; the seed's manual scan.
  public var scanTime = Duration.seconds(10)
  /// How long a refresh or a command may take in all; the seed's pull-to-refresh.
  public var requestTime = Duration.seconds(15)
  /// How long the first chunk may take; a bottle that has none to send says nothing.
  public var firstChunk = Duration.seconds(5)
  /// How long each further chunk may take; the seed's limit of a whole synchronisation.
  public var nextChunk = Duration.seconds(30)
  /// How long the state may take that follows a deletion.
  public var confirmation = Duration.seconds(5)
  /// The waits before a synchronisation that failed begins again on the same connection, and before
  /// a time that the bottle did not take is set again; then both wait for another connection, and a
  /// synchronisation for a refresh as well.
  public var syncRetries: [Duration] = [.seconds(1), .seconds(5), .seconds(15)]

  /// The usual numbers.
  public init(policy: LinkPolicy = .bottleLink) {
    self.policy = policy
  }
}
