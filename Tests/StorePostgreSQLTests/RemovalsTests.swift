import Foundation
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastTestKit
import Testing

@testable import HoldfastBackend
@testable import HoldfastPostgreSQLStores

/// The list of removed members that all nodes share.
@Suite(.enabled(if: TestServer.isInstalled, TestServer.remedy))
struct RemovalsTests {
  private static func adding(_ byte: UInt8) -> @Sendable ([UInt8]?) -> [UInt8]? {
    { ($0 ?? []) + [byte] }
  }

  /// Waits until a node has the list `content`.
  private func wait(for content: [UInt8], at node: DatabaseNode) async {
    guard node.removals != content else { return }
    for await change in node.changes where change == .removals && node.removals == content {
      return
    }
  }

  @Test func `changes at two nodes at once are all kept`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let nodes = [
      try await database.node(in: scratch("a")), try await database.node(in: scratch("b")),
    ]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (place, node) in nodes.enumerated() {
        group.addTask {
          for number in 0..<20 as Range<UInt8> {
            try await node.changeRemovals(Self.adding(UInt8(place) * 20 + number))
          }
        }
      }
      try await group.waitForAll()
    }
    let row = try #require(try database.rows("SELECT version, content FROM removals").first)
    #expect(try row.integer(0) == 40)
    let content = try #require(try row.optionalBlob(1))
    #expect(content.sorted() == Array(0..<40))
    for node in nodes { await wait(for: content, at: node) }
    // As after the database was restored from a backup.
    try database.execute("UPDATE removals SET version = 3, content = 'x'")
    for node in nodes {
      await wait(for: Array("x".utf8), at: node)
      await node.close()
    }
  }

  @Test func `a change that fails is stored when the database is back`() async throws {
    let scratch = try Scratch()
    let server = try await TestServer()
    try await server.start()
    let database = try await TestDatabase(on: [server])
    let node = try await database.node(in: scratch.path)
    await server.kill()
    await #expect(throws: (any Error).self) { try await node.changeRemovals(Self.adding(7)) }
    try await server.start()
    await wait(for: [7], at: node)
    #expect(try database.rows("SELECT 1 FROM removals").count == 1)
    await node.close()
    await server.kill()
  }

  /// Two directories of nodes, and what their files say.
  private struct Pair {
    let scratch: Scratch
    let database: TestDatabase
    let shop: ShopID

    init() async throws {
      (scratch, database) = (try Scratch(), try await TestDatabase())
      shop = try #require(ShopID("bakery"))
      _ = try Tokens.open(in: scratch("a"))
    }

    func backend(
      _ name: String, log: (@Sendable (String) -> Void)? = nil
    ) async throws -> Backend {
      var configuration = BackendConfiguration(dataDirectory: scratch(name))
      (configuration.databaseURL, configuration.nodeName) = (database.url, name)
      configuration.log = log
      let backend = Backend(configuration)
      _ = try await backend.start()
      return backend
    }

    func copySecrets() async throws {
      for file in ["secret", "session-key"] {
        try await Shell.run(["cp", "-p", scratch("a/\(file)"), scratch("b/\(file)")])
      }
    }

    func write(_ users: String..., to name: String) throws {
      try FileManager.default.createDirectory(
        atPath: scratch(name), withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
      try RemovalsFile(directory: scratch(name)).write(
        users.map { Membership(shop: shop, user: $0) })
    }

    func file(_ name: String) throws -> [String] {
      try RemovalsFile(directory: scratch(name)).read().map(\.user)
    }

    func stored() throws -> [String] {
      let row = try #require(try database.rows("SELECT content FROM removals").first)
      return try RemovalsFile.decode(try #require(try row.optionalBlob(0))).map(\.user)
    }
  }

  @Test func `lists from before are united, and what is changed in a file is changed for all`()
    async throws
  {
    let pair = try await Pair()
    try pair.write("ann", to: "a")
    try pair.write("bob", to: "b")
    let a = try await pair.backend("a")
    #expect(try pair.stored() == ["ann"])
    try await pair.copySecrets()
    let b = try await pair.backend("b")
    #expect(try pair.stored() == ["ann", "bob"])
    #expect(try pair.file("b") == ["ann", "bob"])
    // This holds whether or not the first node has heard of bob.
    try await a.readmitMember("bob", to: pair.shop)
    try await a.removeMember("cal", of: pair.shop)
    #expect(try pair.stored() == ["ann", "cal"])
    await a.drainAndStop()
    try await b.readmitMember("ann", to: pair.shop)
    #expect(try pair.stored() == ["cal"])
    // A file that was changed while its node was stopped, and lacks what was changed meanwhile.
    try pair.write("ann", "cal", "dan", to: "a")
    let again = try await pair.backend("a")
    #expect(try pair.stored() == ["cal", "dan"])
    #expect(try pair.file("a") == ["cal", "dan"])
    try pair.write("dan", to: "b")
    try await b.reload()
    #expect(try pair.stored() == ["dan"])
    await again.drainAndStop()
    await b.drainAndStop()
    // A lost file readmits nobody.
    try FileManager.default.removeItem(atPath: pair.scratch("a/removed.json"))
    let last = try await pair.backend("a")
    #expect(try pair.stored() == ["dan"])
    #expect(try pair.file("a") == ["dan"])
    await last.drainAndStop()
  }

  @Test func `a list that cannot be written holds, and the log has the reason`() async throws {
    let pair = try await Pair()
    let a = try await pair.backend("a")
    try FileManager.default.createDirectory(
      atPath: pair.scratch("b"), withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    try await pair.copySecrets()
    let (lines, log) = AsyncStream<String>.makeStream()
    let b = try await pair.backend("b") { log.yield($0) }
    try FileManager.default.createDirectory(
      atPath: pair.scratch("b/removed.json"), withIntermediateDirectories: false)
    try await a.removeMember("ann", of: pair.shop)
    var events: [String] = []
    for await line in lines {
      if line.contains("\"removed\"") { events.append("removed") }
      if line.contains("reload_failed") {
        #expect(line.contains("removed.json"))
        events.append("failed")
        break
      }
    }
    #expect(events == ["removed", "failed"])
    await a.drainAndStop()
    await b.drainAndStop()
  }
}
