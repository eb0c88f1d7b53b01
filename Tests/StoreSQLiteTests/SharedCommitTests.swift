import Foundation
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastSyncData
import HoldfastTestKit
import Testing

@testable import HoldfastSQLiteStores

/// Tests of batches that wait at the same time and share a transaction.
@Suite struct SharedCommitTests {
  private static let count = 40

  /// Returns a batch of three samples, whose first one starts at `number` hundred seconds.
  private func batch(_ number: Int) throws -> SyncDelivery {
    let start = Int64(number) * 100
    return try SyncSamples.delivery(
      [0, 1, 2].map { SyncSamples.record(start + $0, uuid: UInt64(number * 3) + UInt64($0)) },
      user: "user\(number % 3)", made: Int64(number))
  }

  /// Returns the number of commits in the write-ahead log of a store.
  private func commits(in scratch: Scratch) throws -> Int {
    let log = try scratch.bytes(of: "sync.sqlite-wal")
    // A header of 32 bytes precedes the frames. Bytes 4 to 7 of a frame's header are zero unless
    // the frame ends a commit (sqlite.org/fileformat2.html, 4.1).
    return stride(from: 32, to: log.count, by: 24 + 4096).count { start in
      log[(start + 4)...(start + 7)].contains { $0 != 0 }
    }
  }

  @Test func `batches that wait at the same time share commits and keep their own counts`()
    async throws
  {
    let scratch = try Scratch()
    let store = try await SQLiteSyncStore.open(in: scratch.path)
    let created = try commits(in: scratch)
    let outcomes = await store.applyTogether(try (0..<Self.count).map(batch))
    #expect(outcomes.count == Self.count)
    for outcome in outcomes { #expect(try outcome.get().records == 3) }
    // Eight batches share one.
    #expect(try commits(in: scratch) - created == Self.count / 8)
    let again = await store.applyTogether(try (0..<Self.count).map(batch))
    for outcome in again { #expect(try outcome.get().skippedDuplicates == 3) }
    for user in 0..<3 {
      let summary = try await store.summary(of: "user\(user)")
      #expect(summary.map(\.count) == [3 * ((Self.count - user + 2) / 3)])
    }
    await store.close()
  }

  @Test func `a batch that fails does not take others with it`() async throws {
    let scratch = try Scratch()
    let store = try await SQLiteSyncStore.open(in: scratch.path)
    try await store.write { tables throws(StoreFailure) in
      try tables.database.execute(
        """
        CREATE TRIGGER refusal BEFORE INSERT ON samples WHEN new.start = 501000000000
        BEGIN SELECT RAISE(ABORT, 'refused by a test'); END
        """)
    }
    let outcomes = await store.applyTogether(try (0..<8).map(batch))
    for (index, outcome) in outcomes.enumerated() {
      if index == 5 {
        #expect(throws: StoreFailure.self) { try outcome.get() }
      } else {
        #expect(try outcome.get().records == 3)
      }
    }
    let counts = try await store.summary(of: "user2").map(\.count)
    #expect(counts == [3])
    await store.close()
  }

  @Test func `batches share a commit up to a number of bytes`() async throws {
    let scratch = try Scratch()
    let store = try await SQLiteSyncStore.open(in: scratch.path)
    let created = try commits(in: scratch)
    // Two samples of 1.5 MiB fit into 4 MiB, and a third one does not.
    let source = String(repeating: "w", count: 3 << 19)
    let batches = try (0..<4).map { number in
      try SyncSamples.delivery([SyncSamples.record(Int64(number), source: source)])
    }
    for outcome in await store.applyTogether(batches) {
      #expect(try outcome.get().records == 1)
    }
    #expect(try commits(in: scratch) - created == 2)
    await store.close()
  }

  @Test(arguments: [LaterCall.close, .suspend, .erase])
  func `a later call does not overtake a batch that waits`(call: LaterCall) async throws {
    let scratch = try Scratch()
    let store = try await SQLiteSyncStore.open(in: scratch.path)
    let outcome = await store.apply(try batch(1), then: call)
    #expect(try outcome.get().records == 3)
    await store.close()
    let reopened = try await SQLiteSyncStore.open(in: scratch.path)
    #expect(try await reopened.summary(of: "user1").isEmpty == (call == .erase))
    await reopened.close()
  }

  @Test func `a store that another program has locked fails all batches at once`() async throws {
    let scratch = try Scratch()
    let store = try await SQLiteSyncStore.open(in: scratch.path, busyTimeout: .zero)
    let other = try Database(
      path: scratch("sync.sqlite"), access: .write, busyTimeout: .zero,
      schema: SyncTables.schema, isGuest: true)
    try other.execute("BEGIN IMMEDIATE")
    for outcome in await store.applyTogether(try (0..<3).map(batch)) {
      let error = try #require(throws: StoreFailure.self) { try outcome.get() }
      #expect(FailureKind(error) == .locked)
    }
    try other.execute("ROLLBACK")
    for outcome in await store.applyTogether(try (0..<3).map(batch)) {
      #expect(try outcome.get().records == 3)
    }
    await store.close()
  }

  @Test func `batches that wait for a closed store fail`() async throws {
    let scratch = try Scratch()
    let store = try await SQLiteSyncStore.open(in: scratch.path)
    await store.close()
    for outcome in await store.applyTogether(try (0..<3).map(batch)) {
      #expect(throws: StoreFailure.closed) { try outcome.get() }
    }
  }
}

/// A call that follows a batch.
enum LaterCall: Sendable {
  case close, suspend, erase
}

extension SQLiteSyncStore {
  /// Stores a batch, and calls another method after `apply` and before the batch is stored.
  func apply(
    _ batch: SyncDelivery, then call: LaterCall
  ) async -> Result<IngestCounts, StoreFailure> {
    let outcome = Task { await self.outcome(of: batch) }
    let later = Task {
      switch call {
      case .close: close()
      case .suspend: suspend()
      case .erase: while (try? erase(batch.user, atMost: 1_000)) ?? 0 > 0 {}
      }
    }
    await later.value
    return await outcome.value
  }

  /// Stores `batches`, all of which wait before the first one begins. Returns their outcomes in
  /// order.
  func applyTogether(_ batches: [SyncDelivery]) async -> [Result<IngestCounts, StoreFailure>] {
    // The tasks of this actor run one after the other, and only then the one that stores.
    let tasks = batches.map { batch in Task { await outcome(of: batch) } }
    var outcomes: [Result<IngestCounts, StoreFailure>] = []
    for task in tasks { outcomes.append(await task.value) }
    return outcomes
  }

  private func outcome(of batch: SyncDelivery) async -> Result<IngestCounts, StoreFailure> {
    do throws(StoreFailure) {
      return .success(try await apply(batch))
    } catch {
      return .failure(error)
    }
  }
}
