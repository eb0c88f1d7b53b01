import HoldfastCore
import HoldfastFeaturePorts
import HoldfastPorts
import HoldfastTestKit
import Testing

/// Tests of the values in which stores hold their data, using the contract suites that databases
/// also pass.
@Suite struct StoreValueTests {
  @Test func `the timeline store in memory keeps its contract`() async throws {
    try await timelineStoreContract { MemoryTimelineStore() }
  }

  @Test func `the message log in memory keeps its contract`() async throws {
    try await messageLogContract { MemoryMessageLog() }
    try await prunableLogContract { MemoryMessageLog() }
  }

  @Test func `the outbox in memory keeps its contract`() async throws {
    try await outboxStoreContract { MemoryOutbox() }
  }

  @Test func `the drink store in memory keeps its contract`() async throws {
    try await drinkStoreContract { MemoryDrinkStore() }
  }

  @Test func `the sync store in memory keeps its contract`() async throws {
    try await syncStoreContract { MemorySyncStore() }
  }

  @Test func `the sync queue in memory keeps its contract`() async throws {
    try await syncQueueStoreContract { MemorySyncQueueStore() }
  }

  @Test func `the health store in memory keeps its contract`() async throws {
    try await healthStoreContract { MemoryHealthStore() }
  }

  @Test func `the relay's store in memory keeps its contract`() async throws {
    try await relayStoreContract { MemoryRelayStore() }
  }

  @Test func `the store of sessions in memory keeps its contract`() async throws {
    try await sessionStoreContract { MemorySessionStore() }
  }

  @Test func `a client's store of sessions in memory keeps its contract`() async throws {
    try await clientSessionStoreContract { MemoryClientSessionStore() }
  }
}
