import HoldfastCore
import HoldfastHealth
import HoldfastRelayData

/// The id of an open question.
struct QuestionID: NumberedID {
  var number: UInt64

  init(_ number: UInt64) {
    self.number = number
  }
}

/// A question, from its arrival until its outcome.
struct RelayQuestion: Sendable {
  /// The id of the question on the wire.
  let id: RelayRequestID
  let phone: PhoneID
  /// The token of the assistant that asks the question.
  let caller: TokenHash
  let question: HealthQuestion
  /// The call that waits for the answer. After a restart it is `nil` until the same client repeats
  /// the question.
  fileprivate(set) var call: RequestID?
  let since: Instant
  fileprivate(set) var deadline: Instant
  fileprivate(set) var deadlineWall: Timestamp
  fileprivate(set) var stage: Stage
  /// The number of times that the question was sent to the phone, including by leases.
  fileprivate(set) var tries = 0
  fileprivate(set) var leases = 0
  /// Whether the question is stored.
  fileprivate(set) var isStored = false
  /// Whether synced samples were read for the question.
  fileprivate(set) var synced = Synced.unread
  fileprivate var assembly = HealthAssembly()
  /// The number of parts of the answer that the assembly has received.
  fileprivate var parts = 0
  fileprivate var bytes = 0

  enum Stage: Sendable, Equatable {
    /// The question is queued. Exits: asked, leased, ended.
    case waiting(since: Instant)
    /// The question was sent on a socket. Exits: waiting (the socket ended), leased, ended.
    case asked(ConnectionID)
    /// The question is leased to a pull. Exits: waiting (the lease expired), ended.
    case leased(String, until: Instant)
  }

  enum Synced: Sendable {
    case unread, reading, read
  }

  var isWaiting: Bool {
    switch stage {
    case .waiting: true
    case .asked, .leased: false
    }
  }

  fileprivate var isAsked: Bool {
    switch stage {
    case .asked: true
    case .waiting, .leased: false
    }
  }

  /// Returns whether a call waits for the question, and the question was queued after the last
  /// push.
  func isNew(since push: Instant?) -> Bool {
    switch stage {
    case .waiting(let since): call != nil && push.map { since > $0 } ?? true
    case .asked, .leased: false
    }
  }

  /// The next instant at which the deadline or the lease expires.
  var wake: Instant {
    switch stage {
    case .waiting, .asked: deadline
    case .leased(_, let until): min(deadline, until)
    }
  }

  /// The stored form of the question.
  var stored: StoredQuestion {
    StoredQuestion(id: id, phone: phone, caller: caller, question: question, deadline: deadlineWall)
  }

  /// Returns the question to the queue and discards the parts of its answer.
  fileprivate mutating func wait(from now: Instant) {
    stage = .waiting(since: now)
    forgetParts()
  }

  fileprivate mutating func forgetParts() {
    assembly = HealthAssembly()
    (parts, bytes) = (0, 0)
  }
}

/// The reason why an answer cannot be passed on.
enum AnswerFault: Error, Sendable, Equatable {
  case malformed(String)
  case tooLarge
  /// The unfinished answers have reached the bound of their total size.
  case noRoom
}

/// The open questions, each in the queue of its phone.
struct RelayQuestions: Sendable {
  /// A leased question that has ended.
  struct EndedQuestion: Sendable {
    var id: RelayRequestID
    var lease: String
    /// Whether the answer under this lease was accepted.
    var wasTaken: Bool
  }

  private let policy: RelayServerPolicy
  /// The prefix of all ids of questions and leases.
  private let life: String
  private var all: [QuestionID: RelayQuestion] = [:]
  private var byName: [RelayRequestID: QuestionID] = [:]
  private var byCall: [RequestID: QuestionID] = [:]
  /// The questions to each phone in order of arrival. At most one of them is under way on its
  /// socket.
  private var lines: [PhoneID: [QuestionID]] = [:]
  /// The leased questions to each phone that have ended, oldest first.
  private var ended: [PhoneID: [EndedQuestion]] = [:]
  /// The total size of all unfinished answers, in bytes.
  private var gathered = 0
  private var lastQuestion: UInt64 = 0
  private var lastLease: UInt64 = 0

