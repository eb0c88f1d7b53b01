public import LinkCore
import LinkWire

// What always holds between the tables of the assistants' side.
extension MCPServer {
  /// Notes each invariant that does not hold now.
  public func check(_ check: inout InvariantCheck) {
    check.require(effects.isEmpty, "mcp server: nothing is asked for between two inputs")
    check.require(waiting.count <= policy.maxCalls, "mcp server: the calls that wait are bounded")
    check.require(
      waiting.count == askers.count, "mcp server: each call that waits is found by its ask")
    check.require(!isDraining || streams.isEmpty, "mcp server: a drain ends the streams")
    beats.check(&check)
    sessions.check(&check)
    conversations.check(&check)
    batches.check(&check)
    guard check.isThorough else { return }
    checkCalls(&check)
    checkStreams(&check)
    check.require(
      origins.keys.allSatisfy {
        waiting[$0] != nil || streams[$0] != nil || batches.holds($0)
      }, "mcp server: an origin is that of a request without an answer")
  }

  private func checkCalls(_ check: inout InvariantCheck) {
    check.require(
      askers.allSatisfy { waiting[$1]?.ask == $0 && $0.number <= lastAsk },
      "mcp server: an ask leads to the call that made it")
    check.require(
      sessions.all.allSatisfy { name, session in
        session.calls.count <= policy.callsPerSession
          && session.calls.allSatisfy { id, request in
            waiting[request]?.rpc.map { $0.id == id && $0.session == name } ?? false
          }
      }, "mcp server: a call of a session waits, and is known by its id")
    check.require(
      sessions.all.values.reduce(0) { $0 + $1.calls.count }
        == waiting.values.count { $0.rpc?.session != nil },
      "mcp server: a call that waits for a session is one of its calls")
    check.require(
      waiting.allSatisfy { request, call in
        guard let rpc = call.rpc else { return !call.isStreaming }
        return rpc.accepts.events
          ? beats.rings(request, by: .distantEnd) : !call.isStreaming
      }, "mcp server: a call that may stream has an alarm")
  }

  private func checkStreams(_ check: inout InvariantCheck) {
    check.require(
      streams.allSatisfy { sessions[$1]?.stream == $0 }
        && sessions.all.values.count { $0.stream != nil } == streams.count,
      "mcp server: a stream is that of its session")
    check.require(
      streams.keys.allSatisfy { beats.rings($0, by: .distantEnd) },
      "mcp server: each stream has an alarm")
    check.require(
      beats.armed.keys.allSatisfy { waiting[$0] != nil || streams[$0] != nil },
      "mcp server: an alarm is that of a stream or a call")
  }
}

extension MCPServer.Waiting {
  /// The form of a JSON-RPC call; `nil` for a plain one.
  fileprivate var rpc: MCPServer.RPCForm? {
    switch form {
    case .rpc(let rpc): rpc
    case .call, .object: nil
    }
  }
}

extension SessionTable: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(all.count <= bound, "session table: it holds no more than its bound")
    check.require(
      alarms.armed.count == all.count, "session table: each session has one alarm, and no other")
    alarms.check(&check)
    guard check.isThorough else { return }
    check.require(
      all.keys.allSatisfy { alarms.rings($0, by: .distantEnd) },
      "session table: each session ends if it is not used")
    check.require(
      all.values.allSatisfy { !$0.showsTokens || $0.bearer == nil },
      "session table: no token is kept for a client that shows its own")
  }
}

extension MCPServer.Batches: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(owners.isEmpty == batches.isEmpty, "batches: none is without messages")
    guard check.isThorough else { return }
    check.require(
      owners.allSatisfy { batches[$1]?.members.contains($0) ?? false }
        && owners.count == batches.values.reduce(0) { $0 + $1.members.count },
      "batches: a message is one of its batch")
    check.require(
      batches.values.allSatisfy { batch in
        batch.responses.count < batch.members.count
          && batch.responses.keys.allSatisfy { batch.members.contains($0) }
      }, "batches: a batch that waits lacks an answer")
  }
}

extension Instant {
  /// The end of time.
  fileprivate static var distantEnd: Instant { Instant(nanoseconds: .max) }
}
