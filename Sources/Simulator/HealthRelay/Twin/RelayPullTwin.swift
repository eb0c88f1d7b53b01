import HealthRelay
import LinkCore
import LinkHealth
import LinkWire

/// What a pull must do, told a second time (docs/relay.md, Pull; decision 0016).
///
/// A pull has one deed at a time, and a queue of what it leased. A deed is done with a numbered
/// step, or waits without one until it is due again.
struct RelayPullTwin: Sendable {
  let numbers: Numbers
  var now = Instant.zero
  var acts: [PullModel.Effect] = []

  /// When the budget is used up; `nil` before the pull began.
  var end: Instant?
  /// When the leases of the queue are over, and when they were asked for.
  var leasesEnd = Instant.zero
  var asked = Instant.zero
  var queue: [Ticket] = []
  var deed: Deed?
  /// The number of the step under way; `nil` while the deed waits.
  var step: UInt64?
  /// Until when it reads or waits.
  var due: Instant?
  /// How often the deed failed.
  var failures = 0
  var steps: UInt64 = 0
  /// The step whose messages are held, and how many they are.
  var held: UInt64?
  var messages = 0
  /// Whether a question of the present leases was answered, and whether an answer was not wanted.
  var hasGained = false
  var wasSpurned = false

  var answered = 0
  var unwanted = 0
  var left = 0
  var report: PullReport?

  /// The numbers of a pull; by default those of the seed and ours.
  struct Numbers: Sendable {
    var budget = Duration.milliseconds(25_000)
    var most = 4
    var exchange = Duration.milliseconds(8_000)
    var least = Duration.milliseconds(1_000)
    var sending = Duration.milliseconds(4_000)
    var waits: [Duration] = [500, 1_000, 2_000, 4_000].map { .milliseconds($0) }
  }

  /// What is done now.
  enum Deed: Sendable, Equatable {
    case lease, read
    /// Sends one of the messages that are held.
    case send(Int)
    /// Sends an error in place of an answer.
    case excuse(PhoneMessage)
  }

  /// A question in the queue: as it was asked, or the error that it is to be answered with.
  enum Ticket: Sendable {
    case question(LeasedQuestion)
    case unreadable(lease: String, PhoneMessage)

    var lease: String {
      switch self {
      case .question(let leased): leased.lease
      case .unreadable(let lease, _): lease
      }
    }
  }

  init(_ numbers: Numbers) { self.numbers = numbers }

  // Steps.

  /// Returns all that must be asked for; time passes without an input.
  mutating func step(_ input: PullModel.Input?, at time: Instant) -> [PullModel.Effect] {
    (now, acts) = (time, [])
    if let end, now >= end { finish(.outOfTime) }
    if let input { take(input) } else { pass() }
    return acts
  }

  var deadline: Instant? {
    guard report == nil, let end else { return nil }
    return [end, due ?? end].min()
  }

  /// The first end of the budget and the leases; of the budget alone where none are held.
  var bound: Instant {
    let end = end ?? .zero
    return deed == .lease || end < leasesEnd ? end : leasesEnd
  }

  /// What is said to be wrong: numbers under 0 make it wait too long, others never do.
  var broken: [String] {
    guard report == nil, let due, due > bound else { return [] }
    return [
      deed == .lease
        ? "pull: it pauses within its budget" : "pull: it waits for no answer beyond the lease"
    ]
  }

  private mutating func take(_ input: PullModel.Input) {
    switch input {
    case .begin:
      guard end == nil, report == nil else { return }
      end = now.advanced(by: numbers.budget)
      begin(.lease)
    case .leased(let of, let page): if isAwaited(of), deed == .lease { line(up: page) }
    case .prepared(let of, let count):
      guard isAwaited(of), deed == .read else { return acts.append(.discard(of)) }
      messages = count
      begin(.send(0))
    case .posted(let of): if isAwaited(of) { taken() }
    case .failed(let of, let failure):
      if isAwaited(of), deed != .read { fail(failure) }
    case .cancel: finish(.cancelled)
    }
  }

  private func isAwaited(_ of: StepID) -> Bool { report == nil && step == of.number }

  /// Does again what waited, or gives up a reading.
  private mutating func pass() {
    guard report == nil, let deed, let due, now >= due else { return }
    if deed == .read {
      excuse("the health data could not be read in time")
    } else {
      begin(deed, failures)
    }
  }

  // Deeds.

