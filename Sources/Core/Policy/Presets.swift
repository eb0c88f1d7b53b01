/// The policies of the features. Numbers are the seeds'; where a seed contradicts itself or is
/// silent, the comment says why this one.
extension LinkPolicy {
  /// Every preset, in the order of tables.
  public static let presets: [LinkPolicy] = [
    messageStream, healthRelayService, healthRelayQuick, healthRelayForeground, session, bottleLink,
    healthSync, socket,
  ]

  /// The preset called `name`.
  public static func preset(named name: String) -> LinkPolicy? {
    presets.first { $0.name == name }
  }

  /// A preset is checked by the tests, so it cannot fail where it is used.
  private static func proven(
    _ make: () throws(PolicyError) -> LinkPolicy
  ) -> LinkPolicy {
    do {
      return try make()
    } catch {
      preconditionFailure("a preset is invalid, which the tests exclude: \(error)")
    }
  }

  /// Answers that end the trying wherever they come from, and those after which many may come back
  /// at once: a refusal with a status, and the closes of a server that restarts or is full. Other
  /// closes are one client's own (decision 0013).
  private static let usual: [FailureClass: Verdict] = [
    .tls: .stop, .badRequest: .stop, .forbidden: .stop, .closedForbidden: .stop,
    .unauthorized: .refresh, .closedUnauthorized: .refresh,
    .tooManyRequests: .retrySpread, .unavailable: .retrySpread, .serverError: .retrySpread,
    .closedRestart: .retrySpread,
  ]

  /// The same with other rows.
  private static func usual(but rows: [FailureClass: Verdict]) -> [FailureClass: Verdict] {
    var verdicts = usual
    for (row, verdict) in rows { verdicts[row] = verdict }
    return verdicts
  }

