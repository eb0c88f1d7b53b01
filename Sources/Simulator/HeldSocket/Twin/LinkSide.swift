import LinkCore

/// What stays armed beside a link, told a second time: polls, or a queued connect.
struct LinkSide: Sendable {
  private let policy: LinkPolicy
  private(set) var polls: Polls?
  /// The attempt that the system keeps, and when one was armed last.
  private(set) var queued: AttemptID?
  private(set) var rearmAt: Instant?
  private var armedAt: Instant?
  private var wasShort = false
  private(set) var lastPoll: UInt64 = 0
  private var polledAt: [Instant] = []

  /// Polls, and the probes between them.
  struct Polls: Sendable {
    var dueAt: Instant
    var runs = false
    var probeAt: Instant
    var probedAt: Instant?
    /// Whether the last poll was answered; `nil` if nothing is known of the server.
    var works: Bool?
    var isSlow = false
    var isFirst: Bool
    var inVain = 0
  }

  init(_ policy: LinkPolicy) { self.policy = policy }

  private var pollPolicy: PollPolicy? {
    guard case .poll(let poll) = policy.standby else { return nil }
    return poll
  }

  private var queuePolicy: QueuePolicy? {
    guard case .queuedConnect(let queue) = policy.standby else { return nil }
    return queue
  }

  var isArmed: Bool { polls != nil || queued != nil || rearmAt != nil }
  var isSlow: Bool { polls?.isSlow ?? false }

  mutating func disarm() { (polls, queued, rearmAt) = (nil, nil, nil) }

  /// Disarms for the device or the user: what is armed next is no repetition.
  mutating func forget() {
    disarm()
    armedAt = nil
  }

  // Polls.

  private func soonest(_ at: Instant) -> Instant {
    LinkPace.soonest(at, after: polledAt, policy.retry.windows)
  }

  private func window(_ poll: PollPolicy) -> Duration {
    min(poll.interval, policy.retry.serverSpread)
  }

  /// No sooner than a server wishes, and then spread.
  private func heeding(
    _ failure: LinkFailure?, _ wait: Duration, _ poll: PollPolicy, _ dice: inout LinkDice
  ) -> Duration {
    guard let wish = LinkFaults.obeyed(LinkFaults.wish(failure), policy.retry), wish != .zero
    else { return wait }
    let spread = wish + dice.part(of: window(poll))
    return spread > wait ? spread : wait
  }

  mutating func startPolls(
    after failure: LinkFailure?, isSlow: Bool, at now: Instant, _ dice: inout LinkDice
  ) {
    guard let poll = pollPolicy else { return }
    let isAway = isSlow || failure.map { LinkFaults.isOutage($0) } ?? false
    guard var old = polls else {
      var wait = Duration.zero
      if let failure {
        wait = window(poll)
        // A server that is away may be restarting.
        let least = LinkFaults.isOutage(failure) ? wait / 5 : .zero
        wait = least + dice.part(of: wait - least)
      }
      polls = Polls(
        dueAt: soonest(now.advanced(by: wait)),
        probeAt: now.advanced(by: dice.around(poll.probe, poll.jitter)),
        works: isAway ? false : nil, isFirst: failure != nil)
      return
    }
    guard let failure else { return }
    old.isSlow = old.works == true && isSlow
    if old.works == nil, isAway { old.works = false }
    let wait = probeWait(after: failure, &old, poll, &dice)
    old.probeAt = now.advanced(by: heeding(failure, wait, poll, &dice))
    polls = old
  }

  /// Each wait is twice the one before, up to the usual one, while polls work and the link fails.
  private func probeWait(
    after failure: LinkFailure, _ polls: inout Polls, _ poll: PollPolicy, _ dice: inout LinkDice
  ) -> Duration {
    if polls.isSlow { return dice.around(poll.slowProbe, poll.jitter) }
    var wait = poll.interval
    for _ in 0..<polls.inVain { wait = wait + wait }
    if polls.works == true, LinkFaults.isOutage(failure), !(wait + wait > poll.probe) {
      polls.inVain += 1
      return wait + dice.part(of: wait)
    }
    return dice.around(poll.probe, poll.jitter)
  }

