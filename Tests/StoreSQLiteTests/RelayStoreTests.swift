import Foundation
import HoldfastTestKit
import LinkCore
import LinkRuntime
import LinkWire
import StoreSQLite
import Testing

/// What the file of the relay's store adds to the contract: it lasts, it is private, it forgets.
@Suite struct RelayStoreTests {
  private let secret = "a-word-that-must-go-away-0123456789"

  private func phone() throws -> KeptPhone {
    KeptPhone(
      id: PhoneID(UUID128(high: 1, low: 1)), device: UUID128(high: 2, low: 2),
      resume: try #require(TokenHash([UInt8](repeating: 7, count: 32))), push: .hook(secret))
  }

  @Test func `what was kept is there after the file was closed and opened again`() async throws {
    let scratch = try Scratch()
    let phone = try phone()
    let store = try await SQLiteRelayStore.open(in: scratch.path)
    try await store.apply([.phone(phone)])
    await store.close()
    let again = try await SQLiteRelayStore.open(in: scratch.path)
    #expect(try await again.kept() == RelayKept(phones: [phone]))
    await again.close()
  }

  @Test func `only its owner may read it, and only one process has it`() async throws {
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

  @Test func `what was ended is gone from the files at once`() async throws {
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

  @Test func `a foreign database is left alone`() async throws {
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
