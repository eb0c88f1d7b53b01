import HoldfastCore
import HoldfastLinkChecks
import HoldfastRelayChecks
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastWorldKernel

/// A checker of question queues. Each phone receives its questions in order and once, and is woken
/// for waiting questions.
struct RelayQueues: Sendable {
  /// A question without an outcome.
  private struct Entry: Sendable {
    let callID: RequestID
    let token: String?
    let number: Int
    /// Whether the same assistant asked the same question before a restart of the backend. The
    /// question may have kept its position.
    let isRepeated: Bool
    /// Whether the token may belong to an earlier identity of this phone. That identity has another
    /// queue.
    var isApart: Bool
    /// The ID that the question has on the phone.
    var id: RelayRequestID?
    var stage = Stage.waiting
    /// The time since which the question has been waiting for an absent phone; `nil` while the
    /// phone is present or has had a lease.
    var absentSince: Instant?
  }

  private enum Stage: Sendable, Equatable {
    case waiting
    case sent(over: TrafficID)
    case leased(String, until: Instant)
  }

  /// A phone as seen by the backend.
  private struct Phone: Sendable {
    /// The open questions, in order of arrival.
    var queue: [Entry] = []
    /// The connection over which the phone received its code; `nil` if there is none.
    var here: TrafficID?
    /// The time since which a push can wake the phone; `nil` if it cannot.
    var pushable: Instant?
    /// The times of pushes, in ascending order.
    var pushes: [Instant] = []
    /// The time of the last push that failed.
    var failedAt: Instant?
  }

  private struct QuestionKey: Hashable, Sendable {
    var token: String?
    var number: Int
  }

  private var phones: [Int: Phone] = [:]
  /// For each question number, how often it was asked. Questions with the same number cannot be
  /// distinguished reliably.
  private var times: [Int: Int] = [:]
  /// The questions before the backend's last end.
  ///
  /// They include questions with an outcome. A slow store may have stored such a question without
  /// its outcome, so that a repeated question takes its position.
  private var before: Set<QuestionKey> = []
  /// The questions since the backend started.
  private var since: Set<QuestionKey> = []

  /// Records that a question reached the backend.
  ///
  /// - Parameter isPaired: Whether the phone is certainly the one with which the assistant paired.
  mutating func called(_ callID: RequestID, _ facts: RelayCallFacts, isPaired: Bool, _ now: Instant)
  {
    guard let number = facts.question else { return }
    times[number, default: 0] += 1
    let question = QuestionKey(token: facts.token, number: number)
    let isRepeated = before.contains(question)
    since.insert(question)
    var entry = Entry(
      callID: callID, token: facts.token, number: number, isRepeated: isRepeated, isApart: !isPaired
    )
    if phones[facts.phone]?.here == nil { entry.absentSince = now }
    phones[facts.phone, default: Phone()].queue.append(entry)
  }

  /// Removes a question that has received its outcome or whose assistant has left.
  mutating func ended(_ callID: RequestID, of phone: Int, _ now: Instant, _ found: inout Findings) {
    guard let index = phones[phone]?.queue.firstIndex(where: { $0.callID == callID }),
      let entry = phones[phone]?.queue.remove(at: index)
    else { return }
    checkWoken(entry, of: phone, now, &found)
  }

  mutating func backendEnded() {
    (before, since) = (since, [])
    for phone in phones.keys {
      phones[phone]?.queue = []
      phones[phone]?.here = nil
      phones[phone]?.pushes = []
      phones[phone]?.failedAt = nil
    }
  }

  // Phones.

  mutating func joined(
    _ phone: Int, over line: TrafficID, _ now: Instant, _ found: inout Findings
  ) {
    for entry in phones[phone]?.queue ?? [] { checkWoken(entry, of: phone, now, &found) }
    phones[phone, default: Phone()].here = line
    change(phone) { $0.absentSince = nil }
  }

  mutating func parted(_ phone: Int, over line: TrafficID, _ now: Instant) {
    guard phones[phone]?.here == line else { return }
    phones[phone]?.here = nil
    change(phone) { entry in
      if case .leased(_, let until) = entry.stage, until > now { return }
      entry.stage = .waiting
      entry.absentSince = now
    }
  }

  mutating func registered(_ phone: Int, _ now: Instant) {
    if phones[phone]?.pushable == nil { phones[phone, default: Phone()].pushable = now }
  }

  /// Records that the backend may now treat the phone as a new one.
  mutating func unpaired(_ phone: Int) {
    phones[phone]?.pushable = nil
    change(phone) { $0.isApart = true }
  }

  mutating func pushed(_ phone: Int, _ now: Instant) { phones[phone]?.pushes.append(now) }

  mutating func pushFailed(_ phone: Int, _ now: Instant) { phones[phone]?.failedAt = now }

  private mutating func change(_ phone: Int, _ body: (inout Entry) -> Void) {
    for index in phones[phone]?.queue.indices ?? 0..<0 {
      guard var entry = phones[phone]?.queue[index] else { continue }
      body(&entry)
      phones[phone]?.queue[index] = entry
    }
  }