  /// Begins what there is time for.
  private mutating func begin(_ next: Deed, _ failed: Int = 0) {
    deed = next
    var time = now.duration(to: bound)
    if next == .read { time -= numbers.sending }
    guard time >= numbers.least else { return finish(.outOfTime) }
    steps += 1
    (step, due, failures) = (steps, nil, failed)
    let within = [time, numbers.exchange].min() ?? .zero
    switch (next, queue.first) {
    case (.lease, _):
      asked = now
      ask(.lease(StepID(steps), max: numbers.most, within: within))
    case (.read, .question(let leased)):
      due = now.advanced(by: time)
      ask(.read(StepID(steps), leased))
      held = steps
    case (.send(let part), let first?):
      guard let held else { return }
      acts.append(
        .post(StepID(steps), of: StepID(held), part: part, lease: first.lease, within: within))
    case (.excuse(let message), let first?):
      let result = LeasedResult(lease: first.lease, message: message)
      ask(.refuse(StepID(steps), result, within: within))
    case (.read, _), (.send, nil), (.excuse, nil): return
    }
  }

  /// Asks for what needs no messages, and lets go of them before.
  private mutating func ask(_ effect: PullModel.Effect) {
    if let held { acts.append(.discard(StepID(held))) }
    held = nil
    acts.append(effect)
  }

  private mutating func line(up page: LeasedQuestions) {
    leasesEnd = asked.advanced(by: page.expiresIn)
    (hasGained, wasSpurned) = (false, false)
    queue = []
    for question in page.questions { queue.append(.question(question)) }
    for one in page.rejected {
      queue.append(.unreadable(lease: one.lease, RelayPullWords.refusal(of: one.error)))
    }
    goOn()
  }

  /// Turns to the first in the queue; without one it leases more, if that is of use.
  private mutating func goOn() {
    switch queue.first {
    case .question: begin(.read)
    case .unreadable(_, let message): begin(.excuse(message))
    case nil: if hasGained { begin(.lease) } else { finish(.finished) }
    }
  }

  private mutating func excuse(_ reason: String) {
    guard case .question(let leased)? = queue.first else { return }
    begin(.excuse(RelayPullWords.failure(leased.question.kind, leased.id, reason)))
  }

  /// Goes on after the backend took what was sent.
  private mutating func taken() {
    switch deed {
    case .send(let part) where part < messages - 1: begin(.send(part + 1))
    case .send, .excuse:
      answered += 1
      hasGained = true
      leave()
    case .lease, .read, nil: return
    }
  }

  private mutating func leave() {
    queue = Array(queue.dropFirst())
    goOn()
  }

  // Failures and ends.

  private mutating func fail(_ failure: LinkFailure) {
    let (status, wish) = RelayPullWords.answer(failure)
    if RelayPullWords.isPassing(failure), failures < numbers.waits.count {
      let wait = [numbers.waits[failures], wish].max() ?? .zero
      if now.advanced(by: wait).duration(to: bound) >= numbers.least {
        (step, due, failures) = (nil, now.advanced(by: wait), failures + 1)
        return
      }
    }
    if status == 401 || status == 403 { return finish(.signedOut) }
    switch deed {
    case .lease:
      finish([404, 405, 501].contains(status) ? .unsupported : .failed(failure))
    case .send where status == 413: excuse("the answer is longer than the backend takes")
    case .send, .excuse: refused(status, failure)
    case .read, nil: return
    }
  }

  /// Goes on after an answer that was not taken, if the backend serves.
  private mutating func refused(_ status: Int, _ failure: LinkFailure) {
    switch status {
    case 409: left += 1
    case 408, 429: return finish(.failed(failure))
    case 400...499: (unwanted, wasSpurned) = (unwanted + 1, true)
    case _: return finish(.failed(failure))
    }
    leave()
  }

  private mutating func finish(_ ending: PullReport.Ending) {
    guard report == nil else { return }
    left += queue.count
    let words = PullReport(
      answered: answered, unwanted: unwanted, left: left, ending: ending, again: again(ending))
    report = words
    (deed, step, due, queue) = (nil, nil, nil, [])
    ask(.finish(words))
  }

  /// Says when to come again, if there is a reason to.
  private func again(_ ending: PullReport.Ending) -> Duration? {
    switch ending {
    case .signedOut, .unsupported: return nil
    case .finished:
      if left > 0 { return .milliseconds(60_000) }
      return wasSpurned ? .milliseconds(3_600_000) : nil
    case .outOfTime, .cancelled:
      if queue.isEmpty { return .milliseconds(60_000) }
      let rest = now.duration(to: leasesEnd)
      return rest < numbers.least ? numbers.least : rest
    case .failed(let failure):
      guard RelayPullWords.isPassing(failure) else { return nil }
      let wish = RelayPullWords.answer(failure).wish
      if wish > .milliseconds(3_600_000) { return .milliseconds(3_600_000) }
      return wish < .milliseconds(60_000) ? .milliseconds(60_000) : wish
    }
  }
}
