import HoldfastCore
import HoldfastRelayData
import HoldfastServerParts

/// A phone, from its first connection until no assistant may ask it questions any more.
package struct RelayPhone: Sendable {
  let id: PhoneID
  /// The identifier that the phone sends for its device. A plain phone sends none and cannot
  /// return.
  let device: UUID128?
  /// The hash of the phone's resume token, or `nil` if the phone cannot return.
  let resume: TokenHash?
  fileprivate(set) var presence: Presence
  fileprivate(set) var wakePush = WakePush()
  /// A text to show to the user together with the next pairing code.
  var notice: String?
  /// The user whose synced samples answer while the phone is away; `nil` for none.
  var synced: SyncedUser?
  /// The time of the most recent contact while the phone was away.
  fileprivate(set) var seenAt: Instant
  /// The wall-clock time that corresponds to `seenAt`; `nil` while the phone is connected.
  fileprivate(set) var leftAt: Timestamp?

  enum Presence: Sendable, Equatable {
    /// The pairing code has not been sent. `token` is for a phone without one. Exits: here, away,
    /// over.
    case greeting(ConnectionID, token: String?)
    /// The pairing code was sent, so the phone accepts questions. Exits: greeting (on a new
    /// socket), away, over.
    case here(ConnectionID)
    /// The socket ended. The phone may return or pull. Exits: greeting, over.
    case away(since: Instant)
    /// The pairing is over. The phone is kept while assistants still have tokens for it.
    case over(since: Instant, Ending)
  }

  package enum Ending: Sendable {
    /// The phone stayed away for too long, or could not return.
    case lost
    /// The same device connected without its resume token.
    case replaced
  }

  /// Creates a phone that connects for the first time.
  ///
  /// The phone can resume with `secret` if it has sent a device identifier.
  init(
    id: PhoneID, device: UUID128?, secret: RelaySecret, on connection: ConnectionID, at now: Instant
  ) {
    (self.id, self.device) = (id, device)
    resume = device.map { _ in secret.hash }
    presence = .greeting(connection, token: device.map { _ in secret.text })
    seenAt = now
  }

  /// Creates a phone from its stored form. It counts as away since `since`.
  ///
  /// If the phone was connected when it was stored, `wall` becomes the time at which it left.
  init(_ stored: StoredPhone, since: Instant, wall: Timestamp) {
    (id, device, resume) = (stored.id, stored.device, stored.resume)
    presence = .away(since: since)
    wakePush.address = stored.push
    synced = stored.synced
    (seenAt, leftAt) = (since, stored.leftAt ?? wall)
  }

  /// Creates a phone of which only tokens are stored.
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

  /// The stored form of the phone, or `nil` for a plain phone.
  var stored: StoredPhone? {
    guard let device, let resume else { return nil }
    return StoredPhone(
      id: id, device: device, resume: resume, push: wakePush.address, leftAt: leftAt,
      synced: synced)
  }

  /// The change that stores the phone's current state. It is empty for a plain phone.
  var changes: [RelayChange] { stored.map { [.phone($0)] } ?? [] }

  // MARK: Presence

  /// Resumes on another connection.
  mutating func resume(on connection: ConnectionID) {
    presence = .greeting(connection, token: nil)
    leftAt = nil
  }

  /// Records that the pairing code was sent on `connection`.
  mutating func greeted(on connection: ConnectionID) {
    presence = .here(connection)
  }

  /// Records the loss of the socket.
  ///
  /// The phone has connected since its last push, so waiting questions wake it again.
  mutating func leave(at now: Instant, wall: Timestamp) {
    presence = .away(since: now)
    (seenAt, leftAt) = (now, wall)
    wakePush.sentAt = nil
  }

  /// Records contact with a phone that is away. Returns false if it is not away.
  @discardableResult
  mutating func seen(at now: Instant, wall: Timestamp) -> Bool {
    guard isAway else { return false }
    (seenAt, leftAt) = (now, wall)
    return true
  }

  /// Sets the push address.
  mutating func register(_ address: PushAddress) {
    wakePush.address = address
    wakePush.quietUntil = nil
  }

  /// Handles the result of a push. Returns false if no further step is needed.
  mutating func pushed(_ outcome: PushOutcome, at now: Instant, gap: Duration) -> Bool {
    wakePush.pushed(outcome, at: now, gap: gap)
  }

  /// Records that the phone found its queue empty and does not look for later questions.
  mutating func endVisit() {
    wakePush.visitUntil = nil
  }

  /// Returns when to stop waiting for an away phone that no push can wake; `nil` for all other
  /// phones.
  func mayReturn(within wait: Duration) -> Instant? {
    isAway && wakePush.address == nil ? seenAt.advanced(by: wait) : nil
  }
}

