import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastRelayData
import HoldfastSQLiteStores
import HoldfastTestKit
import Testing

@Suite struct StoreContractTests {
  @Test func `the SQLite timeline store satisfies its contract`() async throws {
    let scratch = try Scratch()
    var number = 0
    try await timelineStoreContract {
      number += 1
      return try await SQLiteTimelineStore.open(in: "\(scratch.path)/\(number)")
    }
  }

  @Test func `the SQLite message log satisfies its contract`() async throws {
    let scratch = try Scratch()
    var number = 0
    try await messageLogContract {
      number += 1
      return try await SQLiteMessageLog.open(in: "\(scratch.path)/\(number)")
    }
    try await prunableLogContract {
      number += 1
      return try await SQLiteMessageLog.open(in: "\(scratch.path)/\(number)")
    }
  }

  @Test func `the SQLite outbox satisfies its contract`() async throws {
    let scratch = try Scratch()
    var number = 0
    try await outboxStoreContract {
      number += 1
      return try await SQLiteOutbox.open(in: "\(scratch.path)/\(number)")
    }
  }

  @Test func `the SQLite drink store satisfies its contract`() async throws {
    let scratch = try Scratch()
    var number = 0
    try await drinkStoreContract {
      number += 1
      return try await SQLiteDrinkStore.open(in: "\(scratch.path)/\(number)")
    }
  }

  @Test func `the SQLite sync store satisfies its contract`() async throws {
    let scratch = try Scratch()
    var number = 0
    try await syncStoreContract {
      number += 1
      return try await SQLiteSyncStore.open(in: "\(scratch.path)/\(number)")
    }
  }

  @Test func `the SQLite sync queue satisfies its contract`() async throws {
    let scratch = try Scratch()
    var number = 0
    try await syncQueueStoreContract {
      number += 1
      return try await SQLiteSyncQueueStore.open(in: "\(scratch.path)/\(number)")
    }
  }

  @Test func `the SQLite health store satisfies its contract`() async throws {
    let scratch = try Scratch()
    var number = 0
    try await healthStoreContract {
      number += 1
      return try await SQLiteHealthStore.open(in: "\(scratch.path)/\(number)")
    }
  }

  @Test func `the SQLite relay store satisfies its contract`() async throws {
    let scratch = try Scratch()
    var number = 0
    try await relayStoreContract {
      number += 1
      return try await SQLiteRelayStore.open(in: "\(scratch.path)/\(number)")
    }
  }

  @Test func `the SQLite session store satisfies its contract`() async throws {
    let scratch = try Scratch()
    var number = 0
    try await sessionStoreContract {
      number += 1
      return try await SQLiteSessionStore.open(in: "\(scratch.path)/\(number)")
    }
  }

  @Test func `the SQLite client session store satisfies its contract`() async throws {
    let scratch = try Scratch()
    var number = 0
    try await clientSessionStoreContract {
      number += 1
      return try await SQLiteClientSessionStore.open(in: "\(scratch.path)/\(number)")
    }
  }

