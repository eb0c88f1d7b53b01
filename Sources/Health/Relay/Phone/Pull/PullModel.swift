public import HoldfastCore
import HoldfastHealth
package import HoldfastRelayData

/// A phone's short visit to the backend, during which it leases and answers questions within a time
/// budget.
///
///     new ─▶ leasing ⇄ pausing         every exchange is retried while the budget allows it
///               │
///               ▼ questions                    none
///            reading ─▶ posting ⇄ pausing ──▶ ended
///               ▲          │
///               └──────────┘ next question; after the last one leasing again
///
/// Only one operation is in progress at a time. Questions that do not fit the budget stay leased.
/// When the lease expires, they return to the backend's queue. Every exchange may be repeated,
/// since the backend recognizes a lease.
package struct PullModel: Machine {
  let settings: PullSettings
  var phase = Phase.new
  /// The instant at which the budget ends.
  var end = Instant.zero
  /// The instant at which the lease of the questions in `line` expires.
  var leaseEnd = Instant.zero
  /// The leased questions without an answer, oldest first.
  var line: [Item] = []
  var report = PullReport(ending: .finished)
  /// The value of `report.answered` at the time when the questions in `line` were leased.
  var answeredBefore = 0
  /// The value of `report.unwanted` at the same time.
  var unwantedBefore = 0
  var lastStep: UInt64 = 0

  /// Creates a pull that has not begun.
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

    /// Returns the message to send if there is no answer.
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

    /// The step whose prepared messages are still needed.
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

  /// The exchange that is retried after a pause.
  enum Pending: Sendable, Hashable {
    case lease
    case post(Reply)
  }

  /// The reply to the first question.
  enum Reply: Sendable, Hashable {
    /// One of the messages that a step prepared.
    case part(of: StepID, index: Int, count: Int)
    case failure(PhoneMessage)
  }

  /// Handles one input.
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

  /// Handles the deadlines that have passed by `now`.
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

  /// The next instant at which `tick` must be called.
  package var deadline: Instant? {
    switch phase {
    case .new, .ended: nil
    case .leasing, .posting: end
    case .reading(_, let until), .pausing(let until, _, _): min(end, until)
    }
  }

  /// The result of the pull; `nil` until it ends.
  package var outcome: PullReport? { phase == .ended ? report : nil }

  /// Changes the phase, and discards prepared messages that are no longer needed.
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

/// The ID of one operation of a pull. It matches a result to its operation, so that late results
/// are recognized.
public struct StepID: NumberedID {
  /// The number, counted from the start of the pull.
  public let number: UInt64

  /// Creates an ID from its number.
  public init(_ number: UInt64) { self.number = number }
}

extension PullModel {
  /// An input of a pull.
  package enum Input: Sendable, Equatable, Codable {
    /// Begin the pull. Later inputs of this kind are ignored.
    case begin
    /// The backend's answer to `.lease`.
    case leased(StepID, LeasedQuestions)
    /// The answer that `.read` requested is ready. It consists of this number of messages, at least
    /// 1.
    case prepared(StepID, parts: Int)
    /// The backend accepted the message of `.post` or `.refuse`.
    case posted(StepID)
    /// The exchange failed, or its response had an unsuccessful status.
    case failed(StepID, LinkFailure)
    /// The operating system ends the background time.
    case cancel
  }

  /// An effect of a pull. Effects are carried out in order.
  package enum Effect: Sendable, Equatable, Codable {
    /// Lease at most `max` questions.
    case lease(StepID, max: Int, within: Duration)
    /// Read the data that answers a question. Keep the messages until they are discarded.
    case read(StepID, LeasedQuestion)
    /// Stop reading, and release the messages.
    case discard(StepID)
    /// Send one message that `read` prepared. The index starts at 0.
    case post(StepID, of: StepID, part: Int, lease: String, within: Duration)
    /// Send an error instead of an answer.
    case refuse(StepID, LeasedResult, within: Duration)
    /// The pull is over. Cancel the exchanges in progress.
    case finish(PullReport)
  }
}

// The order of the steps.
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
    guard case .leasing(step, let since, _) = phase else { return }  // a late event
    // The lease began between the request and the response. Counting from the request is safe.
    leaseEnd = since.advanced(by: questions.expiresIn)
    (answeredBefore, unwantedBefore) = (report.answered, report.unwanted)
    line = questions.questions.map(Item.question) + questions.rejected.map(Item.rejected)
    advanceLine(at: now, &effects)
  }

  /// Answers the first question, or leases more questions if none is left.
  private mutating func advanceLine(at now: Instant, _ effects: inout [Effect]) {
    guard let first = line.first else {
      // If no question was answered in this round, the next round would be the same.
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

  /// Sends the reason why the first question has no answer.
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
    guard case .posting(step, let reply, _) = phase else { return }  // a late event
    if case .part(let work, let index, let count) = reply, index + 1 < count {
      post(.part(of: work, index: index + 1, count: count), at: now, &effects)
    } else {
      report.answered += 1
      done(at: now, &effects)
    }
  }

  /// Removes the first question, which has been handled.
  private mutating func done(at now: Instant, _ effects: inout [Effect]) {
    line.removeFirst()
    advanceLine(at: now, &effects)
  }

  /// The end of the current leases or of the budget, whichever comes first.
  var limit: Instant { min(end, leaseEnd) }
}

// Failures and the end.
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
      replyFailed(reply, failure, at: now, &effects)
    case .new, .leasing, .reading, .posting, .pausing, .ended: return  // a late event
    }
  }

  /// Schedules a retry if the failure is transient and enough time is left after the wait.
  ///
  /// The backend can lengthen the wait.
  ///
  /// - Returns: Whether a retry was scheduled.
  private mutating func repeats(
    _ pending: Pending, _ tries: Int, _ failure: LinkFailure, until limit: Instant, at now: Instant
  ) -> Bool {
    guard failure.mayPass,
      let wait = settings.retries.shortestWait(before: tries, atLeast: failure.retryAfter)
    else { return false }
    let due = now.advanced(by: wait)
    guard due.duration(to: limit) >= settings.leastTime else { return false }
    phase = .pausing(until: due, pending, tries: tries + 1)
    return true
  }

  private mutating func replyFailed(
    _ reply: Reply, _ failure: LinkFailure, at now: Instant, _ effects: inout [Effect]
  ) {
    switch failure {
    case .http(401, _, _), .http(403, _, _): finish(.signedOut, at: now, &effects)
    case .http(409, _, _):
      // The lease has expired, so the question is back in the backend's queue.
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
    // RFC 9110 sections 15.5.5, 15.5.6 and 15.6.2: unknown route, unsupported method, not
    // implemented.
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

  /// Returns the wait before the next pull; `nil` if there is no reason for one.
  ///
  /// Unanswered questions return when their leases expire, so an earlier visit would find none. If
  /// answers were refused, other questions may wait behind the refused ones. In that case the pause
  /// is the longest, since a backend that keeps offering the refused questions would otherwise
  /// cause one visit after another.
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
        ? min(max(failure.retryAfter ?? .zero, PullSettings.pause), PullSettings.longestPause)
        : nil
    }
  }
}

extension LinkFailure {
  /// Whether the same exchange may succeed shortly afterward.
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

// The invariants that span the fields of a pull.
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

  /// Creates a pull from its settings.
  ///
  /// - Parameter seed: Unused, since a pull has no randomness.
  package init(_ birth: PullSettings, seed: UInt64) {
    self.init(birth)
  }
}