/// The state of the pushes that wake one phone.
struct WakePush: Sendable {
  fileprivate(set) var address: PushAddress?
  /// The time of the last push, or `nil` if the phone has connected since.
  fileprivate(set) var sentAt: Instant?
  /// The time until which a woken phone may be active. While active, it finds new questions by
  /// itself.
  fileprivate var visitUntil: Instant?
  /// The time until which the push service accepts no further push.
  fileprivate var quietUntil: Instant?

  /// The next step for waiting questions.
  enum Step: Sendable {
    case send(PushAddress)
    case wait(until: Instant)
  }

  /// Returns when the next push may be sent, or `nil` if it may be sent now.
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

/// The known phones, by id, device and resume token.
struct RelayPhones: Sendable {
  private let pushGap: Duration
  private var all: [PhoneID: RelayPhone] = [:]
  private var devices: [UUID128: PhoneID] = [:]
  /// Earlier phones of each device that were still stored when the process started.
  private var formers: [UUID128: [PhoneID]] = [:]
  private var resumes: [TokenHash: PhoneID] = [:]
  private var pushRates: TokenBuckets

  init(_ policy: RelayServerPolicy) {
    pushGap = policy.pushGap
    pushRates = TokenBuckets(
      interval: policy.pushInterval, burst: policy.pushBurst, bound: policy.maxPhones)
  }

  var count: Int { all.count }

  /// All phones, in no order.
  var everyone: some Collection<RelayPhone> { all.values }

  subscript(id: PhoneID) -> RelayPhone? { all[id] }

  /// Changes a phone and returns the result, or `nil` if the phone is unknown.
  @discardableResult
  mutating func change<Result>(
    _ id: PhoneID, _ change: (inout RelayPhone) -> Result
  ) -> Result? {
    guard var phone = all[id] else { return nil }
    defer { all[id] = phone }
    return change(&phone)
  }

  /// Returns the phone that a token resumes.
  func resumed(by token: TokenHash?) -> PhoneID? { token.flatMap { resumes[$0] } }

  /// Returns the phone that an arrival resumes, or `nil` if its device does not match its token.
  func resumed(by arrival: RelayServer.Arrival) -> PhoneID? {
    guard let device = arrival.device, let id = resumed(by: arrival.resume),
      all[id]?.device == device
    else { return nil }
    return id
  }

  /// Returns the matching phone that has been away the longest.
  func longestAway(where matches: (PhoneID) -> Bool) -> PhoneID? {
    let away = all.values.filter { $0.isAway && matches($0.id) }
    return away.min { ($0.seenAt, $0.id) < ($1.seenAt, $1.id) }?.id
  }

  // MARK: Lifetime

  mutating func add(_ phone: RelayPhone) {
    all[phone.id] = phone
    if let resume = phone.resume { resumes[resume] = phone.id }
  }

  /// Adds a stored phone. A device may have several of them if the store failed to remove one.
  mutating func restore(_ phone: RelayPhone) {
    add(phone)
    guard let device = phone.device else { return }
    if let other = devices[device] { formers[device, default: []].append(other) }
    devices[device] = phone.id
  }

  /// Makes a phone the current phone of its device. Returns the device's other phones, whose
  /// pairings the caller must end.
  mutating func claim(_ device: UUID128, for id: PhoneID) -> [PhoneID] {
    let others = (formers.removeValue(forKey: device) ?? []) + [devices[device]].compactMap(\.self)
    devices[device] = id
    return others.sorted().filter { $0 != id }
  }

  /// Ends the pairing of a phone, so that it cannot return. Returns the phone in its new state.
  package mutating func end(
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

  /// Removes a phone whose pairing is over.
  mutating func forget(_ id: PhoneID) {
    if all[id]?.isOver == true { all[id] = nil }
  }

  // MARK: Pushes

  /// Returns the next step to wake a phone that is away, and counts a push that is to be sent.
  ///
  /// Returns `nil` if no push can wake the phone.
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

  /// Returns whether a condition holds for every phone.
  func allSatisfy(_ matches: (RelayPhone) -> Bool) -> Bool { all.values.allSatisfy(matches) }
}
