public import HoldfastCore
public import HoldfastServerParts

/// The rules of the questions to the operator's backend: what waits, what is sent, and what a missing
/// answer means.
///
/// A question passes through these stages:
///
///     ask ──► behind ──► queued ──► asked ──► decided
///       └──► decided       └──► decided
///
/// A post is `behind` while another post of its author in the same shop has no decision. Its time in
/// the queue is limited, as is the time of the request, so that a user cannot make others wait. A
/// repeated attempt to send a post gets the decision about the first attempt.
public struct HookGate: Machine {
  /// The stage of a question that has no decision.
  enum Stage: Sendable, Hashable {
    /// The question waits for another one of its lane.
    case behind
    /// The question waits until it may be sent.
    case queued
    /// The request was sent.
    case asked
  }

  struct Entry: Sendable, Hashable {
    var question: HookQuestion
    var stage: Stage
    /// Whether nobody waits for the decision any more.
    var isWithdrawn = false
  }

  /// A request that has not ended. After its time limit the question is decided, and the request may
  /// still be under way.
  struct Request: Sendable, Hashable {
    var event: HookEvent
    var since: Instant
  }

  let policy: HookPolicy
  private(set) var entries: [HookTicket: Entry] = [:]
  private(set) var requests: [HookTicket: Request] = [:]
  /// The questions of each lane in the order of their arrival. Only the first one is not `behind`.
  private(set) var lanes: [HookQuestion.Lane: [HookTicket]] = [:]
  private(set) var queue: [HookTicket] = []
  private(set) var notes: [Told] = []
  private(set) var users: [String: Int] = [:]
  private var alarms = AlarmQueue<HookTicket>()
  private var metrics = HookMetrics()
  private var now = Instant.zero
  private var effects: [Effect] = []

  struct Told: Sendable, Hashable {
    var ticket: HookTicket
    var note: HookNote
  }

  /// Creates a gate without questions.
  public init(policy: HookPolicy = HookPolicy()) {
    self.policy = policy.workable
  }

  /// Handles one input and returns the resulting effects, in order.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    self.now = now
    switch input {
    case .ask(let ticket, let question): ask(question, as: ticket)
    case .withdraw(let ticket): withdraw(ticket)
    case .tell(let ticket, let note): tell(note, as: ticket)
    case .ended(let ticket, let outcome): ended(ticket, outcome)
    }
    return takeEffects()
  }

  /// Decides the questions whose time limit has passed.
  public mutating func tick(at now: Instant) -> [Effect] {
    self.now = now
    while let ticket = alarms.take(dueAt: now) {
      let wait = policy.timeout.text
      if entries[ticket]?.stage == .asked {
        observe(ticket)
        fail(ticket, .timedOut, "no answer within \(wait)")
      } else {
        fail(ticket, .crowded, "not sent within \(wait), because others wait")
      }
    }
    return takeEffects()
  }

  /// The next instant at which `tick` must be called; `nil` if no question waits.
  public var deadline: Instant? { alarms.first }

  /// Whether reports about ended sockets wait or are under way.
  public var hasReports: Bool {
    !notes.isEmpty || requests.values.contains { $0.event == .disconnect }
  }

  /// Returns whether the policy has an event.
  public func concerns(_ event: HookEvent) -> Bool { policy.events.contains(event) }

  /// Adds the numbers of requests to the metrics of the backend.
  public func report(to page: inout MetricsPage) { metrics.report(to: &page) }

  private mutating func takeEffects() -> [Effect] {
    defer { effects = [] }
    return effects
  }
}

extension HookGate {
  /// An input of the gate.
  public enum Input: Sendable, Hashable, Codable {
    /// A client waits for a decision.
    case ask(HookTicket, HookQuestion)
    /// The client does not wait any more. No decision follows.
    case withdraw(HookTicket)
    /// A socket has ended.
    case tell(HookTicket, HookNote)
    /// A request has ended. This input is sent once for each `.send`.
    case ended(HookTicket, HookOutcome)
  }