  // Questions.

  /// Checks a question that the backend sent over a socket.
  mutating func sent(
    _ phone: Int, _ id: RelayRequestID, _ number: Int, over line: TrafficID, _ now: Instant,
    _ found: inout Findings
  ) {
    guard let index = index(phone, id, number) else {
      return found.add(
        .needless, at: now, "phone \(phone) is asked \(id), for which no assistant waits")
    }
    let entries = phones[phone]?.queue ?? []
    if times[number] == 1 {
      switch entries[index].stage {
      case .sent(over: line):
        found.add(.needless, at: now, "phone \(phone) is asked \(id) twice over one connection")
      case .leased(_, let until) where until > now:
        found.add(.needless, at: now, "phone \(phone) is asked \(id), which it has a lease for")
      case .waiting, .sent, .leased: break
      }
    }
    let isBusy = entries.contains {
      $0.stage == .sent(over: line) && $0.callID != entries[index].callID
    }
    if isBusy { found.add(.reordered, at: now, "phone \(phone) is asked two questions at once") }
    checkOrder(entries, index, phone, now, &found)
    phones[phone]?.queue[index].id = id
    phones[phone]?.queue[index].stage = .sent(over: line)
  }

  /// Returns the time at which the leases of a phone expire; `nil` if it has none.
  func leased(_ phone: Int) -> Instant? {
    (phones[phone]?.queue ?? []).compactMap { entry in
      if case .leased(_, let until) = entry.stage { until } else { nil }
    }
    .max()
  }

  /// Checks the questions that the backend leased to a phone without a socket.
  mutating func leased(
    _ phone: Int, _ questions: [LeasedQuestion], for time: Duration, _ now: Instant,
    _ found: inout Findings
  ) {
    for leased in questions {
      guard let index = index(phone, leased.id, leased.question.number) else {
        found.add(
          .needless, at: now,
          "phone \(phone) has a lease for \(leased.id), for which no assistant waits")
        continue
      }
      let entry = phones[phone]?.queue[index]
      if case .leased(let name, let until)? = entry?.stage, until > now, name != leased.lease,
        times[leased.question.number] == 1
      {
        found.add(.needless, at: now, "phone \(phone) has two leases for \(leased.id)")
      }
      if let entry { checkWoken(entry, of: phone, now, &found) }
      phones[phone]?.queue[index].id = leased.id
      phones[phone]?.queue[index].stage = .leased(leased.lease, until: now.advanced(by: time))
      phones[phone]?.queue[index].absentSince = nil
      checkOrder(phones[phone]?.queue ?? [], index, phone, now, &found)
    }
  }

  /// Returns the index of a question in the queue.
  ///
  /// This is the question with the given ID. If there is none, it is the first question with the
  /// given number that the phone has not received. Questions from before a restart come first,
  /// because they keep their IDs. Several questions with the same number are interchangeable.
  private func index(_ phone: Int, _ id: RelayRequestID, _ number: Int) -> Int? {
    let queue = phones[phone]?.queue ?? []
    return queue.firstIndex { $0.id == id }
      ?? queue.firstIndex { $0.id == nil && $0.number == number && $0.isRepeated }
      ?? queue.firstIndex { $0.id == nil && $0.number == number }
      ?? (times[number, default: 0] > 1 ? queue.firstIndex { $0.number == number } : nil)
  }

  /// Checks that no earlier question is still waiting.
  private func checkOrder(
    _ queue: [Entry], _ index: Int, _ phone: Int, _ now: Instant, _ found: inout Findings
  ) {
    guard !queue[index].isRepeated, !queue[index].isApart else { return }
    let earlier = queue[..<index].first { entry in
      if entry.isApart { return false }
      if case .leased(_, let until) = entry.stage { return until <= now }
      return true
    }
    guard let earlier else { return }
    found.add(
      .reordered, at: now,
      "phone \(phone) is asked question \(queue[index].number) before \(earlier.number)")
  }

  /// Checks that a phone is woken for a waiting question as soon as the rules for pushes permit it.
  private func checkWoken(
    _ entry: Entry, of number: Int, _ now: Instant, _ found: inout Findings
  ) {
    guard !entry.isApart, let phone = phones[number], let since = entry.absentSince,
      let able = phone.pushable
    else { return }
    let policy = RelayServerPolicy()
    if let last = phone.pushes.last, last >= since { return }
    let recent = phone.pushes.count {
      $0.duration(to: now) < policy.pushInterval * policy.pushBurst
    }
    let free = [phone.pushes.last, phone.failedAt].compactMap { $0?.advanced(by: policy.pushGap) }
    let due = max(since, able, free.max() ?? since).advanced(by: .seconds(1))
    guard now > due, recent < policy.pushBurst else { return }
    found.add(
      .unwoken, at: now,
      "question \(entry.number) waited \(TraceText.length(since.duration(to: now))) for phone "
        + "\(number), and no push was sent")
  }
}
