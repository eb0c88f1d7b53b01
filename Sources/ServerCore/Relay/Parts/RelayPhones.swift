import LinkCore
import LinkStorage
import LinkWire

/// One phone: from its first connection until nobody may ask it any more.
struct RelayPhone: Sendable {
  let id: PhoneID
  /// The name that the phone gives its device; a plain phone gives none, and cannot come back.
  let device: UUID128?
  /// The hash of the token that resumes it; `nil` of a phone that cannot come back.
  let resume: TokenHash?
  fileprivate(set) var presence: Presence
  fileprivate(set) var wakePush = WakePush()
  /// The text that its user is shown with the next pair.
  var notice: String?
  /// The last sign of it while it was away.
  fileprivate(set) var seenAt: Instant
  /// The same on the wall clock; `nil` while it is connected.
  fileprivate(set) var leftAt: Timestamp?

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

  /// A phone that comes for the first time, and resumes with `secret` if it names its device.
  init(
    id: PhoneID, device: UUID128?, secret: RelaySecret, on connection: ConnectionID, at now: Instant
  ) {
    (self.id, self.device) = (id, device)
    resume = device.map { _ in secret.hash }
    presence = .greeting(connection, token: device.map { _ in secret.text })
    seenAt = now
  }

  /// A stored phone, which is away since `since`; one that was connected when it was stored left at
  /// `wall`.
  init(_ stored: StoredPhone, since: Instant, wall: Timestamp) {
    (id, device, resume) = (stored.id, stored.device, stored.resume)
    presence = .away(since: since)
    wakePush.address = stored.push
    (seenAt, leftAt) = (since, stored.leftAt ?? wall)
  }

  /// A phone of which only its tokens are known.
  init(knownByTokens id: PhoneID, at now: Instant) {
    (self.id, device, resume) = (id, nil, nil)
    presence = .over(since: now, .lost)
    seenAt = now
  }

  var connection: ConnectionID? {
    switch presence {
    case .greeting(let id, _), .here(let id): id
    case .away, .over: nil
    }
  }

  var isAway: Bool {
    switch presence {
    case .away: true
    case .greeting, .here, .over: false
    }
  }

  var isOver: Bool {
    switch presence {
    case .greeting, .here, .away: false
    case .over: true
    }
  }

  /// What is stored of it; nothing of a plain one.
  var kept: StoredPhone? {
    guard let device, let resume else { return nil }
    return StoredPhone(
      id: id, device: device, resume: resume, push: wakePush.address, leftAt: leftAt)
  }

  /// The change that stores it as it is; none for a plain one.
  var changes: [RelayChange] { kept.map { [.phone($0)] } ?? [] }

  // MARK: Presence

  /// Comes back on another connection.
  mutating func resume(on connection: ConnectionID) {
    presence = .greeting(connection, token: nil)
    leftAt = nil
  }

  /// Was told its pair on `connection`.
  mutating func greeted(on connection: ConnectionID) {
    presence = .here(connection)
  }

  /// Lost its socket. It came since it was woken, so questions that wait wake it anew.
  mutating func leave(at now: Instant, wall: Timestamp) {
    presence = .away(since: now)
    (seenAt, leftAt) = (now, wall)
    wakePush.sentAt = nil
  }

  /// Gave a sign while it is away; returns false if it is not.
  @discardableResult
  mutating func seen(at now: Instant, wall: Timestamp) -> Bool {
    guard isAway else { return false }
    (seenAt, leftAt) = (now, wall)
    return true
  }

  /// Takes the address of its pushes.
  mutating func register(_ address: PushAddress) {
    wakePush.address = address
    wakePush.quietUntil = nil
  }

  /// Takes what became of a push; returns false if nothing follows.
  mutating func pushed(_ outcome: PushOutcome, at now: Instant, gap: Duration) -> Bool {
    wakePush.pushed(outcome, at: now, gap: gap)
  }

  /// Found nothing more to do: what comes from now on it does not see.
  mutating func endVisit() {
    wakePush.visitUntil = nil
  }

  /// When a phone that only returns by itself was waited for long enough; `nil` if it is connected
  /// or a push can wake it.
  func mayReturn(within wait: Duration) -> Instant? {
    isAway && wakePush.address == nil ? seenAt.advanced(by: wait) : nil
  }
}

/// The pushes that wake one phone.
struct WakePush: Sendable {
  fileprivate(set) var address: PushAddress?
  /// When the last one was sent; `nil` if the phone came since.
  fileprivate(set) var sentAt: Instant?
  /// Until when the phone may still be at what it was woken for, and finds new questions by itself.
  fileprivate var visitUntil: Instant?
  /// Until when the push service wants to be left alone.
  fileprivate var quietUntil: Instant?

  /// What is to be done for questions that wait.
  enum Step: Sendable {
    case send(PushAddress)
    case wait(until: Instant)
  }

  /// When another may be sent; `nil` if one may be sent now.
  fileprivate func earliest(at now: Instant) -> Instant? {
    [quietUntil, visitUntil].compactMap(\.self).max().flatMap { $0 > now ? $0 : nil }
  }

