import Foundation
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastTestKit
import Testing

@testable import HoldfastSQLiteStores

/// Tests of copies of stores as of one moment.
@Suite struct StoreSnapshotsTests {
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  private static func image(_ number: UInt8) throws -> StoredImage {
    let id = try #require(UUID128("00000000-0000-4000-8000-0000000000\(number + 10)"))
    let shop = try #require(ShopID("bakery"))
    return StoredImage(
      id: id, shop: shop, user: "ann", type: .png, size: 1,
      createdAt: Timestamp(nanoseconds: 0), message: nil)
  }

  /// Creates an empty file with the name of a store.
  private func emptyCopy(_ file: String) throws -> String {
    try FileManager.default.createDirectory(
      atPath: scratch("copies"), withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    try scratch.write([], to: "copies/\(file)")
    return scratch("copies/\(file)")
  }

  @Test func `a copy has what was stored before the moment, and nothing else`() async throws {
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    #expect(try await log.addImage(Self.image(1), atMost: 9))
    let snapshots = try StoreSnapshots(in: scratch.path)
    #expect(try snapshots.versions.map(\.file) == ["messages.sqlite"])
    _ = try snapshots.take()
    // The writer goes on at once.
    #expect(try await log.addImage(Self.image(2), atMost: 9))
    let path = try emptyCopy("messages.sqlite")
    var steps: [Bool] = []
    #expect(
      try snapshots.copy("messages.sqlite", to: path) { pages, total in
        steps.append(pages == total)
        return true
      })
    #expect(steps.last == true)
    snapshots.release()
    try StoreSnapshots.check("messages.sqlite", in: scratch("copies"))
    #expect(
      try StoreSnapshots.images(of: "messages.sqlite", in: scratch("copies"))
        == [Self.image(1).id])
    #expect(
      try StoreSnapshots.version(of: "messages.sqlite", in: scratch("copies"))
        == StoreSnapshots.supported["messages.sqlite"])
    await log.close()
  }

  @Test func `a copy that is not wanted any more ends`() async throws {
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    let snapshots = try StoreSnapshots(in: scratch.path)
    _ = try snapshots.take()
    let path = try emptyCopy("messages.sqlite")
    // A single step copies all of a small store.
    _ = try snapshots.copy("messages.sqlite", to: path) { _, _ in false }
    await log.close()
  }

  @Test func `a store that stays busy is an error, and no other store waits for it`() async throws {
    let relay = try await SQLiteRelayStore.open(in: scratch.path)
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    let other = try Database(
      path: scratch("messages.sqlite"), access: .write, busyTimeout: .zero,
      schema: LogTables.kind.schema, isGuest: true)
    try other.execute("BEGIN IMMEDIATE")
    let snapshots = try StoreSnapshots(in: scratch.path)
    do throws(StoreFailure) {
      _ = try snapshots.take(hold: .milliseconds(5), patience: .milliseconds(50))
      Issue.record("a moment was found")
    } catch {
      guard case .locked = error else {
        Issue.record("\(error)")
        return
      }
    }
    let second = try Database(
      path: scratch("relay.sqlite"), access: .write, busyTimeout: .zero,
      schema: RelayTables.kind.schema, isGuest: true)
    try second.execute("BEGIN IMMEDIATE")
    try second.execute("ROLLBACK")
    try other.execute("ROLLBACK")
    #expect(try snapshots.take() < .seconds(60))
    await relay.close()
    await log.close()
  }

  @Test func `stores of a stopped server are as they were afterwards`() async throws {
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    #expect(try await log.addImage(Self.image(1), atMost: 9))
    await log.close()
    let before = try scratch.bytes(of: "messages.sqlite")
    do {
      let snapshots = try StoreSnapshots(in: scratch.path)
      _ = try snapshots.take()
    }
    #expect(try scratch.bytes(of: "messages.sqlite") == before)
    let names = try FileManager.default.contentsOfDirectory(atPath: scratch.path)
    #expect(names.sorted() == ["messages.lock", "messages.sqlite"])
  }

  @Test func `a damaged copy is found`() async throws {
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    await log.close()
    var content = try scratch.bytes(of: "messages.sqlite")
    // The page after the first one, with its kind and its cells.
    for index in 4_096..<4_110 { content[index] = 0xFF }
    try scratch.write(content, to: "messages.sqlite")
    #expect(throws: StoreFailure.self) {
      try StoreSnapshots.check("messages.sqlite", in: scratch.path)
    }
  }

  @Test func `restored stores begin a new epoch`() async throws {
    let shop = try #require(ShopID("bakery"))
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    let before = try await log.head(of: shop)
    await log.close()
    let sync = try await SQLiteSyncStore.open(in: scratch.path)
    let epoch = try await sync.epoch()
    await sync.close()
    try await SQLiteStores.beginEpochs(in: scratch.path)
    let again = try await SQLiteMessageLog.open(in: scratch.path)
    let after = try await again.head(of: shop)
    #expect(after.epoch != before.epoch && after.offset == before.offset)
    await again.close()
    let other = try await SQLiteSyncStore.open(in: scratch.path)
    #expect(try await other.epoch() != epoch)
    await other.close()
  }
}
