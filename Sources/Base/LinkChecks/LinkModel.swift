public import HoldfastCore

/// A model that drives a link, as its observers see it.
public protocol LinkClient: Machine {
  /// The status of the link that the user sees.
  var status: LinkStatus { get }
  /// The current attempt or connection. Events of all other attempts are late.
  var currentAttempt: AttemptID? { get }
  /// The system's queued connect. Its events are not late either.
  var queuedAttempt: AttemptID? { get }
  /// The explanation of the time until the next attempt; `nil` if there is none.
  var wait: RetryWait? { get }
}

extension LinkClient {
  /// The default value: no queued connect.
  public var queuedAttempt: AttemptID? { nil }
  /// The default value: no explanation.
  public var wait: RetryWait? { nil }
}

/// A model that the shared checkers can check.
///
/// It translates its inputs and effects into their meaning for its link. If it has no link, it
/// translates them into their meaning for the work that it retries.
public protocol CheckedModel: LinkClient {
  /// The policy that the model follows.
  var policy: LinkPolicy { get }
  /// Returns the event that an input contains unchanged; `nil` if it contains none.
  static func event(of input: Input) -> LinkEvent?
  /// Returns the meaning of an input for the link.
  static func role(of input: Input) -> InputRole
  /// Returns the meaning of an effect for the link.
  static func role(of effect: Effect) -> EffectRole
}

/// A model that drives a link.
public protocol LinkModel: CheckedModel where Input: LinkInput {
  /// The link that the model drives.
  var link: HeldLink { get }
}

extension LinkModel {
  /// The policy of the link.
  public var policy: LinkPolicy { link.policy }
  public static func event(of input: Input) -> LinkEvent? { input.event }
  /// The status of the link that the user sees.
  public var status: LinkStatus { link.status }
  /// The current attempt or connection.
  public var currentAttempt: AttemptID? { link.currentAttempt }
  /// The system's pending queued connect.
  public var queuedAttempt: AttemptID? { link.queuedAttempt }
  /// The explanation of the time until the next attempt.
  public var wait: RetryWait? { link.wait }
}

/// The meaning of an input for a link.
public enum InputRole: Sendable, Equatable {
  /// The user wants the link.
  case wanted
  /// The user no longer wants the link.
  case left
  /// The state of the device or the user's intent changed.
  case changed
  case lifecycle(AppLifecycle)
  /// A reason for another attempt: a request from the user, or the device waking up.
  case trigger
  case credentials(HeldLink.CredentialsEvent)
  case opened(AttemptID)
  /// Valid data was received over a socket.
  case data(AttemptID)
  /// The server announced that it will close all connections. Clients must reconnect within a given
  /// time.
  case draining(AttemptID, within: Duration)
  /// Other data was received over a socket.
  case received(AttemptID)
  case lost(AttemptID, LinkFailure)
  /// A request outside the link was answered. `isTrigger` is true if the answer is a reason for an
  /// attempt.
  case answered(isTrigger: Bool)
  /// A request outside the link failed.
  case refused(LinkFailure)
  /// An input that does not concern the link.
  case other

  /// The attempt to which the input belongs.
  public var attempt: AttemptID? {
    switch self {
    case .opened(let attempt), .data(let attempt), .draining(let attempt, _),
      .received(let attempt),
      .lost(let attempt, _):
      attempt
    case .wanted, .left, .changed, .lifecycle, .trigger, .credentials, .answered, .refused, .other:
      nil
    }
  }

  /// Whether the input makes earlier attempts irrelevant.
  package var isNewStart: Bool {
    switch self {
    case .wanted, .left, .changed, .lifecycle, .trigger: true
    case .credentials(.available), .credentials(.cleared): true
    case .credentials(.refreshFailed), .credentials(.rejected): false
    case .answered(let isTrigger): isTrigger
    case .opened, .data, .draining, .received, .lost, .refused, .other: false
    }
  }
}

/// The meaning of an effect for a link.
public enum EffectRole: Sendable, Equatable {
  case open(AttemptID)
  case close(AttemptID, HeldLink.CloseReason)
  case ping(AttemptID)
  case refreshCredentials
  /// A request outside the link, which awaits an answer.
  case request
  /// A call of the store, which awaits an answer.
  case store
  /// A notice for the user. Events of an earlier attempt may cause a notice.
  case notice
  /// The notice that the user must sign in.
  case signIn
  /// Any other effect, such as an update of the screen.
  case other

  /// Whether an answer is outstanding after the effect is carried out.
  var asks: Bool {
    switch self {
    case .open, .refreshCredentials, .request, .store: true
    case .close, .ping, .notice, .signIn, .other: false
    }
  }
}

extension LinkEvent {
  /// The meaning of the event for any link.
  public var role: InputRole {
    switch self {
    case .device(.reachability): .changed
    case .device(.lifecycle(let lifecycle)): .lifecycle(lifecycle)
    case .device(.woke), .device(.again): .trigger
    case .ping(let attempt), .pong(let attempt, _), .oversized(let attempt, _): .received(attempt)
    case .lost(let attempt, let failure): .lost(attempt, failure)
    }
  }
}
