extension HeldLink {
  /// Everything that can happen to a link.
  public enum Input: Sendable, Equatable, Codable {
    /// The user wants it, wants only its standby, or wants it no more. Wanting it again ends a
    /// failure.
    case want(Wish)
    /// The device's way out changed.
    case reachability(Reachability)
    /// The app went to the front or to the background.
    case lifecycle(Lifecycle)
    /// Credentials were stored, renewed, refused by their issuer, or cleared.
    case credentials(CredentialsEvent)
    /// Something that is a reason to try now.
    case trigger(Trigger)
    /// The feature did what comes before a connect.
    case prepared(AttemptID)
    /// The transport is open.
    case opened(AttemptID)
    /// A transport exists that this link did not open, named by `nextAttempt`; whether it has
    /// reached the feature's milestone.
    case found(AttemptID, established: Bool)
    /// The feature's own milestone was reached.
    case established(AttemptID)
    /// Any byte came in.
    case heard(AttemptID)
    /// Valid application data came in.
    case validData(AttemptID)
    /// A pong came in.
    case pong(AttemptID, UInt64)
    /// The attempt failed or its link was lost; the transport is gone.
    case lost(AttemptID, LinkFailure)
    /// The feature will not go on with this link; the transport is still there.
    case reject(AttemptID, LinkFailure)
    /// The server said that it will close all links, spread over a window.
    case draining(AttemptID, within: Duration)
    /// What had to be done before leaving for the background is done.
    case flushed
    /// The answer to a poll of the standby.
    case polled(UInt64, LinkFailure?)
    /// A request beside the link was accepted or refused; tells about credentials and membership.
    case requested(LinkFailure?)
  }

  /// What became of credentials.
  public enum CredentialsEvent: Sendable, Equatable, Codable {
    /// There are new ones; `expiresIn` is `nil` when that is not known.
    case available(expiresIn: Duration?)
    /// A refresh did not work out this time.
    case refreshFailed
    /// They cannot be refreshed: the user must sign in.
    case rejected
    /// The user signed out.
    case cleared
  }

  /// Reasons to try at once.
  public enum Trigger: String, Sendable, Equatable, Codable, CaseIterable {
    /// The user pulled to refresh or pressed retry: the waits begin anew, too.
    case userRefresh
    /// A message went out beside the link, so the server is there.
    case messageSent
    /// The device woke from sleep: whatever was open is suspect.
    case woke
  }
}
