public import LinkCore

/// A phone that answers an assistant's questions: paired by a code, kept up by a link.
///
/// A link decides when to connect; this decides what that means for the user and the questions:
///
///     start ──▶ starting ──code──▶ running ──lost──▶ reconnecting ──code──▶ running
///                  │                  │                    │
///                  │ two retries      │ idle, background   │ two retries
///                  ▼                  ▼                    ▼
///                error              idle                 error      stop: stopping ──▶ idle
///
/// Questions stand in one line and are answered one at a time, in the order in which they came. An
/// answer counts as given when the backend has confirmed all of it by a pong; until then it is sent
/// again on a session that the backend resumed, where it tells a repeated one by its id. On a
/// session that begins anew nobody waits for it any more: the question is dropped, and whoever
/// asked has the backend's word that the phone went away.
public struct RelayModel: Machine {
  /// The numbers that it goes by.
  public let settings: RelaySettings
  /// When, whether and how to connect.
  public internal(set) var link: HeldLink
  /// What the user was shown last.
  public internal(set) var status = RelayStatus(.idle)
  /// What shows the backend that this is the phone of an earlier session; never journaled.
  public internal(set) var resume: Secret?
  var phase = Phase.off
  /// What came with the newest code since the start; `nil` before the first.
  var welcome: Welcome?
  var line = RequestLine()
  var problems: Throttle
  /// Replies to what was not understood: two ends that refuse each other's must come to rest.
  var refusals = Windows([RelaySettings.refusals])
  /// Where the user is, as far as it was told.
  var lifecycle = Lifecycle.foreground
  /// When the backend was heard of last: its newest message, or the start.
  var lastMessage = Instant.zero

  enum Phase: Sendable, Hashable {
    /// Not wanted; the link says why.
    case off
    /// Wanted since the user's start.
    case on
    /// The user stopped it; the socket says goodbye until this instant at the latest.
    case stopping(AttemptID, until: Instant)
    /// Nothing was heard for too long while there was no way out.
    case quiet
  }

  /// - Parameter seed: the start of its chance.
  public init(settings: RelaySettings, seed: UInt64) {
    self.settings = settings
    link = HeldLink(policy: settings.policy, seed: seed)
    problems = Throttle(every: RelaySettings.problemInterval)
  }

  /// How many questions have not ended: the first is worked on, the others wait.
  package var openQuestions: Int { line.items.count }

  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    var step = Step(now: now)
    take(input, &step)
    finish(&step)
    return step.effects
  }

  public mutating func tick(at now: Instant) -> [Effect] {
    var step = Step(now: now)
    if let due = link.deadline, due <= now { follow(link.tick(at: now), &step) }
    if let due = line.deadline, due <= now { expireReading(&step) }
    if let due = quietDeadline, due <= now { endQuiet(&step) }
    if let due = stopDeadline, due <= now { phase = .off }
    finish(&step)
    return step.effects
  }

  public var deadline: Instant? {
    [link.deadline, line.deadline, quietDeadline, stopDeadline].compactMap(\.self).min()
  }

  /// What must follow every step: the line moves up, and the user sees what changed.
  private mutating func finish(_ step: inout Step) {
    moveUp(&step)
    let current = observed
    guard current != status else { return }
    let before = status
    status = current
    step.show(.status(current))
    notify(before, &step)
  }

  /// One call: its time, and what it asks for so far.
  struct Step {
    let now: Instant
    var effects: [Effect] = []

    mutating func show(_ update: RelayUpdate) { effects.append(.update(update)) }
  }

  /// Gives the link an input and carries on with what it wants.
  mutating func drive(_ input: HeldLink.Input, _ step: inout Step) {
    follow(link.handle(input, at: step.now), &step)
  }

  /// Tells the user of a problem, unless another was told just before.
  mutating func tell(_ problem: RelayProblem, _ step: inout Step) {
    guard let withheld = problems.pass(at: step.now) else { return }
    step.show(.problem(problem, withheld: withheld))
  }
}
