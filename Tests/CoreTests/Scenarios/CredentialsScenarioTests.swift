import HoldfastCore
import Testing

struct CredentialsScenarioTests {
  let refused = LinkFailure.http(status: 401, retryAfter: nil, detail: "")

  @Test func `a 401 leads to one silent refresh, and the next attempt follows at once`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.lost(harness.attempt, .reset))
    let effects = harness.give(.lost(harness.attempt, refused))
    #expect(effects.contains(.refreshCredentials))
    let now = harness.seconds
    harness.opens = []
    harness.give(.credentials(.available(expiresIn: nil)))
    #expect(harness.opens == [now])
  }

  @Test func `a second 401 after the refresh asks the user to sign in`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.lost(harness.attempt, .closed(code: 4401, reason: "expired")))
    harness.give(.credentials(.available(expiresIn: nil)))
    let effects = harness.give(.lost(harness.attempt, refused))
    #expect(!effects.contains(.refreshCredentials))
    #expect(harness.link.status == LinkStatus(phase: .failed, reason: .signIn))
    #expect(harness.link.deadline == nil)
  }

  /// Reconnects the link, keeps it connected for `life`, and lets the server end it with 4401.
  @Test(arguments: [
    (Duration.milliseconds(999), false), (.seconds(1), true), (.milliseconds(1_001), true),
    (.seconds(3), true), (.seconds(9), true),
  ])
  func `credentials that worked for at least 1 s are refreshed again, however short-lived`(
    life: Duration, isRenewed: Bool
  ) {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.lost(harness.attempt, .closed(code: 4401, reason: "expired")))
    for _ in 0..<8 {
      harness.give(.credentials(.available(expiresIn: life)))
      harness.give(.opened(harness.attempt))
      harness.pass(life)
      let effects = harness.give(.lost(harness.attempt, .closed(code: 4401, reason: "expired")))
      #expect(effects.contains(.refreshCredentials) == isRenewed)
      guard isRenewed else { break }
    }
    #expect((harness.link.status.reason == .signIn) == !isRenewed)
  }

  @Test func `a REST refusal after a reconnect leads to a refresh of its own`() {
    var harness = LinkHarness.connected(.messageStream)
    #expect(harness.give(.requested(refused)).contains(.refreshCredentials))
    harness.give(.credentials(.available(expiresIn: .seconds(3))))
    harness.give(.lost(harness.attempt, .reset))
    harness.give(.opened(harness.attempt))
    #expect(harness.give(.requested(refused)).contains(.refreshCredentials))
    harness.give(.credentials(.available(expiresIn: .seconds(3))))
    #expect(!harness.give(.requested(refused)).contains(.refreshCredentials))
    #expect(harness.link.status.reason == .signIn)
  }

  @Test func `a link opened with older credentials does not prove the newer ones`() {
    var harness = LinkHarness.wanted(.messageStream)
    #expect(harness.give(.requested(refused)) == [.refreshCredentials])
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.connect()
    let attempt = harness.attempt
    let end = LinkStatus(phase: .failed, reason: .signIn)
    #expect(harness.give(.requested(refused)) == [.close(attempt, .leaving), .status(end)])
  }

  @Test func `a refusal of older credentials does not refresh the newer ones`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.credentials(.available(expiresIn: nil)))
    let effects = harness.give(.lost(harness.attempt, .closed(code: 4401, reason: "")))
    #expect(!effects.contains(.refreshCredentials))
    #expect(harness.opens.count == 1, "the newer credentials are tried at once")
    #expect(harness.link.status.reason == .failure(.closed(code: 4401, reason: "")))
    harness.give(.opened(harness.attempt))
    #expect(harness.link.status.reason == nil)
  }

  @Test func `credentials are refreshed a minute before they expire`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.credentials(.available(expiresIn: .seconds(3600))))
    for _ in 0..<59 {
      harness.pass(.seconds(60) - .nanoseconds(1))
      harness.give(.heard(harness.attempt))
      harness.pass(.nanoseconds(1))
      if harness.log.contains(.refreshCredentials) { break }
    }
    #expect(harness.log.contains(.refreshCredentials))
    #expect(harness.link.status.phase == .connected, "the link stays connected")
  }

  @Test func `short-lived credentials are refreshed at half of their life`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.credentials(.available(expiresIn: .seconds(40))))
    harness.pass(.milliseconds(19_999))
    #expect(!harness.log.contains(.refreshCredentials))
    harness.pass(.milliseconds(1))
    #expect(harness.log.contains(.refreshCredentials))
  }

  /// Tests a clock that is ahead. It shortens every lifetime by its error, so each renewal reports
  /// the error again.
  @Test(arguments: [
    (Duration.seconds(-3600), Duration?.none), (.zero, nil), (.nanoseconds(1), .seconds(15)),
    (.seconds(29), .seconds(15)), (.seconds(30), .seconds(15)),
    (.seconds(31), .milliseconds(15_500)),
  ])
  func `a lifetime shortened by a wrong clock does not cause a refresh loop`(
    life: Duration, wait: Duration?
  ) {
    var harness = LinkHarness.connected(.messageStream)
    var times = [harness.seconds]
    harness.give(.credentials(.available(expiresIn: life)))
    for _ in 0..<120 {
      harness.pass(.milliseconds(500))
      harness.give(.heard(harness.attempt))
      guard harness.log.contains(.refreshCredentials) else { continue }
      times.append(harness.seconds)
      harness.log = []
      harness.give(.credentials(.available(expiresIn: life)))
    }
    let waits = zip(times, times.dropFirst()).map { Duration.seconds($1 - $0) }
    #expect(Set(waits) == Set([wait].compactMap(\.self)))
    #expect(harness.link.status.phase == .connected)
  }

  @Test func `a link without credentials requests them before its first attempt`() {
    var harness = LinkHarness(.messageStream)
    #expect(harness.give(.setIntent(.live)).contains(.refreshCredentials))
    #expect(harness.opens == [])
    harness.give(.credentials(.rejected))
    #expect(harness.link.status.reason == .signIn)
  }

  @Test func `a refresh that hangs counts as failed and is retried`() {
    var harness = LinkHarness(.messageStream)
    harness.give(.setIntent(.live))
    harness.pass(.seconds(15 + 1))
    #expect(harness.log.filter { $0 == .refreshCredentials }.count == 2)
  }

  @Test func `while credentials cannot be had, the status says why`() {
    var harness = LinkHarness(.messageStream)
    harness.give(.setIntent(.live))
    for (wait, detail) in [(1, "the account is locked"), (2, "the disk is full")] {
      harness.give(.credentials(.refreshFailed(detail: detail)))
      #expect(harness.link.status.reason == .failure(.local(detail: detail)))
      harness.pass(.seconds(wait))
    }
    harness.give(.credentials(.refreshFailed()))
    let unknown = LinkFailure.local(detail: "credentials could not be refreshed")
    #expect(harness.link.status.reason == .failure(unknown))
  }

  @Test func `the attempt after a failed refresh has no jitter from an older refusal`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.lost(harness.attempt, .http(status: 429, retryAfter: nil, detail: "")))
    harness.give(.reachability(.reachable(path: PathID("cell0"))))
    harness.pass(.seconds(2))
    harness.give(.lost(harness.attempt, .http(status: 401, retryAfter: nil, detail: "")))
    harness.opens = []
    let failed = harness.seconds
    harness.give(.credentials(.refreshFailed()))
    harness.log = []
    harness.pass(.seconds(1))
    #expect(harness.log.contains(.refreshCredentials), "the second wait of the schedule")
    harness.give(.credentials(.available(expiresIn: nil)))
    #expect(harness.opens == [failed + 1])
  }

  @Test func `refused credentials are not used again while others cannot be had`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.lost(harness.attempt, .closed(code: 4401, reason: "expired")))
    for detail in ["the account is locked", "the disk is full"] {
      harness.log = []
      harness.give(.credentials(.refreshFailed(detail: detail)))
      #expect(harness.link.status.reason == .failure(.local(detail: detail)))
      #expect(!harness.log.contains(.refreshCredentials), "the source is called after a wait")
      harness.next()
      #expect(harness.log.contains(.refreshCredentials))
      #expect(harness.link.status.reason == .failure(.local(detail: detail)))
    }
    #expect(harness.opens == [])
    harness.give(.credentials(.available(expiresIn: nil)))
    #expect(harness.opens.count == 1)
    harness.give(.lost(harness.attempt, refused))
    #expect(harness.link.status.reason == .signIn, "other credentials are refused too")
  }

  @Test func `credentials that REST refused are not used for the next attempt`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.requested(refused))
    harness.give(.credentials(.refreshFailed(detail: "the disk is full")))
    #expect(harness.link.status.phase == .connected)
    #expect(harness.give(.lost(harness.attempt, .reset)).contains(.refreshCredentials))
    #expect(harness.opens == [])
  }

  @Test func `after the user must sign in, the next start requests credentials first`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.lost(harness.attempt, .closed(code: 4401, reason: "expired")))
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.give(.lost(harness.attempt, refused))
    harness.opens = []
    #expect(harness.give(.setIntent(.live)).first == .refreshCredentials)
    #expect(harness.opens == [])
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.give(.prepared(harness.attempt))
    #expect(harness.opens.count == 1)
  }

  @Test func `a rejected refresh of refused credentials ends the link also while it is held`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.lost(harness.attempt, .closed(code: 4401, reason: "expired")))
    harness.give(.reachability(.unreachable))
    harness.give(.credentials(.rejected))
    #expect(harness.link.status.reason == .signIn)
  }

  @Test func `a policy without credentials tries again after a refusal`() {
    var harness = LinkHarness.connected(.socket)
    harness.give(.lost(harness.attempt, refused))
    harness.give(.credentials(.rejected))
    #expect(harness.link.status.reason == .signIn)
    harness.give(.setIntent(.live))
    #expect(harness.opens.count == 1)
  }

  @Test func `credentials that cannot be renewed are used until the server refuses them`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.credentials(.available(expiresIn: .seconds(120))))
    harness.pass(.seconds(60))
    #expect(harness.log.contains(.refreshCredentials))
    harness.log = []
    harness.give(.credentials(.rejected))
    harness.give(.heard(harness.attempt))
    harness.pass(.seconds(80))
    #expect(!harness.log.contains(.refreshCredentials))
    #expect(harness.link.status.phase == .connected)
    harness.give(.lost(harness.attempt, .closed(code: 4401, reason: "")))
    harness.give(.lost(harness.attempt, refused))
    harness.give(.credentials(.rejected))
    #expect(harness.link.status.reason == .signIn)
  }

  @Test func `failed refreshes are retried after 15, 30, 60 s and so on, up to 5 minutes`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.credentials(.available(expiresIn: .seconds(120))))
    var times: [Double] = []
    for _ in 0..<4000 where times.count < 7 {
      harness.pass(.seconds(1))
      harness.give(.heard(harness.attempt))
      guard harness.log.contains(.refreshCredentials) else { continue }
      times.append(harness.seconds)
      harness.log = []
      harness.give(.credentials(.refreshFailed()))
    }
    #expect(zip(times, times.dropFirst()).map { $1 - $0 } == [15, 30, 60, 120, 240, 300])
  }

  @Test func `polls honor the server's retry-after up to 15 minutes`() {
    var harness = LinkHarness.wanted(.messageStream)
    harness.give(.setIntent(.standbyOnly))
    harness.peer = .isSilent
    let retryAfter = LinkFailure.http(status: 503, retryAfter: .seconds(1_000_000_000), detail: "")
    harness.give(.polled(1, retryAfter))
    harness.pass(.seconds(899))
    #expect(harness.polls.count == 1)
    harness.pass(.seconds(6))
    #expect(harness.polls.count == 2, "5 s more at most, to spread clients")
  }

  @Test func `signing out closes the link, and new credentials bring it back`() {
    var harness = LinkHarness.connected(.messageStream)
    let attempt = harness.attempt
    let effects = harness.give(.credentials(.cleared))
    #expect(effects.first == .close(attempt, .leaving))
    #expect(harness.link.status == LinkStatus(phase: .failed, reason: .signIn))
    #expect(harness.link.deadline == nil)
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.give(.prepared(harness.attempt))
    #expect(harness.opens.count == 1)
  }

  @Test func `removal from the shop ends the link and every poll`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.requested(.http(status: 403, retryAfter: nil, detail: "")))
    #expect(harness.link.status.phase == .failed)
    harness.give(.trigger(.userRefresh))
    harness.give(.lifecycle(.background))
    harness.give(.lifecycle(.foreground))
    #expect(harness.opens == [])
    #expect(harness.link.deadline == nil)
  }

  @Test func `another refusal after a failed refresh leads to another refresh`() {
    var harness = LinkHarness.connected(.messageStream)
    #expect(harness.give(.requested(refused)).contains(.refreshCredentials))
    harness.give(.credentials(.refreshFailed()))
    #expect(harness.give(.requested(refused)) == [.refreshCredentials])
    #expect(harness.link.status.phase == .connected)
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.give(.requested(refused))
    #expect(harness.link.status.reason == .signIn)
  }

  @Test func `renewed credentials remain in use when a later refresh is rejected, until refused`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.requested(refused))
    harness.give(.credentials(.available(expiresIn: .seconds(120))))
    harness.log = []
    harness.pass(.seconds(60))
    #expect(harness.log.contains(.refreshCredentials))
    harness.give(.credentials(.rejected))
    #expect(harness.link.status.phase == .connected)
    harness.give(.requested(refused))
    #expect(harness.link.status.reason == .signIn)
  }

  @Test func `a rejected refresh of credentials that REST refused ends the link`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.requested(refused))
    harness.give(.credentials(.rejected))
    #expect(harness.link.status.reason == .signIn)
  }

  @Test func `two REST refusals in a row require the user to sign in`() {
    var harness = LinkHarness.connected(.messageStream)
    #expect(harness.give(.requested(refused)).contains(.refreshCredentials))
    #expect(harness.give(.requested(refused)) == [], "a refresh is already in progress")
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.give(.requested(refused))
    #expect(harness.link.status.reason == .signIn)
  }

  @Test func `a REST refusal before anything was accepted leads to a refresh first`() {
    var harness = LinkHarness.wanted(.messageStream)
    #expect(harness.give(.requested(refused)) == [.refreshCredentials])
    #expect(harness.link.status.reason == nil)
  }

  @Test func `a link that becomes stable does not cancel a REST refusal since it opened`() {
    var harness = LinkHarness.wanted(.messageStream)
    harness.connect()
    #expect(harness.give(.requested(refused)).contains(.refreshCredentials))
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.pass(LinkPolicy.messageStream.retry.stability.after)
    #expect(harness.link.status.phase == .connected)
    harness.give(.requested(refused))
    #expect(harness.link.status.reason == .signIn)
  }

  @Test func `data on an already stable link does not cancel a REST refusal`() {
    var harness = LinkHarness.connected(.messageStream)
    #expect(harness.give(.requested(refused)).contains(.refreshCredentials))
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.give(.validData(harness.attempt))
    harness.give(.requested(refused))
    #expect(harness.link.status.reason == .signIn)
  }
}
