public import LinkCore

/// How things stand for one phone right after something happened: what checkers know beside it.
public struct Standing<Feature: SimulatedFeature>: Sendable {
  /// The time of the world, on a clock that never stops.
  public var now: Instant
  /// The policy that the link is meant to follow.
  public var policy: LinkPolicy
  /// What the model says of itself; meaningless while no process runs.
  public var status: LinkStatus
  /// When the model wants to be woken.
  public var deadline: Instant?
  public var currentAttempt: AttemptID?
  /// The queued connect that the model has armed with the system.
  public var queuedAttempt: AttemptID?
  /// A process runs, and its timers do.
  public var isAwake = false
  /// The user wants the link.
  public var isWanted = false
  /// Whether the device says that there is a way out.
  public var isReachable = true
  /// Whether the user is signed in, as far as the phone knows.
  public var isSignedIn = true
  /// Requests, dials and store calls that will still be answered.
  public var underWay = 0
  /// The store refuses now.
  public var storeFails = false
  /// Every token that exists; none may appear in what the model asks to write or show.
  public var secrets: SecretTexts = []
  /// What only the feature knows.
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

/// Something that happened in a world: the truth, which no single host sees whole.
///
/// Checkers, stories and the digest of a run are made of these, in order.
public enum Observation<Feature: SimulatedFeature>: Sendable, Equatable {
  // The process on a phone.
  /// A run of the process began, numbered from 1.
  case launched(HostID, run: Int)
  /// It died at once; what was only in memory is gone.
  case killed(HostID)
  /// The system stopped its timers and its sockets.
  case suspended(HostID)
  case resumed(HostID)

  // The model.
  /// It was given an input and asked for these effects; `isLate` if the input belongs to an attempt
  /// that did not count any more.
  case told(HostID, Feature.Input, isLate: Bool, effects: [Feature.Effect])
  /// Its deadline came.
  case ticked(HostID, effects: [Feature.Effect])

  // Lines, by their phone and attempt.
  /// The server took an upgrade, or refused it with a status.
  case upgraded(HostID, AttemptID, status: Int)
  /// The server no longer has a connection, however it ended.
  case serverLost(HostID, AttemptID)
  /// Nothing will pass again over a connection that the phone still takes for open.
  case wentDead(HostID, AttemptID)

  // The plan.
  case began(Act<Feature.Verb>)
  /// A trouble of the plan is over.
  case ended(Act<Feature.Verb>)
  /// From now on nothing goes wrong any more.
  case calm

  /// What only the feature knows.
  case fact(Feature.Fact)

  /// The phone that it is about; `nil` for the whole world.
  public var host: HostID? {
    switch self {
    case .launched(let host, _), .killed(let host), .suspended(let host), .resumed(let host),
      .told(let host, _, _, _), .ticked(let host, _), .upgraded(let host, _, _),
      .serverLost(let host, _), .wentDead(let host, _):
      host
    case .began, .ended, .calm, .fact: nil
    }
  }
}
