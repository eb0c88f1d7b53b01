import HoldfastCore
public import HoldfastServerParts

/// The counters of the MCP server since its start.
struct MCPMetrics: Sendable {
  /// A tool call and its outcome.
  struct Call: Hashable, Comparable {
    /// The tool, or `nil` if the client sent the name of a tool that does not exist.
    var tool: MCPTool?
    var outcome: String

    static func < (left: Call, right: Call) -> Bool {
      (left.name, left.outcome) < (right.name, right.outcome)
    }

    var name: String { tool?.rawValue ?? "unknown" }
  }

  var requests: [MCPRoute: UInt64] = [:]
  /// The number of responses by status. A stream is counted when it starts.
  var answers: [Int: UInt64] = [:]
  private(set) var calls: [Call: UInt64] = [:]

  mutating func called(_ tool: MCPTool?, _ outcome: String) {
    calls[Call(tool: tool, outcome: outcome), default: 0] += 1
  }

  /// Counts the responses among the effects.
  mutating func counted(_ effects: [MCPServer.Effect]) {
    for effect in effects {
      switch effect {
      case .answer(_, let reply): answers[reply.status, default: 0] += 1
      case .begin: answers[200, default: 0] += 1
      case .watch, .write, .end, .call, .abandon, .store: break
      }
    }
  }
}

extension MCPServer {
  /// Returns the input that starts a drain.
  public static func drain(within window: Duration) -> Input { .drain }

  /// Whether the server is draining. The relay ends the calls that are still pending.
  public var isFinished: Bool { isDraining && !isStoring }

  /// The health of the service. It depends only on the drain, since the service has no store.
  public var serviceHealth: ServiceHealth { isDraining ? .draining : .ok }

  /// Adds the server's metrics to the backend's page.
  public func report(to page: inout MetricsPage) {
    page.one("mcp_sessions", .gauge, "Sessions of assistants.", UInt64(sessions.count))
    page.one(
      "mcp_conversations", .gauge, "Conversations of the plain endpoints.",
      UInt64(conversations.count))
    page.one("mcp_waiting", .gauge, "Calls that wait for the relay.", UInt64(waiting.count))
    page.one("mcp_streams", .gauge, "Open streams without a call.", UInt64(streams.count))
    let requests = metrics.requests.map { ($0.key.name, $0.value) }
    page.counters(
      "mcp_requests", "Requests of assistants.", by: "route",
      Dictionary(requests, uniquingKeysWith: +))
    page.counters(
      "mcp_answers", "Requests answered, streams when they begin.", by: "status", metrics.answers)
    page.many(
      "mcp_tool_calls_total", .counter, "Calls of tools that ended.",
      metrics.calls.sorted { $0.key < $1.key }.map {
        ("tool=\"\($0.key.name)\",outcome=\"\($0.key.outcome)\"", $0.value)
      })
  }
}
