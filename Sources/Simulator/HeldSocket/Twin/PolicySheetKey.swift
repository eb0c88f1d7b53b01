import LinkCore

/// A number of a policy: its key, where it stands, and what people are told of it.
struct PolicySheetKey {
  /// Where a number stands, by its kind.
  enum Place {
    case duration(any WritableKeyPath<PolicySheet, Duration> & Sendable)
    case optional(any WritableKeyPath<PolicySheet, Duration?> & Sendable)
    case poll(any WritableKeyPath<PollPolicy, Duration> & Sendable)
    case queue(any WritableKeyPath<QueuePolicy, Duration> & Sendable)
    case count(any WritableKeyPath<PolicySheet, Int> & Sendable)
    case flag(any WritableKeyPath<PolicySheet, Bool> & Sendable)
    case schedule(any WritableKeyPath<PolicySheet, Schedule> & Sendable)
    case verdict(FailureClass)
    /// A value of a form of its own.
    case own
  }

  let name: String
  let place: Place
  let meaning: String
  let range: String?

  init(_ name: String, _ meaning: String, _ place: Place, range: String? = nil) {
    (self.name, self.place) = (name, place)
    let end: String
    switch place {
    case .duration: end = " (a duration such as 250ms, 30s, 15m)"
    case .optional: end = " (a duration, or off)"
    case .poll: end = " (a duration such as 30s)"
    case .queue: end = " (a duration such as 1s)"
    case .flag: end = " (true, false)"
    case .schedule: end = " (a list such as 0s,1s,2s, or 1s*2 max 30s +-0.25 min 1s x20)"
    case .verdict: end = " (one of retry, retrySpread, refresh, standby, standbySlow, stop)"
    case .count, .own: end = ""
    }
    self.meaning = meaning + end
    switch place {
    case .duration, .optional, .poll, .queue: self.range = PolicyText.range
    case .schedule:
      self.range =
        "a list of at most 1000 waits such as 0s,1s,2s, or FIRST*FACTOR max CAP +-JITTER min FLOOR "
        + "xATTEMPTS such as 1s*2 max 30s +-0.25 min 1s x20: factor and attempts 1 to 1000, or "
        + "xunlimited, jitter 0 to 1, waits 0s to 10000h"
    case .count, .flag, .verdict, .own: self.range = range
    }
  }

  /// Every key, in the order of tables.
  static let all: [PolicySheetKey] = retry + gate + rest + rows

  private static let retry = [
    PolicySheetKey(
      "retry.first", "waits after failed tries of the first connection", .schedule(\.retry.first)),
    PolicySheetKey(
      "retry.reconnect", "waits before tries after an established link was lost",
      .schedule(\.retry.reconnect)),
    PolicySheetKey(
      "retry.windows", "tries allowed (such as 10/1m or 4/1s,10/1m)", .own,
      range: "1 to 1000 tries within at most 24h, in at most 10 windows"),
    PolicySheetKey(
      "retry.breaker", "a pause after many failures (such as 20/10m:5m, or off)", .own,
      range: "1 to 1000 failures within at most 24h, a pause of 0s to 10000h"),
    PolicySheetKey(
      "retry.stability", "a link that stood this long starts a new series when lost",
      .duration(\.retry.stability.after)),
    PolicySheetKey(
      "retry.provenByData", "whether valid data proves a link at once",
      .flag(\.retry.stability.provenByData)),
    PolicySheetKey(
      "retry.spread", "retries after a refusal or close by the server spread over this",
      .duration(\.retry.serverSpread)),
    PolicySheetKey(
      "retry.longestWish", "the longest Retry-After or drain window obeyed",
      .duration(\.retry.longestWish)),
  ]

  private static let gate = [
    PolicySheetKey(
      "gate.credentials", "whether tries wait for credentials", .flag(\.gate.needsCredentials)),
    PolicySheetKey(
      "gate.refreshLead", "credentials are refreshed this long before they expire",
      .duration(\.gate.refreshLead)),
    PolicySheetKey(
      "gate.refreshTimeout", "the longest a refresh may take", .duration(\.gate.refreshTimeout)),
    PolicySheetKey(
      "gate.settle", "the wait after a change of network", .duration(\.gate.settle)),
    PolicySheetKey(
      "gate.networkChange",
      "what a change of network does (one of reconnect, loss, probe, ignore)", .own),
    PolicySheetKey(
      "gate.background",
      "what background does (stay, or AFTER then hold|standby|idle such as 5s standby)", .own),
    PolicySheetKey(
      "gate.foreground", "how long after coming to the front it connects (a duration, or wait)",
      .own, range: PolicyText.range),
    PolicySheetKey(
      "gate.portalProbe",
      "time for the check for a login page after a failed try (a duration, or off)",
      .own, range: PolicyText.range),
    PolicySheetKey(
      "gate.portalWait", "how long a login page holds the link (a duration such as 30s)", .own,
      range: PolicyText.range),
  ]

  private static let rest = [
    PolicySheetKey(
      "establish.milestone", "what counts as connected (one of opened, confirmed)", .own),
    PolicySheetKey(
      "establish.timeout", "time to the milestone (a duration such as 5s)", .own,
      range: PolicyText.range),
    PolicySheetKey(
      "establish.openTimeout", "time for the transport to open",
      .duration(\.establish.openTimeout)),
    PolicySheetKey(
      "establish.prepare", "time for what is fetched before the connect",
      .optional(\.establish.prepare)),
    PolicySheetKey(
      "liveness.silence", "a link without a byte for this long is dead",
      .optional(\.liveness.silence)),
    PolicySheetKey("liveness.ping", "our own ping after this long", .optional(\.liveness.ping)),
    PolicySheetKey(
      "liveness.degradedPing", "the same while the quality is degraded, off for no difference",
      .optional(\.liveness.degradedPing)),
    PolicySheetKey(
      "liveness.poorPing", "the same while the quality is poor, off for no difference",
      .optional(\.liveness.poorPing)),
    PolicySheetKey(
      "liveness.pongTimeout", "the least time a pong may take", .duration(\.liveness.pongTimeout)),
    PolicySheetKey(
      "liveness.pongRoundTrips", "round trips a pong may take (1 to 100)",
      .count(\.liveness.pongRoundTrips)),
    PolicySheetKey(
      "liveness.pongTries", "pings without an answer that end a link (1 to 10)",
      .count(\.liveness.pongTries)),
    PolicySheetKey(
      "liveness.idle",
      "a link without data ends (AFTER then idle|standby such as 15m idle, or off)", .own,
      range: PolicyText.range),
    PolicySheetKey("standby.interval", "the wait between polls", .poll(\.interval)),
    PolicySheetKey("standby.jitter", "the share by which polls spread (0 to 0.5)", .own),
    PolicySheetKey("standby.probe", "the wait between probes of the link", .poll(\.probe)),
    PolicySheetKey(
      "standby.slowProbe", "the same, where the server does not offer it", .poll(\.slowProbe)),
    PolicySheetKey(
      "standby.rearm", "the wait before the queued connect is armed again", .queue(\.rearm)),
    PolicySheetKey(
      "standby.fastFailure", "what ends sooner than this after it was armed has failed fast",
      .queue(\.fastFailure)),
    PolicySheetKey(
      "standby.floor", "the least time between two of its beginnings after a fast failure",
      .queue(\.floor)),
    PolicySheetKey(
      "standby.background", "the most that this is while the app is in background",
      .queue(\.background)),
  ]

  private static let rows = FailureClass.allCases.map { row in
    PolicySheetKey("failure." + row.rawValue, "what follows", .verdict(row))
  }
}
