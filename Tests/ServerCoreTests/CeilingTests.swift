import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastRelayServer
import HoldfastServerParts
import HoldfastSessionServer
import Testing

/// Tests of the maximums of sockets below, at and above their value, and of what metrics tell of them.
struct CeilingTests {
  /// Returns the value of a line of metrics; `nil` if there is none.
  private static func value(_ name: String, _ label: String, in text: String) -> Int? {
    let start = "holdfast_\(name){\(name == "refusals_total" ? "reason" : "ceiling")=\"\(label)\"} "
    return text.split(separator: "\n").first { $0.hasPrefix(start) }
      .flatMap { Int($0.dropFirst(start.count)) }
  }

  @Test(arguments: [(1, 0), (2, 0), (3, 1)])
  func `streams up to the maximum open, and metrics tell it`(count: Int, refused: Int) {
    var served = Served.opened { $0.maxConnections = 2 }
    for number in 1..<count {
      _ = served.upgrade(UInt64(number + 1), as: Stage.token("user\(number)"))
    }
    let text = served.server.metricsText
    #expect(Self.value("ceiling", "streams", in: text) == 2)
    #expect(Self.value("ceiling_used", "streams", in: text) == min(count, 2))
    #expect(Self.value("refusals_total", "streams", in: text) == refused)
  }

  @Test(arguments: [(1, 0), (2, 0), (3, 1)])
  func `sockets of a user up to the maximum open`(count: Int, refused: Int) {
    var served = Served.opened { $0.socketsPerUser = 2 }
    for number in 1..<count { _ = served.upgrade(UInt64(number + 1)) }
    served.open(9, as: Stage.token("bob"))
    let text = served.server.metricsText
    #expect(Self.value("ceiling", "sockets_per_user", in: text) == 2)
    #expect(Self.value("ceiling_used", "sockets_per_user", in: text) == min(count, 2))
    #expect(Self.value("refusals_total", "sockets_per_user", in: text) == refused)
  }

  @Test(arguments: [(2_499, 0), (2_500, 0), (2_501, 1)])
  func `by default, 2,500 phones of one address connect`(count: Int, refused: Int) {
    var relay = Relayed()
    relay.checks = .quick
    for number in 1...count { _ = relay.open(UInt64(number), device: UInt64(number)) }
    let text = relay.server.metricsText
    #expect(Self.value("ceiling", "phones_per_address", in: text) == 2_500)
    #expect(Self.value("ceiling_used", "phones_per_address", in: text) == min(count, 2_500))
    #expect(Self.value("refusals_total", "phones_per_address", in: text) == refused)
    #expect(Self.value("ceiling_used", "phones", in: text) == min(count, 2_500))
  }

  @Test(arguments: [(1, 0), (2, 0), (3, 1)])
  func `phones up to the maximum connect`(count: Int, refused: Int) {
    var relay = Relayed { $0.maxSockets = 2 }
    for number in 1...count {
      _ = relay.open(UInt64(number), device: UInt64(number), from: "\(number)")
    }
    let text = relay.server.metricsText
    #expect(Self.value("ceiling", "phones", in: text) == 2)
    #expect(Self.value("ceiling_used", "phones", in: text) == min(count, 2))
    #expect(Self.value("refusals_total", "phones", in: text) == refused)
  }

  @Test(arguments: [(499, 0), (500, 0), (501, 1)])
  func `by default, 500 sockets of sessions of one address open`(count: Int, refused: Int) {
    var sessions = Sessions()
    for number in 1...count { _ = sessions.open(UInt64(number)) }
    var page = MetricsPage()
    sessions.server.report(to: &page)
    #expect(Self.value("ceiling", "sessions_per_address", in: page.text) == 500)
    #expect(Self.value("ceiling_used", "sessions_per_address", in: page.text) == min(count, 500))
    #expect(Self.value("refusals_total", "sessions_per_address", in: page.text) == refused)
    #expect(Self.value("ceiling_used", "sessions", in: page.text) == min(count, 500))
  }

  @Test func `a post too fast, a drain and a lost lease are told as such`() throws {
    var served = Served.opened { $0.postBurst = 1 }
    _ = try served.post("one")
    _ = served.ask(.send(Stage.draft("two", key: nil)))
    #expect(Self.value("refusals_total", "rate", in: served.server.metricsText) == 1)
    _ = served.take(.nodes(.cutOff))
    _ = served.upgrade(2, as: Stage.token("bob"))
    #expect(Self.value("refusals_total", "no_lease", in: served.server.metricsText) == 1)
    _ = served.take(.drain(within: .seconds(1)))
    _ = served.upgrade(3, as: Stage.token("bob"))
    #expect(Self.value("refusals_total", "draining", in: served.server.metricsText) == 1)
  }

  @Test func `the time of a question is told by its outcome`() {
    var relay = Relayed.paired()
    _ = relay.question()
    _ = relay.tick(at: .second(45))
    let text = relay.server.metricsText
    #expect(text.contains(#"holdfast_relay_question_seconds_count{outcome="timed_out"} 1"#))
    #expect(text.contains(#"holdfast_relay_question_seconds_sum{outcome="timed_out"} 45"#))
  }
}
