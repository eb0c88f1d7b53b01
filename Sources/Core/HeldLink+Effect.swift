extension HeldLink {
  /// Everything a link can ask for; carried out in order.
  public enum Effect: Sendable, Equatable, Codable {
    /// Do what comes before a connect, then say `.prepared`, or `.reject` with what went wrong.
    case prepare(AttemptID)
    /// Open the transport.
    case open(AttemptID)
    /// Close the transport, or give up opening it; nothing more is heard of the attempt.
    case close(AttemptID, CloseReason)
    /// Send a ping.
    case ping(AttemptID, UInt64)
    /// Get new credentials.
    case refreshCredentials
    /// Ask the other way to the data once.
    case poll(UInt64)
    /// Queue a connect with the OS that opens whenever the peer appears; first the OS leaves the
    /// peer alone for a while, so that one with which nothing is left to do can rest.
    case arm(AttemptID, after: Duration = .zero)
    /// Take the queued connect back.
    case disarm(AttemptID)
    /// What the user sees changed.
    case status(LinkStatus)
  }

  /// Why a link closes its transport.
  public enum CloseReason: String, Sendable, Equatable, Codable {
    case leaving, background, networkChanged, timeout, silent, idle, rejected, superseded

    /// The code with which a WebSocket is closed for this reason (RFC 6455 section 7.4.1).
    public var closeCode: UInt16 {
      switch self {
      case .leaving, .idle, .superseded: 1000
      case .background, .networkChanged, .timeout, .silent: 1001
      case .rejected: 1002
      }
    }
  }
}
