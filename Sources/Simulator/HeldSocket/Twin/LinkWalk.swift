import LinkCore

/// A link of any policy beside its twin: each thing happens to it at any time, above all at, right
/// before and right after what it waits for.
struct LinkWalk: TwinWalk {
  var chance: Chance
  private(set) var link: HeldLink
  var twin: LinkTwin
  private(set) var now = Instant.zero
  var stray: String?
  /// What was asked for last.
  private(set) var ping: UInt64 = 0
  private(set) var poll: UInt64 = 0
  /// What passes once the link proved to wait for it, of the policy's own numbers.
  private var waits: [Duration] = []

  init(_ chance: Chance) {
    self.chance = chance
    link = HeldLink(policy: .messageStream, seed: 0)
    twin = LinkTwin(.messageStream, seed: 0)
  }

  mutating func walk(_ steps: Int) -> String? { walk(max(1, steps / 90), 90) }

  /// Takes so many links so many steps; returns the first difference.
  mutating func walk(_ links: Int, _ steps: Int) -> String? {
    for _ in 0..<links where stray == nil {
      begin(anyPolicy())
      for _ in 0..<steps where stray == nil { happen() }
    }
    return stray
  }

  mutating func begin(_ policy: LinkPolicy, seed: UInt64? = nil) {
    let seed = seed ?? chance.next()
    link = HeldLink(policy: policy, seed: seed)
    twin = LinkTwin(policy, seed: seed)
    (ping, poll) = (0, 0)
    waits = [
      .seconds(1), policy.retry.stability.after, policy.liveness.pongTimeout,
      policy.gate.refreshTimeout, policy.establish.openTimeout,
    ]
    switch policy.standby {
    case .none: break
    case .poll(let poll): waits += [poll.interval, poll.probe]
    case .queuedConnect(let queue): waits += [queue.fastFailure, queue.rearm, queue.floor]
    }
    if !happens(4) { give(.reachability(Self.ways[0])) }
    if !happens(4) { give(.credentials(.available(expiresIn: life()))) }
    if !happens(4) { give(.want(.live)) }
  }

  // Steps.

  /// Tells both of an input, or that time passed.
  mutating func give(_ input: HeldLink.Input?) {
    guard stray == nil else { return }
    let effects = input.map { link.handle($0, at: now) } ?? link.tick(at: now)
    let words = twin.stray(of: link, after: input, effects, at: now)
    stray = words.map { "\($0) after \(input.map { "\($0)" } ?? "a while")" }
    for effect in effects {
      switch effect {
      case .ping(_, let id): ping = id
      case .poll(let id): poll = id
      case .close(_, let reason):
        let code = Self.code(of: reason)
        if reason.closeCode != code { stray = stray ?? "\(reason) does not close with \(code)" }
      case .prepare, .open, .refreshCredentials, .arm, .disarm, .status: continue
      }
    }
  }

  private static func code(of reason: HeldLink.CloseReason) -> UInt16 {
    switch reason {
    case .leaving, .idle, .superseded: 1_000
    case .background, .networkChanged, .timeout, .silent: 1_001
    case .rejected: 1_002
    }
  }

  private mutating func happen() {
    pass()
    switch number(0...19) {
    case 0...8: goOn()
    case 9...11: happenOnLine()
    case 12, 13: fail()
    case 14, 15: change()
    case 16: rest()
    case 17: keys()
    case 18: tell()
    case _: wait()
    }
  }

  // Time.

  private mutating func pass() {
    switch number(0...19) {
    case 0...8: return
    case 9...12: wait()
    case 13: if let due, due > now { now = due }
    case 14: hush(by: -1)
    case 15: hush(by: 1)
    case 16, 17: live(for: one(waits))
    case 18: live(for: one(Self.moments))
    case _: live(for: one(waits) - .nanoseconds(1))
    }
  }

  private static let moments: [Duration] = [
    .milliseconds(100), .milliseconds(200), .milliseconds(500), .milliseconds(800), .seconds(2),
    .seconds(7), .seconds(350),
  ]

  mutating func skip(to time: Instant) { now = max(now, time) }

  /// What the link waits for; `nil` if only for the end of time.
  private var due: Instant? { link.deadline.flatMap { $0.nanoseconds == .max ? nil : $0 } }

  /// Waits for what is due.
  mutating func wait() {
    guard let due else { return }
    now = max(now, due)
    give(nil)
  }

  /// Time passes to a little before or after what is due, and the link is woken once.
  private mutating func hush(by nanoseconds: Int64) {
    guard let due else { return }
    now = max(now, due.advanced(by: .nanoseconds(nanoseconds)))
    let before = link
    give(nil)
    if nanoseconds < 0, now < due, link != before { stray = stray ?? "the link wakes too early" }
  }

  /// Time passes, and the link is woken whenever it wants to be.
  private mutating func live(for time: Duration) {
    let end = now.advanced(by: time)
    var left = 12
    while let due = link.deadline, due <= end, stray == nil, left > 0 {
      now = max(now, due)
      give(nil)
      left -= 1
    }
    now = end
  }
}