  init(_ policy: RelayServerPolicy, life: String) {
    self.policy = policy
    self.life = String(life.prefix(32))
  }

  var count: Int { all.count }
  var isEmpty: Bool { all.isEmpty }

  /// The ids of the questions, sorted.
  var ids: [QuestionID] { all.keys.sorted() }

  subscript(id: QuestionID) -> RelayQuestion? { all[id] }

  /// Returns the ids of the questions to a phone, in order of arrival.
  func line(of phone: PhoneID) -> [QuestionID] { lines[phone] ?? [] }

  /// Returns the open questions to a phone, in order of arrival.
  func questions(to phone: PhoneID) -> [RelayQuestion] { line(of: phone).compactMap { all[$0] } }

  /// Returns whether the queue of a phone is full.
  func isFull(_ phone: PhoneID) -> Bool { line(of: phone).count >= policy.callsPerPhone }

  /// Returns the open question with an id, or `nil` if it was not sent to this phone.
  func given(_ name: RelayRequestID, to phone: PhoneID) -> QuestionID? {
    guard let id = byName[name], let question = all[id], question.phone == phone,
      question.tries > 0
    else { return nil }
    return id
  }

  /// Returns the open question with an id on the wire, or `nil` if there is none.
  func named(_ name: RelayRequestID) -> QuestionID? { byName[name] }

  /// Records whether synced samples were read for a question.
  mutating func note(_ synced: RelayQuestion.Synced, of id: QuestionID) {
    all[id]?.synced = synced
  }

  /// Returns the questions to a phone that are under way on a socket.
  func asked(on connection: ConnectionID, of phone: PhoneID) -> [QuestionID] {
    line(of: phone).filter { all[$0]?.stage == .asked(connection) }
  }

  /// Returns the most recent record of a leased question to a phone that has ended.
  func ended(_ name: RelayRequestID, of phone: PhoneID) -> EndedQuestion? {
    ended[phone]?.last { $0.id == name }
  }
}

// The arrival and the end of questions.
extension RelayQuestions {
  /// Adds a question from an assistant.
  mutating func add(
    _ question: HealthQuestion, to phone: PhoneID, of caller: TokenHash, _ call: RequestID,
    at now: Instant, wall: Timestamp
  ) -> QuestionID {
    lastQuestion += 1
    guard let name = RelayRequestID("\(life)-\(lastQuestion)") else {
      preconditionFailure("32 characters and a number fit 64 bytes, and are not empty")
    }
    return enter(
      RelayQuestion(
        id: name, phone: phone, caller: caller, question: question, call: call, since: now,
        deadline: now.advanced(by: policy.callLimit),
        deadlineWall: wall.advanced(by: policy.callLimit), stage: .waiting(since: now)))
  }

  /// Adds a stored question. It waits until its assistant repeats it.
  ///
  /// Returns `nil` if there is no room or the question is already open.
  mutating func restore(
    _ stored: StoredQuestion, until deadline: Instant, at now: Instant
  ) -> QuestionID? {
    guard byName[stored.id] == nil, !isFull(stored.phone), all.count < policy.maxCalls else {
      return nil
    }
    lastQuestion += 1
    var question = RelayQuestion(
      id: stored.id, phone: stored.phone, caller: stored.caller, question: stored.question,
      call: nil,
      since: now, deadline: min(deadline, now.advanced(by: policy.callLimit)),
      deadlineWall: stored.deadline, stage: .waiting(since: now))
    question.isStored = true
    return enter(question)
  }

  private mutating func enter(_ question: RelayQuestion) -> QuestionID {
    let id = QuestionID(lastQuestion)
    all[id] = question
    byName[question.id] = id
    if let call = question.call { byCall[call] = id }
    lines[question.phone, default: []].append(id)
    return id
  }

