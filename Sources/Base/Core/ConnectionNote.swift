/// A note of a transport about one of its connections, which explains a run.
///
/// A note is not an input: no machine receives it, and a replay ignores it.
public enum ConnectionNote: Sendable, Hashable {
  /// The connection has opened, or its attempt has ended before.
  case opening(Opening)
  /// The numbers of bytes that the connection has received and sent since it was dialed.
  ///
  /// They are those of the WebSocket and its upgrade, without TLS.
  case traffic(received: UInt64, sent: UInt64)

  /// The phases of an attempt, in their order. A phase that did not begin, or that the connection
  /// does not have, has no duration.
  public struct Opening: Sendable, Hashable {
    /// The resolution of the host's name.
    public var resolve: Duration?
    /// The connection to an address.
    public var connect: Duration?
    /// The TLS handshake.
    public var tls: Duration?
    /// The upgrade of the connection to a WebSocket.
    public var upgrade: Duration?
    /// The phase in which the attempt ended without a connection; `nil` if it succeeded.
    public var failed: LinkFailure.Phase?

    /// Creates a note from the durations of phases.
    public init(
      resolve: Duration? = nil, connect: Duration? = nil, tls: Duration? = nil,
      upgrade: Duration? = nil, failed: LinkFailure.Phase? = nil
    ) {
      (self.resolve, self.connect, self.tls) = (resolve, connect, tls)
      (self.upgrade, self.failed) = (upgrade, failed)
    }

    /// The phases that began, in order.
    public var phases: [(phase: LinkFailure.Phase, length: Duration)] {
      let all: [(LinkFailure.Phase, Duration?)] = [
        (.resolve, resolve), (.connect, connect), (.tls, tls), (.upgrade, upgrade),
      ]
      var begun: [(phase: LinkFailure.Phase, length: Duration)] = []
      for (phase, length) in all {
        if let length { begun.append((phase, length)) }
      }
      return begun
    }

    /// The sum of the durations.
    public var total: Duration { phases.reduce(.zero) { $0 + $1.length } }
  }
}
