import HoldfastCore
import Testing

@testable import HoldfastMessageStream

/// Tests of the loss of a socket, of the next connection, and of polling in the meantime.
struct ReconnectTests {
  private static func http(_ status: Int) -> LinkFailure {
    .http(status: status, retryAfter: nil, detail: "")
  }

  @Test(arguments: Shop.Kind.allCases)
  func `a lost socket is retried 5 times after 0, 1, 2, 4 and 8 s, then replaced by polling`(
    kind: Shop.Kind
  ) {
    var world = StreamHarness.connected(kind)
    world.net.delay = .zero
    world.shop.upgradeStatus = .timeout(.connect)
    world.log = Log()
    world.cut()
    world.drive { $0.status.state == .polling }
    #expect(Log.waits(world.log.opens) == [1, 2, 4, 8])
    #expect(world.status.mode == .polling)
    world.say("polled")
    world.pass(.seconds(33))
    #expect(world.texts.last == "polled")
    #expect(world.ways.last == .poll)
  }

  @Test func `polls come every 30 s, a tenth more or less`() {
    var world = StreamHarness.connected(.ours)
    world.shop.upgradeStatus = Self.http(404)
    world.cut()
    world.drive { $0.status.state == .polling }
    // The second poll is at a random time within an interval, so that the polls of many clients are
    // spread.
    world.pass(.seconds(45))
    world.log = Log()
    world.pass(.seconds(600))
    let waits = Log.waits(world.log.fetches.map(\.at))
    #expect(waits.count >= 17)
    for wait in waits { #expect((27...33.2).contains(wait)) }
    #expect(Set(waits).count > 10, "a fleet does not poll in step")
  }

  @Test(arguments: [404, 503])
  func `polls a server without the stream, and tries again after 15 minutes`(status: Int) {
    var world = StreamHarness.connected(.ours)
    world.shop.upgradeStatus = Self.http(status)
    world.cut()
    world.drive { $0.status.state == .polling }
    // The first successful poll triggers one more attempt.
    world.pass(.seconds(10))
    world.log = Log()
    world.give(.refresh)
    world.send("no reason to reconnect")
    world.pass(.seconds(780))
    #expect(world.log.opens == [], "neither a refresh nor a message connects")
    world.shop.upgradeStatus = nil
    world.pass(.seconds(240))
    #expect(world.status.state == .connected)
  }

  @Test(arguments: [404, 503])
  func `shows why the stream is missing, through background and foreground, until it works`(
    status: Int
  ) {
    var world = StreamHarness.connected(.ours)
    world.shop.upgradeStatus = Self.http(status)
    world.cut()
    world.drive { $0.status.state == .polling }
    world.pass(.seconds(10))
    world.background()
    #expect(world.status.reason == .blocked(.background))
    world.foreground()
    world.pass(.seconds(1))
    #expect(world.status.state == .polling)
    #expect(world.status.reason == .failure(Self.http(status)), "not a choice of the user")
    world.give(.realtime(false))
    #expect(world.status.reason == .ended(.leaving))
    world.give(.realtime(true))
    #expect(world.status.reason == .failure(Self.http(status)))
    world.shop.upgradeStatus = nil
    world.pass(.seconds(1_000))
    #expect(world.status.state == .connected && world.status.reason == nil)
  }

  @Test func `a refresh retries at once and resets the back-off`() {
    var world = StreamHarness.connected(.ours)
    world.net.delay = .zero
    world.shop.upgradeStatus = .timeout(.connect)
    world.cut()
    world.drive { $0.status.attempt == 4 && $0.status.retryAt != nil }
    world.log = Log()
    world.give(.refresh)
    #expect(world.status.attempt <= 2)
    world.drive { $0.status.state == .polling }
    #expect(Log.waits(world.log.opens) == [1, 2, 4, 8, 16])
  }

  @Test func `polls after a refused connection, and the first answer restores the socket`() {
    var world = StreamHarness.connected(.ours)
    world.shop.isDown = true
    world.cut()
    world.drive { $0.status.state == .polling }
    #expect(world.status.mode == .polling)
    #expect(world.log.opens.count == 2)
    world.pass(.seconds(90))
    world.shop.isDown = false
    world.say("restarted")
    world.pass(.seconds(34))
    #expect(world.status.state == .connected, "one successful poll suffices")
    #expect(world.texts.last == "restarted")
  }

  @Test func `a name that does not resolve is retried 5 times`() {
    var world = StreamHarness.connected(.ours)
    world.shop.upgradeStatus = .dns(detail: "no such host")
    world.log = Log()
    world.cut()
    world.drive { $0.status.state == .polling }
    #expect(world.log.opens.count == 5)
  }

  @Test func `a refused certificate ends the stream with a notice`() {
    var world = StreamHarness.connected(.ours)
    let failure = LinkFailure.tls(.expired, detail: "")
    world.shop.upgradeStatus = failure
    world.cut()
    world.pass(.seconds(600))
    #expect(world.notices.suffix(1) == [.security(failure)])
    #expect(world.status.reason == .failure(failure))
    #expect(world.model.deadline == nil)
    #expect(world.log.opens.count == 2)
  }

  @Test func `403 ends the stream with a notice, whatever is refreshed or sent`() {
    var world = StreamHarness.connected(.ours)
    world.server.isMember = false
    world.cut()
    world.pass(.seconds(5))
    #expect(world.notices.filter { $0 == .forbidden }.count == 1)
    let opens = world.log.opens.count
    let fetches = world.log.fetches.count
    world.give(.refresh)
    world.send("hello?")
    world.foreground()
    world.pass(.seconds(3600))
    #expect(world.log.opens.count == opens)
    #expect(world.log.fetches.count == fetches)
    #expect(
      world.status.reason == .failure(.http(status: 403, retryAfter: nil, detail: "not a member")))
  }

