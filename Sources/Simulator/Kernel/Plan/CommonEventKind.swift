import HoldfastCore
import HoldfastLinkChecks

/// The kinds of planned events that the kernel provides. The plans of every feature can use them.
public enum CommonEventKind: String, PlanEventKind {
  // A phone.
  /// The user switches to another app for a while. This app stays in memory, and its timers keep
  /// running.
  case background
  /// The user switches to another app, and the system suspends this app after 5 s.
  case suspend
  /// The whole device sleeps and wakes.
  case sleep
  /// The process dies between two effects. It is launched again after a time span.
  case kill
  case storeFull, storeLocked, storeSlow
  /// The phone's wall clock jumps.
  case wallClock

  // The network of one phone.
  /// Every connection is reset.
  case reset
  /// Every connection is reset some seconds after it opens.
  case flap
  /// Each connection takes seconds to open, and is reset shortly before it is considered stable.
  case waver
  /// Connections appear open at both ends, but nothing passes over them any more.
  case halfOpen
  /// Nothing passes on any connection, and neither end is notified.
  case blackHole
  /// The device has no network, and detects it.
  case unreachable
  /// Another network interface takes over, and old connections are dead.
  case handover
  /// NAT mappings expire. Connections that have been idle for a minute die silently.
  case mappingExpired
  /// A login page responds in place of the server. The device may or may not detect it.
  case captivePortal
  /// No new connection can be opened, for sockets or for requests.
  case dialsFail
  /// The bandwidth is limited to a number of bytes per second.
  case narrow

  // A server.
  /// The process dies. Connections are refused until it has restarted.
  case crash
  /// The process drains, closes connections with code 1001, and restarts.
  case deploy
  /// Every request is answered with the given status.
  case restStatus
  /// Every upgrade is answered with the given status.
  case upgradeStatus
  /// Every upgrade is answered with 503 and a `Retry-After`.
  case busy
  /// Each call of the store takes a given time.
  case slowStore
  /// Sockets are closed with a close code of RFC 6455 section 7.4.
  case close
  /// The server's wall clock jumps.
  case serverClock

  /// The declarations of all event kinds.
  public static let forms: [CommonEventKind: EventForm] = [
    .background: EventForm(.span, isOfPeople: true) { "looks at another app for \(length($0))" },
    .suspend: EventForm(.span, isOfPeople: true) {
      "looks at another app for \(length($0)), and this one is suspended"
    },
    .sleep: EventForm(.span) { "the phone sleeps for \(length($0))" },
    // A process may take up to 1 s to end. The span begins after that.
    .kill: EventForm(.span, or: [.backend], lasting: .spanAnd(.seconds(1))) {
      "the process dies, and is launched again after \(length($0))"
    },
    .storeFull: EventForm(.span, or: [.backend]) { "the disk is full for \(length($0))" },
    .storeLocked: EventForm(.span, or: [.backend]) { "the store is locked for \(length($0))" },
    .storeSlow: EventForm(.span, or: [.backend]) { "the store is slow for \(length($0))" },
    .wallClock: EventForm(.jump) { "the phone's wall clock jumps by \(TraceText.length($0.time))" },
    .reset: EventForm { _ in "every connection is reset" },
    .flap: EventForm(.span) {
      "every connection is reset some seconds after it opens, for \(length($0))"
    },
    .waver: EventForm(.span) {
      "every connection opens slowly and is reset before it counts as stable, for \(length($0))"
    },
    .halfOpen: EventForm { _ in "every connection goes dead silently" },
    .blackHole: EventForm(.span) {
      "nothing passes for \(length($0)), and neither end is notified"
    },
    .unreachable: EventForm(.span) { "no network for \(length($0))" },
    .handover: EventForm { _ in "another network takes over" },
    .mappingExpired: EventForm { _ in "idle connections are forgotten on the way" },
    .captivePortal: EventForm(.span, .choice(["known", "unknown"])) {
      "a login page is in the way for \(length($0))"
        + ($0.choice == "known" ? "" : ", unknown to the phone")
    },
    .dialsFail: EventForm(.choice(DialObstacle.allCases.map(\.rawValue)), .span) {
      "\(DialObstacle(rawValue: $0.choice)?.description ?? $0.choice) for \(length($0))"
    },
    .narrow: EventForm(.number(1...1_000_000_000), .span) {
      "only \($0.number) bytes a second for \(length($0))"
    },
    .crash: EventForm(.span, of: .backend) {
      "the server crashes, and is back after \(length($0))"
    },
    // A drain takes at most 10 s.
    .deploy: EventForm(.span, of: .backend, lasting: .spanAnd(.seconds(11))) {
      "the server closes all connections for a new version, back after \(length($0))"
    },
    .restStatus: EventForm(.number(200...599), .span, of: .backend) {
      "every request is answered with \($0.number) for \(length($0))"
    },
    .upgradeStatus: EventForm(.number(200...599), .span, of: .backend) {
      "every connection is refused with \($0.number) for \(length($0))"
    },
    .busy: EventForm(.time, .span, of: .backend) {
      "every connection is refused for \(length($0)), with a Retry-After of "
        + TraceText.length($0.time)
    },
    .slowStore: EventForm(.time, .span, of: .backend) {
      "the server's store takes \(TraceText.length($0.time)) a call for \(length($0))"
    },
    .close: EventForm(.number(1000...4999), of: .backend) {
      "the server closes every connection with \($0.number)"
    },
    .serverClock: EventForm(.jump, of: .backend) {
      "the server's wall clock jumps by \(TraceText.length($0.time))"
    },
  ]
}

/// The reason why dialing fails.
public enum DialObstacle: String, Sendable, Hashable, CaseIterable {
  /// The name does not resolve.
  case dns
  /// The proxy refuses the connection.
  case proxy
  /// The certificate belongs to another party. A retry would only help an attacker.
  case certificate
  /// The phone has no file descriptors left.
  case local

  var description: String {
    switch self {
    case .dns: "the server's name does not resolve"
    case .proxy: "the proxy refuses"
    case .certificate: "somebody else's certificate is shown"
    case .local: "the phone can open no connection"
    }
  }

  /// The failure that a dial or a request reports.
  var failure: LinkFailure {
    switch self {
    case .dns: .dns(detail: "the name does not resolve")
    case .proxy: .proxy(detail: "the proxy answered 407")
    case .certificate: .tls(.unknownAuthority, detail: "nobody known vouches for it")
    case .local: .local(detail: "no descriptor is left")
    }
  }
}

/// Returns a description of an event's duration.
public func length(_ values: EventValues) -> String { TraceText.length(values.span) }
