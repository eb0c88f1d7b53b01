import HoldfastTestKit
import LinkCore
import LinkHealth
import LinkWire
import Testing

@testable import LinkServerCore

/// Each invariant of the assistants' side can fail.
struct MCPInvariantTests {
  private typealias Plant = PlantedFault<MCPServer>

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

  private func check(_ plants: [Plant]) {
    let sound = Self.busy().server
    #expect(sound.waiting.count == 2 && sound.streams.count == 1)
    #expect(unnoticed(plants, in: sound) == [])
  }

  @Test func `what is asked for, and for whom, is checked`() {
    check([
      ("mcp server: nothing is asked for between two inputs", { $0.effects = [.end(Self.wild)] }),
      (
        "mcp server: an origin is that of a request without an answer",
        { $0.origins[Self.wild] = "https://a.example" }
      ),
    ])
  }

  @Test func `calls are checked`() {
    let session = Self.busy().session
    check([
      (
        "mcp server: the calls that wait are bounded",
        { server in
          guard let call = server.waiting.first?.value else { return }
          for number in UInt64(0)...1_024 { server.waiting[RequestID(number)] = call }
        }
      ),
      ("mcp server: each call that waits is found by its ask", { $0.askers = [:] }),
      (
        "mcp server: an ask leads to the call that made it",
        { server in for ask in server.askers.keys { server.askers[ask] = Self.wild } }
      ),
      (
        "mcp server: a call of a session waits, and is known by its id",
        { $0.sessions[session]?.calls[.number(77)] = Self.wild }
      ),
      (
        "mcp server: a call of a session waits, and is known by its id",
        { server in
          let request = server.sessions[session]?.calls.values.first ?? Self.wild
          server.sessions[session]?.calls = [.number(77): request]
        }
      ),
      (
        "mcp server: a call that waits for a session is one of its calls",
        { $0.sessions[session]?.calls = [:] }
      ),
      (
        "mcp server: a call that may stream has an alarm",
        { server in for id in server.waiting.keys { server.beats.clear(id) } }
      ),
      (
        "mcp server: an alarm is that of a stream or a call",
        { $0.beats.set(Self.wild, at: .zero) }
      ),
    ])
  }

  @Test func `a call that waits for another session is found`() {
    let session = Self.busy().session
    check([
      (
        "mcp server: a call of a session waits, and is known by its id",
        { server in
          for (request, var call) in server.waiting {
            guard case .rpc(var form) = call.form, form.session == session else { continue }
            form.session = "another"
            call.form = .rpc(form)
            server.waiting[request] = call
          }
        }
      )
    ])
  }

  @Test func `more calls of a session than may wait are found`() {
    let session = Self.busy().session
    check([
      (
        "mcp server: a call of a session waits, and is known by its id",
        { server in
          guard let request = server.sessions[session]?.calls.values.first,
            var call = server.waiting[request], case .rpc(var form) = call.form
          else { return }
          for number in Int64(100)..<116 {
            form.id = .number(number)
            call.form = .rpc(form)
            server.waiting[RequestID(UInt64(number))] = call
            server.sessions[session]?.calls[form.id] = RequestID(UInt64(number))
          }
        }
      )
    ])
  }

  @Test func `an answer to a message of no batch is found`() {
    check([
      (
        "batches: a batch that waits lacks an answer",
        { server in
          for id in server.batches.batches.keys {
            server.batches.batches[id]?.responses = [Self.wild: []]
          }
        }
      )
    ])
  }

  @Test func `streams and batches are checked`() {
    let session = Self.busy().session
    check([
      ("mcp server: a drain ends the streams", { $0.isDraining = true }),
      ("mcp server: a stream is that of its session", { $0.sessions[session]?.stream = nil }),
      (
        "mcp server: each stream has an alarm",
        { server in for id in server.streams.keys { server.beats.clear(id) } }
      ),
      ("batches: none is without messages", { $0.batches.owners = [:] }),
      (
        "batches: a message is one of its batch",
        { server in
          for member in server.batches.owners.keys { server.batches.owners[member] = Self.wild }
        }
      ),
      (
        "batches: a batch that waits lacks an answer",
        { server in
          for (id, batch) in server.batches.batches {
            for member in batch.members { server.batches.batches[id]?.responses[member] = [] }
          }
        }
      ),
    ])
  }

  @Test func `sessions are checked`() {
    let session = Self.busy().session
    check([
      (
        "session table: it holds no more than its bound",
        { server in
          guard let one = server.sessions[session] else { return }
          for number in 0...server.sessions.bound { server.sessions.all["\(number)"] = one }
        }
      ),
      (
        "session table: each session has one alarm, and no other",
        { $0.sessions.alarms.set("another", at: .zero) }
      ),
      (
        "session table: each session ends if it is not used",
        { $0.sessions.alarms.clear(session) }
      ),
      (
        "session table: no token is kept for a client that shows its own",
        {
          $0.sessions[session]?.showsTokens = true
          $0.sessions[session]?.bearer = MCPStage.token
        }
      ),
    ])
  }

  @Test func `an ask that was never counted is found`() {
    check([("mcp server: an ask leads to the call that made it", { $0.lastAsk = 0 })])
  }

  @Test func `a stream of another request, and one of another session, is found`() {
    let session = Self.busy().session
    check([
      (
        "mcp server: a stream is that of its session",
        { $0.sessions[session]?.stream = Self.wild }
      ),
      (
        "mcp server: a stream is that of its session",
        { server in
          for name in server.sessions.all.keys where name != session {
            server.sessions[name]?.stream = Self.wild
          }
        }
      ),
      (
        "batches: a message is one of its batch",
        { server in
          if let member = server.batches.owners.keys.min() {
            server.batches.owners[member] = nil
          }
        }
      ),
    ])
  }

  @Test func `the parts of the server are checked`() {
    check([
      ("alarm queue: each alarm has an entry", { $0.beats.heap = [] }),
      ("alarm queue: each alarm has an entry", { $0.sessions.alarms.heap = [] }),
      (
        "session table: it holds no more than its bound",
        { server in
          for number in 0...server.conversations.bound {
            server.conversations.all["\(number)"] = .init(
              version: .newestWithSessions, lastUsed: .zero)
          }
        }
      ),
    ])
  }
}