  /// A poll that is due; one that was not answered shows that the server is away.
  mutating func takePoll(at now: Instant) -> UInt64? {
    guard let poll = pollPolicy, var next = polls, next.dueAt <= now else { return nil }
    if next.runs { next.works = false }
    polledAt.append(now)
    (next.runs, next.dueAt) = (true, soonest(now.advanced(by: poll.interval)))
    polls = next
    lastPoll += 1
    return lastPoll
  }

  /// Returns whether it is time for a probe, after the answer to the last poll.
  mutating func polled(
    _ failure: LinkFailure?, at now: Instant, _ dice: inout LinkDice
  ) -> Bool {
    guard let poll = pollPolicy, var next = polls, next.runs else { return false }
    next.runs = false
    var wait: Duration
    if next.isFirst {
      wait = window(poll)
      wait = wait + dice.part(of: poll.interval - wait)
    } else {
      wait = dice.around(poll.interval, poll.jitter)
    }
    next.isFirst = false
    next.dueAt = soonest(now.advanced(by: heeding(failure, wait, poll, &dice)))
    defer { polls = next }
    if let failure {
      if LinkFaults.isOutage(failure) { (next.works, next.isSlow) = (false, false) }
      return false
    }
    defer { next.works = true }
    guard next.works == false else { return false }
    next.inVain = 0
    let due = next.probedAt?.advanced(by: dice.around(poll.interval, poll.jitter)) ?? now
    if due < next.probeAt { next.probeAt = due }
    return due <= now
  }

  mutating func probed(at now: Instant, _ dice: inout LinkDice) {
    guard let poll = pollPolicy, let old = polls else { return }
    let wait = old.isSlow ? poll.slowProbe : poll.probe
    polls?.probeAt = now.advanced(by: dice.around(wait, poll.jitter))
    polls?.probedAt = now
  }

  mutating func hurry(at now: Instant) {
    guard let old = polls, !old.runs else { return }
    let at = soonest(now)
    if at < old.dueAt { polls?.dueAt = at }
  }

  /// The link is up, and polls are kept until it is proven.
  mutating func pause() {
    if polls == nil { disarm() } else { polls?.isSlow = false }
  }

  // The queue.

  mutating func arm(_ attempt: AttemptID, at now: Instant) {
    disarm()
    (queued, armedAt) = (attempt, now)
  }

  private func isFast(_ queue: QueuePolicy, at now: Instant) -> Bool {
    guard let armedAt else { return false }
    return armedAt.duration(to: now) < queue.fastFailure
  }

  private func rearming(_ queue: QueuePolicy, at now: Instant, in phase: Lifecycle) -> Instant {
    guard let armedAt, isFast(queue, at: now) else { return now.advanced(by: queue.rearm) }
    var least = queue.floor
    if phase == .background, queue.background < least { least = queue.background }
    return armedAt.advanced(by: least < queue.rearm ? queue.rearm : least)
  }

  mutating func broke(at now: Instant, in phase: Lifecycle) {
    guard let queue = queuePolicy else { return }
    let at = rearming(queue, at: now, in: phase)
    disarm()
    rearmAt = at
  }

  /// Waits before it arms again what ended fast; returns whether it does.
  mutating func holdsOff(at now: Instant, in phase: Lifecycle) -> Bool {
    guard let queue = queuePolicy, isFast(queue, at: now) else { return false }
    broke(at: now, in: phase)
    return true
  }

  /// A connection ended: a short one is excused, unless the one before was short, too.
  mutating func ended(after time: Duration) {
    let isShort = time < policy.retry.stability.after
    if isShort, !wasShort { armedAt = nil }
    wasShort = isShort
  }
}