  @Test func `401 refreshes once and connects with the new token`() {
    var world = StreamHarness.connected(.ours)
    world.server.newestToken = 2
    world.server.oldestToken = 2
    world.cut()
    world.pass(.seconds(10))
    #expect(world.log.refreshes == 1)
    #expect(world.status.state == .connected)
    #expect(!world.notices.contains(.signIn))
  }

  @Test
  func `a second 401 after a refresh asks the user to sign in, after which the stream continues`() {
    var world = StreamHarness.connected(.ours)
    world.server.newestToken = 2
    world.server.oldestToken = 3
    world.cut()
    world.pass(.seconds(30))
    #expect(world.log.refreshes == 1)
    #expect(world.notices.filter { $0 == .signIn }.count == 1)
    #expect(world.status.reason == .signIn)
    world.server.newestToken = 3
    world.phone.token = 3
    world.say("while away", silently: true)
    world.give(.credentials(.available(expiresIn: nil)))
    world.pass(.seconds(10))
    #expect(world.status.state == .connected)
    #expect(world.texts.last == "while away")
  }

  @Test func `an answer to an old token does not affect the new one`() {
    var world = StreamHarness.connected(.ours)
    world.server.newestToken = 2
    world.server.oldestToken = 2
    world.give(.refresh)
    world.pass(.milliseconds(1))
    world.phone.token = 2
    world.give(.credentials(.available(expiresIn: nil)))
    world.pass(.seconds(5))
    #expect(world.log.refreshes == 0)
    #expect(world.status.state == .connected)
    #expect(world.model.recovery.isIdle)
  }

  @Test func `credentials are refreshed a minute before they expire`() {
    var world = StreamHarness(.ours)
    world.phone.tokenLife = .seconds(3600)
    world.launch()
    world.pass(.seconds(3539))
    #expect(world.log.refreshes == 0)
    world.pass(.seconds(2))
    #expect(world.log.refreshes == 1)
    #expect(world.log.opens.count == 1, "the socket stays")
  }

  @Test func `a refresh, a message sent and the foreground each restore the socket from polling`() {
    let triggers: [(String, (inout StreamHarness) -> Void)] = [
      ("pull", { $0.give(.refresh) }),
      ("send", { $0.send("mine") }),
      (
        "foreground",
        { world in
          world.background()
          world.foreground()
        }
      ),
    ]
    for (name, trigger) in triggers {
      var world = StreamHarness.connected(.ours)
      world.shop.upgradeStatus = .timeout(.connect)
      world.cut()
      world.drive { $0.status.state == .polling }
      world.shop.upgradeStatus = nil
      trigger(&world)
      world.pass(.seconds(2))
      #expect(world.status.state == .connected, "\(name)")
    }
  }

  @Test func `shows a drain notice and spreads the return over its window`() {
    var returns: Set<Double> = []
    for seed in UInt64(1)...12 {
      var world = StreamHarness.connected(.ours, seed: seed)
      world.sendDown { .frame($0, .draining(within: .seconds(30))) }
      world.pass(.seconds(1))
      #expect(world.notices == [.draining(within: .seconds(30))])
      let start = world.now
      world.cut(.closed(code: 1012, reason: "restart"))
      world.drive { $0.log.opens.count == 2 }
      returns.insert(world.seconds(since: start))
      #expect(world.seconds(since: start) < 30.2)
    }
    #expect(returns.count == 12)
    #expect((returns.max() ?? 0) > 10)
  }

  @Test func `429 on a fetch is honored for its retry-after`() {
    var world = StreamHarness.connected(.ours)
    world.shop.restStatus = .http(status: 429, retryAfter: .seconds(20), detail: "")
    world.log = Log()
    world.say("missed", silently: true)
    world.sendDown { .link(.oversized($0, bytes: 11_000), at: Harness.wall) }
    world.drive { !$0.notices.filter { if case .fetchFailed = $0 { true } else { false } }.isEmpty }
    world.shop.restStatus = nil
    world.drive { $0.texts.last == "missed" }
    #expect(Log.waits(world.log.fetches.map(\.at)).allSatisfy { $0 >= 20 })
    #expect(world.log.fetches.count == 2)
  }

  @Test func `a failing catch-up beside a standing socket backs off to 30 s`() {
    var world = StreamHarness.connected(.ours)
    world.shop.restStatus = Self.http(500)
    world.net.delay = .zero
    world.log = Log()
    world.sendDown { .link(.oversized($0, bytes: 11_000), at: Harness.wall) }
    world.pass(.seconds(130))
    #expect(Log.waits(world.log.fetches.map(\.at)) == [1, 2, 4, 8, 16, 30, 30, 30])
    world.shop.restStatus = nil
    world.pass(.seconds(31))
    #expect(world.model.recovery.isIdle)
  }
}
