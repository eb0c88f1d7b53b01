import LinkCore

/// A client as the herd's network sees it: it opens, polls and waits.
protocol HerdClient: Sendable {
  /// The one instant to be woken at.
  var deadline: Instant? { get }
  var isConnected: Bool { get }
  /// Ended for good unless a person acts.
  var hasGivenUp: Bool { get }

  mutating func tick(_ errands: inout Errands)
  mutating func take(_ news: HerdNews, _ errands: inout Errands)
}

/// What the network tells a client.
enum HerdNews: Sendable {
  /// Connect for the first time; it succeeds at once.
  case start
  /// The server pinged.
  case heard
  case draining(within: Duration)
  /// The connection or the try is over.
  case lost(LinkFailure)
  case opened
  case polled(LinkFailure?)
}

/// What a client asks for in one step.
struct Errands: Sendable {
  let now: Instant
  /// Whether a ping of its own is answered.
  let pathAnswers: Bool
  /// Gives up its connection or try.
  var closes = false
  /// Tries to connect, after what it closes.
  var opens = false
  var polls = false
}

/// The real link with the least that it needs around it.
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
    case .heard: tell(&errands) { .heard($0) }
    case .draining(let window): tell(&errands) { .draining($0, within: window) }
    case .lost(let failure): tell(&errands) { .lost($0, failure) }
    case .opened:
      tell(&errands) { .opened($0) }
      if !isConnected { tell(&errands) { .established($0) } }
    case .polled(let failure):
      carry(link.handle(.polled(poll, failure), at: errands.now), &errands)
    }
  }

  /// Up and proven, with credentials that outlive the run.
  private mutating func start(_ errands: inout Errands) {
    carry(link.handle(.credentials(.available(expiresIn: nil)), at: errands.now), &errands)
    carry(link.handle(.want(.live), at: errands.now), &errands)
    take(.opened, &errands)
    tell(&errands) { .validData($0) }
    errands.opens = false
  }

  private mutating func tell(_ errands: inout Errands, _ input: (AttemptID) -> HeldLink.Input) {
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
