public import LinkCore
import LinkHealth
package import LinkWire

/// A phone's short visit to the backend: take questions, answer them, be gone within the budget.
///
///     new ─▶ leasing ⇄ pausing         every exchange is repeated while the budget allows it
///               │
///               ▼ questions                    none
///            reading ─▶ posting ⇄ pausing ──▶ ended
///               ▲          │
///               └──────────┘ next question; after the last one leasing again
///
/// One thing is under way at a time. What does not fit is left to its lease, which expires and
/// brings the question back. Every exchange may be repeated: the backend knows a lease again.
package struct PullModel: Machine {
  let settings: PullSettings
  var phase = Phase.new
  /// When everything is over.
  var end = Instant.zero
  /// When the questions in `line` are the backend's again.
  var leaseEnd = Instant.zero
  /// Questions that are leased and not answered, oldest first.
  var line: [Item] = []
  var report = PullReport(ending: .finished)
  /// What `report.answered` was when the questions in `line` were leased.
  var answeredBefore = 0
  /// What `report.unwanted` was then.
  var unwantedBefore = 0
  var lastStep: UInt64 = 0

  /// A pull that is to begin.
  package init(_ settings: PullSettings = PullSettings()) {
    self.settings = settings
  }

  /// A question under lease.
  enum Item: Sendable, Hashable {
    case question(LeasedQuestion)
    case rejected(LeasedQuestions.Rejected)

    var lease: String {
      switch self {
      case .question(let leased): leased.lease
      case .rejected(let rejected): rejected.lease
      }
    }

    /// What is said in place of an answer.
    func failure(_ reason: String) -> PhoneMessage {
      switch self {
      case .question(let leased):
        .answer(leased.question.kind, leased.id, .failure(reason))
      case .rejected(let rejected): .refusing(rejected.error)
      }
    }
  }

  enum Phase: Sendable, Hashable {
    case new
    case leasing(StepID, since: Instant, tries: Int)
    case reading(StepID, until: Instant)
    case posting(StepID, Reply, tries: Int)
    case pausing(until: Instant, Pending, tries: Int)
    case ended

    /// The step whose messages are still needed.
    var work: StepID? {
      switch self {
      case .reading(let step, _), .posting(_, .part(of: let step, _, _), _),
        .pausing(_, .post(.part(of: let step, _, _)), _):
        step
      case .new, .leasing, .posting(_, .failure, _), .pausing(_, .post(.failure), _),
        .pausing(_, .lease, _), .ended:
        nil
      }
    }
  }

  /// What is tried again after a pause.
  enum Pending: Sendable, Hashable {
    case lease
    case post(Reply)
  }

  /// What the first in line is answered.
  enum Reply: Sendable, Hashable {
    /// One of the messages of what a step read.
    case part(of: StepID, index: Int, count: Int)
    case failure(PhoneMessage)
  }

  /// Takes one input.
  package mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    var effects: [Effect] = []
    if now >= end, phase != .new { finish(.outOfTime, at: now, &effects) }
    switch input {
    case .begin: begin(at: now, &effects)
    case .leased(let step, let questions): leased(step, questions, at: now, &effects)
    case .prepared(let step, let parts): prepared(step, parts, at: now, &effects)
    case .posted(let step): posted(step, at: now, &effects)
    case .failed(let step, let failure): failed(step, failure, at: now, &effects)
    case .cancel: finish(.cancelled, at: now, &effects)
    }
    return effects
  }

  /// Lets time pass.
  package mutating func tick(at now: Instant) -> [Effect] {
    var effects: [Effect] = []
    guard let deadline, now >= deadline else { return [] }
    guard now < end else {
      finish(.outOfTime, at: now, &effects)
      return effects
    }
    switch phase {
    case .new, .leasing, .posting, .ended: break
    case .reading:
      refuse("the health data could not be read in time", at: now, &effects)
    case .pausing(_, .lease, let tries): lease(tries: tries, at: now, &effects)
    case .pausing(_, .post(let reply), let tries): post(reply, tries: tries, at: now, &effects)
    }
    return effects
  }

  /// The next instant at which something is due.
  package var deadline: Instant? {
    switch phase {
    case .new, .ended: nil
    case .leasing, .posting: end
    case .reading(_, let until), .pausing(let until, _, _): min(end, until)
    }
  }

  /// How it ended; `nil` while it goes on.
  package var outcome: PullReport? { phase == .ended ? report : nil }

  /// Goes on, and lets go of what is no longer needed.
  mutating func become(_ next: Phase, _ effects: inout [Effect]) {
    let work = phase.work
    phase = next
    if let work, work != next.work { effects.append(.discard(work)) }
  }

  mutating func newStep() -> StepID {
    lastStep += 1
    return StepID(lastStep)
  }
}

