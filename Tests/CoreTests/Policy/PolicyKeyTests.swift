import HoldfastCore
import Testing

/// Tests of the text format of single values of a policy.
@Suite struct PolicyKeyTests {
  @Test(arguments: [
    ("message-stream", "gate.foreground", "3s"), ("message-stream", "gate.foreground", "wait"),
    ("message-stream", "gate.background", "stay"), ("session", "retry.breaker", "off"),
    ("session", "retry.provenByData", "false"), ("bottle-link", "liveness.idle", "off"),
    (
      "session", "retry.windows",
      "10/1m,10/2m,10/3m,10/4m,10/5m,10/6m,10/7m,10/8m,10/9m,10/10m"
    ),
  ])
  func `a policy contains the value that was set for a key`(
    preset: String, key: String, value: String
  ) throws {
    let before = try #require(LinkPolicy.preset(named: preset))
    #expect(before.values.first { $0.key == key }?.value != value)
    let policy = try before.setting([(key, value)])
    #expect(policy.values.first { $0.key == key }?.value == value)
  }

  @Test(arguments: [
    ("message-stream", "gate.background", "5s hold now"),
    ("message-stream", "gate.background", "5s"), ("session", "liveness.idle", "1m idle now"),
    ("session", "liveness.idle", "1m"), ("session", "retry.breaker", "1/1m:1s:2s"),
    ("session", "retry.breaker", "1/1m"),
  ])
  func `a value with too many or too few parts is refused`(
    preset: String, key: String, value: String
  ) throws {
    let policy = try #require(LinkPolicy.preset(named: preset))
    let error = #expect(throws: PolicyError.self) { try policy.setting([(key, value)]) }
    #expect(error?.problems.count == 1)
    #expect(error?.problems.first?.hasPrefix("\(key) cannot be \"\(value)\"; it is ") == true)
  }

  @Test(arguments: [
    ("message-stream", "9s", 9), ("message-stream", "3s", 3), ("session", "20s", 10),
    ("session", "10s", 10), ("session", "8s", 8),
  ])
  func `setting the establish time-out adjusts the open time-out where necessary`(
    preset: String, timeout: String, opening: Int
  ) throws {
    let policy = try #require(LinkPolicy.preset(named: preset))
    let other = try policy.setting([("establish.timeout", timeout)])
    #expect(other.establish.openTimeout == .seconds(opening))
  }

  @Test(arguments: [
    ("retry.breaker", "1 to 1000 failures within at most 24h, a pause of 0s to 10000h"),
    (
      "retry.first",
      """
      a list of at most 1000 waits such as 0s,1s,2s, or FIRST*FACTOR max CAP +-JITTER min FLOOR \
      xATTEMPTS such as 1s*2 max 30s +-0.25 min 1s x20: factor and attempts 1 to 1000, or \
      xunlimited, jitter 0 to 1, waits 0s to 10000h
      """
    ),
  ])
  func `the error for an unreadable value states the whole range`(key: String, range: String) throws
  {
    let error = #expect(throws: PolicyError.self) {
      try LinkPolicy.session.setting([(key, "what?")])
    }
    let problem = try #require(error?.problems.first)
    #expect(problem.hasSuffix("; its range is \(range)"))
  }
}
