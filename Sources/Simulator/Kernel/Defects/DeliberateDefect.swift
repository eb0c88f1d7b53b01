import HoldfastCore
public import HoldfastLinkChecks

/// A deliberate defect of a feature: a mistake that real clients make and that checkers must
/// detect.
public protocol DeliberateDefect: RawRepresentable<String>, CaseIterable, Codable, Sendable,
  Hashable
{
  associatedtype Server: ServerChoice

  /// The defect of the link that is equivalent to this defect; `nil` if there is none.
  var link: LinkDefect? { get }
  /// The servers with which the defect can be detected.
  var catchable: [Server] { get }
  /// The kinds of findings that may report the defect. One of them is sufficient.
  var kinds: [Finding.Kind] { get }
  /// The number of `swarm` seeds within which the defect must be detected, with each server in
  /// `catchable`.
  var seeds: Int { get }
}

extension DeliberateDefect {
  /// The defect of the link with the same name, if there is one.
  public var link: LinkDefect? { LinkDefect(rawValue: rawValue) }
  public var catchable: [Server] { Array(Server.allCases) }
  public var seeds: Int { 20 }
}

/// A deliberate defect that any model with a link can have. It is introduced at the seam between
/// the model and its world.
public enum LinkDefect: String, Sendable, Hashable, CaseIterable {
  /// The attempt count restarts whenever a connection opens.
  case countResetOnOpen
  /// A connection is considered stable immediately, however short it is.
  case noStability
  /// Events of earlier attempts are attributed to the current attempt.
  case takesLateEvents
  /// Polling never resumes after the app has been in the background.
  case losesStandby
  /// The duration of a dial is counted as part of the connection's duration.
  case countsTheDial
  /// The client reconnects immediately after the server has closed all connections.
  case noJitter
  /// Timers stop while the process is suspended.
  case timersStopAsleep
  /// Silent connections are never pinged.
  case noLiveness
  /// Quiet connections are treated as dead.
  case closesAlive
  /// The server's `Retry-After` and reconnection window are ignored.
  case ignoresRetryAfter
  /// Credentials are refreshed halfway through their lifetime.
  case refreshesEarly
  /// Failures of the server are treated as rejected credentials.
  case blamesCredentials

  /// The kinds of findings that may report the defect.
  public var kinds: [Finding.Kind] {
    switch self {
    case .countResetOnOpen, .noStability, .noJitter, .ignoresRetryAfter, .refreshesEarly,
      .countsTheDial:
      [.storm]
    case .closesAlive, .blamesCredentials: [.needless]
    case .takesLateEvents: [.late]
    case .losesStandby, .timersStopAsleep: [.stuck]
    case .noLiveness: [.falselyConnected]
    }
  }
}

/// The seam between a model and its world, with or without a defect of the link.
///
/// A defect is never inside the model. The seam changes the model's inputs or its policy, so that
/// the model and the seam together behave like a faulty client. Checkers receive the original input
/// and the policy without the defect.
struct LinkSeam<Model: SimulatedModel>: Sendable {
  let defect: LinkDefect?
  private var hadStandby = false

  init(_ defect: LinkDefect?) {
    self.defect = defect
  }

  /// Handles a new run of the process.
  mutating func launched() { hadStandby = false }

  /// Returns the policy that the model follows.
  public func policy(_ policy: LinkPolicy) -> LinkPolicy {
    switch defect {
    case .countResetOnOpen: policy.countingFromTheStart
    case .noStability: policy.stable(after: .nanoseconds(1))
    case .noJitter: policy.withServerJitter(.nanoseconds(1))
    case .noLiveness: policy.withoutPings
    case .closesAlive: policy.hasty
    case .countsTheDial:
      policy.stable(after: max(policy.retry.stability.after - .seconds(3), .seconds(1)))
    case .ignoresRetryAfter: policy.ignoringRetryAfter
    case .refreshesEarly: policy.refreshingEarly
    case .blamesCredentials: policy.blamingCredentials
    case .takesLateEvents, .losesStandby, .timersStopAsleep, nil: policy
    }
  }

  /// Returns the input to pass to the model, or `nil` if the input is lost.
  ///
  /// - Parameters:
  ///   - current: The model's current attempt.
  ///   - status: The model's link status before the input.
  mutating func input(
    _ input: Model.Input, current: AttemptID?, status: LinkStatus
  ) -> Model.Input? {
    switch defect {
    case .takesLateEvents: current.map { Model.renamed(input, to: $0) } ?? input
    case .losesStandby: loses(Model.role(of: input), status) ? nil : input
    case .noJitter:
      if case .draining = Model.role(of: input) { nil } else { input }
    case .countResetOnOpen, .noStability, .timersStopAsleep, .noLiveness, .countsTheDial,
      .closesAlive,
      .ignoresRetryAfter, .refreshesEarly, .blamesCredentials, nil:
      input
    }
  }

  /// Returns whether an input is lost. A link that was polling before the app entered the
  /// background does not receive the return to the foreground.
  private mutating func loses(_ role: InputRole, _ status: LinkStatus) -> Bool {
    switch role {
    case .lifecycle(.background):
      hadStandby = hadStandby || status.phase == .standby
      return false
    case .lifecycle(.foreground): return hadStandby
    case .left:
      hadStandby = false
      return false
    case .wanted, .changed, .trigger, .credentials, .opened, .data, .draining, .received, .lost,
      .answered, .refused, .other:
      return false
    }
  }
}
