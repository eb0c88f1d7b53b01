public import LinkCore

/// The state of one phone right after an observation, as checkers see it.
public struct PhoneState<Feature: SimulatedFeature>: Sendable {
  /// The time of the world, on a clock that never stops.
  public var now: Instant
  /// The policy that the link must follow.
  public var policy: LinkPolicy
  /// The status that the model reports; meaningless while no process runs.
  public var status: LinkStatus
  /// The time at which the model must be woken.
  public var deadline: Instant?
  public var currentAttempt: AttemptID?
  /// The queued connect that the model has pending with the system.
  public var queuedAttempt: AttemptID?
  /// Whether a process runs and its timers are active.
  public var isAwake = false
  /// Whether the user wants the link.
  public var isWanted = false
  /// Whether the device reports that there is a network.
  public var isReachable = true
  /// Whether the user is signed in, as far as the phone can tell.
  public var isSignedIn = true
  /// The number of requests, dials and store calls that await an answer.
  public var underWay = 0
  /// Whether the store rejects writes now.
  public var storeFails = false
  /// All existing tokens. None may appear in anything that the model stores or shows.
  public var secrets: SecretTexts = []
  /// The state that only the feature has.
  public var own: Feature.State

  public init(
    now: Instant = .zero, policy: LinkPolicy, status: LinkStatus, deadline: Instant? = nil,
    currentAttempt: AttemptID? = nil, own: Feature.State
  ) {
    self.now = now
    self.policy = policy
    self.status = status
    self.deadline = deadline
    self.currentAttempt = currentAttempt
    self.own = own
  }
}

/// An event of a world, including the facts that no single host can observe completely.
///
/// The input of checkers, traces and the digest of a run is a sequence of these values.
public enum Observation<Feature: SimulatedFeature>: Sendable, Equatable {
  // The process on a phone.
  /// A run of the process began. Runs are numbered from 1.
  case launched(HostID, run: Int)
  /// The process died at once and lost its memory.
  case killed(HostID)
  /// The system stopped the timers and the sockets of the process.
  case suspended(HostID)
  case resumed(HostID)

  // The model.
  /// The model received an input and returned these effects. `isLate` is true if the input belongs
  /// to an attempt that is no longer current.
  case received(HostID, Feature.Input, isLate: Bool, effects: [Feature.Effect])
  /// The model reached its deadline and returned these effects.
  case ticked(HostID, effects: [Feature.Effect])

  // Lines, identified by their phone and attempt.
  /// The server accepted an upgrade, or refused it with a status.
  case upgraded(HostID, AttemptID, status: Int)
  /// The server no longer has a connection, however it ended.
  case serverLost(HostID, AttemptID)
  /// A connection that the phone still considers open went dead for good.
  case wentDead(HostID, AttemptID)

  // The plan.
  case began(PlannedEvent<Feature.EventKind>)
  /// A fault of the plan ended.
  case ended(PlannedEvent<Feature.EventKind>)
  /// No further faults occur from now on.
  case calm

  /// A fact that only the feature can observe.
  case fact(Feature.Fact)

  /// The phone that the observation concerns; `nil` for the whole world.
  public var host: HostID? {
    switch self {
    case .launched(let host, _), .killed(let host), .suspended(let host), .resumed(let host),
      .received(let host, _, _, _), .ticked(let host, _), .upgraded(let host, _, _),
      .serverLost(let host, _), .wentDead(let host, _):
      host
    case .began, .ended, .calm, .fact: nil
    }
  }
}