/// Names one thing that a pull asked for, so that its answer is known, and a late one too.
public struct StepID: NumberedID {
  /// Counted from the start of the pull.
  public let number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) { self.number = number }
}

extension PullModel {
  /// Everything that can happen to a pull.
  package enum Input: Sendable, Equatable, Codable {
    /// Come for the questions; once.
    case begin
    /// The backend's answer to `.lease`.
    case leased(StepID, LeasedQuestions)
    /// What `.read` asked for is there, as so many messages; at least 1.
    case prepared(StepID, parts: Int)
    /// The backend took what `.post` or `.refuse` sent.
    case posted(StepID)
    /// The exchange failed, or was answered with a status that is no success.
    case failed(StepID, LinkFailure)
    /// The operating system takes the time back.
    case cancel
  }

  /// Everything a pull can ask for; carried out in order.
  package enum Effect: Sendable, Equatable, Codable {
    /// Lease at most so many questions.
    case lease(StepID, max: Int, within: Duration)
    /// Read what answers a question, and hold the messages until they are discarded.
    case read(StepID, LeasedQuestion)
    /// Stop reading, and let go of what was read.
    case discard(StepID)
    /// Send one message of what `read` prepared, counted from 0.
    case post(StepID, of: StepID, part: Int, lease: String, within: Duration)
    /// Send an honest error in place of an answer.
    case refuse(StepID, LeasedResult, within: Duration)
    /// It is over; exchanges under way are to be cut.
    case finish(PullReport)
  }
}

// What follows upon what.
extension PullModel {
  mutating func begin(at now: Instant, _ effects: inout [Effect]) {
    guard phase == .new else { return }
    end = now.advanced(by: settings.budget)
    lease(tries: 0, at: now, &effects)
  }

  mutating func lease(tries: Int, at now: Instant, _ effects: inout [Effect]) {
    let left = now.duration(to: end)
    guard left >= settings.leastTime else { return finish(.outOfTime, at: now, &effects) }
    let step = newStep()
    become(.leasing(step, since: now, tries: tries), &effects)
    effects.append(
      .lease(step, max: settings.leaseLimit, within: min(left, settings.exchangeLimit)))
  }

  mutating func leased(
    _ step: StepID, _ questions: LeasedQuestions, at now: Instant, _ effects: inout [Effect]
  ) {
    guard case .leasing(step, let since, _) = phase else { return }  // late
    // The lease runs from some moment between asking and hearing; the earlier one is safe.
    leaseEnd = since.advanced(by: questions.expiresIn)
    (answeredBefore, unwantedBefore) = (report.answered, report.unwanted)
    line = questions.questions.map(Item.question) + questions.rejected.map(Item.rejected)
    moveUp(at: now, &effects)
  }

  /// Answers the first in line, or asks for more when there is none.
  private mutating func moveUp(at now: Instant, _ effects: inout [Effect]) {
    guard let first = line.first else {
      // A round that got nothing done would be followed by its like.
      guard report.answered > answeredBefore else { return finish(.finished, at: now, &effects) }
      return lease(tries: 0, at: now, &effects)
    }
    switch first {
    case .rejected: refuse("", at: now, &effects)
    case .question(let leased):
      let left = now.duration(to: limit) - settings.sendTime
      guard left >= settings.leastTime else { return finish(.outOfTime, at: now, &effects) }
      let step = newStep()
      become(.reading(step, until: now.advanced(by: left)), &effects)
      effects.append(.read(step, leased))
    }
  }

  mutating func prepared(
    _ step: StepID, _ parts: Int, at now: Instant, _ effects: inout [Effect]
  ) {
    guard case .reading(step, _) = phase else { return effects.append(.discard(step)) }  // late
    post(.part(of: step, index: 0, count: max(parts, 1)), at: now, &effects)
  }

