public import LinkCore

/// A model that drives a link, as a world sees it.
public protocol LinkClient: Machine {
  /// The status of the link that the user sees.
  var status: LinkStatus { get }
  /// The current attempt or connection. Events of all others are late.
  var currentAttempt: AttemptID? { get }
  /// The system's queued connect, whose events are not late either.
  var queuedAttempt: AttemptID? { get }
}

extension LinkClient {
  /// The default, which is no queued connect.
  public var queuedAttempt: AttemptID? { nil }

  /// Returns the state of the model. This changes nothing; it is mutating so that an array element
  /// is read in place instead of copied.
  mutating func glance() -> Glance {
    Glance(
      status: status, deadline: deadline, current: currentAttempt, queued: queuedAttempt)
  }
}

/// The state of a model that checkers see.
struct Glance {
  var status: LinkStatus
  var deadline: Instant?
  var current: AttemptID?
  var queued: AttemptID?
}

/// A model that the shared checkers can check. It maps its inputs and effects to their meaning for
/// its link or, if it has none, for the work that it retries.
public protocol SimulatedModel: LinkClient {
  /// The policy that the model follows.
  var policy: LinkPolicy { get }
  /// Returns the input for an event; `nil` if the model has none.
  static func input(_ event: LinkEvent, at wall: Timestamp) -> Input?
  /// Returns the event that an input contains unchanged; `nil` for any other input.
  static func event(of input: Input) -> LinkEvent?
  /// Returns the meaning of an input for the link.
  static func role(of input: Input) -> InputRole
  /// Returns the meaning of an effect for the link.
  static func role(of effect: Effect) -> EffectRole
  /// Returns the input with another attempt, if it belongs to one.
  static func renamed(_ input: Input, to attempt: AttemptID) -> Input
}

/// A model that drives a link.
public protocol LinkModel: SimulatedModel where Input: LinkInput {
  /// The link that the model drives.
  var link: HeldLink { get }
}

extension LinkModel {
  /// The policy of the link.
  public var policy: LinkPolicy { link.policy }
  public static func input(_ event: LinkEvent, at wall: Timestamp) -> Input? {
    Input(event, at: wall)
  }
  public static func event(of input: Input) -> LinkEvent? { input.event }
  /// The status of the link that the user sees.
  public var status: LinkStatus { link.status }
  /// The current attempt or connection.
  public var currentAttempt: AttemptID? { link.currentAttempt }
  /// The pending queued connect.
  public var queuedAttempt: AttemptID? { link.queuedAttempt }
}

/// The meaning of an input for a link.
public enum InputRole: Sendable, Equatable {
  /// The user wants the link.
  case wanted
  /// The user no longer wants the link.
  case left
  /// The state of the device or the user's intent changed.
  case changed
  case lifecycle(Lifecycle)
  /// A reason for another attempt: the user requested one, or the device woke.
  case trigger
  case credentials(HeldLink.CredentialsEvent)
  case opened(AttemptID)
  /// Valid data was received over a socket.
  case data(AttemptID)
  /// The server announced that it will close all connections, and the time over which clients must
  /// return.
  case draining(AttemptID, within: Duration)
  /// Anything else was received over a socket.
  case received(AttemptID)
  case lost(AttemptID, LinkFailure)
  /// A request outside the link was answered. `isTrigger` is true if that is a reason for an
  /// attempt.
  case answered(isTrigger: Bool)
  /// A request outside the link failed.
  case refused(LinkFailure)
  /// The input does not concern the link.
  case other

  /// The attempt that the input belongs to.
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
  var isNewStart: Bool {
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
  case close(AttemptID)
  case ping(AttemptID)
  case refreshCredentials
  /// A request outside the link, which will be answered.
  case request
  /// A call of the store, which will be answered.
  case store
  /// A notice to the user. Events of an earlier attempt may cause one.
  case notice
  /// The notice that the user must sign in.
  case signIn
  /// Any other effect, such as an update of the screen.
  case other

  /// Whether the effect has an answer that is outstanding once it is carried out.
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
