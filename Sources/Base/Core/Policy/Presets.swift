/// The policies of the features.
///
/// The numbers come from the apps and protocols for which the features were made. Where these
/// contradict each other or give no number, a comment gives the reason for the choice.
extension LinkPolicy {
  /// Every preset, in the order of tables.
  public static let presets: [LinkPolicy] = [
    messageStream, healthRelayService, healthRelayQuick, healthRelayForeground, session, bottleLink,
    healthSync, socket,
  ]

  /// Returns the preset with this name.
  public static func preset(named name: String) -> LinkPolicy? {
    presets.first { $0.name == name }
  }

  /// Returns a policy that cannot be invalid, because the tests validate every preset.
  private static func proven(
    _ make: () throws(PolicyError) -> LinkPolicy
  ) -> LinkPolicy {
    do {
      return try make()
    } catch {
      preconditionFailure("a preset is invalid, which the tests exclude: \(error)")
    }
  }

  /// The usual failure actions.
  ///
  /// They stop after responses that are final for every feature. They retry with jitter when many
  /// clients may return at once, which is after a refusal with a status, and after the close codes
  /// of a server that restarts or is full. Other close codes concern only one client (decision
  /// 0013).
  private static let usual: [FailureClass: FailureAction] = [
    .tls: .stop, .badRequest: .stop, .forbidden: .stop, .closedForbidden: .stop,
    .unauthorized: .refresh, .closedUnauthorized: .refresh,
    .tooManyRequests: .retryJittered, .unavailable: .retryJittered, .serverError: .retryJittered,
    .closedRestart: .retryJittered,
  ]

  /// Returns the usual failure actions with the given changes.
  private static func usual(but rows: [FailureClass: FailureAction]) -> [FailureClass:
    FailureAction]
  {
    var actions = usual
    for (row, action) in rows { actions[row] = action }
    return actions
  }

