import LinkCore
import LinkHealth
import LinkStorage
import LinkWire

/// One phone: from its first connection until nobody may ask it any more.
struct RelayPhone: Sendable {
  let id: PhoneID
  /// As it names itself; a plain phone does not, and cannot come back.
  let device: UUID128?
  /// What resumes it.
  let resume: TokenHash
  var presence: Presence
  /// Where it is woken.
  var push: PushAddress?
  /// Open questions, in order of their arrival; at most one is under way on its socket.
  var line: [CallID] = []
  /// The accesses that may ask it, oldest first.
  var tokens: [TokenHash] = []
  /// What its user is told with the next pair.
  var notice: String?
  /// Leased questions that ended, the oldest first.
  var settled: [Settled] = []
  /// The last sign of it while it was away.
  var seenAt: Instant
  /// The same on the wall clock; `nil` while it is connected.
  var leftAt: Timestamp?
  /// When it was woken last.
  var knockedAt: Instant?
  /// Until when it may still be at what it was woken for, and finds new questions by itself.
  var visitUntil: Instant?
  /// Until when the push service wants to be left alone.
  var quietUntil: Instant?

  enum Presence: Sendable, Equatable {
    /// Accepted, and not told its pair yet; the token is for a phone that has none. Exits: here,
    /// away, over.
    case greeting(ConnectionID, token: String?)
    /// Told its pair: it can be asked. Exits: greeting (on another connection), away, over.
    case here(ConnectionID)
    /// Its socket ended; it may come back, or pull. Exits: greeting, over.
    case away(since: Instant)
    /// Its pairing is over; remembered for those who still hold a token for it.
    case over(since: Instant, Ending)
  }

  enum Ending: Sendable {
    /// It stayed away for too long, or could not come back.
    case lost
    /// The same device came without its resume token.
    case replaced
  }

  /// A leased question that ended.
  struct Settled: Sendable {
    var id: RelayRequestID
    var lease: String
    /// Whether the answer under this lease was taken.
    var wasTaken: Bool
  }

  var connection: ConnectionID? {
    switch presence {
    case .greeting(let id, _), .here(let id): id
    case .away, .over: nil
    }
  }

  var isOver: Bool {
    switch presence {
    case .greeting, .here, .away: false
    case .over: true
    }
  }

  /// What is kept of it; nothing of a plain one.
  var kept: StoredPhone? {
    device.map { StoredPhone(id: id, device: $0, resume: resume, push: push, leftAt: leftAt) }
  }
}

/// A phone's socket.
struct RelaySocket: Sendable {
  let address: String
  /// Whose it is, once that is known and as long as it is that phone's.
  var phone: PhoneID?
  /// Questions of a plain phone that ended without its answer; those answers may still come, and
  /// its errors name no question.
  var owed = 0
  var life: SocketLife
}

/// Names an open question.
struct CallID: NumberedID {
  var number: UInt64

  init(_ number: UInt64) {
    self.number = number
  }
}

/// A question from its arrival to its one outcome.
struct RelayCall: Sendable {
  let id: RelayRequestID
  let phone: PhoneID
  /// Whose question it is.
  let asker: TokenHash
  let question: HealthQuestion
  /// The ask that waits; `nil` after a restart, until the same client asks the same again.
  var ask: AskID?
  let since: Instant
  var deadline: Instant
  var deadlineWall: Timestamp
  var stage: Stage
  /// How often it was given to the phone, and how often of that as a lease.
  var tries = 0
  var leases = 0
  /// Whether the store has it.
  var isKept = false
  var assembly = HealthAssembly()
  /// What the assembly took so far: parts and bytes.
  var parts = 0
  var bytes = 0

  enum Stage: Sendable, Equatable {
    /// In line. Exits: asked, leased, ended.
    case waiting(since: Instant)
    /// Sent on a socket. Exits: waiting (the socket ended), leased, ended.
    case asked(ConnectionID)
    /// Taken by a pull. Exits: waiting (the lease expired), ended.
    case leased(String, until: Instant)
  }

  var isWaiting: Bool {
    switch stage {
    case .waiting: true
    case .asked, .leased: false
    }
  }

  /// Goes back into the line; what came of an answer is thrown away.
  mutating func wait(from now: Instant) {
    stage = .waiting(since: now)
    forgetParts()
  }

  /// Forgets what came of an answer.
  mutating func forgetParts() {
    assembly = HealthAssembly()
    (parts, bytes) = (0, 0)
  }

  /// The next instant at which something is due.
  var wake: Instant {
    switch stage {
    case .waiting, .asked: deadline
    case .leased(_, let until): min(deadline, until)
    }
  }
}

/// What rings, by what it is for.
enum RelayAlarm: Sendable, Hashable, Comparable {
  case socket(ConnectionID)
  case call(CallID)
  case pending(AskID)
  case pair(PhoneID)
  case grace(PhoneID)
  case knock(PhoneID)
  case access(TokenHash)
  case store
  case notes
}
