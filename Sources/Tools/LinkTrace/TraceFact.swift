public import HoldfastCore

/// One fact of a trace: an event at a time, with a sentence.
public struct TraceFact: Sendable, Hashable {
  /// The time since the beginning of the trace.
  public var at: Duration
  /// The end of an event that lasts.
  public var until: Duration?
  /// The event and its values.
  public var event: TraceEvent
  /// One English sentence that is complete without the picture. It contains no secret.
  public var say: String
  /// The connection to which the event belongs.
  public var attempt: AttemptID?
  /// The index of the fact that caused this one. The header is not counted.
  public var cause: Int?
  /// The line of the journal, counted from 1.
  public var line: Int?

  init(
    _ event: TraceEvent, at: Duration, until: Duration? = nil, _ say: String,
    attempt: AttemptID? = nil, cause: Int? = nil, line: Int? = nil
  ) {
    (self.event, self.at, self.until, self.say) = (event, at, until, say)
    (self.attempt, self.cause, self.line) = (attempt, cause, line)
  }
}

/// The part of the world in which an event happens. A picture has one or more lanes for each part.
public enum TraceLane: String, Sendable, Hashable, CaseIterable {
  case network, device, user, link, attempt, traffic, data, store, server, finding
}

/// An event of a trace. All times are since the beginning of the trace.
public enum TraceEvent: Sendable, Hashable {
  // The link.
  case state(State)

  // Attempts and connections.
  /// An attempt begins.
  case open
  /// The connection is open.
  case up
  /// The attempt or its connection is over. `isLost` is whether this side did not want the end.
  case end(why: String, isLost: Bool)
  /// The phases of an attempt, which began at a time. They are known only from notes.
  case phases(from: Duration, ConnectionNote.Opening)

  // Traffic on the connection.
  case incoming(bytes: Int?)
  case outgoing(bytes: Int?)
  case pingIn
  case pingOut
  case pong
  /// A request in place of a connection.
  case poll
  /// The bytes that a connection received and sent since a time. They are known only from notes.
  case bytes(from: Duration, received: UInt64, sent: UInt64)

  // The data of the feature.
  /// The app shows an entry that was made at a time.
  case message(made: Duration, via: String, position: UInt64?)
  /// The server has an entry of the user. `waiting` is the number that still waits.
  case sent(made: Duration, waiting: Int)
  /// The number of entries that wait to be sent has changed.
  case outbox(waiting: Int)
  /// A request that began at a time was answered.
  case fetched(from: Duration, isDone: Bool, count: Int)
  /// A request that sends data was answered.
  case post(from: Duration, isDone: Bool)
  case head(position: UInt64)
  case gap
  case gapClosed
  case notice

  /// The store answered a write that began at a time.
  case commit(from: Duration, isDone: Bool)

  // The device and its user.
  case path(String)
  case app(String)
  case woke
  case token
  case want
  case leave
  case wrote

  // The world, which only a simulation or a live run knows.
  case trouble(name: String)
  case down
  case accepted
  case draining

  /// A violated guarantee.
  case finding(name: String)
  /// An event in a lane that has only a sentence.
  case note(TraceLane)

  /// A state of the link.
  public struct State: Sendable, Hashable {
    /// The phase of the link.
    public var phase: Phase
    /// The number of the running or next attempt; 0 if there is none.
    public var attempt = 0
    /// The number of attempts before standby; `nil` if unlimited.
    public var most: Int?
    /// The time of the next attempt.
    public var retryAt: Duration?
    /// One or two words that say why the link is not connected.
    public var why: String?
    /// The wait of the schedule before jitter.
    public var base: Duration?
    /// The random part of the jitter window that was added to the wait.
    public var spread: Duration?
    /// The word of the rule that decided the time of the next attempt.
    public var rule: String?
    /// The quality of the connection.
    public var quality: LinkQuality?

    /// A phase of a link in a trace. A link that polls is in standby.
    public enum Phase: String, Sendable, Hashable, CaseIterable {
      case idle, held, connecting, connected, reconnecting, standby, failed
    }
  }

  /// The lane of the event.
  public var lane: TraceLane {
    switch self {
    case .state: .link
    case .open, .up, .end, .phases: .attempt
    case .incoming, .outgoing, .pingIn, .pingOut, .pong, .poll, .bytes: .traffic
    case .message, .sent, .outbox, .fetched, .post, .head, .gap, .gapClosed, .notice: .data
    case .commit: .store
    case .path, .app, .woke, .token: .device
    case .want, .leave, .wrote: .user
    case .trouble: .network
    case .down, .accepted, .draining: .server
    case .finding: .finding
    case .note(let lane): lane
    }
  }

  /// The name of the event in the file.
  public var kind: String {
    switch self {
    case .state: "state"
    case .open: "open"
    case .up: "up"
    case .end: "end"
    case .phases: "phases"
    case .incoming: "in"
    case .outgoing: "out"
    case .pingIn: "pingIn"
    case .pingOut: "pingOut"
    case .pong: "pong"
    case .poll: "poll"
    case .bytes: "bytes"
    case .message: "message"
    case .sent: "sent"
    case .outbox: "outbox"
    case .fetched: "fetched"
    case .post: "post"
    case .head: "head"
    case .gap: "gap"
    case .gapClosed: "gapClosed"
    case .notice: "notice"
    case .commit: "commit"
    case .path: "path"
    case .app: "app"
    case .woke: "woke"
    case .token: "token"
    case .want: "want"
    case .leave: "leave"
    case .wrote: "wrote"
    case .trouble: "trouble"
    case .down: "down"
    case .accepted: "accepted"
    case .draining: "draining"
    case .finding: "finding"
    case .note: "note"
    }
  }
}
