import HoldfastTestKit
import LinkCore
import LinkRuntime
import LinkWire
import Testing

@testable import StoreSQLite

/// A client's store of sessions, as its first version wrote it.
@Suite struct ClientSessionMigrationTests {
  @Test func `conversations of the first version are kept, and take the new column`()
    async throws
  {
    let scratch = try Scratch()
    let kind = ClientSessionTables.kind
    let file = StoreFile(directory: scratch.path, name: kind.name)
    _ = try file.claim(for: .write)
    let first = try #require(kind.schema.steps.first)
    let known = """
      INSERT INTO client VALUES (1, x'00000000000000070000000000000009', 3, 5, 0, 0);
      INSERT INTO conversations(id, sequence, offset, signature) VALUES ('c', 2, 4, 's');
      """
    _ = try Database(
      path: file.path, access: .write, busyTimeout: .zero,
      schema: Schema(applicationID: kind.schema.applicationID, steps: [first + known]))
    let store = try await SQLiteClientSessionStore.open(in: scratch.path)
    let client = UUID128(high: 7, low: 9)
    var expected = ClientSessionSnapshot(client: client)
    (expected.lastPrompt, expected.received) = (3, 5)
    var conversation = KnownConversation(id: "c", sequence: 2, offset: 4, signature: "s")
    expected.conversations = [conversation]
    #expect(try await store.open(as: client) == expected)
    conversation.isOthersTurn = true
    var change = ClientSessionChange()
    change.conversations = [conversation]
    #expect(try await store.commit(change) == [])
    #expect(try await store.open(as: client).conversations == [conversation])
    await store.close()
  }
}
