import HoldfastTestKit
import Testing

@testable import HoldfastPostgreSQLStores

/// The tables of a former version.
@Suite(.enabled(if: TestServer.isInstalled, TestServer.remedy))
struct MigrationTests {
  /// The renewal of the lease in version 1.
  private static let renewal = """
    UPDATE nodes SET lease_until = clock_timestamp() + 10 * interval '1 second'
    WHERE name = 'old' RETURNING name
    """

  @Test func `the tables of version 1 get what is missing during a dump, and its nodes go on`()
    async throws
  {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    try database.execute(
      (Migrations.first + ["INSERT INTO schema_version VALUES (1, 1);"]).joined(separator: "\n"))
    try database.execute(
      """
      SELECT * FROM register_node(
        gen_random_uuid(), gen_random_uuid(), 'old', 'another', '', '0', false, true);
      \(Self.renewal);
      """)
    let dump = try ServerChoice.open(database.settings, applicationName: "dump", known: 0)
    try dump.runScript("BEGIN; LOCK TABLE nodes IN ACCESS SHARE MODE", within: .seconds(600))
    let node = try await DatabaseNode.open(
      database.settings, in: scratch.path, NodeFacts(name: "new", address: "10.0.0.1:1"))
    try dump.runScript("COMMIT", within: .seconds(600))
    let version = try database.rows("SELECT version, oldest_reader FROM schema_version")
    #expect(try version.map { [try $0.small(0), try $0.small(1)] } == [[Migrations.version, 1]])
    #expect(try database.rows(Self.renewal).count == 1)
    #expect(try NodeRecord.all(of: database.settings).map(\.name) == ["new", "old"])
    #expect(try database.rows("SELECT address FROM node_addresses").count == 1)
    #expect(try database.rows("SELECT * FROM removals").isEmpty)
    #expect(try database.rows("SELECT * FROM assistant_sessions").isEmpty)
    await node.close()
    #expect(try database.rows("SELECT address FROM node_addresses").isEmpty)
  }
}
