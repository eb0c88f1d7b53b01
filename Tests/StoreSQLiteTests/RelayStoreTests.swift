import Foundation
import HoldfastCore
import HoldfastRelayData
import HoldfastTestKit
import Testing

@testable import HoldfastSQLiteStores

/// Tests of the durability, privacy and deletion that the relay store's file adds to the contract.
@Suite struct RelayStoreTests {
  private let secret = "a-word-that-must-go-away-0123456789"

  private func phone() throws -> StoredPhone {
    StoredPhone(
      id: PhoneID(UUID128(high: 1, low: 1)), device: UUID128(high: 2, low: 2),
      resume: try #require(TokenHash([UInt8](repeating: 7, count: 32))), push: .hook(secret))
  }

  @Test func `stored phones persist across closing and reopening`() async throws {
    let scratch = try Scratch()
    let phone = try phone()
    let store = try await SQLiteRelayStore.open(in: scratch.path)
    try await store.apply([.phone(phone)])
    await store.close()
    let again = try await SQLiteRelayStore.open(in: scratch.path)
    #expect(try await again.stored() == StoredRelay(phones: [phone]))
    await again.close()
  }

  @Test func `only the owner can access the files, and only one process can open the store`()
    async throws
  {
    let scratch = try Scratch()
    let store = try await SQLiteRelayStore.open(in: scratch.path)
    for name in ["relay.sqlite", "relay.sqlite-wal", "relay.lock"] {
      let mode = try FileManager.default.attributesOfItem(atPath: "\(scratch.path)/\(name)")[
        .posixPermissions]
      #expect(mode as? Int == 0o600)
    }
    await #expect(throws: StoreFailure.self) {
      _ = try await SQLiteRelayStore.open(in: scratch.path)
    }
    await store.close()
  }

  @Test func `ended access is erased from the files at once`() async throws {
    let scratch = try Scratch()
    let phone = try phone()
    let store = try await SQLiteRelayStore.open(in: scratch.path)
    try await store.apply([.phone(phone)])
    #expect(try holds(secret, in: scratch.path))
    try await store.apply([.endPhone(phone.id)])
    #expect(try !holds(secret, in: scratch.path))
    await store.close()
    #expect(try !holds(secret, in: scratch.path))
  }

  /// Tests a login that removes old tokens and stores new ones. Its commit fits on the disk, but
  /// copying the log into the file does not.
  @Test(.enabled(if: Scratch.canMount, "needs root to mount a small disk"))
  func `a login is not refused after its token became durable, even on a full disk`() async throws {
    let scratch = try Scratch()
    try scratch.mountDisk(size: "512k")
    defer { scratch.unmountDisk() }
    let store = try await SQLiteRelayStore.open(in: scratch.path)
    let accesses = try (0..<500).map(access)
    try await store.apply([.access(accesses[0])])
    try await store.check()
    try scratch.fillDisk(leaving: 90_000)
    try await store.apply([.endAccess(accesses[0].token)] + accesses[1...].map { .access($0) })
    #expect(try await store.stored().accesses == accesses[1...].sorted { $0.token < $1.token })
    #expect(try await failure { try await store.check() } == .full)
    try FileManager.default.removeItem(atPath: scratch("filler"))
    try await store.check()
    #expect(try scratch.bytes(of: "relay.sqlite-wal").isEmpty)
    await store.close()
  }

  private func access(_ number: Int) throws -> StoredAccess {
    let bytes = [UInt8](repeating: 7, count: 30) + [UInt8(number >> 8), UInt8(number & 255)]
    return StoredAccess(
      token: try #require(TokenHash(bytes)), phone: PhoneID(UUID128(high: 1, low: 1)),
      expiresAt: Timestamp(nanoseconds: 9))
  }

  @Test func `the check fails as locked while another reader keeps removed data in the log`()
    async throws
  {
    let scratch = try Scratch()
    let store = try await SQLiteRelayStore.open(in: scratch.path, busyTimeout: .zero)
    try await store.apply([.phone(try phone())])
    let foreign = try Database(
      path: scratch("relay.sqlite"), access: .read, busyTimeout: .zero, schema: RelayTables.schema)
    try foreign.execute("BEGIN; SELECT count(*) FROM phones")
    try await store.apply([.endPhone(try phone().id)])
    #expect(try await store.stored() == StoredRelay())
    #expect(try await failure { try await store.check() } == .locked)
    try foreign.execute("COMMIT")
    try await store.check()
    #expect(try !holds(secret, in: scratch.path))
    await store.close()
  }

  @Test func `a database of another store is refused`() async throws {
    let scratch = try Scratch()
    let log = try await SQLiteMessageLog.open(in: scratch.path, named: "relay")
    await log.close()
    await #expect(throws: StoreFailure.self) {
      _ = try await SQLiteRelayStore.open(in: scratch.path)
    }
  }

  private func holds(_ text: String, in directory: String) throws -> Bool {
    try FileManager.default.contentsOfDirectory(atPath: directory).contains { name in
      let data = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)"))
      return data.range(of: Data(text.utf8)) != nil
    }
  }
}
