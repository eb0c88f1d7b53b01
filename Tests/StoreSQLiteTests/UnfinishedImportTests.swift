import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealth
import HoldfastTestKit
import Testing

@testable import HoldfastSQLiteStores

/// Tests of the record of an import that has not ended, as another process sees it.
@Suite struct UnfinishedImportTests {
  private static let began = Timestamp(nanoseconds: 7)

  @Test func `a reader sees that an import runs, then that it was interrupted`() async throws {
    let scratch = try Scratch()
    let writer = try await SQLiteHealthStore.open(in: scratch.path)
    let reader = try await SQLiteHealthStore.open(in: scratch.path, access: .read)
    #expect(try await reader.stored().unfinished == nil)
    try await writer.noteUnfinished(since: Self.began)
    for _ in 0..<2 {
      #expect(
        try await reader.stored().unfinished
          == StoredHealth.Unfinished(since: Self.began, isRunning: true))
    }
    await writer.close()
    #expect(
      try await reader.stored().unfinished
        == StoredHealth.Unfinished(since: Self.began, isRunning: false))
    await reader.close()
  }

  @Test func `a reader that looks keeps no writer from opening the store`() async throws {
    let scratch = try Scratch()
    let first = try await SQLiteHealthStore.open(in: scratch.path)
    try await first.noteUnfinished(since: Self.began)
    await first.close()
    let reader = try await SQLiteHealthStore.open(in: scratch.path, access: .read)
    _ = try await reader.stored()
    let writer = try await SQLiteHealthStore.open(in: scratch.path)
    try await writer.noteUnfinished(since: nil)
    #expect(try await reader.stored().unfinished == nil)
    await writer.close()
    await reader.close()
  }
}
