import Foundation
import LinkCore
import Testing

struct PolicyTests {
  @Test func `there is a preset for each feature`() {
    #expect(
      LinkPolicy.presets.map(\.name) == [
        "message-stream", "health-relay-service", "health-relay-foreground", "session",
        "bottle-link", "health-sync",
      ])
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
        "liveness.pongTimeout must be longer than 0s",
        "establish.timeout must be at least establish.openTimeout",
        "standby.jitter must be 0 to 0.5",
      ])
  }

  @Test func `unknown keys and unreadable values are all named`() {
    let error = #expect(throws: PolicyError.self) {
      try LinkPolicy.session.setting([("retry.frist", "1s"), ("gate.settle", "soon")])
    }
    #expect(error?.problems.count == 2)
  }

  @Test(arguments: LinkPolicy.presets)
  func `a preset survives its journey through JSON`(policy: LinkPolicy) throws {
    let data = try JSONEncoder().encode(policy)
    #expect(try JSONDecoder().decode(LinkPolicy.self, from: data) == policy)
  }

  @Test func `a time to open that is not the time to the milestone survives JSON`() throws {
    let policy = try LinkPolicy.messageStream.setting([("establish.openTimeout", "3s")])
    #expect(policy.establish.timeout == .seconds(5))
    let data = try JSONEncoder().encode(policy)
    #expect(try JSONDecoder().decode(LinkPolicy.self, from: data) == policy)
    #expect(try LinkPolicy.messageStream.setting(policy.values) == policy)
  }

  @Test func `a hand-written policy states only what differs from its preset`() throws {
    let json = #"{"preset": "message-stream", "retry.first": "100ms,200ms"}"#
    let policy = try JSONDecoder().decode(LinkPolicy.self, from: Data(json.utf8))
    #expect(policy.retry.first == .list([.milliseconds(100), .milliseconds(200)]))
    #expect(policy.liveness == LinkPolicy.messageStream.liveness)
  }

  @Test(arguments: LinkPolicy.presets)
  func `every key can be read and written back`(policy: LinkPolicy) throws {
    #expect(try policy.setting(policy.values) == policy)
  }

  @Test(arguments: [
    ("0s", Duration.zero), ("250ms", .milliseconds(250)), ("30s", .seconds(30)),
    ("15m", .seconds(900)), ("1h", .seconds(3600)), ("40us", .microseconds(40)),
    ("7ns", .nanoseconds(7)), ("1.5s", .milliseconds(1500)),
  ])
  func `durations are read`(text: String, duration: Duration) {
    #expect(Duration(text: text) == duration)
    #expect(Duration(text: duration.text) == duration)
  }

  @Test(arguments: ["", "s", "5", "-1s", "1 s", "1.s", "1d", "99999999999999999h", "1.23ns"])
  func `what is no duration is refused`(text: String) {
    #expect(Duration(text: text) == nil)
  }

  @Test func `a policy without standby refuses verdicts that need one`() {
    #expect(throws: PolicyError.self) {
      try LinkPolicy.session.setting([("failure.refused", "standby")])
    }
  }
}