  /// An effect of the gate. Effects are carried out in order.
  public enum Effect: Sendable, Hashable, Codable {
    /// Send a request with a JSON body, and end it after the time limit.
    case send(HookTicket, body: [UInt8], within: Duration)
    /// A question is decided. This happens once for each question that is not withdrawn.
    case decide(HookTicket, HookVerdict)
    /// Report a failure to the operator. The detail does not contain what was asked.
    case report(HookEvent, detail: String)
  }
}

// MARK: - Questions

extension HookGate {
  private var waiting: Int { entries.count - requests.keys.count { entries[$0] != nil } }

  private mutating func ask(_ question: HookQuestion, as ticket: HookTicket) {
    if let user = question.user, users[user, default: 0] >= policy.maxPerUser {
      metrics.count(question.event, .limited)
      return effects.append(.decide(ticket, .tooMany))
    }
    let isFirst = question.lane.map { lanes[$0] == nil } ?? true
    let goesOut = isFirst && queue.isEmpty && requests.count < policy.maxInFlight
    let isFull = !goesOut && waiting >= policy.maxWaiting
    entries[ticket] = Entry(question: question, stage: .behind)
    if let user = question.user { users[user, default: 0] += 1 }
    if let lane = question.lane { lanes[lane, default: []].append(ticket) }
    if isFull {
      fail(ticket, .crowded, "\(policy.maxWaiting) others wait")
    } else if isFirst {
      enqueue(ticket)
    }
    sendNext()
  }

  private mutating func enqueue(_ ticket: HookTicket) {
    entries[ticket]?.stage = .queued
    queue.append(ticket)
    alarms.set(ticket, at: now.advanced(by: policy.timeout))
  }

  /// Sends what may be sent. Clients that wait go before reports.
  private mutating func sendNext() {
    while requests.count < policy.maxInFlight, !queue.isEmpty {
      let ticket = queue.removeFirst()
      guard let question = entries[ticket]?.question else { continue }
      entries[ticket]?.stage = .asked
      alarms.set(ticket, at: now.advanced(by: policy.timeout))
      send(ticket, question.event, question.body)
    }
    while requests.count < policy.maxInFlight, !notes.isEmpty,
      requests.values.count(where: { $0.event == .disconnect }) < policy.maxNotesInFlight
    {
      let told = notes.removeFirst()
      send(told.ticket, .disconnect, told.note.body)
    }
  }

  private mutating func send(_ ticket: HookTicket, _ event: HookEvent, _ body: [UInt8]) {
    requests[ticket] = Request(event: event, since: now)
    effects.append(.send(ticket, body: body, within: policy.timeout))
  }

  private mutating func withdraw(_ ticket: HookTicket) {
    guard let entry = entries[ticket] else { return }
    switch entry.stage {
    // The answer may be that of another attempt to send the same post.
    case .asked: entries[ticket]?.isWithdrawn = true
    case .behind, .queued:
      entries[ticket]?.isWithdrawn = true
      finish(ticket, nil)
    }
    sendNext()
  }

  /// Decides a question without an answer.
  private mutating func fail(_ ticket: HookTicket, _ result: HookResult, _ detail: String) {
    guard let question = entries[ticket]?.question else { return }
    effects.append(.report(question.event, detail: detail))
    metrics.count(question.event, result)
    switch policy.onFailure {
    case .open: finish(ticket, .allowed(question.post?.id))
    case .closed: finish(ticket, .unanswered)
    }
    sendNext()
  }

  /// Removes a question with its decision, and lets the next one of its lane proceed.
  ///
  /// Other attempts to send the same post get the same decision; without a decision, they are asked
  /// about in their turn.
  private mutating func finish(_ ticket: HookTicket, _ verdict: HookVerdict?) {
    guard let entry = remove(ticket, verdict), let lane = entry.question.lane else { return }
    let wasFirst = lanes[lane]?.first == ticket
    lanes[lane]?.removeAll { $0 == ticket }
    if let verdict, wasFirst {
      for other in lanes[lane] ?? [] {
        guard let repeated = entries[other], repeated.question.isRepeat(of: entry.question) else {
          continue
        }
        _ = remove(other, verdict)
        lanes[lane]?.removeAll { $0 == other }
      }
    }
    guard let next = lanes[lane]?.first else {
      lanes[lane] = nil
      return
    }
    if wasFirst { enqueue(next) }
  }

