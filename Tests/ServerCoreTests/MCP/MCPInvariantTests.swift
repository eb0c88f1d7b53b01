import HoldfastTestKit
import LinkCore
import LinkHealth
import LinkWire
import Testing

@testable import LinkServerCore

/// The check of the assistants' side, and that of each of its parts, can fail.
struct MCPInvariantTests {
  private static let wild = RequestID(99)

  /// A session with a call that waits and a stream, and a batch that waits for one of two answers.
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
      ("mcp server: nothing is asked for between two inputs", { $0.effects = [.end(wild)] }),
      (
        "mcp server: the calls that wait are bounded",
        { server in
          guard let call = server.waiting.first?.value else { return }
          for number in UInt64(0)...1_024 { server.waiting[RequestID(number)] = call }
        }
      ),
      (
        "mcp server: a call of a session waits, and is known by its id",
        { $0.sessions[session]?.calls[.number(77)] = wild }
      ),
      ("mcp server: an alarm is that of a stream or a call", { $0.beats.set(wild, at: .zero) }),
      ("mcp server: a drain ends the streams", { $0.isDraining = true }),
      ("mcp server: a stream is that of its session", { $0.sessions[session]?.stream = nil }),
    ]
  }

  private static func partPlants(_ session: String) -> [PlantedFault<MCPServer>] {
    [
      ("batches: none is without messages", { $0.batches.owners = [:] }),
      (
        "batches: a batch that waits lacks an answer",
        { server in
          for (id, batch) in server.batches.batches {
            for member in batch.members { server.batches.batches[id]?.responses[member] = [] }
          }
        }
      ),
      (
        "session table: it holds no more than its bound",
        { server in
          for number in 0...server.conversations.bound {
            server.conversations.all["\(number)"] = .init(
              version: .newestWithSessions, lastUsed: .zero)
          }
        }
      ),
      (
        "session table: each session ends if it is not used",
        { $0.sessions.alarms.clear(session) }
      ),
    ]
  }

  @Test func `a broken server is found`() {
    let (server, session) = Self.busy()
    #expect(server.waiting.count == 2 && server.streams.count == 1)
    #expect(unnoticed(Self.plants(session) + Self.partPlants(session), in: server) == [])
  }
}
