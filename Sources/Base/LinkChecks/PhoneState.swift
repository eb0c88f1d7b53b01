public import HoldfastCore

/// The state of one phone right after an observation, as checkers see it.
public struct PhoneState<Feature: ObservedFeature>: Sendable {
  /// The world's time, on a clock that never stops.
  public var now: Instant
  /// The policy that the link must follow.
  public var policy: LinkPolicy
  /// The status that the model reports. It has no meaning while no process is running.
  public var status: LinkStatus
  /// The time at which the model must be woken.
  public var deadline: Instant?
  public var currentAttempt: AttemptID?
  /// The attempt of the queued connect that the system holds for the model; `nil` if there is none.
  public var queuedAttempt: AttemptID?
  /// The explanation of the time until the next attempt; `nil` if the model does not know it.
  public var wait: RetryWait?
  /// Whether a process is running and its timers are active.
  public var isAwake = false
  /// Whether the user wants the link.
  public var isWanted = false
  /// Whether the device reports a network.
  public var isReachable = true
  /// Whether the user is signed in, as far as the phone knows.
  public var isSignedIn = true
  /// The number of requests, dials and store calls that await an answer.
  public var underWay = 0
  /// Whether the store currently rejects writes.
  public var storeFails = false
  /// All existing tokens. The model must not store or show any of them.
  public var secrets: SecretTexts = []
  /// The state that is specific to the feature.
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

/// An event in a world. Some events are facts that no single host can observe completely.
///
/// A sequence of observations is the input of checkers and traces, and of the digest of a run.
public enum Observation<Feature: ObservedFeature>: Sendable, Equatable {
  // The process on a phone.
  /// A run of the process began. Runs are numbered from 1.
  case launched(HostID, run: Int)
  /// The process was killed, and its memory was lost.
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
  /// A connection ended at the server, for any reason.
  case serverLost(HostID, AttemptID)
  /// A connection that the phone still considers open is permanently dead.
  case wentDead(HostID, AttemptID)

  /// The process of a server started or ended. Only watchers of a run receive it.
  case server(HostID, isRunning: Bool)

  // The plan.
  case began(ObservedEvent)
  /// A fault of the plan ended.
  case ended(ObservedEvent)
  /// No further faults occur from now on.
  case calm

  /// A fact that is specific to the feature.
  case fact(Feature.Fact)

  /// The phone that the observation concerns; `nil` if it concerns the whole world.
  public var host: HostID? {
    switch self {
    case .launched(let host, _), .killed(let host), .suspended(let host), .resumed(let host),
      .received(let host, _, _, _), .ticked(let host, _), .upgraded(let host, _, _),
      .serverLost(let host, _), .wentDead(let host, _):
      host
    case .server, .began, .ended, .calm, .fact: nil
    }
  }
}

/// A function that receives every observation of a run, with the state of the phone right after it.
public typealias RunWatch<Feature: ObservedFeature> =
  (Observation<Feature>, PhoneState<Feature>) -> Void