  private mutating func remove(_ ticket: HookTicket, _ verdict: HookVerdict?) -> Entry? {
    guard let entry = entries.removeValue(forKey: ticket) else { return nil }
    alarms.clear(ticket)
    switch entry.stage {
    case .queued: queue.removeAll { $0 == ticket }
    case .behind, .asked: break
    }
    if let user = entry.question.user {
      users[user, default: 1] -= 1
      if users[user] == 0 { users[user] = nil }
    }
    if let verdict, !entry.isWithdrawn { effects.append(.decide(ticket, verdict)) }
    return entry
  }
}

// MARK: - Answers

extension HookGate {
  private mutating func ended(_ ticket: HookTicket, _ outcome: HookOutcome) {
    guard let request = requests[ticket] else { return }
    if request.event == .disconnect || entries[ticket] != nil { observe(ticket) }
    requests[ticket] = nil
    let reply = HookReply(outcome)
    if request.event == .disconnect {
      told(reply)
    } else if let question = entries[ticket]?.question {
      decide(ticket, question, reply)
    }
    sendNext()
  }

  private mutating func decide(
    _ ticket: HookTicket, _ question: HookQuestion, _ reply: HookReply
  ) {
    switch reply {
    case .allowed:
      metrics.count(question.event, .allowed)
      finish(ticket, .allowed(question.post?.id))
    case .denied(let reason):
      metrics.count(question.event, .denied)
      finish(ticket, .denied(reason: reason))
    case .failed(let detail): fail(ticket, .failed, detail)
    }
  }

  /// Counts the time of a request up to now.
  private mutating func observe(_ ticket: HookTicket) {
    guard let request = requests[ticket] else { return }
    metrics.observe(request.event, request.since.duration(to: now))
  }
}

// MARK: - Reports

extension HookGate {
  private mutating func tell(_ note: HookNote, as ticket: HookTicket) {
    guard notes.count < policy.maxNotes else { return metrics.count(.disconnect, .dropped) }
    notes.append(Told(ticket: ticket, note: note))
    sendNext()
  }

  private mutating func told(_ reply: HookReply) {
    switch reply {
    case .allowed: metrics.count(.disconnect, .delivered)
    // The answer to a report decides nothing, so a refusal is as bad as no answer.
    case .denied: failedToTell("the report was refused")
    case .failed(let detail): failedToTell(detail)
    }
  }

  private mutating func failedToTell(_ detail: String) {
    metrics.count(.disconnect, .failed)
    effects.append(.report(.disconnect, detail: detail))
  }
}

extension HookGate {
  /// Records each invariant that does not hold.
  public func check(_ check: inout InvariantCheck) {
    check.require(
      requests.count <= policy.maxInFlight && notes.count <= policy.maxNotes,
      "hook gate: the number of requests and of reports is bounded")
    check.require(
      queue.isEmpty || requests.count == policy.maxInFlight,
      "hook gate: a question waits only for the end of a request")
    guard check.isThorough else { return }
    check.require(waiting <= policy.maxWaiting, "hook gate: few enough questions wait")
    check.require(
      users.values.allSatisfy { (1...policy.maxPerUser).contains($0) },
      "hook gate: no user has too many questions")
    check.require(
      entries.values.count { $0.question.user != nil } == users.values.reduce(0, +),
      "hook gate: each question of a user is counted")
    check.require(
      lanes.values.allSatisfy { lane in
        !lane.isEmpty && entries[lane[0]].map { $0.stage != .behind } == true
          && lane.dropFirst().allSatisfy { entries[$0]?.stage == .behind }
      }, "hook gate: the first question of a lane, and no other, goes on")
    check.require(
      entries.allSatisfy { ticket, entry in
        (alarms.keys.contains(ticket)) == (entry.stage != .behind)
          && (entry.stage == .asked) == (requests[ticket] != nil)
          && (entry.stage == .queued) == queue.contains(ticket)
      }, "hook gate: each question is in the place of its stage, with its time limit")
  }
}
