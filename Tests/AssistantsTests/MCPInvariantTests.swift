import HoldfastCore
import HoldfastServerParts
import HoldfastTestKit
import Testing

@testable import HoldfastAssistants

/// Tests that each invariant of `MCPServer` and its parts detects a planted fault.
struct MCPInvariantTests {
  private static let wild = RequestID(99)

  /// Returns a server and the id of a session that has a waiting call and a stream. A batch in
  /// another session waits for one of its two answers.
  private static func busy() -> (server: MCPServer, session: String) {
    var stage = MCPStage()
    let session = stage.initialize()
    stage.call("get_health_metrics", MCPStage.metrics, session: session)
    stage.request(.get, session: session)
    let other = stage.initialize("2025-03-26")
    stage.post(
      #"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","#
        + #""params":{"name":"get_health_metrics","arguments":\#(MCPStage.metrics)}}]"#,
      session: other)
    return (stage.server, session)
  }

  private static func plants(_ session: String) -> [PlantedFault<MCPServer>] {
    [
      ("server frame: no effect is pending between two inputs", { $0.frame.emit(.end(wild)) }),
      (
        "mcp server: a call of a session waits, and is known by its id",
        { $0.sessions[session]?.calls[.number(77)] = wild }
      ),
      ("mcp server: an alarm is that of a stream or a call", { $0.beats.set(wild, at: .zero) }),
      (
        "mcp server: a drain ends the streams",
        { server in
          _ = server.frame.drain(within: .zero, grace: .zero, limit: .zero)
          server.frame.finish()
        }
      ),
      ("mcp server: a stream is that of its session", { $0.sessions[session]?.stream = nil }),
    ]
  }

  private static func partPlants(_ session: String) -> [PlantedFault<MCPServer>] {
    [
      (
        "batches: none is without messages",
        { server in
          server.batches = MCPServer.Batches()
          _ = server.batches.begin(
            wild, count: 0, MCPServer.BatchForm(accepts: MediaTypes(accept: nil)))
        }
      ),
      (
        "batches: a batch that waits lacks an answer",
        {
          _ = $0.batches.begin(
            wild, count: 0, MCPServer.BatchForm(accepts: MediaTypes(accept: nil)))
        }
      ),
      (
        "session table: it holds no more than its bound",
        { $0.sessions = SessionTable(bound: -1, idle: .seconds(1)) }
      ),
      (
        "session table: each session ends if it is not used",
        { $0.sessions["other"] = .init(version: .newestWithSessions, lastUsed: .zero) }
      ),
    ]
  }

  @Test func `detects each broken invariant`() {
    let (server, session) = Self.busy()
    #expect(server.waiting.count == 2 && server.streams.count == 1)
    #expect(unnoticed(Self.plants(session) + Self.partPlants(session), in: server) == [])
  }
}
