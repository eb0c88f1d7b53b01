/// A category of practices. The order of the cases is the order in the review.
public enum PracticeCategory: String, Sendable, Hashable, CaseIterable {
  case connection = "Connection Management"
  case delivery = "Message Delivery"
  case authentication = "Authentication"
  case mobile = "Mobile-Specific"
  case `protocol` = "Protocol Design"
  case degraded = "Detecting Degraded Connections"
  case bandwidth = "Poor Bandwidth Handling"
  case intermittent = "Intermittent Signal Handling"
  case lifecycle = "App Lifecycle Resilience"
  case transition = "Network Transition Handling"
  case server = "Server-Side Resilience"
  case observability = "Observability"
  case edge = "Edge Cases"

  /// The heading of the category's section. The review's table has a shorter heading for `mobile`.
  public var heading: String { self == .mobile ? "Mobile-Specific Concerns" : rawValue }

  /// The category's practices, in order.
  public var practices: [Practice] { Practice.all.filter { $0.category == self } }
}

/// One of the 40 practices, with the rules for judging it from outside.
///
/// A verdict concerns only the server. The behavior of a client cannot be observed from outside, so
/// practices for clients have no checked probes. Their evidence is the related behavior of the
/// server.
public struct Practice: Sendable, Hashable {
  /// The practice's number, from 1 to 40.
  public var number: Int
  /// The practice's name.
  public var title: String
  /// The practice's category.
  public var category: PracticeCategory
  /// The probes that determine the verdict.
  public var checked: [Probe]
  /// The rule that derives the verdict from the findings of the checked probes.
  public var rule: VerdictRule
  /// The checked probes that are indispensable. If one of them finds its behavior missing, the
  /// practice is not met.
  public var essential: Set<Probe>
  /// The probes that are reported but do not affect the verdict.
  public var observed: [Probe]
  /// The part that cannot be observed from outside, and the reason. It is empty if every part can
  /// be observed.
  public var limit: String

  init(
    _ number: Int, _ title: String, _ category: PracticeCategory, checked: [Probe] = [],
    rule: VerdictRule = .all, essential: Set<Probe> = [], observed: [Probe] = [],
    limit: String = ""
  ) {
    (self.number, self.title, self.category, self.checked) = (number, title, category, checked)
    (self.rule, self.essential, self.observed, self.limit) = (rule, essential, observed, limit)
  }

  /// All 40 practices, in order.
  public static let all = first + second
}

extension Practice {
  private static let first = [
    Practice(
      1, "Robust reconnection logic (exponential backoff with jitter)", .connection,
      observed: [.burst], limit: "only a client waits between its attempts"),
    Practice(
      2, "Network transition handling (reachability)", .connection, observed: [.takeover],
      limit: "only a client watches its network"),
    Practice(
      3, "Heartbeats/ping-pong", .connection, checked: [.applicationPing, .protocolPing],
      rule: .any, limit: "the client chooses the interval"),
    Practice(
      4, "Message acknowledgment", .delivery,
      checked: [.messageID, .ackQuiet, .replay, .ackEnds]),
    Practice(5, "Message ordering", .delivery, checked: [.order, .places]),
    Practice(
      6, "Authentication on connect", .authentication, checked: [.early, .wrongKey, .missingKey],
      essential: [.early, .wrongKey, .missingKey],
      limit: "where a client keeps its key is its own matter"),
    Practice(
      7, "Re-authentication on reconnect", .authentication, checked: [.keyAgain],
      limit: "whether a user is asked again is the client's matter"),
    Practice(
      8, "Message size limits", .mobile,
      checked: [.sizeTaken, .truncation, .hugeFrame, .bystander]),
    Practice(
      9, "App lifecycle: close in the background, reconnect in the foreground", .mobile,
      observed: [.closing], limit: "only a client has a background"),
    Practice(
      10, "Battery: no aggressive polling or pings", .mobile, observed: [.heartbeat],
      limit: "the client decides how often it wakes"),
    Practice(
      11, "Typed and versioned messages", .protocol,
      checked: [.typed, .naming, .version, .olderHistory]),
    Practice(12, "Idempotency", .protocol, checked: [.sameKey, .messageID]),
    Practice(
      13, "Error handling", .protocol,
      checked: [.distinctErrors, .unknownType, .oldVersion]),
    Practice(
      14, "Connection quality monitoring", .degraded, checked: [.roundTrips],
      limit: "what a client makes of round trips cannot be seen"),
    Practice(
      15, "Application-level timeouts", .degraded, checked: [.strangerClosed],
      limit: "the client's own timeouts cannot be seen"),
    Practice(
      16, "Slow is not dead", .degraded, checked: [.silentClient],
      limit: "how a client escalates cannot be seen"),
    Practice(
      17, "Message prioritization", .bandwidth, checked: [.congestion],
      limit: "the order of a client's queue cannot be seen"),
    Practice(18, "Compression", .bandwidth, checked: [.compression]),
    Practice(
      19, "Adaptive payload size", .bandwidth, checked: [.sizeTaken, .truncation],
      essential: [.truncation],
      limit: "whether a client adapts cannot be seen; a server has to obey the size"),
    Practice(20, "Delta synchronization", .bandwidth, checked: [.delta]),
  ]

