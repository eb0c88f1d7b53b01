import LinkCore

/// The numbers of the presets, told a second time: a table of all that seeds and contracts ask for,
/// as texts of the keys.
enum PolicyPresets {
  /// What holds unless a preset says otherwise; a verdict that is nowhere named is a retry.
  private static let usual = """
    retry.windows=10/1m
    retry.breaker=off
    retry.provenByData=true
    retry.spread=5s
    gate.credentials=false
    gate.refreshLead=1m
    gate.refreshTimeout=15s
    gate.settle=0s
    gate.foreground=0s
    establish.milestone=confirmed
    establish.openTimeout=10s
    establish.prepare=off
    liveness.silence=off
    liveness.ping=25s
    liveness.degradedPing=off
    liveness.poorPing=off
    liveness.pongTimeout=10s
    liveness.pongRoundTrips=3
    liveness.pongTries=1
    liveness.idle=off
    failure.tls=stop
    failure.badRequest=stop
    failure.unauthorized=refresh
    failure.forbidden=stop
    failure.tooManyRequests=retrySpread
    failure.unavailable=retrySpread
    failure.serverError=retrySpread
    failure.closedNormally=retrySpread
    failure.closedRestart=retrySpread
    failure.closedPolicy=retrySpread
    failure.closedForbidden=stop
    failure.closedReplaced=retrySpread
    failure.closedOther=retrySpread
    """

  /// The presets in the order of tables, with what differs; `-` for a number that it does not have.
  static let all: [(name: String, numbers: String)] = [
    (
      "message-stream",
      """
      retry.first=1s,2s,4s,8s,16s
      retry.reconnect=0s,1s,2s,4s,8s
      retry.stability=10s
      retry.longestWish=15m
      gate.credentials=true
      gate.settle=2s
      gate.networkChange=reconnect
      gate.background=0s hold
      establish.milestone=opened
      establish.timeout=5s
      establish.openTimeout=5s
      establish.prepare=10s
      liveness.silence=90s
      liveness.ping=off
      standby.interval=30s
      standby.jitter=0.1
      standby.probe=5m
      standby.slowProbe=15m
      failure.refused=standby
      failure.protocolError=standby
      failure.captivePortal=standby
      failure.notFound=standbySlow
      failure.unavailable=standbySlow
      failure.otherStatus=standby
      failure.closedPolicy=standby
      failure.closedUnauthorized=refresh
      """
    ),
    (
      "health-relay-service",
      """
      retry.first=2s,2s
      retry.reconnect=2s,2s,4s,6s,8s,8s,9s,9s,9s,9s,9s
      retry.stability=30s
      retry.provenByData=false
      retry.spread=2s
      retry.longestWish=1m
      gate.networkChange=loss
      gate.background=stay
      gate.foreground=wait
      establish.timeout=10s
      liveness.idle=15m idle
      failure.unauthorized=stop
      failure.closedUnauthorized=stop
      failure.closedReplaced=stop
      """
    ),
    (
      "health-relay-foreground",
      """
      retry.first=2s,2s
      retry.reconnect=2s,2s
      retry.stability=30s
      retry.provenByData=false
      retry.spread=2s
      retry.longestWish=1m
      gate.networkChange=loss
      gate.background=0s idle
      gate.foreground=wait
      establish.timeout=10s
      failure.unauthorized=stop
      failure.closedUnauthorized=stop
      failure.closedReplaced=stop
      """
    ),
    (
      "session",
      """
      retry.first=1s*2 max 30s +-0.25 min 1s x20
      retry.reconnect=1s*2 max 30s +-0.25 min 1s x20
      retry.breaker=42/10m:1m
      retry.stability=30s
      retry.longestWish=5m
      gate.credentials=true
      gate.networkChange=reconnect
      gate.background=25s hold
      establish.timeout=15s
      liveness.silence=90s
      liveness.ping=30s
      liveness.degradedPing=45s
      liveness.poorPing=1m
      liveness.pongTimeout=5s
      liveness.pongTries=3
      failure.closedUnauthorized=refresh
      gate.portalProbe=5s
      gate.portalWait=30s
      """
    ),
    (
      "bottle-link",
      """
      retry.first=none
      retry.reconnect=3s
      retry.stability=5s
      retry.spread=1s
      retry.longestWish=1m
      gate.refreshLead=0s
      gate.networkChange=loss
      gate.background=5s standby
      gate.foreground=500ms
      establish.timeout=15s
      establish.openTimeout=5s
      liveness.idle=1m standby
      failure.tls=retry
      failure.badRequest=retry
      failure.unauthorized=retry
      failure.forbidden=retry
      failure.tooManyRequests=retry
      failure.unavailable=retry
      failure.serverError=retry
      failure.closedNormally=retry
      failure.closedRestart=retry
      failure.closedPolicy=retry
      failure.closedForbidden=retry
      failure.closedReplaced=retry
      failure.closedOther=retry
      standby.rearm=1s
      standby.fastFailure=2s
      standby.floor=30s
      standby.background=8s
      """
    ),
    (
      "health-sync",
      """
      retry.first=1s,2s,4s,8s,16s
      retry.reconnect=5s*2 max 1h +-0.25 min 1s xunlimited
      retry.stability=1m
      retry.longestWish=6h
      gate.credentials=true
      gate.settle=2s
      gate.networkChange=ignore
      gate.background=stay
      establish.timeout=1m
      establish.openTimeout=30s
      liveness.silence=1m
      liveness.ping=off
      failure.closedUnauthorized=refresh
      """
    ),
    (
      "socket",
      """
      retry.first=1s*2 max 30s +-0.25 min 500ms xunlimited
      retry.reconnect=1s*2 max 30s +-0.25 min 500ms xunlimited
      retry.stability=10s
      retry.longestWish=15m
      gate.networkChange=probe
      gate.background=25s hold
      establish.timeout=15s
      failure.closedUnauthorized=retrySpread
      failure.closedForbidden=retrySpread
      """
    ),
  ]

  /// The text of each number of a preset, by its key.
  static func numbers(_ name: String) -> [String: String] { table[name] ?? [:] }

  private static let table: [String: [String: String]] = {
    var table: [String: [String: String]] = [:]
    for preset in all { table[preset.name] = read(usual + "\n" + preset.numbers) }
    return table
  }()

  private static func read(_ rows: String) -> [String: String] {
    var all: [String: String] = [:]
    for row in rows.split(separator: "\n") {
      let words = row.split(separator: "=", maxSplits: 1).map { String($0) }
      all[words[0]] = words[1] == "-" ? nil : words[1]
    }
    return all
  }
}