  /// Says why there is no answer to the first in line.
  mutating func refuse(_ reason: String, at now: Instant, _ effects: inout [Effect]) {
    guard let first = line.first else { return }
    post(.failure(first.failure(reason)), at: now, &effects)
  }

  mutating func post(
    _ reply: Reply, tries: Int = 0, at now: Instant, _ effects: inout [Effect]
  ) {
    guard let first = line.first else { return }
    let left = now.duration(to: limit)
    guard left >= settings.leastTime else { return finish(.outOfTime, at: now, &effects) }
    let within = min(left, settings.exchangeLimit)
    let step = newStep()
    become(.posting(step, reply, tries: tries), &effects)
    switch reply {
    case .part(let work, let index, _):
      effects.append(
        .post(step, of: work, part: index, lease: first.lease, within: within))
    case .failure(let message):
      let result = LeasedResult(lease: first.lease, message: message)
      effects.append(.refuse(step, result, within: within))
    }
  }

  mutating func posted(_ step: StepID, at now: Instant, _ effects: inout [Effect]) {
    guard case .posting(step, let reply, _) = phase else { return }  // late
    if case .part(let work, let index, let count) = reply, index + 1 < count {
      post(.part(of: work, index: index + 1, count: count), at: now, &effects)
    } else {
      report.answered += 1
      done(at: now, &effects)
    }
  }

  /// The first in line needs nothing more.
  private mutating func done(at now: Instant, _ effects: inout [Effect]) {
    line.removeFirst()
    moveUp(at: now, &effects)
  }

  /// Until when the present leases and the budget last.
  var limit: Instant { min(end, leaseEnd) }
}

// What failed, and the end.
extension PullModel {
  mutating func failed(
    _ step: StepID, _ failure: LinkFailure, at now: Instant, _ effects: inout [Effect]
  ) {
    switch phase {
    case .leasing(step, _, let tries):
      guard !repeats(.lease, tries, failure, until: end, at: now) else { return }
      finish(Self.ending(ofLease: failure), at: now, &effects)
    case .posting(step, let reply, let tries):
      guard !repeats(.post(reply), tries, failure, until: limit, at: now) else { return }
      notTaken(reply, failure, at: now, &effects)
    case .new, .leasing, .reading, .posting, .pausing, .ended: return  // late
    }
  }

  /// Whether the same will be tried again: after a wait that the backend may lengthen, if enough
  /// time is left then.
  private mutating func repeats(
    _ pending: Pending, _ tries: Int, _ failure: LinkFailure, until limit: Instant, at now: Instant
  ) -> Bool {
    guard failure.mayPass,
      let wait = settings.retries.shortestWait(before: tries, atLeast: failure.serverWish)
    else { return false }
    let due = now.advanced(by: wait)
    guard due.duration(to: limit) >= settings.leastTime else { return false }
    phase = .pausing(until: due, pending, tries: tries + 1)
    return true
  }

  private mutating func notTaken(
    _ reply: Reply, _ failure: LinkFailure, at now: Instant, _ effects: inout [Effect]
  ) {
    switch failure {
    case .http(401, _, _), .http(403, _, _): finish(.signedOut, at: now, &effects)
    case .http(409, _, _):
      // The lease is over: the question is the backend's again.
      report.left += 1
      done(at: now, &effects)
    case .http(413, _, _):
      guard case .part = reply else { return unwanted(at: now, &effects) }
      refuse("the answer is longer than the backend takes", at: now, &effects)
    case .http(let status, _, _) where (400..<500).contains(status) && !failure.mayPass:
      unwanted(at: now, &effects)
    case .http, .unreachable, .dns, .refused, .timeout, .tls, .reset, .ended, .closed,
      .protocolError, .proxy, .captivePortal, .local:
      finish(.failed(failure), at: now, &effects)
    }
  }

  private mutating func unwanted(at now: Instant, _ effects: inout [Effect]) {
    report.unwanted += 1
    done(at: now, &effects)
  }

