public import HoldfastCore
public import HoldfastMessageData

/// An update that a stream reports to its user. Updates are reported in order.
public enum StreamUpdate: Sendable, Hashable, Codable {
  case status(StreamStatus)
  /// Messages that were not shown before, in timeline order. Each ID is shown once in a run.
  case messages([ShopMessage], via: Via)
  /// Shown messages whose text changed.
  case edited([ShopMessage])
  /// Messages that were deleted on the server and are no longer stored. Most of them were shown
  /// before.
  case deleted([DeletedMessage])
  /// A gap was found. Pages of older messages can fill it.
  case gap(ShopGap)
  /// A gap was closed.
  case gapClosed(ShopGap)
  /// A message of the user waits, or could not be sent.
  case outbox(OutboxEntry)
  /// A message of the user was sent and became `message`, or was discarded. `message` is `nil` also
  /// after `discard` of a message that the outbox does not contain.
  case outboxDone(UUID128, message: MessageID?)
  /// The requested page of older messages arrived. `hasMore` is whether more messages exist.
  case history(hasMore: Bool)
  case notice(StreamNotice)

  /// The way in which a message arrived.
  public enum Via: String, Sendable, Hashable, Codable, CaseIterable {
    case live
    case catchUp
    case poll
    case history
  }
}

/// The status of a stream: one of five states, with details.
///
/// `isFinal` says whether the stream has given up.
public struct StreamStatus: Sendable, Hashable, Codable {
  /// The current state.
  public var state: State
  /// The number of the current or next attempt, counted from 1; 0 if there is none.
  public var attempt: Int
  /// The maximum number of attempts; `nil` if none is running or waiting.
  public var maxAttempts: Int?
  /// The instant at which the next attempt starts; `nil` if none is scheduled.
  public var retryAt: Instant?
  /// The way in which messages currently arrive.
  public var mode: LinkStatus.Mode
  /// The reason why the stream is not connected.
  public var reason: LinkStatus.Reason?
  /// Whether no retry can help, so that the stream makes no more attempts by itself.
  ///
  /// The state is then `.disconnected`, and `reason` says what the user must do.
  public var isFinal: Bool

  /// A state.
  public enum State: String, Sendable, Hashable, Codable {
    /// There is no connection and no attempt: the stream is closed or blocked, or has given up.
    case disconnected = "DISCONNECTED"
    /// The first attempt is made.
    case connecting = "CONNECTING"
    /// The socket is open.
    case connected = "CONNECTED"
    /// The connection was lost or the first attempt failed, and further attempts are made.
    case reconnecting = "RECONNECTING"
    /// The stream fetches messages at intervals, because no socket could be opened or real-time
    /// messaging is off. It tries the socket again later.
    case polling = "FAILED"
  }

  /// Creates the status of a link.
  ///
  /// A response that ends all attempts leads to `.disconnected` with a reason.
  public init(_ link: LinkStatus) {
    switch link.phase {
    case .disconnected, .held, .failed: state = .disconnected
    case .connecting: state = .connecting
    case .connected: state = .connected
    case .reconnecting: state = .reconnecting
    case .standby: state = .polling
    }
    attempt = link.attempt
    maxAttempts = link.maxAttempts
    retryAt = link.retryAt
    mode = link.mode
    reason = link.reason
    isFinal = link.isFinal
  }

  /// The failure behind `reason`, as in `LinkStatus`.
  public var failure: LinkFailure? { link.failure }

  /// Returns the time from `now` until the next attempt; `nil` if none is scheduled.
  ///
  /// It is zero if the attempt is due. `now` is read from the clock of the stream's ports.
  public func retryIn(at now: Instant) -> Duration? { link.retryIn(at: now) }

  /// The status of the link from which this status was created, without the quality.
  private var link: LinkStatus {
    LinkStatus(
      phase: phase, attempt: attempt, maxAttempts: maxAttempts, retryAt: retryAt, mode: mode,
      reason: reason)
  }

  private var phase: LinkStatus.Phase {
    switch state {
    case .connecting: return .connecting
    case .connected: return .connected
    case .reconnecting: return .reconnecting
    case .polling: return .standby
    case .disconnected:
      if isFinal { return .failed }
      // Only a link that is wanted is blocked.
      if case .blocked = reason { return .held }
      return .disconnected
    }
  }
}

extension StreamStatus: CustomStringConvertible {
  /// The phase, the attempt and the reason, as in `LinkStatus`.
  public var description: String { link.description }
}

/// A condition that is worth logging or showing but has no further effect.
public enum StreamNotice: Sendable, Hashable, Codable {
  /// A frame or page entry was not a valid message and was left out.
  case malformed(MessageError)
  /// Entries of a page were left out. `first` is the reason for the first of them.
  case rejected(count: Int, first: MessageError? = nil)
  /// A frame has a type that this version does not support.
  case unknownType(String)
  /// A message over the frame limit was dropped. The catch-up fetches it.
  case oversized(bytes: UInt64)
  /// A page could not be fetched. The fetch is retried.
  case fetchFailed(LinkFailure)
  /// A message of the user could not be posted. The post is retried.
  case sendFailed(LinkFailure)
  /// The store failed. The change is kept, and storing it is retried.
  case store(StoreFailure)
  /// The store works again.
  case storeRecovered
  /// The server will close all streams within this time.
  case draining(within: Duration)
  /// The server's log started over, or was restored to an earlier state.
  case newEpoch(ShopPosition)
  /// The user must sign in.
  case signIn
  /// The user is not, or no longer, a member of the shop.
  case forbidden
  /// The TLS connection was refused. A third party may be intercepting it.
  case security(LinkFailure)
}
