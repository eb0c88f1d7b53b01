import LinkCore
import LinkServerCore
import LinkWire

/// The checker of the lines of questions: a phone is asked in order and once for each question, and
/// is woken for those that wait for it.
struct RelayLines: Sendable {
  /// A question that has no outcome yet.
  private struct Entry: Sendable {
    let ask: RequestID
    let token: String?
    let number: Int
    /// Whether the same assistant asked the same before a restart of the backend: the question may
    /// have kept its old place.
    let wasAsked: Bool
    /// Whether its token may be for a phone that this one was before: it waits in another line.
    var isApart: Bool
    /// As the phone knows it.
    var id: RelayRequestID?
    var stage = Stage.waiting
    /// Since when it waits for a phone that is away; `nil` while that is here, or had a lease.
    var absentSince: Instant?
  }

  private enum Stage: Sendable, Equatable {
    case waiting
    case asked(over: TrafficID)
    case leased(String, until: Instant)
  }

  /// A phone as the backend knows it.
  private struct Phone: Sendable {
    /// Open questions in the order in which they came.
    var line: [Entry] = []
    /// The connection over which it was told its code.
    var here: TrafficID?
    /// Since when a push can wake it.
    var pushable: Instant?
    /// When it was woken, the latest last.
    var pushes: [Instant] = []
    /// When a push last failed.
    var failedAt: Instant?
  }

  private struct Asked: Hashable, Sendable {
    var token: String?
    var number: Int
  }

  private var phones: [Int: Phone] = [:]
  /// How often each question was asked: those of one number cannot be told apart for certain.
  private var times: [Int: Int] = [:]
  /// What was asked of the backend before it ended. Also what had its outcome: a slow store may
  /// keep the question without it, and the same one takes its place in line.
  private var before: Set<Asked> = []
  /// The same since the backend began.
  private var since: Set<Asked> = []

  /// A question reached the backend.
  ///
  /// - Parameter isPaired: Whether the phone is certainly the one that the assistant paired with.
  mutating func asked(_ ask: RequestID, _ facts: RelayCallFacts, isPaired: Bool, _ now: Instant) {
    guard let number = facts.question else { return }
    times[number, default: 0] += 1
    let question = Asked(token: facts.token, number: number)
    let wasAsked = before.contains(question)
    since.insert(question)
    var entry = Entry(
      ask: ask, token: facts.token, number: number, wasAsked: wasAsked, isApart: !isPaired)
    if phones[facts.phone]?.here == nil { entry.absentSince = now }
    phones[facts.phone, default: Phone()].line.append(entry)
  }

  /// A question has its outcome, or its assistant has gone.
  mutating func ended(_ ask: RequestID, of phone: Int, _ now: Instant, _ found: inout Findings) {
    guard let place = phones[phone]?.line.firstIndex(where: { $0.ask == ask }),
      let entry = phones[phone]?.line.remove(at: place)
    else { return }
    checkWoken(entry, of: phone, now, &found)
  }

  mutating func backendEnded() {
    (before, since) = (since, [])
    for phone in phones.keys {
      phones[phone]?.line = []
      phones[phone]?.here = nil
      phones[phone]?.pushes = []
      phones[phone]?.failedAt = nil
    }
  }

  // Phones.

