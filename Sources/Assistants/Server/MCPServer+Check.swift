public import HoldfastCore
import HoldfastServerParts

// The invariants between the tables of the server.
extension MCPServer {
  /// Records each invariant that does not hold.
  public func check(_ check: inout InvariantCheck) {
    frame.check(&check)
    check.require(
      waiting.count + storing.count <= policy.maxCalls,
      "mcp server: the calls that wait are bounded")
    check.require(!isDraining || streams.isEmpty, "mcp server: a drain ends the streams")
    beats.check(&check)
    sessions.check(&check)
    conversations.check(&check)
    elicitations.check(&check)
    batches.check(&check)
    guard check.isThorough else { return }
    checkCalls(&check)
    checkStreams(&check)
    check.require(
      origins.keys.allSatisfy {
        waiting[$0] != nil || streams[$0] != nil || batches.holds($0) || isStoring($0)
      }, "mcp server: an origin is that of a request without an answer")
  }

  private func checkCalls(_ check: inout InvariantCheck) {
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
          ? beats.keys.contains(request) : !call.isStreaming
      }, "mcp server: a call that may stream has an alarm")
  }

  private func checkStreams(_ check: inout InvariantCheck) {
    check.require(
      streams.allSatisfy { sessions[$1]?.stream == $0 }
        && sessions.all.values.count { $0.stream != nil } == streams.count,
      "mcp server: a stream is that of its session")
    check.require(
      streams.keys.allSatisfy { beats.keys.contains($0) },
      "mcp server: each stream has an alarm")
    check.require(
      beats.keys.allSatisfy { waiting[$0] != nil || streams[$0] != nil },
      "mcp server: an alarm is that of a stream or a call")
  }
}
