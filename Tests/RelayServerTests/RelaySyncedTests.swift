import HoldfastCore
import HoldfastHealth
import HoldfastRelayData
import HoldfastRelayFixtures
import HoldfastRelayServer
import Testing

/// Tests of answers from synced samples, while a phone is away or does not wake.
struct RelaySyncedTests {
  private let user = SyncedUser("ann", zone: "Europe/Berlin")
  private let name = RelayStage.request("a-1")
  private let object = RelayStage.object("7").synced(asOf: RelayStage.dawn)

  /// Returns a relay whose paired phone has named a user of health sync.
  private func here(push: Bool = false) -> Relayed {
    var relay = Relayed.paired()
    let (_, effects) = relay.pull(.synced(.user(user), from: "home"))
    _ = relay.complete(effects)
    if push { _ = relay.complete(relay.pull(.push(.hook("bell"))).1) }
    return relay
  }

  private func away(push: Bool = false) -> Relayed {
    var relay = here(push: push)
    _ = relay.complete(relay.gone(1))
    return relay
  }

  private var read: RelayServer.Effect { .readSynced(name, RelayStage.question(1), user) }

  @Test func `a user is stored before the choice is confirmed, and can be taken back`() {
    var relay = Relayed.paired()
    let (id, effects) = relay.pull(.synced(.user(user), from: "home"))
    #expect(
      effects.changes == [
        .phone(
          StoredPhone(
            id: RelayStage.phone(1), device: RelayStage.device(1),
            resume: RelayStage.hash("resume-1"), synced: user))
      ])
    #expect(relay.complete(effects) == [.respond(id, .synced(user: "ann"))])
    let (stop, stopped) = relay.pull(.synced(.none, from: "home"))
    #expect(relay.complete(stopped) == [.respond(stop, .synced(user: nil))])
    _ = relay.complete(relay.gone(1))
    relay.pass(.seconds(11))
    #expect(relay.question().1.unstored.count == 1)
  }

  @Test func `the list of assistants names the user whose samples they can read`() {
    var relay = here()
    func user() -> String? {
      for case .respond(_, .assistants(let list)) in relay.pull(.assistants(.list)).1 {
        return list.syncedUser
      }
      return nil
    }
    #expect(user() == "ann")
    _ = relay.complete(relay.pull(.synced(.none, from: "home")).1)
    #expect(user() == nil)
  }

  @Test func `an unknown secret and an unknown phone are refused`() {
    var relay = here()
    let (id, effects) = relay.pull(.synced(.unknownSecret, from: "home"))
    #expect(effects == [.respond(id, .refused(.unknownSecret))])
    let (other, refused) = relay.pull(.synced(.user(user), from: "home"), as: 2)
    #expect(refused == [.respond(other, .refused(.notSignedIn))])
  }

  @Test(arguments: [true, false])
  func `five wrong secrets lock out a phone and its address`(isAddress: Bool) {
    var relay = here()
    relay.phone(2)
    func order(
      _ relay: inout Relayed, _ choice: SyncedChoice, as phone: UInt64 = 1, from: String
    ) -> RelayReply? {
      let (_, effects) = relay.pull(.synced(choice, from: from), as: phone)
      guard case .respond(_, let reply)? = relay.complete(effects).last else { return nil }
      return reply
    }
    for number in 1...5 {
      let from = isAddress ? "office" : "\(number)"
      #expect(order(&relay, .unknownSecret, from: from) == .refused(.unknownSecret))
    }
    let (phone, address): (UInt64, String) = isAddress ? (2, "office") : (1, "elsewhere")
    let locked = RelayReply.refused(.lockedOut(retryAfter: .seconds(900)))
    #expect(order(&relay, .user(user), as: phone, from: address) == locked)
    #expect(order(&relay, .none, as: phone, from: address) == .synced(user: nil))
    #expect(order(&relay, .user(user), as: 2, from: "elsewhere") == .synced(user: "ann"))
    // Pairing codes are counted apart.
    #expect(relay.ask(.login(word: "anchor", code: "000002"), from: address).1.count == 2)
    relay.pass(.seconds(900) - .nanoseconds(1))
    #expect(order(&relay, .user(user), as: phone, from: address) != .synced(user: "ann"))
    relay.pass(.nanoseconds(1))
    #expect(order(&relay, .user(user), as: phone, from: address) == .synced(user: "ann"))
  }

  @Test func `a phone that is gone is not waited for`() {
    var relay = away()
    relay.pass(.seconds(10))
    let (ask, asked) = relay.question()
    #expect(asked.unstored == [read])
    let answered = relay.take(.synced(name, object))
    #expect(answered.unstored == [.answer(ask, .data(object))])
    #expect(relay.take(.synced(name, object)) == [])
  }

  @Test(arguments: [(4_999, false), (5_000, true)])
  func `a phone that may return or wake has 5 s`(milliseconds: Int, isRead: Bool) {
    for push in [false, true] {
      var relay = away(push: push)
      _ = relay.question()
      let due = relay.now.advanced(by: .milliseconds(milliseconds))
      #expect(relay.tick(at: due).contains(read) == isRead)
    }
  }

  @Test func `a phone that returns in time answers itself`() {
    var relay = away()
    let (ask, _) = relay.question()
    relay.pass(.seconds(3))
    let back = relay.complete(relay.open(2, resume: "resume-1"))
    let drawn = back.contains(.drawToken(.pair(RelayStage.phone(1))))
    if drawn {
      _ = relay.complete(
        relay.take(.tokenDrawn(.pair(RelayStage.phone(1), RelayStage.pair(9)))))
    }
    let own = RelayStage.object("8")
    #expect(
      relay.said(2, .healthData(name, own)).unstored.contains(.answer(ask, .data(own))))
    #expect(!relay.tick(at: relay.now.advanced(by: .seconds(9))).contains(read))
  }

  @Test func `a phone that answers while samples are read is first`() {
    var relay = here()
    let (ask, _) = relay.question()
    #expect(relay.tick(at: relay.now.advanced(by: .seconds(5))).contains(read))
    let own = RelayStage.object("8")
    #expect(
      relay.said(1, .healthData(name, own)).unstored.contains(.answer(ask, .data(own))))
    #expect(relay.take(.synced(name, object)) == [])
  }

  @Test func `a phone that is here and is heard is waited for`() {
    var relay = here()
    _ = relay.question()
    relay.pass(.seconds(4))
    _ = relay.take(.received(ConnectionID(1)))
    #expect(!relay.tick(at: relay.now.advanced(by: .milliseconds(4_999))).contains(read))
    #expect(relay.tick(at: relay.now.advanced(by: .milliseconds(1))).contains(read))
  }

  @Test func `without samples the phone is waited for as before`() {
    var relay = away()
    let (ask, _) = relay.question()
    #expect(relay.tick(at: relay.now.advanced(by: .seconds(5))).contains(read))
    #expect(relay.take(.synced(name, nil)).unstored == [])
    let ended = relay.tick(at: relay.now.advanced(by: .seconds(5)))
    #expect(
      ended.unstored == [
        .answer(ask, .refused(.phoneAway(since: .seconds(10), .mayReturn)))
      ])
  }

  @Test func `an assistant that may not read synced samples waits for the phone`() {
    var relay = away()
    let name = RelayStage.hash("token-1").shortName
    let (list, effects) = relay.pull(.assistants(.synced(name, allows: false)))
    guard case .respond(list, .assistants(let paired))? = effects.unstored.first else {
      Issue.record("\(effects)")
      return
    }
    #expect(paired.assistants.map(\.readsSynced) == [false])
    relay.pass(.seconds(10))
    let (ask, asked) = relay.question()
    #expect(
      asked.unstored == [
        .answer(ask, .refused(.phoneAway(since: .seconds(10), .mayReturn)))
      ])
    _ = relay.pull(.assistants(.synced(name, allows: true)))
    // An order is a sign of the phone, which may return then.
    relay.pass(.seconds(10))
    #expect(
      relay.question().1.unstored.contains { if case .readSynced = $0 { true } else { false } })
    let (none, refused) = relay.pull(.assistants(.synced("none", allows: true)))
    #expect(refused.unstored == [.respond(none, .refused(.unknownAssistant))])
  }

  @Test func `a pairing outlives the grace period as long as its token`() {
    var relay = away()
    for _ in 0..<3 { _ = relay.complete(relay.tick(at: relay.now.advanced(by: .seconds(2_000)))) }
    let (_, asked) = relay.question()
    #expect(asked.unstored == [read])
  }

  @Test func `a restart keeps the user and the choice`() {
    let stored = StoredRelay(
      phones: [
        StoredPhone(
          id: RelayStage.phone(1), device: RelayStage.device(1),
          resume: RelayStage.hash("resume-1"), leftAt: RelayStage.dawn, synced: user)
      ],
      accesses: ["x", "y"].map { token in
        StoredAccess(
          token: RelayStage.hash(token), phone: RelayStage.phone(1),
          expiresAt: RelayStage.dawn.advanced(by: .seconds(7_200)), since: RelayStage.dawn,
          readsSynced: token == "x")
      })
    var relay = Relayed()
    relay.pass(.seconds(60))
    _ = relay.complete(relay.take(.restored(stored, wall: relay.wall)))
    #expect(relay.question(bearer: "x").1.unstored == [read])
    let (ask, refused) = relay.question(bearer: "y")
    #expect(
      refused.unstored == [
        .answer(ask, .refused(.phoneAway(since: .seconds(60), .mayReturn)))
      ])
  }

  @Test func `an answer from synced samples says so`() {
    let text = String(decoding: object.bytes, as: UTF8.self)
    #expect(text.hasPrefix(#"{"success":true,"health_data":[],"results":[],"x":"7","source""#))
    #expect(text.contains(#""source":"synced","as_of":"\#(RFC3339.format(RelayStage.dawn))","#))
    #expect(text.hasSuffix(#"kinds of data that it does not sync are missing."}"#))
    let unknown = RelayStage.object("7").synced(asOf: nil)
    #expect(String(decoding: unknown.bytes, as: UTF8.self).contains(#""as_of":null"#))
  }
}
