import LinkCore
import LinkWire
import MessageStream

// The client: what reaches it, and what leaves it.
extension World {
  /// Gives the client an input, if its process runs.
  mutating func give(_ input: StreamModel.Input) {
    guard phone.process == .running else { return }
    let isLate = input.attempt.map { $0 != client.currentAttempt } ?? false
    guard isBroken else {
      step(input, isLate: isLate)
      return
    }
    for real in seam.inputs(input, current: client.currentAttempt, status: client.status) {
      guard phone.process == .running else { return }
      step(real, isLate: isLate)
    }
  }

  private mutating func step(_ input: StreamModel.Input, isLate: Bool) {
    let effects = leaving(client.handle(input, at: clientNow))
    carryOut(effects, after: .told(input, isLate: isLate, effects: effects))
  }

  mutating func tickClient() {
    let effects = leaving(client.tick(at: clientNow))
    carryOut(effects, after: .ticked(effects: effects))
  }

  /// Carries effects out, in order, and tells of the step; whoever is told sees what it set going.
  ///
  /// A process that is doomed to die between two effects does.
  private mutating func carryOut(
    _ effects: [StreamModel.Effect], after happening: Happening
  ) {
    counts.steps += 1
    look()
    let dies = phone.doom == .step && !effects.isEmpty
    let count = dies ? Int.random(in: 0...effects.count, using: &phone.chance) : effects.count
    for effect in effects.prefix(count) { perform(effect) }
    happen(happening)
    if dies { die() }
  }

  /// What of the client's effects really leaves it.
  mutating func leaving(_ effects: [StreamModel.Effect]) -> [StreamModel.Effect] {
    guard isBroken else { return effects }
    return effects.flatMap { seam.effects($0) }
  }

  private mutating func perform(_ effect: StreamModel.Effect) {
    switch effect {
    case .open(let attempt, let after): dial(attempt, after: after)
    case .close(let attempt, let code): hangUp(attempt, code: code)
    case .ping(let attempt, let id): ping(attempt, id)
    case .refreshCredentials: refresh()
    case .fetch(let id, let query): ask(.fetch(id, query))
    case .post(let entry): ask(.post(entry))
    case .load(let limit): load(limit)
    case .commit(let id, let change): commit(id, change)
    case .readOlder(let key, let limit): readOlder(key, limit)
    case .update(let update): show(update)
    }
  }

  private mutating func show(_ update: StreamUpdate) {
    switch update {
    case .messages(let messages, _):
      counts.shown += messages.count
      if let awaited = screen.awaited, messages.contains(where: { $0.text == awaited }) {
        screen.awaited = nil
      }
    case .history(let hasMore):
      screen.hasMore = hasMore
      screen.histories += 1
    case .notice(.signIn): askToSignIn()
    case .status, .edited, .gap, .gapClosed, .outbox, .outboxDone, .notice: return
    }
  }

  // The phone's store: durable first, then answered, so that a kill may fall between the two.

  private mutating func load(_ limit: Int) {
    let kept = shadow ?? facts.disk
    let answer: StreamModel.Input =
      conditions.store == .locked
      ? .loadFailed(.locked(detail: "the device is locked")) : .loaded(kept.load(limit: limit))
    answerStore(answer, after: storeDelay)
  }

  private mutating func readOlder(_ key: TimelineKey, _ limit: Int) {
    let kept = shadow ?? facts.disk
    let answer: StreamModel.Input =
      conditions.store == .locked
      ? .olderFailed(.locked(detail: "the device is locked"))
      : .older(kept.older(than: key, limit: limit))
    answerStore(answer, after: storeDelay)
  }

  private mutating func answerStore(_ input: StreamModel.Input, after wait: Duration) {
    phone.calls += 1
    queue.add(.storeAnswers(run: phone.run, input), at: now.advanced(by: wait))
  }

  private var storeDelay: Duration {
    mutating get {
      switch conditions.store {
      case .works, .full, .locked: .milliseconds(2)
      case .slow: .seconds(1) + phone.chance.duration(below: .seconds(4))
      }
    }
  }

  private mutating func commit(_ id: CommitID, _ change: TimelineChange) {
    switch conditions.store {
    case .full:
      answerStore(.commitFailed(id, .full(detail: "no space left")), after: .milliseconds(2))
    case .locked:
      let failure = StoreFailure.locked(detail: "the device is locked")
      answerStore(.commitFailed(id, failure), after: .milliseconds(2))
    case .works, .slow:
      var delay = storeDelay
      if var early = shadow {
        let answer = seam.stored(early.commit(change), of: change)
        shadow = early
        answerStore(.committed(id, answer), after: .milliseconds(1))
        delay = .seconds(2)
      }
      phone.calls += 1
      phone.writing = (id, change)
      queue.add(.becomesDurable(run: phone.run, id, change), at: now.advanced(by: delay))
    }
  }

  /// A change became durable; the client hears of it a moment later.
  mutating func store(_ id: CommitID, _ change: TimelineChange) {
    phone.calls -= 1
    if phone.writing?.id == id { phone.writing = nil }
    let commit = makeDurable(change)
    if phone.doom == .durable {
      die()
    } else if shadow == nil {
      let answer = isBroken ? seam.stored(commit, of: change) : commit
      answerStore(.committed(id, answer), after: .milliseconds(1))
    }
  }

  @discardableResult
  mutating func makeDurable(_ change: TimelineChange) -> TimelineCommit {
    let commit = facts.disk.commit(change)
    happen(.stored(change, commit))
    return commit
  }

  /// The disk goes on while a process is suspended; what it says is heard later.
  mutating func storeAnswers(_ input: StreamModel.Input) {
    phone.calls -= 1
    if phone.process == .suspended {
      phone.held.append(input)
    } else {
      give(input)
    }
  }
}
