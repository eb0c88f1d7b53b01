import Foundation
import HoldfastCore
import Testing

struct PolicyTests {
  @Test func `there is a preset for each feature`() {
    #expect(
      LinkPolicy.presets.map(\.name) == [
        "message-stream", "health-relay-service", "health-relay-quick",
        "health-relay-foreground", "session", "bottle-link", "health-sync", "socket",
      ])
  }

  @Test func `the session breaker delays none of 20 attempts, even after an earlier series`() {
    let policy = LinkPolicy.session.retry
    var (retry, generator, now) = (Retry(policy), RandomSource(seed: 3), Instant.zero)
    retry.noteFailure(at: now, retryAfter: nil)
    for index in 0..<20 {
      let due = retry.plan(policy.reconnect, before: index, at: now, generator: &generator)
      let usual = Double(min(1 << index, 30))
      let wait = due.map { Double(now.duration(to: $0).nanoseconds) / 1e9 } ?? 0
      #expect((max(1, usual * 0.75)...usual * 1.25).contains(wait))
      now = due ?? now
      retry.noteAttempt(at: now)
      retry.noteFailure(at: now, retryAfter: nil)
    }
    #expect(retry.plan(policy.reconnect, before: 20, at: now, generator: &generator) == nil)
    // In another series on demand, 20 more failures do not open the breaker, but the next failure
    // does.
    for _ in 1...20 { retry.noteFailure(at: now, retryAfter: nil) }
    #expect(retry.earliest(at: now) == now)
    retry.noteFailure(at: now, retryAfter: nil)
    #expect(retry.earliest(at: now) == now.advanced(by: .seconds(60)))
  }

  @Test func `one error lists every problem`() {
    let error = #expect(throws: PolicyError.self) {
      try LinkPolicy.messageStream.setting([
        ("retry.windows", "0/1m"), ("liveness.pongTimeout", "0s"), ("standby.jitter", "0.6"),
        ("establish.openTimeout", "6s"),
      ])
    }
    #expect(
      error?.problems == [
        "retry.windows must allow at least 1 attempt",
        "liveness.pongTimeout must be at least 100ms",
        "establish.timeout must be at least establish.openTimeout",
        "standby.jitter must be 0 to 0.5",
      ])
  }

  /// Sets each number below, at, and above its bound.
  @Test(arguments: [
    ("message-stream", "standby.interval", "999ms", "1s", "1001ms"),
    ("message-stream", "standby.probe", "999ms", "1s", "1001ms"),
    ("bottle-link", "standby.rearm", "999ms", "1s", "1001ms"),
    ("bottle-link", "standby.fastFailure", "99ms", "100ms", "101ms"),
    ("bottle-link", "standby.floor", "2s", "2001ms", "2002ms"),
    ("bottle-link", "standby.background", "2s", "2001ms", "2002ms"),
    ("message-stream", "gate.refreshTimeout", "999ms", "1s", "1001ms"),
    ("message-stream", "liveness.silence", "999ms", "1s", "1001ms"),
    ("session", "liveness.ping", "999ms", "1s", "1001ms"),
    ("session", "liveness.pongRoundTrips", "0", "1", "2"),
    ("session", "liveness.pongRoundTrips", "101", "100", "99"),
    ("session", "liveness.pongTries", "0", "1", "2"),
    ("session", "liveness.pongTries", "11", "10", "9"),
    ("session", "liveness.idle", "999ms idle", "1s idle", "1001ms idle"),
    ("session", "liveness.pongTimeout", "99ms", "100ms", "101ms"),
    ("session", "establish.openTimeout", "99ms", "100ms", "101ms"),
    ("message-stream", "establish.prepare", "99ms", "100ms", "101ms"),
    ("message-stream", "retry.first", "99ms", "100ms", "101ms"),
    ("message-stream", "retry.first", "1ns,1s", "0s,1s", "100ms,1s"),
    ("message-stream", "retry.reconnect", "0s,99ms", "0s,100ms", "0s,101ms"),
    ("message-stream", "retry.reconnect", "0s,0s", "0s", "0s,1s"),
    (
      "session", "retry.first", "99ms*2 max 1s +-0 min 0s x3", "100ms*2 max 1s +-0 min 0s x3",
      "101ms*2 max 1s +-0 min 0s x3"
    ),
    (
      "session", "retry.first", "1s*2 max 1s +-1 min 99ms x3", "1s*2 max 1s +-1 min 100ms x3",
      "1s*2 max 1s +-1 min 101ms x3"
    ),
    (
      "session", "retry.first", "1s*2 max 9s +-0.25 min 1250ms x3",
      "1s*2 max 9s +-0.25 min 1249ms x3", "1s*2 max 9s +-0 min 1250ms x3"
    ),
    (
      "session", "retry.first", "1s*0 max 9s +-0 min 0s x3", "1s*1 max 9s +-0 min 0s x3",
      "1s*2 max 9s +-0 min 0s x3"
    ),
    (
      "session", "retry.first", "1s*2 max 999ms +-0 min 0s x3", "1s*2 max 1s +-0 min 0s x3",
      "1s*2 max 1001ms +-0 min 0s x3"
    ),
    (
      "session", "retry.first", "1s*2 max 9s +-1.1 min 1s x3", "1s*2 max 9s +-1 min 1s x3",
      "1s*2 max 9s +-0.9 min 1s x3"
    ),
    (
      "session", "retry.first", "1s*2 max 9s +-0 min 9001ms x3", "1s*2 max 9s +-0 min 9s x3",
      "1s*2 max 9s +-0 min 8999ms x3"
    ),
    (
      "session", "retry.first", "1s*2 max 9s +-0 min 0s x0", "1s*2 max 9s +-0 min 0s x1",
      "1s*2 max 9s +-0 min 0s x2"
    ),
    ("message-stream", "retry.windows", "10/4999ms", "10/5s", "10/5001ms"),
    ("message-stream", "retry.windows", "10/1s,20/9s", "10/1s,20/10s", "10/1s,10/1m"),
  ])
  func `a policy rejects values that risk a retry storm and accepts those at the bound`(
    preset: String, key: String, below: String, at: String, above: String
  ) throws {
    let policy = try #require(LinkPolicy.preset(named: preset))
    let error = #expect(throws: PolicyError.self) { try policy.setting([(key, below)]) }
    #expect(error?.problems.count == 1)
    #expect(error?.problems.first?.hasPrefix(key) == true)
    for value in [at, above] {
      #expect(throws: Never.self) { try policy.setting([(key, value)]) }
    }
  }

  @Test func `one error lists every value that risks a retry storm`() {
    let error = #expect(throws: PolicyError.self) {
      try LinkPolicy.messageStream.setting([
        ("retry.first", "0s,0s"), ("retry.reconnect", "1ms"), ("retry.windows", "1000/1ms"),
        ("gate.refreshTimeout", "1ms"), ("liveness.silence", "1ms"),
        ("establish.timeout", "1ms"), ("standby.interval", "0s"), ("standby.probe", "1ms"),
      ])
    }
    #expect(
      error?.problems == [
        "retry.first: waits behind the first must be at least 100ms",
        "retry.reconnect: its first wait must be 0s or at least 100ms",
        "retry.windows must hold one that allows at most 2 attempts a second",
        "gate.refreshTimeout must be at least 1s", "liveness.silence must be at least 1s",
        "establish.openTimeout must be at least 100ms", "standby.interval must be at least 1s",
        "standby.probe must be at least 1s",
      ])
  }

  @Test(arguments: ["10/1m,,20/2m", ",10/1m", "10/1m,", "10/1m;20/2m", "10"])
  func `windows that cannot be read are refused`(text: String) {
    #expect(throws: PolicyError.self) { try LinkPolicy.session.setting([("retry.windows", text)]) }
  }

  @Test func `unknown keys and unreadable values are all named`() {
    let error = #expect(throws: PolicyError.self) {
      try LinkPolicy.session.setting([("retry.frist", "1s"), ("gate.debounce", "soon")])
    }
    #expect(error?.problems.count == 2)
  }

  @Test func `an open time-out that differs from the establish time-out survives JSON`() throws {
    let policy = try LinkPolicy.messageStream.setting([("establish.openTimeout", "3s")])
    #expect(policy.establish.timeout == .seconds(5))
    let data = try JSONEncoder().encode(policy)
    #expect(try JSONDecoder().decode(LinkPolicy.self, from: data) == policy)
    #expect(try LinkPolicy.messageStream.setting(policy.values) == policy)
  }

  @Test func `a hand-written policy needs only the values that differ from its preset`() throws {
    let json = #"{"preset": "message-stream", "retry.first": "100ms,200ms"}"#
    let policy = try JSONDecoder().decode(LinkPolicy.self, from: Data(json.utf8))
    #expect(policy.retry.first == .list([.milliseconds(100), .milliseconds(200)]))
    #expect(policy.liveness == LinkPolicy.messageStream.liveness)
  }

  @Test(arguments: LinkPolicy.presets)
  func `every key rejects an unknown value`(policy: LinkPolicy) {
    for (key, _) in policy.values where key != "name" {
      #expect(throws: PolicyError.self, "\(key)") { try policy.setting([(key, "what?")]) }
    }
  }

  @Test(arguments: [
    ("0s", Duration.zero), ("250ms", .milliseconds(250)), ("30s", .seconds(30)),
    ("15m", .seconds(900)), ("1h", .seconds(3600)), ("40us", .microseconds(40)),
    ("7ns", .nanoseconds(7)), ("1.5s", .milliseconds(1500)),
    ("1.1234567h", .nanoseconds(4_044_444_120_000)), ("0.000000001s", .nanoseconds(1)),
    ("9999.999999999h", .nanoseconds(35_999_999_999_996_400)),
  ])
  func `durations are read and survive a round trip through text`(text: String, duration: Duration)
  {
    #expect(Duration(text: text) == duration)
    #expect(Duration(text: duration.text) == duration)
  }

  @Test(arguments: [
    "", "s", "5", "-1s", "1 s", "1.s", "1d", "99999999999999999h", "1.23ns", "2562047.9h",
    "10000.000000001h", "1.0000000001s",
  ])
  func `invalid durations are rejected`(text: String) {
    #expect(Duration(text: text) == nil)
  }

  @Test(arguments: [
    "1s max 30s +-0.25 min 1s x20", "1s*2*2 max 30s +-0.25 min 1s x20",
    "1s*2 min 30s +-0.25 max 1s x20", "1s*2 max 30s 000.25 min 1s x20",
    "1s*2 max 30s +-0.25 min 1s 020", "1s**2 max 30s +-0.25 min 1s x20",
    "*1s*2 max 30s +-0.25 min 1s x20", "1s*2* max 30s +-0.25 min 1s x20", ",1s", "1s,", "1s,,2s",
  ])
  func `invalid schedules are rejected`(text: String) {
    #expect(Schedule(text: text) == nil)
  }

  @Test(arguments: [
    ("message-stream", "gate.debounce", "36000000s", "36000000001ms"),
    ("message-stream", "retry.stability", "10000h", "2562047h"),
    ("message-stream", "retry.windows", "1/24h", "1/86400001ms"),
    ("message-stream", "retry.windows", "1/24h", "1//24h"),
    ("message-stream", "retry.windows", "1/24h", "1/24h/"),
    ("message-stream", "retry.breaker", "1/1m:1s", "1/1m::1s"),
    ("message-stream", "retry.windows", "1/24h", "1/2562047h"),
    ("message-stream", "retry.windows", "1000/1h", "1001/1h"),
    ("message-stream", "retry.breaker", "1000/24h:10000h", "1000/24h:10001h"),
    ("message-stream", "retry.breaker", "1/24h:1s", "1/25h:1s"),
    (
      "session", "retry.first", "1s*1000 max 30s +-1 min 1s x1000",
      "1s*1001 max 30s +-1 min 1s x1000"
    ),
    (
      "session", "retry.first", "1s*2 max 30s +-1 min 1s x1000",
      "1s*2 max 30s +-1 min 1s x1001"
    ),
    ("session", "retry.first", "1s*2 max 30s +-1 min 1s x1", "1s*2 max 30s +-1.1 min 1s x1"),
    ("session", "retry.first", "1s*2 max 30s +-1 min 1s x1", "1s*2 max 30s +-1e300 min 1s x1"),
    ("session", "retry.first", "1s*2 max 30s +-1 min 1s x1", "1s*2 max 30s +-nan min 1s x1"),
    ("session", "liveness.pongRoundTrips", "100", "9223372036854775807"),
    ("message-stream", "standby.jitter", "0.5", "1.7976931348623157e308"),
  ])
  func `the error for a number out of range states the range`(
    preset: String, key: String, most: String, over: String
  ) throws {
    let policy = try #require(LinkPolicy.preset(named: preset))
    #expect(throws: Never.self) { try policy.setting([(key, most)]) }
    let error = #expect(throws: PolicyError.self) { try policy.setting([(key, over)]) }
    #expect(error?.problems.count == 1)
    let problem = try #require(error?.problems.first)
    #expect(problem.hasPrefix("\(key) cannot be \"\(over)\""))
    #expect(problem.contains(" to 1") || problem.contains("0 to 0.5"))
  }

  @Test(arguments: [
    (
      Schedule.exponential(
        first: .seconds(1), factor: 1, cap: .seconds(30), jitter: 0, floor: .zero, attempts: nil),
      Duration.seconds(1)
    ),
    (
      .exponential(
        first: .seconds(1), factor: 2, cap: .seconds(30), jitter: 0, floor: .zero, attempts: nil),
      .seconds(30)
    ),
    (
      // Without the cap, the second wait would exceed the range of 64-bit nanoseconds.
      .exponential(
        first: .seconds(16_777_216), factor: 1000, cap: .seconds(33_554_432), jitter: 0,
        floor: .zero, attempts: nil),
      .seconds(33_554_432)
    ),
  ])
  func `the wait far along a schedule is computed at once`(schedule: Schedule, wait: Duration) {
    #expect(schedule.bounds(before: .max) == wait...wait)
  }

  @Test func `a policy without pings and silence needs an idle rule to detect half-open links`() {
    let change = [(key: "liveness.ping", value: "off")]
    #expect(throws: Never.self) { try LinkPolicy.healthRelayService.setting(change) }
    let error = #expect(throws: PolicyError.self) {
      try LinkPolicy.healthRelayForeground.setting(change)
    }
    #expect(
      error?.problems == [
        "liveness needs silence, ping or idle: a half-open link would never be found"
      ])
  }

  @Test func `a link whose end the system reports needs no liveness rule`() {
    let changes = [(key: "liveness.ping", value: "off"), (key: "liveness.idle", value: "off")]
    #expect(throws: Never.self) { try LinkPolicy.bottleLink.setting(changes) }
  }

  @Test(arguments: ["standby.floor", "standby.background"])
  func `the wait after a fast failure must not be shorter than after another failure`(
    key: String
  ) throws {
    let policy = try LinkPolicy.bottleLink.setting([("standby.rearm", "3s"), (key, "3s")])
    let error = #expect(throws: PolicyError.self) { try policy.setting([(key, "2999ms")]) }
    #expect(
      error?.problems == [
        "\(key) must be at least standby.rearm and longer than standby.fastFailure"
      ])
  }

  @Test func `a policy without standby rejects failure actions that need one`() {
    #expect(throws: PolicyError.self) {
      try LinkPolicy.session.setting([("failure.refused", "standby")])
    }
  }
}
