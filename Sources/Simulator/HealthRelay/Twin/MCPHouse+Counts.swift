import LinkCore
import LinkServerCore
import LinkWire

extension MCPHouse {
  /// The numbers that a server goes by, written out.
  struct Numbers: Sendable, Equatable {
    var rooms = 4_096
    var idle = Duration.seconds(7_200)
    var calls = 1_024
    var callsOfRoom = 16
    var busy = Duration.seconds(2)
    var progress = Duration.seconds(5)
    var comment = Duration.seconds(15)
    var call = Duration.seconds(45)
    var eventBytes = 1_000_000
    var batchBytes = 8_388_608
    /// Whether the server listens on its machine alone, and is reached by names of a proxy.
    var isLocal = true
    var isNamed = false
    var hasOwnName = false
    var letsPageIn = false

    /// How often a slow call says something.
    func pause(_ envelope: Envelope) -> Duration {
      envelope.progress == nil ? comment : progress
    }

    /// The same numbers for the server.
    var policy: MCPPolicy {
      var policy = MCPPolicy()
      policy.maxSessions = rooms
      policy.idle = idle
      policy.maxCalls = calls
      policy.callsPerSession = callsOfRoom
      policy.busyRetry = busy
      policy.progressInterval = progress
      policy.commentInterval = comment
      policy.callLimit = call
      policy.maxEventBytes = eventBytes
      policy.maxBatchBytes = batchBytes
      policy.doors.isLocal = isLocal
      policy.doors.hosts = isNamed ? ["relay.example", "relay.example:8443"] : []
      policy.doors.ownName = hasOwnName ? "box.local" : nil
      policy.doors.origins = letsPageIn ? ["https://app.example"] : []
      return policy
    }

    /// The numbers without those that would let the server spin or stand still.
    var sound: Numbers {
      var numbers = self
      for time in [\Numbers.idle, \.progress, \.comment] {
        if numbers[keyPath: time] < .milliseconds(1) { numbers[keyPath: time] = .milliseconds(1) }
      }
      for bound in [\Numbers.rooms, \.calls, \.callsOfRoom] where numbers[keyPath: bound] < 1 {
        numbers[keyPath: bound] = 1
      }
      return numbers
    }
  }

  mutating func count(_ name: String) { counts[name, default: 0] += 1 }

  /// Counts a call of a tool that ended; `nil` is a tool that there is not.
  mutating func count(_ tool: MCPTool?, _ outcome: String) {
    let name = tool?.rawValue ?? "unknown"
    count("mcp_tool_calls_total{tool=\"\(name)\",outcome=\"\(outcome)\"}")
  }

  /// The lines of metrics that are not zero, in their order.
  var page: [String] {
    let gauges = [
      ("mcp_sessions", rooms.count), ("mcp_conversations", talks.count),
      ("mcp_waiting", jobs.count), ("mcp_streams", streams.count),
    ]
    let lines = gauges.filter { $0.1 > 0 }.map { "holdfast_\($0.0) \($0.1)" }
    let parts = ["mcp_requests_total", "mcp_answers_total", "mcp_tool_calls_total"]
    return lines
      + parts.flatMap { part in
        counts.filter { $0.key.hasPrefix(part) }.sorted { $0.key < $1.key }
          .map { "holdfast_\($0.key) \($0.value)" }
      }
  }

  /// Returns what the server's page says otherwise.
  func difference(from page: String) -> String? {
    let lines = page.split(separator: "\n").map(String.init)
      .filter { $0.hasPrefix("holdfast_mcp_") && !$0.hasSuffix(" 0") }
    let must = self.page
    if lines == must { return nil }
    let place = zip(lines, must).prefix { $0 == $1 }.count
    let found = lines.dropFirst(place).first ?? "nothing"
    return "its page says \(found), not \(must.dropFirst(place).first ?? "nothing")"
  }
}

extension RelayRefusal {
  /// The word, the status and the time to come again that go with a refusal.
  var mcpTerms: (word: String, status: Int, again: Duration?) {
    switch self {
    case .wrongPair: ("invalid_credentials", 401, nil)
    case .lockedOut(let wait): ("locked_out", 429, wait)
    case .notSignedIn: ("not_signed_in", 401, nil)
    case .tokenExpired: ("token_expired", 401, nil)
    case .signedOut: ("signed_out", 401, nil)
    case .phoneAway: ("phone_away", 503, nil)
    case .phoneReplaced: ("phone_replaced", 401, nil)
    case .timedOut: ("timed_out", 504, nil)
    case .cancelled: ("cancelled", 409, nil)
    case .tooManyWaiting(let wait): ("too_many_waiting", 429, wait)
    case .malformed: ("malformed_answer", 502, nil)
    case .answerTooLarge: ("answer_too_large", 422, nil)
    case .storeFailed(let wait): ("store_failed", 503, wait)
    case .stopping(let wait): ("stopping", 503, wait)
    }
  }
}
