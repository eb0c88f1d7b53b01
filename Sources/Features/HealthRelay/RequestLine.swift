import LinkCore
import LinkHealth
import LinkWire

/// Questions in the order in which they came; only the first is worked on.
struct RequestLine: Sendable, Hashable {
  /// One question.
  struct Item: Sendable, Hashable {
    let id: RelayRequestID
    let question: HealthQuestion
    /// The connection on which somebody waits for the answer.
    var attempt: AttemptID
    let askedAt: Instant
    var progress = Progress.waiting
  }

  /// How far an answer is.
  enum Progress: Sendable, Hashable {
    case waiting
    case reading(WorkID, until: Instant)
    case prepared(WorkID, RelayModel.Prepared)
    /// Part `part` is on its way; the pong to `ping` says that it has arrived.
    case sending(WorkID, RelayModel.Prepared, part: Int, ping: UInt64)

    /// The reading that it comes from.
    var work: WorkID? {
      switch self {
      case .waiting: nil
      case .reading(let work, _), .prepared(let work, _), .sending(let work, _, _, _): work
      }
    }
  }

  var items: [Item] = []
  /// Answered on the present connection, oldest first: a repeated question is not answered twice.
  var answered: [RelayRequestID] = []
  var lastWork: UInt64 = 0
  var lastPing: UInt64 = 0

  /// When the reading under way has taken too long.
  var deadline: Instant? {
    guard case .reading(_, let until)? = items.first?.progress else { return nil }
    return until
  }

  /// What was asked on the present connection, and is answered or on its way.
  func knows(_ id: RelayRequestID) -> Bool {
    answered.contains(id) || items.contains { $0.id == id }
  }

  mutating func noteAnswered(_ id: RelayRequestID) {
    answered.append(id)
    if answered.count > RelaySettings.answeredLimit { answered.removeFirst() }
  }

  /// A new connection: what is asked on it waits for an answer on it.
  mutating func forgetAnswered() { answered = [] }

  mutating func newWork() -> WorkID {
    lastWork += 1
    return WorkID(lastWork)
  }

  /// Apart from the link's own pings, which count from 1.
  mutating func newPing() -> UInt64 {
    lastPing += 1
    return 1 << 63 | lastPing
  }
}

extension RequestLine: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      items.count <= RelaySettings.lineLimit && answered.count <= RelaySettings.answeredLimit,
      "request line: it holds no more than its limits")
    check.require(
      items.dropFirst().allSatisfy { $0.progress == .waiting },
      "request line: only the first is worked on")
    if let first = items.first {
      check.require(
        first.progress.work?.number ?? 0 <= lastWork, "request line: a reading was numbered")
      if case .sending(_, let prepared, let part, let ping) = first.progress {
        check.require(
          part >= 0 && part < max(prepared.parts, 1),
          "request line: the part that is sent is one of the answer")
        check.require(
          ping == 1 << 63 | lastPing, "request line: the awaited pong is of the last ping")
      }
    }
    guard check.isThorough else { return }
    let ids = Set(items.map(\.id))
    check.require(ids.count == items.count, "request line: a question is in it once")
    check.require(
      ids.isDisjoint(with: answered), "request line: what is answered is not in it any more")
  }
}

/// Lets one through in a while, and counts the others.
struct Throttle: Sendable, Hashable {
  private let interval: Duration
  private var last: Instant?
  private var withheld = 0

  init(every interval: Duration) {
    self.interval = interval
  }

  /// How many were held back since the one before; `nil` when this one is held back too.
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
