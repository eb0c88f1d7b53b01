import HoldfastCore
import HoldfastHealth
import HoldfastRelayData

/// The queue of questions, in order of arrival. Only the first one is being answered.
struct QuestionQueue: Sendable, Hashable {
  /// A question in the queue.
  struct Item: Sendable, Hashable {
    let id: RelayRequestID
    let question: HealthQuestion
    /// The connection on which a caller waits for the answer.
    var attempt: AttemptID
    let askedAt: Instant
    var progress = Progress.waiting
  }

  /// The progress of an answer.
  enum Progress: Sendable, Hashable {
    case waiting
    case reading(WorkID, until: Instant)
    case prepared(WorkID, RelayModel.Prepared)
    /// Part `part` is in transit. The pong to `ping` confirms its arrival.
    case sending(WorkID, RelayModel.Prepared, part: Int, ping: UInt64)

    /// The identifier of the work that reads the answer's data; `nil` if it has not begun.
    var work: WorkID? {
      switch self {
      case .waiting: nil
      case .reading(let work, _), .prepared(let work, _), .sending(let work, _, _, _): work
      }
    }
  }

  var items: [Item] = []
  /// The questions answered on the current connection, oldest first, so that a repeated one is not
  /// answered twice.
  var answered: [RelayRequestID] = []
  var lastWork: UInt64 = 0
  var lastPing: UInt64 = 0

  /// The instant at which the read in progress times out.
  var deadline: Instant? {
    guard case .reading(_, let until)? = items.first?.progress else { return nil }
    return until
  }

  /// Returns whether the question was asked on the current connection and is answered or in the
  /// queue.
  func knows(_ id: RelayRequestID) -> Bool {
    answered.contains(id) || items.contains { $0.id == id }
  }

  mutating func noteAnswered(_ id: RelayRequestID) {
    answered.append(id)
    if answered.count > RelaySettings.answeredLimit { answered.removeFirst() }
  }

  /// Clears the answered questions, since callers on a new connection expect their answers there.
  mutating func forgetAnswered() { answered = [] }

  mutating func newWork() -> WorkID {
    lastWork += 1
    return WorkID(lastWork)
  }

  /// Returns a ping ID. The highest bit separates it from the link's own pings, which count from 1.
  mutating func newPing() -> UInt64 {
    lastPing += 1
    return 1 << 63 | lastPing
  }
}

extension QuestionQueue: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      items.count <= RelaySettings.queueLimit && answered.count <= RelaySettings.answeredLimit,
      "question queue: its sizes are within the limits")
    check.require(
      items.dropFirst().allSatisfy { $0.progress == .waiting },
      "question queue: only the first question is in progress")
    if let first = items.first {
      check.require(
        first.progress.work?.number ?? 0 <= lastWork, "question queue: every read has a number")
      if case .sending(_, let prepared, let part, let ping) = first.progress {
        check.require(
          part >= 0 && part < max(prepared.parts, 1),
          "question queue: the part being sent belongs to the answer")
        check.require(
          ping == 1 << 63 | lastPing, "question queue: the awaited pong answers the last ping")
      }
    }
    guard check.isThorough else { return }
    let ids = Set(items.map(\.id))
    check.require(ids.count == items.count, "question queue: ids are unique")
    check.require(
      ids.isDisjoint(with: answered), "question queue: answered questions are removed")
  }
}

/// A rate limiter that lets one event pass per interval and counts the events that it withholds.
struct Throttle: Sendable, Hashable {
  private let interval: Duration
  private var last: Instant?
  private var withheld = 0

  init(every interval: Duration) {
    self.interval = interval
  }

  /// Returns the number of events withheld since the last one passed; `nil` to withhold this one.
  mutating func pass(at now: Instant) -> Int? {
    if let last, last.duration(to: now) < interval {
      withheld += 1
      return nil
    }
    defer { withheld = 0 }
    last = now
    return withheld
  }
}
