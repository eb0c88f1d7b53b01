import HoldfastCore
import HoldfastDriver
import HoldfastTestKit
import Testing

@testable import HoldfastSQLiteStores

/// Tests of stores that release their locks when the app is suspended.
@Suite struct SuspendTests {
  @Test func `another store can open a suspended store's file and keeps it`() async throws {
    let scratch = try Scratch()
    let store = try await SQLiteHealthStore.open(in: scratch.path)
    try await suspendableContract(
      store, use: { _ = try await store.summary() },
      second: { try await SQLiteHealthStore.open(in: scratch.path) })
    await store.close()
  }

  @Test func `a resumed store keeps its content, and a closed store is not reopened`() async throws
  {
    let scratch = try Scratch()
    let store = try await SQLiteOutbox.open(in: scratch.path)
    try await store.add(.init(id: 7, message: SocketMessage(text: Array("kept".utf8))))
    await store.suspend()
    try await store.resume()
    #expect(try await store.load().map(\.id) == [7])
    await store.close()
    try await store.resume()
    await #expect(throws: StoreFailure.closed) { try await store.load() }
  }
}