  fileprivate mutating func pushed(
    _ outcome: PushOutcome, at now: Instant, gap: Duration
  ) -> Bool {
    switch outcome {
    case .delivered: return false
    case .failed: quietUntil = now.advanced(by: gap)
    case .tooMany(let wait): quietUntil = now.advanced(by: wait)
    case .gone: address = nil
    }
    (sentAt, visitUntil) = (nil, nil)
    return true
  }
}

/// The phones that the relay knows, by their names, devices and resume tokens.
struct RelayPhones: Sendable {
  private let pushGap: Duration
  private var all: [PhoneID: RelayPhone] = [:]
  private var devices: [UUID128: PhoneID] = [:]
  /// Phones that a device was before, as far as the store still had them when the process began.
  private var formers: [UUID128: [PhoneID]] = [:]
  private var resumes: [TokenHash: PhoneID] = [:]
  private var pushRates: TokenBuckets

  init(_ policy: RelayServerPolicy) {
    pushGap = policy.pushGap
    pushRates = TokenBuckets(
      interval: policy.pushInterval, burst: policy.pushBurst, bound: policy.maxPhones)
  }

  var count: Int { all.count }

  subscript(id: PhoneID) -> RelayPhone? { all[id] }

  /// Changes a phone, if it is known.
  @discardableResult
  mutating func change<Result>(
    _ id: PhoneID, _ change: (inout RelayPhone) -> Result
  ) -> Result? {
    guard var phone = all[id] else { return nil }
    defer { all[id] = phone }
    return change(&phone)
  }

  /// Returns the phone that a token brings back.
  func resumed(by token: TokenHash?) -> PhoneID? { token.flatMap { resumes[$0] } }

  /// Returns the phone that an arrival brings back, if the same device shows its token.
  func resumed(by arrival: RelayServer.Arrival) -> PhoneID? {
    guard let device = arrival.device, let id = resumed(by: arrival.resume),
      all[id]?.device == device
    else { return nil }
    return id
  }

  /// Returns the phone that is away the longest, of those that match.
  func longestAway(where matches: (PhoneID) -> Bool) -> PhoneID? {
    let away = all.values.filter { $0.isAway && matches($0.id) }
    return away.min { ($0.seenAt, $0.id) < ($1.seenAt, $1.id) }?.id
  }

  // MARK: From the first to the last

  mutating func add(_ phone: RelayPhone) {
    all[phone.id] = phone
    if let resume = phone.resume { resumes[resume] = phone.id }
  }

  /// Adds a stored phone. Where the store failed to keep an end, it has several of a device.
  mutating func restore(_ phone: RelayPhone) {
    add(phone)
    guard let device = phone.device else { return }
    if let other = devices[device] { formers[device, default: []].append(other) }
    devices[device] = phone.id
  }

  /// Makes a phone the one of its device; returns the others of this device, which have to end.
  mutating func claim(_ device: UUID128, for id: PhoneID) -> [PhoneID] {
    let others = (formers.removeValue(forKey: device) ?? []) + [devices[device]].compactMap(\.self)
    devices[device] = id
    return others.sorted().filter { $0 != id }
  }

  /// Ends the pairing of a phone, which cannot come back from then on; returns it as it is then.
  mutating func end(
    _ id: PhoneID, _ ending: RelayPhone.Ending, at now: Instant
  ) -> RelayPhone? {
    guard var phone = all[id], !phone.isOver else { return nil }
    var since = now
    if case .away(let left) = phone.presence { since = left }
    phone.presence = .over(since: since, ending)
    phone.wakePush.address = nil
    all[id] = phone
    if let resume = phone.resume { resumes[resume] = nil }
    if let device = phone.device, devices[device] == id { devices[device] = nil }
    return phone
  }

  /// Forgets a phone that is over.
  mutating func forget(_ id: PhoneID) {
    if all[id]?.isOver == true { all[id] = nil }
  }

  // MARK: Pushes

  /// Decides how a phone that is away is woken, and counts the push; `nil` if nothing can wake it.
  mutating func wake(_ id: PhoneID, at now: Instant) -> WakePush.Step? {
    guard let phone = all[id], phone.isAway, let address = phone.wakePush.address else {
      return nil
    }
    if let later = phone.wakePush.earliest(at: now) { return .wait(until: later) }
    if let wait = pushRates.spend(id.description, at: now) {
      return .wait(until: now.advanced(by: wait))
    }
    all[id]?.wakePush.sentAt = now
    all[id]?.wakePush.visitUntil = now.advanced(by: pushGap)
    return .send(address)
  }
}

extension RelayPhones: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    pushRates.check(&check)
    guard check.isThorough else { return }
    check.require(
      devices.allSatisfy { all[$0.value]?.device == $0.key && all[$0.value]?.isOver == false }
        && resumes.allSatisfy {
          all[$0.value]?.resume == $0.key && all[$0.value]?.isOver == false
        }, "relay phones: a device and a resume token lead to a phone that may come back")
  }

  /// Whether every phone matches.
  func allSatisfy(_ matches: (RelayPhone) -> Bool) -> Bool { all.values.allSatisfy(matches) }
}
