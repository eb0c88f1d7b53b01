public import LinkCore
public import LinkWire
public import MessageStream

/// What happened in the world: the truth, which no single party in it sees whole.
///
/// Judges, the story and the digest of a run are made of these, in order.
public enum Happening: Sendable, Equatable {
  // The process on the phone.
  /// A run of the process began, numbered from 1; its screen is empty.
  case launched(run: Int)
  /// It died at once; what was only in memory is gone.
  case killed
  /// The system stopped its timers and its ears.
  case suspended
  /// The system let it go on.
  case resumed

  // The client.
  /// It was given an input, and asked for these; `isLate` when the input belongs to an attempt
  /// that did not count any more before it came.
  case told(StreamModel.Input, isLate: Bool, effects: [StreamModel.Effect])
  /// Its deadline had come.
  case ticked(effects: [StreamModel.Effect])

  // The phone's disk.
  /// A change became durable.
  case stored(TimelineChange, TimelineCommit)

  // The server.
  /// A post became durable; `isNew` is false when its key was known.
  case accepted(Message, isNew: Bool)
  /// The log began anew under another epoch; what is in it now, by position.
  case beganAnew(epoch: String, kept: [Message])
  /// The server took an upgrade, or refused it with a status.
  case upgraded(AttemptID, status: Int)
  /// It has no longer a connection that it had, however that ended.
  case serverLost(AttemptID)

  // The network.
  /// Nothing will ever pass again over a connection that the phone still believes in.
  case wentDead(AttemptID)

  // The plan.
  /// Something planned happens.
  case began(Action)
  /// A trouble of the plan is over.
  case ended(Action)
  /// From now on nothing goes wrong any more.
  case calm
}

/// What judges may know beside what happened: how things stand right after it.
public struct Facts: Sendable {
  /// The time of the world, on a clock that never stops.
  public var now: Instant
  /// The numbers the client goes by.
  public var settings: StreamSettings
  /// How the server answers.
  public var server: ServerKind
  /// What its pages are sorted by, where it is a plain one.
  public var pages = PageOrder.stamp
  /// What the client says of itself; meaningless while no process runs.
  public var status: LinkStatus
  public var isWhole: Bool
  public var backlog: Backlog
  /// When the client wants to be woken.
  public var deadline: Instant?
  public var currentAttempt: AttemptID?
  /// A process runs and its timers do.
  public var isAwake: Bool
  /// The user looks at the shop: open, in front, real-time on.
  public var isWanted: Bool
  /// Whether the device says that there is a way out.
  public var isReachable: Bool
  /// Whether the user is signed in, as far as the phone knows.
  public var isSignedIn: Bool
  /// Requests, dials and store calls that will still be answered.
  public var underWay: Int
  /// The store refuses now.
  public var storeFails: Bool
  /// Every token that exists; none may appear in what the client asks to write or show.
  public var secrets: [String]
  /// What is durable on the phone.
  public var disk: Disk
}