  private static func ending(ofLease failure: LinkFailure) -> PullReport.Ending {
    switch failure {
    case .http(401, _, _), .http(403, _, _): .signedOut
    // RFC 9110 sections 15.5.5, 15.5.6 and 15.6.2: no such route, not this way, not at all.
    case .http(404, _, _), .http(405, _, _), .http(501, _, _): .unsupported
    case .http, .unreachable, .dns, .refused, .timeout, .tls, .reset, .ended, .closed,
      .protocolError, .proxy, .captivePortal, .local:
      .failed(failure)
    }
  }

  mutating func finish(
    _ ending: PullReport.Ending, at now: Instant, _ effects: inout [Effect]
  ) {
    guard phase != .ended else { return }
    become(.ended, &effects)
    report.left += line.count
    report.ending = ending
    report.again = again(after: ending, at: now)
    line = []
    effects.append(.finish(report))
  }

  /// Leased questions can be had again when their leases are over; until then there is nothing.
  /// Behind questions whose answers were refused others may wait, but a backend that keeps these
  /// questions would have each visit followed by its like: the pause is the longest.
  private func again(after ending: PullReport.Ending, at now: Instant) -> Duration? {
    switch ending {
    case .signedOut, .unsupported: nil
    case .finished where report.left > 0: PullSettings.pause
    case .finished: report.unwanted > unwantedBefore ? PullSettings.longestPause : nil
    case .outOfTime, .cancelled:
      line.isEmpty
        ? PullSettings.pause : max(now.duration(to: leaseEnd), settings.leastTime)
    case .failed(let failure):
      failure.mayPass
        ? min(max(failure.serverWish ?? .zero, PullSettings.pause), PullSettings.longestPause)
        : nil
    }
  }
}

extension LinkFailure {
  /// Whether the same exchange may well succeed a little later.
  fileprivate var mayPass: Bool {
    switch failureClass {
    case .unreachable, .dns, .refused, .timeout, .silent, .reset, .ended, .proxy,
      .tooManyRequests, .unavailable, .serverError:
      serverStatus != 501
    case .tls, .protocolError, .captivePortal, .local, .badRequest, .unauthorized, .forbidden,
      .notFound, .otherStatus, .closedNormally, .closedRestart, .closedPolicy,
      .closedUnauthorized, .closedForbidden, .closedReplaced, .closedOther:
      serverStatus == 408
    }
  }

  private var serverStatus: Int? {
    guard case .http(let status, _, _) = self else { return nil }
    return status
  }
}

// What always holds between the fields of a pull.
extension PullModel {
  package func check(_ check: inout InvariantCheck) {
    switch phase {
    case .new, .ended, .leasing, .pausing(_, .lease, _):
      check.require(line.isEmpty, "pull: questions are leased only while they are worked on")
    case .reading, .posting, .pausing(_, .post, _):
      check.require(!line.isEmpty, "pull: work is for the first in line")
    }
    if let step {
      check.require(step.number <= lastStep, "pull: the step under way was numbered")
    }
    if let reply, case .part(_, let index, let count) = reply {
      check.require(
        index >= 0 && index < count, "pull: the part that is posted is one of the answer")
    }
    switch phase {
    case .reading(_, let until), .pausing(let until, .post, _):
      check.require(until <= limit, "pull: it waits for no answer beyond the lease")
    case .pausing(let until, .lease, _):
      check.require(until <= end, "pull: it pauses within its budget")
    case .new, .leasing, .posting, .ended: break
    }
    check.require(
      report.answered >= answeredBefore && report.left >= 0
        && report.unwanted >= unwantedBefore,
      "pull: its counts only grow")
  }

  private var step: StepID? {
    switch phase {
    case .leasing(let step, _, _), .reading(let step, _), .posting(let step, _, _): step
    case .new, .pausing, .ended: nil
    }
  }

  private var reply: Reply? {
    switch phase {
    case .posting(_, let reply, _), .pausing(_, .post(let reply), _): reply
    case .new, .leasing, .reading, .pausing(_, .lease, _), .ended: nil
    }
  }
}

extension PullModel: Journaled {
  package static var journalName: String { "health-pull" }

  /// - Parameter seed: unused; a pull leaves nothing to chance.
  package init(_ birth: PullSettings, seed: UInt64) {
    self.init(birth)
  }
}
