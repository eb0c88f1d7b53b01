import HoldfastCore

/// A client from the point of view of the simulated network: it connects, polls and waits.
protocol HerdClient: Sendable {
  /// The next instant at which `tick` must be called.
  var deadline: Instant? { get }
  var isConnected: Bool { get }
  /// Whether the client has stopped for good unless a user acts.
  var hasGivenUp: Bool { get }

  mutating func tick(_ errands: inout Errands)
  mutating func take(_ news: HerdNews, _ errands: inout Errands)
}

/// An event that the network reports to a client.
enum HerdNews: Sendable {
  /// The client connects for the first time, which succeeds immediately.
  case start
  /// The server sent a ping.
  case heard
  case draining(within: Duration)
  /// The connection or the attempt has ended.
  case lost(LinkFailure)
  case opened
  case polled(LinkFailure?)
}

/// The requests that a client makes in one step.
struct Errands: Sendable {
  let now: Instant
  /// Whether a ping that the client sends would be answered.
  let pathAnswers: Bool
  /// Whether the client closes its connection or attempt.
  var closes = false
  /// Whether the client opens a new connection, after closing the previous one.
  var opens = false
  var polls = false
}

/// A client with a real link and the minimal environment that the link needs.
struct LinkedClient: HerdClient {
  private var link: HeldLink
  private var poll: UInt64 = 0

  init(_ policy: LinkPolicy, seed: UInt64) {
    link = HeldLink(policy: policy, seed: seed)
  }

  var deadline: Instant? { link.deadline }
  var isConnected: Bool { link.status.phase == .connected }
  var hasGivenUp: Bool { link.status.phase == .failed }

  mutating func tick(_ errands: inout Errands) {
    carry(link.tick(at: errands.now), &errands)
  }

  mutating func take(_ news: HerdNews, _ errands: inout Errands) {
    switch news {
    case .start: start(&errands)
    case .heard: handle(&errands) { .heard($0) }
    case .draining(let window): handle(&errands) { .draining($0, within: window) }
    case .lost(let failure): handle(&errands) { .lost($0, failure) }
    case .opened:
      handle(&errands) { .opened($0) }
      if !isConnected { handle(&errands) { .established($0) } }
    case .polled(let failure):
      carry(link.handle(.polled(poll, failure), at: errands.now), &errands)
    }
  }

  /// Connects and confirms the link. Its credentials outlast the simulation.
  private mutating func start(_ errands: inout Errands) {
    carry(link.handle(.credentials(.available(expiresIn: nil)), at: errands.now), &errands)
    carry(link.handle(.setIntent(.live), at: errands.now), &errands)
    take(.opened, &errands)
    handle(&errands) { .validData($0) }
    errands.opens = false
  }

  private mutating func handle(_ errands: inout Errands, _ input: (AttemptID) -> HeldLink.Input) {
    guard let attempt = link.currentAttempt else { return }
    carry(link.handle(input(attempt), at: errands.now), &errands)
  }

  private mutating func carry(_ effects: [HeldLink.Effect], _ errands: inout Errands) {
    for effect in effects {
      switch effect {
      case .open: errands.opens = true
      case .close:
        errands.closes = true
        errands.opens = false
      case .poll(let id):
        poll = id
        errands.polls = true
      case .prepare(let attempt):
        carry(link.handle(.prepared(attempt), at: errands.now), &errands)
      case .ping(let attempt, let id) where errands.pathAnswers:
        carry(link.handle(.pong(attempt, id), at: errands.now), &errands)
      case .refreshCredentials:
        carry(
          link.handle(.credentials(.available(expiresIn: nil)), at: errands.now), &errands)
      case .ping, .arm, .disarm, .status: break
      }
    }
  }
}
