import LinkCore

/// A deliberate defect of a feature: each is a mistake that real clients make, and each must be
/// caught.
public protocol DeliberateDefect: RawRepresentable<String>, CaseIterable, Codable, Sendable,
  Hashable
{
  associatedtype Server: ServerChoice

  /// The defect of the link that it is, if it is one.
  var link: LinkDefect? { get }
  /// The servers with which it can show.
  var catchable: [Server] { get }
  /// What it is caught as; one of these is enough.
  var kinds: [Finding.Kind] { get }
  /// The number of swarm's seeds within which it is caught, with each server that can show it.
  var seeds: Int { get }
}

extension DeliberateDefect {
  /// The defect of the link that has the same name.
  public var link: LinkDefect? { LinkDefect(rawValue: rawValue) }
  public var catchable: [Server] { Array(Server.allCases) }
  public var seeds: Int { 20 }
}

/// A deliberate defect that every model with a link can have, made at the seam between the model
/// and its world.
public enum LinkDefect: String, Sendable, Hashable, CaseIterable {
  /// Starts the count of tries again at each open.
  case countResetOnOpen
  /// A connection counts as good at once, however short it stands.
  case noStability
  /// Takes events of older attempts for the present one's.
  case takesLateEvents
  /// Polls no more after it was in background.
  case losesStandby
  /// Counts the time of the dial to that for which a connection stood.
  case countsTheDial
  /// Tries at once after the server closed all connections.
  case noSpread
  /// Uses timers that stand still while it is suspended.
  case timersStopAsleep
  /// Never asks a silent connection for a sign of life.
  case noLiveness
  /// Takes a connection for dead that is only quiet.
  case closesAlive
  /// Comes back when it likes, whatever time or window the server names.
  case ignoresWish
  /// Refreshes its credentials in the middle of their life.
  case refreshesEarly
  /// Takes failures of the server for refusals of its credentials.
  case blamesCredentials

  /// What it is caught as.
  var kinds: [Finding.Kind] {
    switch self {
    case .countResetOnOpen, .noStability, .noSpread, .ignoresWish, .refreshesEarly, .countsTheDial:
      [.storm]
    case .closesAlive, .blamesCredentials: [.needless]
    case .takesLateEvents: [.late]
    case .losesStandby, .timersStopAsleep: [.stuck]
    case .noLiveness: [.falselyConnected]
    }
  }
}

/// The seam between a model and its world: clean, or as a defect of the link would have it.
///
/// A defect is never made inside the model. The seam changes what the model is told, or its
/// numbers, so that the two together behave as the mistaken client would. Checkers are told the
/// truth: the input as the world made it, and the policy without defect.
struct LinkSeam<Model: SimulatedModel>: Sendable {
  let defect: LinkDefect?
  private var hadStandby = false

  init(_ defect: LinkDefect?) {
    self.defect = defect
  }

  /// A new run of the process.
  mutating func launched() { hadStandby = false }

  /// The policy that the model really follows.
  func policy(_ policy: LinkPolicy) -> LinkPolicy {
    switch defect {
    case .countResetOnOpen: policy.countingFromTheStart
    case .noStability: policy.stable(after: .nanoseconds(1))
    case .noSpread: policy.spread(over: .nanoseconds(1))
    case .noLiveness: policy.withoutPings
    case .closesAlive: policy.hasty
    case .countsTheDial:
      policy.stable(after: max(policy.retry.stability.after - .seconds(3), .seconds(1)))
    case .ignoresWish: policy.obeyingNoWish
    case .refreshesEarly: policy.refreshingEarly
    case .blamesCredentials: policy.blamingCredentials
    case .takesLateEvents, .losesStandby, .timersStopAsleep, nil: policy
    }
  }

  /// What of an input really reaches the model.
  ///
  /// - Parameters:
  ///   - current: The attempt that counts for the model now.
  ///   - status: What the model says of its link before the input.
  mutating func input(
    _ input: Model.Input, current: AttemptID?, status: LinkStatus
  ) -> Model.Input? {
    switch defect {
    case .takesLateEvents: current.map { Model.renamed(input, to: $0) } ?? input
    case .losesStandby: loses(Model.role(of: input), status) ? nil : input
    case .noSpread:
      if case .draining = Model.role(of: input) { nil } else { input }
    case .countResetOnOpen, .noStability, .timersStopAsleep, .noLiveness, .countsTheDial,
      .closesAlive,
      .ignoresWish, .refreshesEarly, .blamesCredentials, nil:
      input
    }
  }

  /// A link that polled before the background is not told that the app is in front again.
  private mutating func loses(_ role: InputRole, _ status: LinkStatus) -> Bool {
    switch role {
    case .lifecycle(.background):
      hadStandby = hadStandby || status.phase == .standby
      return false
    case .lifecycle(.foreground): return hadStandby
    case .left:
      hadStandby = false
      return false
    case .wanted, .changed, .trigger, .credentials, .opened, .data, .draining, .heard, .lost,
      .answered, .refused, .other:
      return false
    }
  }
}
