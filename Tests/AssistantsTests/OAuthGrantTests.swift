import HoldfastCore
import HoldfastRelayData
import HoldfastRelayFixtures
import Testing

@testable import HoldfastAssistants
@testable import HoldfastRelayServer

/// Tests of a grant as one of the phone's assistants: its bound, its end and its life.
struct OAuthGrantTests {
  @Test func `a grant is asked as an assistant, and outlives a login`() {
    var stage = OAuthStage()
    let client = stage.register()
    let tokens = stage.tokens(client)
    stage.relay.login(1, token: "login")
    stage.pass(.seconds(7_200))
    #expect(
      stage.relay.question(bearer: "login").1.contains {
        if case .answer(_, .refused(.tokenExpired)) = $0 { true } else { false }
      })
    let renewed = stage.refresh(client, tokens.refresh)
    guard case .granted(let grant) = stage.permission(renewed.json("access_token")) else {
      Issue.record("the grant has not ended")
      return
    }
    let call = RelayServer.Input.call(
      RequestID(9), .question(RelayStage.question()), bearer: grant, from: "x",
      wall: stage.relay.wall)
    #expect(
      stage.relay.take(call).unstored.contains {
        if case .send(ConnectionID(1), .question(_, _)) = $0 { true } else { false }
      })
  }

  @Test func `the phone's user ends a grant, and the next call needs a new sign-in`() {
    var stage = OAuthStage()
    let client = stage.register()
    let (first, second) = (stage.tokens(client), stage.tokens(client))
    #expect(stage.assistants() == ["Claude", "Claude"])
    guard case .granted(let grant) = stage.permission(first.access) else { return }
    #expect(stage.assistants(.end(grant.shortName)) == ["Claude"])
    #expect(!stage.isGranted(first.access) && stage.isGranted(second.access))
    #expect(stage.refresh(client, first.refresh).failure == "400 invalid_grant")
    #expect(stage.assistants(.endAll).isEmpty)
    #expect(!stage.isGranted(second.access))
    let anew = stage.tokens(client)
    #expect(stage.isGranted(anew.access))
  }

  @Test func `a ninth assistant ends the oldest, but an expired one first`() {
    var stage = OAuthStage()
    let client = stage.register()
    let first = stage.tokens(client)
    _ = stage.code(client)
    for _ in 0..<6 { _ = stage.tokens(client) }
    #expect(stage.assistants().count == 8)
    stage.pass(.seconds(120))
    #expect(stage.assistants().count == 7)
    _ = stage.tokens(client)
    #expect(stage.assistants().count == 8 && stage.isGranted(first.access))
    _ = stage.tokens(client)
    #expect(stage.assistants().count == 8 && !stage.isGranted(first.access))
  }

  @Test func `a sign-in that nobody redeems ends before one that is used`() {
    var stage = OAuthStage()
    let client = stage.register()
    let used = (0..<7).map { _ in stage.tokens(client) }
    for _ in 0..<5 {
      _ = stage.code(client)
      stage.pass(.seconds(1))
    }
    #expect(used.allSatisfy { stage.isGranted($0.access) })
    let last = stage.tokens(client)
    #expect(used.allSatisfy { stage.isGranted($0.access) } && stage.isGranted(last.access))
    _ = stage.code(client)
    #expect(!stage.isGranted(used[0].access) && stage.isGranted(used[1].access))
  }

  @Test(arguments: [(29_999, true), (30_000, false)])
  func `the answer to a renewal may be lost in a restart`(milliseconds: Int, isKept: Bool) {
    var relay = RelayServer(life: "b", at: .zero)
    let wall = RelayStage.dawn
    let access = StoredAccess(
      token: RelayStage.hash("grant"), phone: RelayStage.phone(1),
      expiresAt: wall.advanced(by: .seconds(86_400)), since: wall, generation: 6)
    let phone = StoredPhone(
      id: RelayStage.phone(1), device: RelayStage.device(1), resume: RelayStage.hash("r"))
    _ = relay.handle(
      .restored(StoredRelay(phones: [phone], accesses: [access]), wall: wall), at: .zero)
    let later = Instant.zero.advanced(by: .milliseconds(milliseconds))
    let effects = relay.handle(
      .call(
        RequestID(1), .renew(generation: 5), bearer: RelayStage.hash("grant"), from: "x",
        wall: wall), at: later)
    #expect(effects.contains(.answer(RequestID(1), .renewed(generation: 6))) == isKept)
    #expect(relay.admits(RelayStage.hash("grant"), at: later) == isKept)
  }

  @Test func `a grant outlives the phone's absence, and ends with its pairing`() {
    var stage = OAuthStage()
    let client = stage.register()
    let tokens = stage.tokens(client)
    _ = stage.relay.complete(stage.relay.gone(1))
    stage.pass(.seconds(3_000))
    #expect(stage.isGranted(tokens.access), "the grace of a phone without a grant is 600 s")
    stage.pass(.seconds(20 * 86_400))
    let renewed = stage.refresh(client, tokens.refresh)
    #expect(renewed.status == 200)
    let back = stage.relay.open(2, resume: "resume-1")
    #expect(back.contains(.accept(ConnectionID(2))))
    #expect(stage.relay.server.phones.count == 1)
    #expect(stage.isGranted(renewed.json("access_token")))
    // The same device pairs again without its token.
    stage.relay.phone(3, device: 1)
    #expect(!stage.isGranted(renewed.json("access_token")))
    let late = stage.refresh(client, renewed.json("refresh_token"))
    #expect(late.failure == "400 invalid_grant")
    #expect(stage.relay.server.tokens.count == 0)
  }

  @Test func `a phone that is away and has no grant ends after its grace`() {
    var stage = OAuthStage()
    let client = stage.register()
    let tokens = stage.tokens(client)
    _ = stage.relay.complete(stage.relay.gone(1))
    stage.pass(.seconds(30 * 86_400))
    #expect(!stage.isGranted(tokens.access))
    stage.pass(.seconds(3_600))
    #expect(stage.relay.server.phones.count == 0 && stage.relay.server.tokens.count == 0)
  }

  @Test func `a grant survives a restart with its generation, and a lost phone's does not`() {
    var relay = RelayServer(life: "b", at: .zero)
    let wall = RelayStage.dawn
    func access(_ number: UInt64, phone: UInt64) -> StoredAccess {
      StoredAccess(
        token: RelayStage.hash("grant-\(number)"), phone: RelayStage.phone(phone),
        expiresAt: wall.advanced(by: .seconds(86_400)), since: wall, generation: 5)
    }
    let phone = StoredPhone(
      id: RelayStage.phone(1), device: RelayStage.device(1), resume: RelayStage.hash("r"))
    let stored = StoredRelay(
      phones: [phone], accesses: [access(1, phone: 1), access(2, phone: 2)])
    let effects = relay.handle(.restored(stored, wall: wall), at: .zero)
    #expect(effects.changes.contains(.endAccess(RelayStage.hash("grant-2"))))
    #expect(relay.admits(RelayStage.hash("grant-1"), at: .zero))
    #expect(!relay.admits(RelayStage.hash("grant-2"), at: .zero))
    let renewal = relay.handle(
      .call(
        RequestID(1), .renew(generation: 5), bearer: RelayStage.hash("grant-1"), from: "x",
        wall: wall), at: .zero)
    #expect(
      renewal.changes.contains {
        if case .access(let renewed) = $0 { renewed.generation == 6 } else { false }
      })
  }

  @Test func `a backup that is older than a client's token does not end its grant`() {
    var relay = RelayServer(life: "b", at: .zero)
    let wall = RelayStage.dawn
    let access = StoredAccess(
      token: RelayStage.hash("grant"), phone: RelayStage.phone(1),
      expiresAt: wall.advanced(by: .seconds(86_400)), since: wall, generation: 2)
    let phone = StoredPhone(
      id: RelayStage.phone(1), device: RelayStage.device(1), resume: RelayStage.hash("r"))
    _ = relay.handle(
      .restored(StoredRelay(phones: [phone], accesses: [access]), wall: wall), at: .zero)
    let effects = relay.handle(
      .call(
        RequestID(1), .renew(generation: 7), bearer: RelayStage.hash("grant"), from: "x",
        wall: wall), at: .zero)
    #expect(
      effects.changes.contains {
        if case .access(let renewed) = $0 { renewed.generation == 8 } else { false }
      })
  }

  @Test(arguments: [1_000])
  func `grants leave nothing but their entries`(count: Int) {
    var stage = OAuthStage()
    stage.relay.checks = .quick
    let client = stage.register()
    for number in 2..<UInt64(count / 8 + 1) { stage.relay.phone(number) }
    var tokens: [(access: String, refresh: String)] = []
    for number in 0..<count { tokens.append(stage.tokens(client, phone: UInt64(number / 8 + 1))) }
    #expect(stage.relay.server.tokens.count == count)
    #expect(stage.server.codes.count == count && stage.server.waiting.isEmpty)
    stage.pass(.seconds(3_600))
    #expect(stage.server.codes.isEmpty)
    for index in tokens.indices {
      let reply = stage.refresh(client, tokens[index].refresh)
      #expect(stage.isGranted(reply.json("access_token")))
      tokens[index].refresh = reply.json("refresh_token")
    }
    #expect(stage.relay.server.tokens.count == count && stage.server.codes.isEmpty)
    for pair in tokens { _ = stage.ask(.post, .revoke, [("token", pair.refresh)]) }
    #expect(stage.relay.server.tokens.count == 0)
  }

  @Test func `a login is renewed by its questions if that is configured`() {
    for renews in [false, true] {
      var relay = Relayed.paired {
        $0.renewsTokens = renews
        $0.tokenLife = .seconds(10_000)
      }
      for _ in 0..<3 {
        relay.pass(.seconds(6_000))
        _ = relay.question()
      }
      let (_, effects) = relay.question(7)
      let isRefused = effects.contains {
        if case .answer(_, .refused(.tokenExpired)) = $0 { true } else { false }
      }
      #expect(isRefused == !renews)
    }
  }
}
