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
