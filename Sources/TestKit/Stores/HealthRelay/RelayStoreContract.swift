import HoldfastCore
public import HoldfastFeaturePorts
import HoldfastHealth
import HoldfastRelayData

/// Checks the promises of `RelayStore`, for any implementation and any test library.
///
/// - Parameter make: Creates a new, empty store for each call.
/// - Throws: `ContractViolation` for the first broken promise, or an error of `make`.
public func relayStoreContract(make: () async throws -> any RelayStore) async throws {
  let checks: [@Sendable (any RelayStore) async throws -> Void] = [
    relayStartsEmpty, storesInOrder, storesTheNewest, storesGenerations, storesSyncedUsers,
    endsOnlyWhatItNames, endsWhatIsNotThere, endsQuestionsWithTheirPhone, storesSessions,
    relayFailsWhenClosed,
  ]
  for check in checks {
    let store = try await make()
    try await check(store)
    await store.close()
  }
}

/// Sample values for the relay's store.
private enum RelaySamples {
  static func phone(_ number: UInt64, push: PushAddress? = nil, leftAt: Int64? = nil) throws
    -> StoredPhone
  {
    StoredPhone(
      id: id(number), device: UUID128(high: 2, low: number), resume: try token(number, 1),
      push: push, leftAt: leftAt.map { Timestamp(nanoseconds: $0) })
  }

  static func id(_ number: UInt64) -> PhoneID { PhoneID(UUID128(high: 1, low: number)) }

  static func access(_ number: UInt64, until: Int64 = 9) throws -> StoredAccess {
    StoredAccess(
      token: try token(number, 2), phone: id(number),
      expiresAt: Timestamp(nanoseconds: until))
  }

  static func token(_ number: UInt64, _ kind: UInt8) throws -> TokenHash {
    let bytes = [UInt8](repeating: kind, count: 31) + [UInt8(truncatingIfNeeded: number)]
    guard let hash = TokenHash(bytes) else { throw ContractViolation("a hash has 32 bytes") }
    return hash
  }

  static func question(
    _ number: UInt64, phone: UInt64 = 1, deadline: Int64 = 5
  ) throws -> StoredQuestion {
    guard let id = RelayRequestID("q-\(number)") else {
      throw ContractViolation("a request id is not empty")
    }
    let moment = { (day: Int64) in
      HealthTime.instant(Timestamp(nanoseconds: day * 86_400_000_000_000), minutesEast: 120)
    }
    let query = SummaryQuery(
      start: moment(1), end: moment(2),
      metrics: [SummaryMetric(valueType: .sleep), SummaryMetric(valueType: .steps)])
    return StoredQuestion(
      id: id, phone: self.id(phone), caller: try token(number, 2), question: .summary(query),
      deadline: Timestamp(nanoseconds: deadline))
  }
}

private func relayStartsEmpty(_ store: any RelayStore) async throws {
  try ContractViolation.unless(try await store.stored(), is: StoredRelay(), "it begins empty")
}

private func storesInOrder(_ store: any RelayStore) async throws {
  let hook = PushAddress.hook("a word \u{E9}\"")
  let phones = [
    try RelaySamples.phone(1, push: hook), try RelaySamples.phone(2, leftAt: -1),
    try RelaySamples.phone(3, leftAt: 7),
  ]
  let accesses = [try RelaySamples.access(1), try RelaySamples.access(2)]
  let questions = [
    try RelaySamples.question(9), try RelaySamples.question(1), try RelaySamples.question(4),
  ]
  let changes: [RelayChange] =
    phones.reversed().map { .phone($0) } + accesses.reversed().map { .access($0) }
    + questions.map { .question($0) }
  try await store.apply(changes)
  try ContractViolation.unless(
    try await store.stored(),
    is: StoredRelay(phones: phones, accesses: accesses, questions: questions),
    "phones by id, accesses by token, questions as they came")
}

private func storesTheNewest(_ store: any RelayStore) async throws {
  try await store.apply([
    .phone(try RelaySamples.phone(1)), .access(try RelaySamples.access(1)),
    .question(try RelaySamples.question(1)), .question(try RelaySamples.question(2)),
  ])
  let phone = try RelaySamples.phone(1, push: .hook("w"), leftAt: 3)
  let access = try RelaySamples.access(1, until: 10)
  let question = try RelaySamples.question(1, deadline: 8)
  try await store.apply([.phone(phone), .access(access), .question(question)])
  try ContractViolation.unless(
    try await store.stored(),
    is: StoredRelay(
      phones: [phone], accesses: [access], questions: [question, try RelaySamples.question(2)]),
    "what is kept again takes the place of the former")
}