  @Test func `the relay store contract detects a store that keeps ended entries`() async throws {
    await #expect(throws: ContractViolation.self) {
      try await relayStoreContract { HoardingStore() }
    }
  }

  @Test func `the timeline store contract detects a store that forgets edits`() async throws {
    await #expect(throws: ContractViolation.self) {
      try await timelineStoreContract { ForgetfulStore() }
    }
  }

  @Test func `the message log contract detects a log that skips an offset`() async throws {
    await #expect(throws: ContractViolation.self) {
      try await messageLogContract { HoleyLog() }
    }
  }

  @Test func `the message log contract detects a log that appends a list in reverse order`()
    async throws
  {
    let found = await #expect(throws: ContractViolation.self) {
      try await messageLogContract { BackwardLog() }
    }
    let text = found.map { "\($0)" } ?? ""
    #expect(text.contains("a list is taken in its order"))
  }

  @Test func `the message log contract detects a log that pages by creation time`() async throws {
    let found = await #expect(throws: ContractViolation.self) {
      try await messageLogContract { TimelyLog() }
    }
    let text = found.map { "\($0)" } ?? ""
    #expect(text.contains("page 1 is by offset, newest first"))
  }

  @Test func `the message log contract detects a log that does not report deletions`()
    async throws
  {
    let found = await #expect(throws: ContractViolation.self) {
      try await messageLogContract { SilentLog() }
    }
    let text = found.map { "\($0)" } ?? ""
    #expect(text.contains("brings each message once, in order"))
  }

  @Test func `the memory stores fail as often as requested`() async throws {
    let store = MemoryTimelineStore()
    let log = MemoryMessageLog()
    let shop = try Sample.shop()
    await store.failNext(2, with: .full(detail: "disk"))
    await log.failNext(with: .locked(detail: "busy"))
    for _ in 0..<2 {
      #expect(try await failure { try await store.load(shop, limit: 1) } == .full)
    }
    #expect(try await store.load(shop, limit: 1) == TimelineSnapshot())
    #expect(try await failure { try await log.head(of: shop) } == .locked)
    #expect(try await log.head(of: shop).offset == 0)
  }
}

/// A store that keeps the first version of each message and ignores edits.
private struct ForgetfulStore: ForwardingTimelineStore {
  let store: any TimelineStore = MemoryTimelineStore()

  func commit(
    _ change: TimelineChange, to shop: ShopID
  ) async throws(StoreFailure) -> TimelineCommit {
    var change = change
    let known = Set(try await store.load(shop, limit: .max).messages.map(\.id))
    change.messages.removeAll { known.contains($0.id) }
    return try await store.commit(change, to: shop)
  }
}

/// A log that skips an offset whenever it appends a message.
private struct HoleyLog: ForwardingLog {
  let log: any MessageLog = MemoryMessageLog()

  func append(_ requests: [LogRequest]) async -> [Result<LogOutcome, StoreFailure>] {
    let waste = requests.compactMap { request -> LogRequest? in
      guard case .post(let entry) = request else { return nil }
      var message = entry.message
      message.id = UUID128(high: ~message.id.high, low: message.id.low)
      return .post(LogEntry(message: message, key: nil))
    }
    _ = await log.append(waste)
    return await log.append(requests)
  }
}

/// A log that appends each list in reverse order.
private struct BackwardLog: ForwardingLog {
  let log: any MessageLog = MemoryMessageLog()

  func append(_ requests: [LogRequest]) async -> [Result<LogOutcome, StoreFailure>] {
    await log.append(requests.reversed()).reversed()
  }
}

/// A log whose pages of changes contain no deletions.
private struct SilentLog: ForwardingLog {
  let log: any MessageLog = MemoryMessageLog()

  func page(_ query: PageQuery, of shop: ShopID) async throws(StoreFailure) -> Page {
    var page = try await log.page(query, of: shop)
    page.deleted = []
    return page
  }
}

/// A log that pages by creation time. If the clock was set back, its newest message may come last.
private struct TimelyLog: ForwardingLog {
  let log: any MessageLog = MemoryMessageLog()

  func page(_ query: PageQuery, of shop: ShopID) async throws(StoreFailure) -> Page {
    guard case .page(let number, let limit) = query else {
      return try await log.page(query, of: shop)
    }
    var page = try await log.page(.page(number: 1, limit: 1_000), of: shop)
    let rest = page.messages.sorted { $0.key > $1.key }.dropFirst(min(number - 1, 1_000) * limit)
    page.messages = Array(rest.prefix(limit))
    page.hasNext = rest.count > limit
    return page
  }
}

/// A store that does not remove accesses that have ended.
private struct HoardingStore: RelayStore {
  let store = MemoryRelayStore()

  func stored() async throws(StoreFailure) -> StoredRelay { try await store.stored() }

  func apply(_ changes: [RelayChange]) async throws(StoreFailure) {
    let stored = changes.filter {
      if case .endAccess = $0 { false } else { true }
    }
    try await store.apply(stored)
  }

  func check() async throws(StoreFailure) { try await store.check() }

  func close() async { await store.close() }
}
