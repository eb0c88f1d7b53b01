import LinkCore
import Testing

struct CredentialsScenarioTests {
  let refused = LinkFailure.http(status: 401, retryAfter: nil, detail: "")

  @Test func `a 401 leads to one silent refresh, and the next attempt follows at once`() {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.lost(bench.attempt, .reset))
    let effects = bench.give(.lost(bench.attempt, refused))
    #expect(effects.contains(.refreshCredentials))
    let now = bench.seconds
    bench.opens = []
    bench.give(.credentials(.available(expiresIn: nil)))
    #expect(bench.opens == [now])
  }

  @Test func `a second 401 after the refresh asks the user to sign in`() {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.lost(bench.attempt, .closed(code: 4401, reason: "expired")))
    bench.give(.credentials(.available(expiresIn: nil)))
    let effects = bench.give(.lost(bench.attempt, refused))
    #expect(!effects.contains(.refreshCredentials))
    #expect(bench.link.status == LinkStatus(phase: .failed, reason: .signIn))
    #expect(bench.link.deadline == nil)
  }

  /// Reconnects the link, keeps it connected for `life`, and lets the server end it with 4401.
  @Test(arguments: [
    (Duration.milliseconds(999), false), (.seconds(1), true), (.milliseconds(1_001), true),
    (.seconds(3), true), (.seconds(9), true),
  ])
  func `credentials that worked for at least 1 s are refreshed again, however short-lived`(
    life: Duration, isRenewed: Bool
  ) {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.lost(bench.attempt, .closed(code: 4401, reason: "expired")))
    for _ in 0..<8 {
      bench.give(.credentials(.available(expiresIn: life)))
      bench.give(.opened(bench.attempt))
      bench.pass(life)
      let effects = bench.give(.lost(bench.attempt, .closed(code: 4401, reason: "expired")))
      #expect(effects.contains(.refreshCredentials) == isRenewed)
      guard isRenewed else { break }
    }
    #expect((bench.link.status.reason == .signIn) == !isRenewed)
  }

  @Test func `a REST refusal after a reconnect leads to a refresh of its own`() {
    var bench = LinkBench.connected(.messageStream)
    #expect(bench.give(.requested(refused)).contains(.refreshCredentials))
    bench.give(.credentials(.available(expiresIn: .seconds(3))))
    bench.give(.lost(bench.attempt, .reset))
    bench.give(.opened(bench.attempt))
    #expect(bench.give(.requested(refused)).contains(.refreshCredentials))
    bench.give(.credentials(.available(expiresIn: .seconds(3))))
    #expect(!bench.give(.requested(refused)).contains(.refreshCredentials))
    #expect(bench.link.status.reason == .signIn)
  }

  @Test func `a link opened with older credentials does not prove the newer ones`() {
    var bench = LinkBench.wanted(.messageStream)
    #expect(bench.give(.requested(refused)) == [.refreshCredentials])
    bench.give(.credentials(.available(expiresIn: nil)))
    bench.connect()
    let attempt = bench.attempt
    let end = LinkStatus(phase: .failed, reason: .signIn)
    #expect(bench.give(.requested(refused)) == [.close(attempt, .leaving), .status(end)])
  }

  @Test func `a refusal of older credentials does not refresh the newer ones`() {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.credentials(.available(expiresIn: nil)))
    let effects = bench.give(.lost(bench.attempt, .closed(code: 4401, reason: "")))
    #expect(!effects.contains(.refreshCredentials))
    #expect(bench.opens.count == 1, "the newer credentials are tried at once")
  }

  @Test func `credentials are refreshed a minute before they expire`() {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.credentials(.available(expiresIn: .seconds(3600))))
    for _ in 0..<59 {
      bench.pass(.seconds(60) - .nanoseconds(1))
      bench.give(.heard(bench.attempt))
      bench.pass(.nanoseconds(1))
      if bench.log.contains(.refreshCredentials) { break }
    }
    #expect(bench.log.contains(.refreshCredentials))
    #expect(bench.link.status.phase == .connected, "the link stays connected")
  }

  @Test func `short-lived credentials are refreshed at half of their life`() {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.credentials(.available(expiresIn: .seconds(40))))
    bench.pass(.milliseconds(19_999))
    #expect(!bench.log.contains(.refreshCredentials))
    bench.pass(.milliseconds(1))
    #expect(bench.log.contains(.refreshCredentials))
  }

  /// A clock that is ahead shortens every lifetime by its error, so each renewal reports it again.
  @Test(arguments: [
    (Duration.seconds(-3600), Duration?.none), (.zero, nil), (.nanoseconds(1), .seconds(15)),
    (.seconds(29), .seconds(15)), (.seconds(30), .seconds(15)),
    (.seconds(31), .milliseconds(15_500)),
  ])
  func `a lifetime shortened by a wrong clock does not cause a refresh loop`(
    life: Duration, wait: Duration?
  ) {
    var bench = LinkBench.connected(.messageStream)
    var times = [bench.seconds]
    bench.give(.credentials(.available(expiresIn: life)))
    for _ in 0..<120 {
      bench.pass(.milliseconds(500))
      bench.give(.heard(bench.attempt))
      guard bench.log.contains(.refreshCredentials) else { continue }
      times.append(bench.seconds)
      bench.log = []
      bench.give(.credentials(.available(expiresIn: life)))
    }
    let waits = zip(times, times.dropFirst()).map { Duration.seconds($1 - $0) }
    #expect(Set(waits) == Set([wait].compactMap(\.self)))
    #expect(bench.link.status.phase == .connected)
  }

  @Test func `a link without credentials requests them before its first attempt`() {
    var bench = LinkBench(.messageStream)
    #expect(bench.give(.setIntent(.live)).contains(.refreshCredentials))
    #expect(bench.opens == [])
    bench.give(.credentials(.rejected))
    #expect(bench.link.status.reason == .signIn)
  }

  @Test func `a refresh that hangs counts as failed and is retried`() {
    var bench = LinkBench(.messageStream)
    bench.give(.setIntent(.live))
    bench.pass(.seconds(15 + 1))
    #expect(bench.log.filter { $0 == .refreshCredentials }.count == 2)
  }

  @Test func `the attempt after a failed refresh has no jitter from an older refusal`() {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.lost(bench.attempt, .http(status: 429, retryAfter: nil, detail: "")))
    bench.give(.reachability(.reachable(path: PathID("cell0"))))
    bench.pass(.seconds(2))
    bench.give(.lost(bench.attempt, .http(status: 401, retryAfter: nil, detail: "")))
    bench.opens = []
    let failed = bench.seconds
    bench.give(.credentials(.refreshFailed))
    bench.pass(.seconds(1))
    #expect(bench.opens == [failed + 1], "the second wait of the schedule")
  }

  @Test func `credentials that cannot be renewed are used until the server refuses them`() {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.credentials(.available(expiresIn: .seconds(120))))
    bench.pass(.seconds(60))
    #expect(bench.log.contains(.refreshCredentials))
    bench.log = []
    bench.give(.credentials(.rejected))
    bench.give(.heard(bench.attempt))
    bench.pass(.seconds(80))
    #expect(!bench.log.contains(.refreshCredentials))
    #expect(bench.link.status.phase == .connected)
    bench.give(.lost(bench.attempt, .closed(code: 4401, reason: "")))
    bench.give(.lost(bench.attempt, refused))
    bench.give(.credentials(.rejected))
    #expect(bench.link.status.reason == .signIn)
  }

  @Test func `failed refreshes are retried after 15, 30, 60 s and so on, up to 5 minutes`() {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.credentials(.available(expiresIn: .seconds(120))))
    var times: [Double] = []
    for _ in 0..<4000 where times.count < 7 {
      bench.pass(.seconds(1))
      bench.give(.heard(bench.attempt))
      guard bench.log.contains(.refreshCredentials) else { continue }
      times.append(bench.seconds)
      bench.log = []
      bench.give(.credentials(.refreshFailed))
    }
    #expect(zip(times, times.dropFirst()).map { $1 - $0 } == [15, 30, 60, 120, 240, 300])
  }

  @Test func `polls honor the server's retry-after up to 15 minutes`() {
    var bench = LinkBench.wanted(.messageStream)
    bench.give(.setIntent(.standbyOnly))
    bench.peer = .isSilent
    let retryAfter = LinkFailure.http(status: 503, retryAfter: .seconds(1_000_000_000), detail: "")
    bench.give(.polled(1, retryAfter))
    bench.pass(.seconds(899))
    #expect(bench.polls.count == 1)
    bench.pass(.seconds(6))
    #expect(bench.polls.count == 2, "5 s more at most, to spread clients")
  }

  @Test func `signing out closes the link, and new credentials bring it back`() {
    var bench = LinkBench.connected(.messageStream)
    let attempt = bench.attempt
    let effects = bench.give(.credentials(.cleared))
    #expect(effects.first == .close(attempt, .leaving))
    #expect(bench.link.status == LinkStatus(phase: .failed, reason: .signIn))
    #expect(bench.link.deadline == nil)
    bench.give(.credentials(.available(expiresIn: nil)))
    bench.give(.prepared(bench.attempt))
    #expect(bench.opens.count == 1)
  }

  @Test func `removal from the shop ends the link and every poll`() {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.requested(.http(status: 403, retryAfter: nil, detail: "")))
    #expect(bench.link.status.phase == .failed)
    bench.give(.trigger(.userRefresh))
    bench.give(.lifecycle(.background))
    bench.give(.lifecycle(.foreground))
    #expect(bench.opens == [])
    #expect(bench.link.deadline == nil)
  }

  @Test func `another refusal after a failed refresh leads to another refresh`() {
    var bench = LinkBench.connected(.messageStream)
    #expect(bench.give(.requested(refused)).contains(.refreshCredentials))
    bench.give(.credentials(.refreshFailed))
    #expect(bench.give(.requested(refused)) == [.refreshCredentials])
    #expect(bench.link.status.phase == .connected)
    bench.give(.credentials(.available(expiresIn: nil)))
    bench.give(.requested(refused))
    #expect(bench.link.status.reason == .signIn)
  }

  @Test func `renewed credentials remain in use when a later refresh is rejected, until refused`() {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.requested(refused))
    bench.give(.credentials(.available(expiresIn: .seconds(120))))
    bench.log = []
    bench.pass(.seconds(60))
    #expect(bench.log.contains(.refreshCredentials))
    bench.give(.credentials(.rejected))
    #expect(bench.link.status.phase == .connected)
    bench.give(.requested(refused))
    #expect(bench.link.status.reason == .signIn)
  }

  @Test func `a rejected refresh of credentials that REST refused ends the link`() {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.requested(refused))
    bench.give(.credentials(.rejected))
    #expect(bench.link.status.reason == .signIn)
  }

  @Test func `two REST refusals in a row require the user to sign in`() {
    var bench = LinkBench.connected(.messageStream)
    #expect(bench.give(.requested(refused)).contains(.refreshCredentials))
    #expect(bench.give(.requested(refused)) == [], "a refresh is already in progress")
    bench.give(.credentials(.available(expiresIn: nil)))
    bench.give(.requested(refused))
    #expect(bench.link.status.reason == .signIn)
  }

  @Test func `a REST refusal before anything was accepted leads to a refresh first`() {
    var bench = LinkBench.wanted(.messageStream)
    #expect(bench.give(.requested(refused)) == [.refreshCredentials])
    #expect(bench.link.status.reason == nil)
  }

  @Test func `a link that becomes stable does not cancel a REST refusal since it opened`() {
    var bench = LinkBench.wanted(.messageStream)
    bench.connect()
    #expect(bench.give(.requested(refused)).contains(.refreshCredentials))
    bench.give(.credentials(.available(expiresIn: nil)))
    bench.pass(LinkPolicy.messageStream.retry.stability.after)
    #expect(bench.link.status.phase == .connected)
    bench.give(.requested(refused))
    #expect(bench.link.status.reason == .signIn)
  }

  @Test func `data on an already stable link does not cancel a REST refusal`() {
    var bench = LinkBench.connected(.messageStream)
    #expect(bench.give(.requested(refused)).contains(.refreshCredentials))
    bench.give(.credentials(.available(expiresIn: nil)))
    bench.give(.validData(bench.attempt))
    bench.give(.requested(refused))
    #expect(bench.link.status.reason == .signIn)
  }
}
