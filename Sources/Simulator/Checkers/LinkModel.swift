public import LinkCore

/// A model that drives a link, as far as a world must see it.
public protocol LinkClient: Machine {
  /// What its user is told about the link.
  var status: LinkStatus { get }
  /// The attempt or connection that counts now; events of every other one are late.
  var currentAttempt: AttemptID? { get }
  /// The queued connect of the system beside it, whose events count as well.
  var queuedAttempt: AttemptID? { get }
}

extension LinkClient {
  /// There is none.
  public var queuedAttempt: AttemptID? { nil }

  /// How the model stands. It changes nothing; it is mutating so that an element of an array is
  /// read in place and not copied.
  mutating func glance() -> Glance {
    Glance(
      status: status, deadline: deadline, current: currentAttempt, queued: queuedAttempt)
  }
}

/// How a model stands.
struct Glance {
  var status: LinkStatus
  var deadline: Instant?
  var current: AttemptID?
  var queued: AttemptID?
}

/// A model that one set of checkers can check: it says what its inputs and effects mean to the link
/// that it drives, or, if it holds none, to the work that it tries again.
public protocol SimulatedModel: LinkClient {
  /// The policy that it follows.
  var policy: LinkPolicy { get }
  /// The input that tells the model of an event; `nil` if there is none.
  static func input(_ event: LinkEvent, at wall: Timestamp) -> Input?
  /// The event that an input holds as it is; `nil` for another input.
  static func event(of input: Input) -> LinkEvent?
  /// What an input means to the link.
  static func role(of input: Input) -> InputRole
  /// What an effect asks for the link.
  static func role(of effect: Effect) -> EffectRole
  /// The same input of another attempt, if it belongs to one.
  static func renamed(_ input: Input, to attempt: AttemptID) -> Input
}

/// A model that drives a link.
public protocol LinkModel: SimulatedModel where Input: LinkInput {
  /// The link that it drives.
  var link: HeldLink { get }
}

extension LinkModel {
  /// The policy of its link.
  public var policy: LinkPolicy { link.policy }
  public static func input(_ event: LinkEvent, at wall: Timestamp) -> Input? {
    Input(event, at: wall)
  }
  public static func event(of input: Input) -> LinkEvent? { input.event }
  /// What its user is told about the link.
  public var status: LinkStatus { link.status }
  /// The attempt or connection that counts now.
  public var currentAttempt: AttemptID? { link.currentAttempt }
  /// The queued connect that is armed.
  public var queuedAttempt: AttemptID? { link.queuedAttempt }
}

/// What an input means to a link.
public enum InputRole: Sendable, Equatable {
  /// The user wants the link.
  case wanted
  /// The user wants it no longer.
  case left
  /// Something about the device or the user's wishes changed.
  case changed
  case lifecycle(Lifecycle)
  /// A reason to try again: a person asked, the device woke.
  case trigger
  case credentials(HeldLink.CredentialsEvent)
  case opened(AttemptID)
  /// Valid data came over a socket.
  case data(AttemptID)
  /// The server announced that it will close all connections, and over how long clients shall
  /// return.
  case draining(AttemptID, within: Duration)
  /// Anything else came over a socket.
  case heard(AttemptID)
  case lost(AttemptID, LinkFailure)
  /// A request beside the link was answered; `isTrigger` if that is a reason to try again.
  case answered(isTrigger: Bool)
  /// A request beside the link failed.
  case refused(LinkFailure)
  /// Nothing that concerns the link.
  case other

  /// The attempt that the input belongs to.
  public var attempt: AttemptID? {
    switch self {
    case .opened(let attempt), .data(let attempt), .draining(let attempt, _), .heard(let attempt),
      .lost(let attempt, _):
      attempt
    case .wanted, .left, .changed, .lifecycle, .trigger, .credentials, .answered, .refused, .other:
      nil
    }
  }

  /// Whether what was tried before does not count any more.
  var isNewStart: Bool {
    switch self {
    case .wanted, .left, .changed, .lifecycle, .trigger: true
    case .credentials(.available), .credentials(.cleared): true
    case .credentials(.refreshFailed), .credentials(.rejected): false
    case .answered(let isTrigger): isTrigger
    case .opened, .data, .draining, .heard, .lost, .refused, .other: false
    }
  }
}

/// What an effect asks of a link's shell.
public enum EffectRole: Sendable, Equatable {
  case open(AttemptID)
  case close(AttemptID)
  case ping(AttemptID)
  case refreshCredentials
  /// A request beside the link, which will be answered.
  case request
  /// A call of the store, which will be answered.
  case store
  /// A notice to the user; an event of an older attempt may lead to one.
  case notice
  /// The notice that the user must sign in.
  case signIn
  /// What the user sees, and all else.
  case other

  /// Whether an answer is outstanding once it is carried out.
  var asks: Bool {
    switch self {
    case .open, .refreshCredentials, .request, .store: true
    case .close, .ping, .notice, .signIn, .other: false
    }
  }
}

extension LinkEvent {
  /// What it means to any link.
  public var role: InputRole {
    switch self {
    case .device(.reachability): .changed
    case .device(.lifecycle(let lifecycle)): .lifecycle(lifecycle)
    case .device(.woke), .device(.again): .trigger
    case .ping(let attempt), .pong(let attempt, _), .oversized(let attempt, _): .heard(attempt)
    case .lost(let attempt, let failure): .lost(attempt, failure)
    }
  }
}