  /// Assigns a question from before a restart to the call that repeats it.
  mutating func adopt(
    _ question: HealthQuestion, to phone: PhoneID, of caller: TokenHash, _ call: RequestID,
    at now: Instant, wall: Timestamp
  ) -> QuestionID? {
    let orphan = line(of: phone).first { id in
      guard let other = all[id] else { return false }
      return other.call == nil && other.caller == caller && other.question == question
    }
    guard let orphan else { return nil }
    all[orphan]?.call = call
    all[orphan]?.deadline = now.advanced(by: policy.callLimit)
    all[orphan]?.deadlineWall = wall.advanced(by: policy.callLimit)
    all[orphan]?.stage = .waiting(since: now)
    byCall[call] = orphan
    return orphan
  }

  /// Marks the first waiting question as sent on a socket and returns it. Returns `nil` while
  /// another one is under way.
  ///
  /// A question that lost its call in a restart is not sent, since no call would receive the
  /// answer.
  mutating func askNext(of phone: PhoneID, on connection: ConnectionID) -> RelayQuestion? {
    let line = line(of: phone)
    guard line.allSatisfy({ all[$0]?.isWaiting ?? true }),
      let next = line.first(where: { all[$0]?.call != nil })
    else { return nil }
    all[next]?.stage = .asked(connection)
    all[next]?.tries += 1
    return all[next]
  }

  /// Returns a question to the queue of its phone.
  mutating func wait(_ id: QuestionID, from now: Instant) {
    guard let bytes = all[id]?.bytes else { return }
    gathered -= bytes
    all[id]?.wait(from: now)
  }

  /// Leases questions to a phone.
  ///
  /// Questions that are already leased are included with their existing lease. The question that
  /// was sent on the phone's socket is also included, because a phone that pulls cannot use its
  /// socket.
  mutating func lease(
    to phone: PhoneID, max order: Int, at now: Instant
  ) -> [(id: QuestionID, leased: LeasedQuestion)] {
    let bound = min(order, policy.maxLeased)
    let until = now.advanced(by: policy.lease)
    var leased: [(id: QuestionID, leased: LeasedQuestion)] = []
    for id in line(of: phone) where leased.count < bound {
      guard var question = all[id], question.call != nil else { continue }
      var name = ""
      if case .leased(let known, _) = question.stage {
        name = known
      } else {
        lastLease += 1
        name = "\(life)-l\(lastLease)"
        gathered -= question.bytes
        question.wait(from: now)
        question.tries += 1
        question.leases += 1
      }
      question.stage = .leased(name, until: until)
      all[id] = question
      leased.append(
        (id, LeasedQuestion(id: question.id, question: question.question, lease: name)))
    }
    return leased
  }

  /// Returns the changes that store the questions to a phone, and marks the questions as stored.
  mutating func keep(lineOf phone: PhoneID) -> [RelayChange] {
    line(of: phone).compactMap { id in
      guard let question = all[id], !question.isStored else { return nil }
      all[id]?.isStored = true
      return .question(question.stored)
    }
  }

  /// Removes the call of a question, and returns the question.
  package mutating func abandon(_ call: RequestID) -> QuestionID? {
    guard let id = byCall.removeValue(forKey: call) else { return nil }
    all[id]?.call = nil
    return id
  }

  /// Removes a question whose outcome is known.
  package mutating func end(_ id: QuestionID) -> RelayQuestion? {
    guard let question = all.removeValue(forKey: id) else { return nil }
    byName[question.id] = nil
    let left = line(of: question.phone).filter { $0 != id }
    lines[question.phone] = left.isEmpty ? nil : left
    gathered -= question.bytes
    if let call = question.call { byCall[call] = nil }
    return question
  }

  /// Records the end of a leased question, so that a repeated answer can be detected.
  mutating func remember(_ question: RelayQuestion, lease: String, wasTaken: Bool) {
    let end = EndedQuestion(id: question.id, lease: lease, wasTaken: wasTaken)
    ended[question.phone, default: []].append(end)
    let excess = (ended[question.phone]?.count ?? 0) - policy.maxEnded
    if excess > 0 { ended[question.phone]?.removeFirst(excess) }
  }

  /// Removes the ended questions of a phone that cannot return.
  mutating func forget(_ phone: PhoneID) {
    ended[phone] = nil
  }
}