private func storesGenerations(_ store: any RelayStore) async throws {
  var grant = try RelaySamples.access(1)
  grant.generation = 0
  try await store.apply([.access(grant), .access(try RelaySamples.access(2))])
  grant.generation = .max
  try await store.apply([.access(grant)])
  try ContractViolation.unless(
    try await store.stored(), is: StoredRelay(accesses: [grant, try RelaySamples.access(2)]),
    "a grant has its newest generation, and a login has none")
  try await store.apply([.endAccess(grant.token), .access(try RelaySamples.access(1))])
  try ContractViolation.unless(
    try await store.stored(),
    is: StoredRelay(accesses: [try RelaySamples.access(1), try RelaySamples.access(2)]),
    "the generation of a grant ends with it")
}

private func storesSyncedUsers(_ store: any RelayStore) async throws {
  var (phone, access) = (try RelaySamples.phone(1), try RelaySamples.access(1))
  let others: [RelayChange] = [
    .phone(try RelaySamples.phone(2)), .access(try RelaySamples.access(2)),
  ]
  let proof = access.token
  for user in [
    SyncedUser("ann", zone: "Europe/Berlin", proof: proof), SyncedUser("b c"), nil,
  ] {
    (phone.synced, access.readsSynced) = (user, user == nil)
    try await store.apply(others + [.phone(phone), .access(access)])
    try ContractViolation.unless(
      try await store.stored(),
      is: StoredRelay(
        phones: [phone, try RelaySamples.phone(2)],
        accesses: [access, try RelaySamples.access(2)]),
      "a phone has its newest user of health sync, and an access may read the samples or not")
  }
  phone.synced = SyncedUser("ann")
  access.readsSynced = false
  try await store.apply([.phone(phone), .access(access)])
  try await store.apply([.endPhone(phone.id), .endAccess(access.token)])
  try await store.apply([.phone(try RelaySamples.phone(1)), .access(try RelaySamples.access(1))])
  try ContractViolation.unless(
    try await store.stored(),
    is: StoredRelay(
      phones: [try RelaySamples.phone(1), try RelaySamples.phone(2)],
      accesses: [try RelaySamples.access(1), try RelaySamples.access(2)]),
    "a user of health sync ends with its phone, and a choice with its access")
}

private func endsOnlyWhatItNames(_ store: any RelayStore) async throws {
  try await store.apply([
    .phone(try RelaySamples.phone(1)), .phone(try RelaySamples.phone(2)),
    .access(try RelaySamples.access(1)), .access(try RelaySamples.access(2)),
    .question(try RelaySamples.question(1)), .question(try RelaySamples.question(2)),
  ])
  try await store.apply([
    .endAccess(try RelaySamples.token(1, 2)), .endQuestion(try RelaySamples.question(2).id),
    .endPhone(RelaySamples.id(2)),
  ])
  try ContractViolation.unless(
    try await store.stored(),
    is: StoredRelay(
      phones: [try RelaySamples.phone(1)], accesses: [try RelaySamples.access(2)],
      questions: [try RelaySamples.question(1)]),
    "what is ended goes, the rest stays")
}

private func endsWhatIsNotThere(_ store: any RelayStore) async throws {
  try await store.apply([
    .endPhone(RelaySamples.id(1)), .endAccess(try RelaySamples.token(1, 2)),
    .endQuestion(try RelaySamples.question(1).id),
  ])
  try ContractViolation.unless(
    try await store.stored(), is: StoredRelay(), "to end what is not there changes nothing")
}

private func endsQuestionsWithTheirPhone(_ store: any RelayStore) async throws {
  try await store.apply([
    .phone(try RelaySamples.phone(1)), .access(try RelaySamples.access(1)),
    .question(try RelaySamples.question(1)), .question(try RelaySamples.question(2, phone: 2)),
    .endPhone(RelaySamples.id(1)),
  ])
  try ContractViolation.unless(
    try await store.stored(),
    is: StoredRelay(
      accesses: [try RelaySamples.access(1)],
      questions: [try RelaySamples.question(2, phone: 2)]),
    "questions end with their phone, accesses do not")
}

private func storesSessions(_ store: any RelayStore) async throws {
  var session = StoredAssistantSession(
    id: try RelaySamples.token(1, 3), version: "2025-11-25",
    client: AssistantName("App", version: "1.0"), bearer: try RelaySamples.token(2, 3),
    elicitsURL: true)
  let conversation = StoredAssistantSession(
    id: try RelaySamples.token(0, 3), version: nil, owner: try RelaySamples.token(3, 3),
    showsTokens: true)
  try await store.apply([.session(session), .session(conversation)])
  (session.bearer, session.showsTokens) = (nil, true)
  try await store.apply([.session(session)])
  try ContractViolation.unless(
    try await store.stored(), is: StoredRelay(sessions: [conversation, session]),
    "sessions by id, with their newest state")
  try await store.apply([.endSession(conversation.id), .endSession(conversation.id)])
  try ContractViolation.unless(
    try await store.stored(), is: StoredRelay(sessions: [session]),
    "a session that has ended goes, the rest stays")
}

private func relayFailsWhenClosed(_ store: any RelayStore) async throws {
  try await closes(store) { _ = try await store.stored() }
}