  private static let second = [
    Practice(
      21, "Offline-first queue", .intermittent, observed: [.replay],
      limit: "the queue of a client cannot be seen"),
    Practice(
      22, "Optimistic display with confirmation and rollback", .intermittent,
      checked: [.promptAck, .promptRefused], limit: "what a client displays cannot be seen"),
    Practice(23, "Request coalescing", .intermittent, checked: [.batch]),
    Practice(24, "Half-open connection detection", .intermittent, checked: [.heartbeat]),
    Practice(
      25, "Persistence of pending messages", .lifecycle, observed: [.replay],
      limit: "whether messages survive a kill of either end cannot be seen without killing it"),
    Practice(
      26, "Background transfers for critical uploads", .lifecycle,
      limit: "transfers of the operating system do not use a WebSocket; nothing of them was sent"),
    Practice(
      27, "Graceful entry to the background", .lifecycle, observed: [.closing, .delta],
      limit: "only a client has a background"),
    Practice(
      28, "Background time for work under way", .lifecycle, observed: [.closing],
      limit: "only a client asks its operating system for time"),
    Practice(
      29, "Change between Wi-Fi and cellular", .transition, observed: [.takeover],
      limit: "only a client sees its interfaces"),
    Practice(
      30, "Connection quality after a change of path", .transition, observed: [.roundTrips],
      limit: "only a client resets its round-trip times"),
    Practice(
      31, "Captive portal detection", .transition, observed: [.health],
      limit: "there is no portal on this path, and only a client looks for one"),
    Practice(
      32, "Draining before a stop", .server, observed: [.announced],
      limit: "the server was not stopped"),
    Practice(
      33, "Affinity with a fallback", .server, observed: [.keyAgain],
      limit: "the nodes behind an address cannot be seen"),
    Practice(
      34, "Circuit breaker", .server, observed: [.burst],
      limit: "only a client stops trying"),
    Practice(
      35, "Logs of the connection's lifecycle", .observability, observed: [.closing],
      limit: "logs cannot be seen"),
    Practice(
      36, "Metrics", .observability, checked: [.metrics],
      limit: "the metrics of a client cannot be seen, and a server's may be private"),
    Practice(
      37, "Visible connection status", .observability, observed: [.typed],
      limit: "what a client displays cannot be seen"),
    Practice(
      38, "Clock skew", .edge, checked: [.stamps, .places],
      limit: "whether a client orders by its own clock cannot be seen"),
    Practice(
      39, "Replay protection", .edge, checked: [.challenge, .challengeTaken, .challengeOnce],
      essential: [.challenge, .challengeTaken, .challengeOnce], observed: [.encrypted]),
    Practice(
      40, "Corrupted messages", .edge, checked: [.malformed, .untyped, .unknownType, .binary]),
  ]
}