  /// The policy of MessageStream: a socket with catch-up, and polling as the standby.
  public static let messageStream = proven { () throws(PolicyError) in
    try LinkPolicy(
      name: "message-stream",
      retry: RetryPolicy(
        first: .list([.seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16)]),
        reconnect: .list([.zero, .seconds(1), .seconds(2), .seconds(4), .seconds(8)]),
        windows: [AttemptWindow(attempts: 10, per: .seconds(60))],
        // Longer than the jitter window. Otherwise clients would return in step if a server accepts
        // and then drops them.
        stability: Stability(after: .seconds(10), provenByData: true),
        serverJitter: .seconds(5), maxRetryAfter: .seconds(900)),
      gate: GatePolicy(
        needsCredentials: true, refreshLead: .seconds(60), refreshTimeout: .seconds(15),
        debounce: .seconds(2), networkChange: .reconnect,
        background: .leave(after: .zero, then: .hold), foreground: .connect(after: .zero)),
      liveness: LivenessPolicy(
        silence: .seconds(90), ping: nil, pongTimeout: .seconds(10), pongRoundTrips: 3),
      establish: EstablishPolicy(
        milestone: .opened, openTimeout: .seconds(5), timeout: .seconds(5),
        // The longest time until polling, as in the original app.
        prepare: .seconds(10)),
      standby: .poll(
        PollPolicy(
          interval: .seconds(30), jitter: 0.1, probe: .seconds(300), slowProbe: .seconds(900))),
      actions: usual(but: [
        .refused: .standby, .protocolError: .standby, .otherStatus: .standby,
        .captivePortal: .standby, .closedPolicy: .standby,
        .notFound: .standbySlow, .unavailable: .standbySlow,
      ]))
  }

  /// The policy of HealthRelay with a foreground service and more retries after a session.
  ///
  /// The link stays connected in the background and stops after 15 idle minutes.
  public static let healthRelayService = proven { () throws(PolicyError) in
    try healthRelay(
      name: "health-relay-service", background: .stay,
      idle: IdleRule(after: .seconds(900), then: .idle),
      // The waits add up to 75 s, so that all phones reconnect to a backend that restarts within a
      // minute.
      reconnect: [2, 2, 4, 6, 8, 8, 9, 9, 9, 9, 9].map { .seconds($0) }, actions: [:])
  }

  /// The policy of HealthRelay with a foreground service that ends with an error after two quick
  /// retries.
  public static let healthRelayQuick = proven { () throws(PolicyError) in
    try healthRelay(
      name: "health-relay-quick", background: .stay,
      idle: IdleRule(after: .seconds(900), then: .idle), reconnect: [.seconds(2), .seconds(2)],
      actions: capped)
  }

  /// The policy of HealthRelay without a foreground service: the link ends in the background, and
  /// the user connects again.
  public static let healthRelayForeground = proven { () throws(PolicyError) in
    try healthRelay(
      name: "health-relay-foreground", background: .leave(after: .zero, then: .idle), idle: nil,
      reconnect: [.seconds(2), .seconds(2)], actions: capped)
  }

  /// The required cap of 2 s leaves no room for jitter.
  private static let capped: [FailureClass: FailureAction] = [
    .tooManyRequests: .retry, .unavailable: .retry, .serverError: .retry, .closedRestart: .retry,
  ]

  private static func healthRelay(
    name: String, background: BackgroundRule, idle: IdleRule?,
    reconnect: [Duration], actions: [FailureClass: FailureAction]
  ) throws(PolicyError) -> LinkPolicy {
    var own: [FailureClass: FailureAction] = [
      .unauthorized: .stop, .closedUnauthorized: .stop,
      // Two clients with one device identity would replace each other forever.
      .closedReplaced: .stop,
    ]
    // `merging` needs dynamic casts, which Embedded Swift does not have.
    for (row, action) in actions { own[row] = action }
    return try LinkPolicy(
      name: name,
      retry: RetryPolicy(
        first: .list([.seconds(2), .seconds(2)]), reconnect: .list(reconnect),
        // Project choice, since the original app gives no number: ten connects by the user within a
        // minute, with two retries each. A user who presses again does not have to wait.
        windows: [AttemptWindow(attempts: 30, per: .seconds(60))],
        // The code arrives right after every accept, so data does not show that the link is stable.
        stability: Stability(after: .seconds(30), provenByData: false),
        serverJitter: .seconds(2), maxRetryAfter: .seconds(60)),
      gate: GatePolicy(
        needsCredentials: false, refreshLead: .seconds(60), refreshTimeout: .seconds(15),
        debounce: .zero, networkChange: .loss, background: background, foreground: .wait),
      liveness: LivenessPolicy(
        silence: nil, ping: .seconds(25), pongTimeout: .seconds(10), pongRoundTrips: 3,
        idle: idle),
      establish: EstablishPolicy(
        milestone: .confirmed, openTimeout: .seconds(10), timeout: .seconds(10)),
      standby: .none, actions: usual(but: own))
  }

  /// The policy of Session: a socket with prompts and answers.
  public static let session = proven { () throws(PolicyError) in
    // The required values: min(2^n, 30) s, ±25 %, at least 1 s, 20 attempts.
    let schedule = Schedule.exponential(
      first: .seconds(1), factor: 2, cap: .seconds(30), jitter: 0.25, floor: .seconds(1),
      attempts: 20)
    return try LinkPolicy(
      name: "session",
      retry: RetryPolicy(
        first: schedule, reconnect: schedule,
        windows: [AttemptWindow(attempts: 10, per: .seconds(60))],
        // The failures of two whole series, each with a loss and 20 attempts, which take at least
        // 360 s. The schedule alone never reaches the limit, but repeated requests by a user do.
        // Project choice: the pause is as long as one window.
        breaker: Breaker(failures: 42, within: .seconds(600), pause: .seconds(60)),
        stability: Stability(after: .seconds(30), provenByData: true),
        serverJitter: .seconds(5), maxRetryAfter: .seconds(300)),
      gate: GatePolicy(
        needsCredentials: true, refreshLead: .seconds(60), refreshTimeout: .seconds(15),
        // Practice 29: a new connection does not wait for the one over the old path. The original
        // app has 25 s to flush.
        debounce: .zero, networkChange: .reconnect,
        background: .leave(after: .seconds(25), then: .hold), foreground: .connect(after: .zero),
        // Practice 31. Project choices: the time-out is as long as a round trip may take, and
        // checks are as rare as attempts.
        portal: PortalPolicy(probe: .seconds(5), wait: .seconds(30))),
      liveness: LivenessPolicy(
        // The required values: two heartbeats of 45 s; a ping every 30, 45 or 60 s, depending on
        // quality; and three missing pongs, after 5, 10 and 15 s.
        silence: .seconds(90), ping: .seconds(30), degradedPing: .seconds(45),
        poorPing: .seconds(60), pongTimeout: .seconds(5), pongRoundTrips: 3, pongTries: 3),
      establish: EstablishPolicy(
        milestone: .confirmed, openTimeout: .seconds(10), timeout: .seconds(15)),
      standby: .none,
      // Two clients with one identity replace each other, but must not do so in step.
      actions: usual(but: [.closedReplaced: .retryJittered]))
  }

  /// The policy of BottleLink: scan bursts in the foreground, the OS's queued connect otherwise.
  public static let bottleLink = proven { () throws(PolicyError) in
    try LinkPolicy(
      name: "bottle-link",
      retry: RetryPolicy(
        first: .list([]), reconnect: .list([.seconds(3)]),
        windows: [AttemptWindow(attempts: 10, per: .seconds(60))],
        stability: Stability(after: .seconds(5), provenByData: true),
        serverJitter: .seconds(1), maxRetryAfter: .seconds(60)),
      gate: GatePolicy(
        needsCredentials: false, refreshLead: .zero, refreshTimeout: .seconds(15), debounce: .zero,
        // The adapter takes the place of the network path: without it, no connection is open or
        // queued.
        networkChange: .loss, background: .leave(after: .seconds(5), then: .standby),
        foreground: .connect(after: .milliseconds(500))),
      liveness: LivenessPolicy(
        // Pings are sent only during a hold. The original app's 30 s are too long, since the
        // bottle falls asleep 30 s after a write.
        silence: nil, ping: .seconds(25), pongTimeout: .seconds(10), pongRoundTrips: 3,
        idle: IdleRule(after: .seconds(60), then: .standby)),
      establish: EstablishPolicy(
        // A burst scans for 5 s. GATT then has 10 s to become ready.
        milestone: .confirmed, openTimeout: .seconds(5), timeout: .seconds(15)),
      // Measured in the field: a link that fails within 2 s could loop. With a rearm delay of 30 s,
      // it did not loop and recovered from 6 of 6 drops, with a median of 10 s.
      standby: .queuedConnect(
        QueuePolicy(rearm: .seconds(1), fastFailure: .seconds(2), floor: .seconds(30))),
      actions: [:])
  }

  /// The policy of HealthSync: uploads without a link.
  public static let healthSync = proven { () throws(PolicyError) in
    try LinkPolicy(
      name: "health-sync",
      retry: RetryPolicy(
        // A person who waits for a first sync learns after 31 s that the server is unreachable.
        first: .list([1, 2, 4, 8, 16].map { .seconds($0) }),
        // During an outage, a phone makes 14 attempts in the first 12 hours.
        reconnect: .exponential(
          first: .seconds(5), factor: 2, cap: .seconds(3_600), jitter: 0.25, floor: .seconds(1),
          attempts: nil),
        windows: [AttemptWindow(attempts: 10, per: .seconds(60))],
        stability: Stability(after: .seconds(60), provenByData: true),
        serverJitter: .seconds(5), maxRetryAfter: .seconds(21_600)),
      gate: GatePolicy(
        needsCredentials: true, refreshLead: .seconds(60), refreshTimeout: .seconds(15),
        debounce: .seconds(2), networkChange: .ignore, background: .stay,
        foreground: .connect(after: .zero)),
      liveness: LivenessPolicy(
        silence: .seconds(60), ping: nil, pongTimeout: .seconds(10), pongRoundTrips: 3),
      establish: EstablishPolicy(
        milestone: .confirmed, openTimeout: .seconds(30), timeout: .seconds(60)),
      standby: .none, actions: usual, holdsLink: false)
  }

  /// The policy of HeldSocket for any WebSocket server: unlimited retries, even after the server's
  /// own close codes.
  public static let socket = proven { () throws(PolicyError) in
    // The cap of 30 s follows SignalR and the preset `session`, and the jitter follows `session`, so
    // that a fleet does not retry in step.
    let schedule = Schedule.exponential(
      first: .seconds(1), factor: 2, cap: .seconds(30), jitter: 0.25, floor: .milliseconds(500),
      attempts: nil)
    return try LinkPolicy(
      name: "socket",
      retry: RetryPolicy(
        first: schedule, reconnect: schedule,
        windows: [AttemptWindow(attempts: 10, per: .seconds(60))],
        stability: Stability(after: .seconds(10), provenByData: true),
        serverJitter: .seconds(5), maxRetryAfter: .seconds(900)),
      gate: GatePolicy(
        needsCredentials: false, refreshLead: .seconds(60), refreshTimeout: .seconds(15),
        debounce: .zero, networkChange: .probe,
        background: .leave(after: .seconds(25), then: .hold), foreground: .connect(after: .zero)),
      liveness: LivenessPolicy(
        // The interval of Socket.IO. It is below the 60 s after which nginx and load balancers cut
        // idle connections.
        silence: nil, ping: .seconds(25), pongTimeout: .seconds(10), pongRoundTrips: 3),
      establish: EstablishPolicy(
        milestone: .confirmed, openTimeout: .seconds(10), timeout: .seconds(15)),
      standby: .none,
      // 4000 to 4999 are reserved for applications (RFC 6455 section 7.4.2).
      actions: usual(but: [.closedUnauthorized: .retry, .closedForbidden: .retry]))
  }
}