  mutating func joined(
    _ phone: Int, over line: TrafficID, _ now: Instant, _ found: inout Findings
  ) {
    for entry in phones[phone]?.line ?? [] { checkWoken(entry, of: phone, now, &found) }
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

  /// The phone may be another one for the backend now.
  mutating func unpaired(_ phone: Int) {
    phones[phone]?.pushable = nil
    change(phone) { $0.isApart = true }
  }

  mutating func pushed(_ phone: Int, _ now: Instant) { phones[phone]?.pushes.append(now) }

  mutating func pushFailed(_ phone: Int, _ now: Instant) { phones[phone]?.failedAt = now }

  private mutating func change(_ phone: Int, _ body: (inout Entry) -> Void) {
    for place in phones[phone]?.line.indices ?? 0..<0 {
      guard var entry = phones[phone]?.line[place] else { continue }
      body(&entry)
      phones[phone]?.line[place] = entry
    }
  }

  // Questions.

  /// The backend sent a question over a socket.
  mutating func sent(
    _ phone: Int, _ id: RelayRequestID, _ number: Int, over line: TrafficID, _ now: Instant,
    _ found: inout Findings
  ) {
    guard let place = place(phone, id, number) else {
      return found.add(
        .needless, at: now, "phone \(phone) is asked \(id), for which no assistant waits")
    }
    let entries = phones[phone]?.line ?? []
    if times[number] == 1 {
      switch entries[place].stage {
      case .asked(over: line):
        found.add(.needless, at: now, "phone \(phone) is asked \(id) twice over one connection")
      case .leased(_, let until) where until > now:
        found.add(.needless, at: now, "phone \(phone) is asked \(id), which it has a lease for")
      case .waiting, .asked, .leased: break
      }
    }
    let isBusy = entries.contains { $0.stage == .asked(over: line) && $0.ask != entries[place].ask }
    if isBusy { found.add(.reordered, at: now, "phone \(phone) is asked two questions at once") }
    checkOrder(entries, place, phone, now, &found)
    phones[phone]?.line[place].id = id
    phones[phone]?.line[place].stage = .asked(over: line)
  }

  /// When the leases of a phone are over; `nil` if it has none.
  func leased(_ phone: Int) -> Instant? {
    (phones[phone]?.line ?? []).compactMap { entry in
      if case .leased(_, let until) = entry.stage { until } else { nil }
    }
    .max()
  }

  /// The backend lent questions to a phone without a socket.
  mutating func leased(
    _ phone: Int, _ questions: [LeasedQuestion], for time: Duration, _ now: Instant,
    _ found: inout Findings
  ) {
    for leased in questions {
      guard let place = place(phone, leased.id, leased.question.number) else {
        found.add(
          .needless, at: now,
          "phone \(phone) has a lease for \(leased.id), for which no assistant waits")
        continue
      }
      let entry = phones[phone]?.line[place]
      if case .leased(let name, let until)? = entry?.stage, until > now, name != leased.lease,
        times[leased.question.number] == 1
      {
        found.add(.needless, at: now, "phone \(phone) has two leases for \(leased.id)")
      }
      if let entry { checkWoken(entry, of: phone, now, &found) }
      phones[phone]?.line[place].id = leased.id
      phones[phone]?.line[place].stage = .leased(leased.lease, until: now.advanced(by: time))
      phones[phone]?.line[place].absentSince = nil
      checkOrder(phones[phone]?.line ?? [], place, phone, now, &found)
    }
  }

  /// The place of a question in line: the one that the phone knows by its id, or else the first one
  /// of its number that the phone was never asked; what was asked before a restart goes first,
  /// since it keeps its id. Of several with one number any will do.
  private func place(_ phone: Int, _ id: RelayRequestID, _ number: Int) -> Int? {
    let line = phones[phone]?.line ?? []
    return line.firstIndex { $0.id == id }
      ?? line.firstIndex { $0.id == nil && $0.number == number && $0.wasAsked }
      ?? line.firstIndex { $0.id == nil && $0.number == number }
      ?? (times[number, default: 0] > 1 ? line.firstIndex { $0.number == number } : nil)
  }

  /// No question that came earlier still waits.
  private func checkOrder(
    _ line: [Entry], _ place: Int, _ phone: Int, _ now: Instant, _ found: inout Findings
  ) {
    guard !line[place].wasAsked, !line[place].isApart else { return }
    let earlier = line[..<place].first { entry in
      if entry.isApart { return false }
      if case .leased(_, let until) = entry.stage { return until <= now }
      return true
    }
    guard let earlier else { return }
    found.add(
      .reordered, at: now,
      "phone \(phone) is asked question \(line[place].number) before \(earlier.number)")
  }

  /// A phone is woken for a question that waits for it, as soon as the rules of pushes allow.
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
      "question \(entry.number) waited \(Words.length(since.duration(to: now))) for phone "
        + "\(number), and no push was sent")
  }
}