// Answers.
extension RelayQuestions {
  /// Returns the fault in an answer, or `nil` if there is none.
  func fault(
    in object: HealthObject, as kind: HealthQuestion.Kind, to id: QuestionID
  ) -> AnswerFault? {
    if kind != all[id]?.question.kind { return .malformed("it answers another question") }
    if object.bytes.count > policy.maxAnswerBytes { return .tooLarge }
    return object.shapeFault(as: kind).map { .malformed($0) }
  }

  /// Returns the answer, or a refusal if the phone ignored a part of the question.
  func checked(_ answer: HealthObject, to id: QuestionID) -> HealthObject {
    guard let option = all[id]?.question.ignoredOption(in: answer) else { return answer }
    return .failure(
      "the phone's app is older than \(option) and ignored it, so its answer is left out. Ask "
        + "without \(option), or ask the user to update the app")
  }

  /// Adds a part of an answer. Returns the complete answer if this was the last part.
  ///
  /// If a complete answer is unreadable, its parts are discarded, and the phone may send it again.
  mutating func gather(
    _ part: HealthPart, of id: QuestionID
  ) throws(AnswerFault) -> HealthObject? {
    guard var question = all[id] else { return nil }
    guard part.kind == question.question.kind else {
      throw .malformed("it answers another question")
    }
    guard part.index >= question.parts else { return nil }  // A repeated part.
    let length = part.text.utf8.count
    guard question.bytes + length <= policy.maxAnswerBytes else { throw .tooLarge }
    guard gathered + length <= policy.maxGatheredBytes else { throw .noRoom }
    let whole: HealthObject?
    do {
      // The question is removed from the dictionary so that its bytes are not copied for every
      // part.
      all[id] = nil
      defer { all[id] = question }
      whole = try question.assembly.take(part, of: question.id)
      question.parts += 1
      question.bytes += length
      gathered += length
    } catch {
      if question.assembly.isWhole { forgetParts(of: id) }
      throw .malformed(error.description)
    }
    if let fault = whole?.shapeFault(as: part.kind) {
      forgetParts(of: id)
      throw .malformed(fault)
    }
    return whole
  }

  private mutating func forgetParts(of id: QuestionID) {
    gathered -= all[id]?.bytes ?? 0
    all[id]?.forgetParts()
  }
}

extension RelayQuestions: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      all.count == byName.count && byCall.count <= all.count,
      "relay questions: each is found by its name")
    check.require(
      gathered >= 0 && gathered <= policy.maxGatheredBytes,
      "relay questions: the bytes of unfinished answers are bounded")
    guard check.isThorough else { return }
    check.require(
      all.allSatisfy { id, question in
        byName[question.id] == id && (question.call.map { byCall[$0] == id } ?? true)
      } && byCall.count == all.values.count { $0.call != nil },
      "relay questions: each is known by its name and by its call")
    check.require(
      gathered == all.values.reduce(0) { $0 + $1.bytes },
      "relay questions: the bytes are those of unfinished answers")
    check.require(
      all.values.allSatisfy { question in
        guard case .leased = question.stage else { return question.leases <= question.tries }
        return question.leases > 0 && question.leases <= question.tries
      }, "relay questions: a lease is one of the tries")
    check.require(
      lines.values.reduce(0) { $0 + $1.count } == all.count
        && lines.allSatisfy { phone, line in line.allSatisfy { all[$0]?.phone == phone } },
      "relay questions: each is in the line of its phone, once")
    check.require(
      lines.values.allSatisfy { $0.count <= policy.callsPerPhone }
        && ended.values.allSatisfy { $0.count <= policy.maxEnded },
      "relay questions: what is kept of a phone is bounded")
    check.require(
      lines.values.allSatisfy { line in line.count { all[$0]?.isAsked ?? false } <= 1 },
      "relay questions: a phone is asked one at a time")
  }

  /// Returns whether a condition holds for every question.
  func allSatisfy(_ matches: (QuestionID, RelayQuestion) -> Bool) -> Bool {
    all.allSatisfy { matches($0.key, $0.value) }
  }
}