  /// Seed 001: a socket with catch-up, polling as its standby.
  public static let messageStream = proven { () throws(PolicyError) in
    try LinkPolicy(
      name: "message-stream",
      retry: RetryPolicy(
        first: .list([.seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16)]),
        reconnect: .list([.zero, .seconds(1), .seconds(2), .seconds(4), .seconds(8)]),
        windows: [AttemptWindow(attempts: 10, per: .seconds(60))],
        // Longer than the spread, so that a server that accepts and drops is not met in step.
        stability: Stability(after: .seconds(10), provenByData: true),
        serverSpread: .seconds(5), longestWish: .seconds(900)),
      gate: GatePolicy(
        needsCredentials: true, refreshLead: .seconds(60), refreshTimeout: .seconds(15),
        settle: .seconds(2), networkChange: .reconnect,
        background: .leave(after: .zero, then: .hold), foreground: .connect(after: .zero)),
      liveness: LivenessPolicy(
        silence: .seconds(90), ping: nil, pongTimeout: .seconds(10), pongRoundTrips: 3),
      establish: EstablishPolicy(
        milestone: .opened, openTimeout: .seconds(5), timeout: .seconds(5),
        // The seed's longest time to polling.
        prepare: .seconds(10)),
      standby: .poll(
        PollPolicy(
          interval: .seconds(30), jitter: 0.1, probe: .seconds(300), slowProbe: .seconds(900))),
      verdicts: usual(but: [
        .refused: .standby, .protocolError: .standby, .otherStatus: .standby,
        .captivePortal: .standby, .closedPolicy: .standby,
        .notFound: .standbySlow, .unavailable: .standbySlow,
      ]))
  }

  /// Seed 000 with a foreground service, and more patience after a session: stays up in background,
  /// stops after 15 idle minutes (decision 0046).
  public static let healthRelayService = proven { () throws(PolicyError) in
    try healthRelay(
      name: "health-relay-service", background: .stay,
      idle: IdleRule(after: .seconds(900), then: .idle),
      // 75 s of waits: a backend that restarts for up to a minute loses no phone.
      reconnect: [2, 2, 4, 6, 8, 8, 9, 9, 9, 9, 9].map { .seconds($0) }, verdicts: [:])
  }

  /// Seed 000 with a foreground service, to the letter: two quick retries, then an error.
  public static let healthRelayQuick = proven { () throws(PolicyError) in
    try healthRelay(
      name: "health-relay-quick", background: .stay,
      idle: IdleRule(after: .seconds(900), then: .idle), reconnect: [.seconds(2), .seconds(2)],
      verdicts: capped)
  }

  /// Seed 000 without one: background ends it, and the user connects again.
  public static let healthRelayForeground = proven { () throws(PolicyError) in
    try healthRelay(
      name: "health-relay-foreground", background: .leave(after: .zero, then: .idle), idle: nil,
      reconnect: [.seconds(2), .seconds(2)], verdicts: capped)
  }

  /// The seed's cap of 2 s leaves no room for a spread.
  private static let capped: [FailureClass: Verdict] = [
    .tooManyRequests: .retry, .unavailable: .retry, .serverError: .retry, .closedRestart: .retry,
  ]

  private static func healthRelay(
    name: String, background: BackgroundRule, idle: IdleRule?,
    reconnect: [Duration], verdicts: [FailureClass: Verdict]
  ) throws(PolicyError) -> LinkPolicy {
    var own: [FailureClass: Verdict] = [
      .unauthorized: .stop, .closedUnauthorized: .stop,
      // Two that hold one device would replace each other for ever.
      .closedReplaced: .stop,
    ]
    // `merging` casts dynamically, which Embedded Swift does not have.
    for (row, verdict) in verdicts { own[row] = verdict }
    return try LinkPolicy(
      name: name,
      retry: RetryPolicy(
        first: .list([.seconds(2), .seconds(2)]), reconnect: .list(reconnect),
        // The seed names none. Ten connects of a user in a minute, with two retries each: a user
        // who presses again is not made to wait.
        windows: [AttemptWindow(attempts: 30, per: .seconds(60))],
        // The code comes right after every accept, so data proves nothing: the link must stand.
        stability: Stability(after: .seconds(30), provenByData: false),
        serverSpread: .seconds(2), longestWish: .seconds(60)),
      gate: GatePolicy(
        needsCredentials: false, refreshLead: .seconds(60), refreshTimeout: .seconds(15),
        settle: .zero, networkChange: .loss, background: background, foreground: .wait),
      liveness: LivenessPolicy(
        silence: nil, ping: .seconds(25), pongTimeout: .seconds(10), pongRoundTrips: 3,
        idle: idle),
      establish: EstablishPolicy(
        milestone: .confirmed, openTimeout: .seconds(10), timeout: .seconds(10)),
      standby: .none, verdicts: usual(but: own))
  }

  /// Seed 003: a two-way session socket.
  public static let session = proven { () throws(PolicyError) in
    // The seed's numbers: min(2^n, 30) s, ±25 %, at least 1 s, 20 tries.
    let schedule = Schedule.exponential(
      first: .seconds(1), factor: 2, cap: .seconds(30), jitter: 0.25, floor: .seconds(1),
      attempts: 20)
    return try LinkPolicy(
      name: "session",
      retry: RetryPolicy(
        first: schedule, reconnect: schedule,
        windows: [AttemptWindow(attempts: 10, per: .seconds(60))],
        // Two whole series, each a loss and 20 tries, which take 360 s at least: the schedule never
        // meets it, and a user who asks again and again does. The pause is ours: one window.
        breaker: Breaker(failures: 42, within: .seconds(600), pause: .seconds(60)),
        stability: Stability(after: .seconds(30), provenByData: true),
        serverSpread: .seconds(5), longestWish: .seconds(300)),
      gate: GatePolicy(
        needsCredentials: true, refreshLead: .seconds(60), refreshTimeout: .seconds(15),
        // Practice 29: a connection of the old path is not waited for. 25 s: the seed's time to
        // flush.
        settle: .zero, networkChange: .reconnect,
        background: .leave(after: .seconds(25), then: .hold), foreground: .connect(after: .zero),
        // Practice 31; the numbers are ours: as long as a round trip may take, as rarely as tries.
        portal: PortalPolicy(probe: .seconds(5), wait: .seconds(30))),
      liveness: LivenessPolicy(
        // The seed's: two heartbeats of 45 s; a ping every 30, 45 or 60 s by quality; three pongs
        // that do not come, after 5, 10 and 15 s.
        silence: .seconds(90), ping: .seconds(30), degradedPing: .seconds(45),
        poorPing: .seconds(60), pongTimeout: .seconds(5), pongRoundTrips: 3, pongTries: 3),
      establish: EstablishPolicy(
        milestone: .confirmed, openTimeout: .seconds(10), timeout: .seconds(15)),
      standby: .none,
      // Two clients that hold one identity replace each other, and not in step.
      verdicts: usual(but: [.closedReplaced: .retrySpread]))
  }

  /// Seed 002: scan bursts while the app is in front, the OS's queued connect otherwise.
  public static let bottleLink = proven { () throws(PolicyError) in
    try LinkPolicy(
      name: "bottle-link",
      retry: RetryPolicy(
        first: .list([]), reconnect: .list([.seconds(3)]),
        windows: [AttemptWindow(attempts: 10, per: .seconds(60))],
        stability: Stability(after: .seconds(5), provenByData: true),
        serverSpread: .seconds(1), longestWish: .seconds(60)),
      gate: GatePolicy(
        needsCredentials: false, refreshLead: .zero, refreshTimeout: .seconds(15), settle: .zero,
        // The adapter is the way out: without it nothing that was open or queued is left.
        networkChange: .loss, background: .leave(after: .seconds(5), then: .standby),
        foreground: .connect(after: .milliseconds(500))),
      liveness: LivenessPolicy(
        // Sent only for a hold. The seed's 30 s come too late: the bottle sleeps 30 s after a
        // write.
        silence: nil, ping: .seconds(25), pongTimeout: .seconds(10), pongRoundTrips: 3,
        idle: IdleRule(after: .seconds(60), then: .standby)),
      establish: EstablishPolicy(
        // A burst scans for 5 s; GATT then has 10 s to be ready.
        milestone: .confirmed, openTimeout: .seconds(5), timeout: .seconds(15)),
      // Field: a link that fails within 2 s would spin; re-armed no sooner than after 30 s it does
      // not, and 6 of 6 drops were recovered from, in 10 s in the middle.
      standby: .queuedConnect(
        QueuePolicy(rearm: .seconds(1), fastFailure: .seconds(2), floor: .seconds(30))),
      verdicts: [:])
  }

  /// Seed 004: uploads that no link carries; the seed leaves the numbers to us.
  public static let healthSync = proven { () throws(PolicyError) in
    try LinkPolicy(
      name: "health-sync",
      retry: RetryPolicy(
        // A person who waits for a first sync is told after 31 s that there is no server.
        first: .list([1, 2, 4, 8, 16].map { .seconds($0) }),
        // An outage costs a phone 14 tries in the first 12 hours.
        reconnect: .exponential(
          first: .seconds(5), factor: 2, cap: .seconds(3_600), jitter: 0.25, floor: .seconds(1),
          attempts: nil),
        windows: [AttemptWindow(attempts: 10, per: .seconds(60))],
        stability: Stability(after: .seconds(60), provenByData: true),
        serverSpread: .seconds(5), longestWish: .seconds(21_600)),
      gate: GatePolicy(
        needsCredentials: true, refreshLead: .seconds(60), refreshTimeout: .seconds(15),
        settle: .seconds(2), networkChange: .ignore, background: .stay,
        foreground: .connect(after: .zero)),
      liveness: LivenessPolicy(
        silence: .seconds(60), ping: nil, pongTimeout: .seconds(10), pongRoundTrips: 3),
      establish: EstablishPolicy(
        milestone: .confirmed, openTimeout: .seconds(30), timeout: .seconds(60)),
      standby: .none, verdicts: usual, holdsLink: false)
  }

  /// Any WebSocket server: it never stops trying, and each server's own close codes mean a retry.
  public static let socket = proven { () throws(PolicyError) in
    // SignalR's and seed 003's cap of 30 s; spread as seed 003, so that a fleet is not in step.
    let schedule = Schedule.exponential(
      first: .seconds(1), factor: 2, cap: .seconds(30), jitter: 0.25, floor: .milliseconds(500),
      attempts: nil)
    return try LinkPolicy(
      name: "socket",
      retry: RetryPolicy(
        first: schedule, reconnect: schedule,
        windows: [AttemptWindow(attempts: 10, per: .seconds(60))],
        stability: Stability(after: .seconds(10), provenByData: true),
        serverSpread: .seconds(5), longestWish: .seconds(900)),
      gate: GatePolicy(
        needsCredentials: false, refreshLead: .seconds(60), refreshTimeout: .seconds(15),
        settle: .zero, networkChange: .probe,
        background: .leave(after: .seconds(25), then: .hold), foreground: .connect(after: .zero)),
      liveness: LivenessPolicy(
        // As Socket.IO: below the 60 s after which nginx and load balancers cut idle connections.
        silence: nil, ping: .seconds(25), pongTimeout: .seconds(10), pongRoundTrips: 3),
      establish: EstablishPolicy(
        milestone: .confirmed, openTimeout: .seconds(10), timeout: .seconds(15)),
      standby: .none,
      // 4000 to 4999 are each application's own (RFC 6455 section 7.4.2).
      verdicts: usual(but: [.closedUnauthorized: .retry, .closedForbidden: .retry]))
  }
}
