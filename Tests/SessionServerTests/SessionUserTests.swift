import HoldfastCore
import HoldfastIdentity
import HoldfastServerFixtures
import HoldfastSessionData
import Testing

@testable import HoldfastServerParts
@testable import HoldfastSessionServer

/// Tests of users with tokens, who see only conversations of their own.
@Suite struct SessionUserTests {
  private let one = ConnectionID(1)

  @Test func `a user's token connects without the key`() {
    var sessions = Sessions()
    let effects = sessions.enter(1, of: "ann")
    #expect(effects.first == .accept(one))
    guard case .connected(let connected)? = effects.messages(to: 1).last else {
      return #expect(Bool(false), "the client is not connected")
    }
    #expect(connected.session == "phone")
  }

  @Test(arguments: [
    (Credential.invalid(reason: "odd"), HTTPRefusal(401, "invalid token: odd")),
    (
      .valid(Claims(user: "ann", name: "ANN", shops: [], expiresAt: Stage.dawn)),
      HTTPRefusal(401, "the token has expired")
    ),
    (
      .unchecked(retryAfter: .seconds(3)),
      HTTPRefusal(503, "the keys of the identity provider are not known yet")
    ),
  ]) func `an upgrade with a refused token is answered with plain HTTP`(
    credential: Credential, refusal: HTTPRefusal
  ) {
    var sessions = Sessions()
    let effects = sessions.open(1, credential: credential)
    guard effects.count == 1, case .refuse(one, let refused)? = effects.first else {
      return #expect(Bool(false), "the upgrade was not refused")
    }
    #expect(refused.status == refusal.status && refused.message == refusal.message)
    #expect((refused.challenge != nil) == (refused.status == 401))
  }

  @Test func `a socket ends with its token`() {
    var sessions = Sessions()
    sessions.enter(1, of: "ann", ttl: .seconds(20))
    let expired = SessionServer.Effect.close(one, Closure(4401, "token expired"))
    #expect(!sessions.wait(.seconds(20) - .nanoseconds(1)).contains(expired))
    #expect(sessions.wait(.nanoseconds(1)).contains(expired))
  }

  @Test func `a socket of the key has no end`() {
    var sessions = Sessions.connected()
    for _ in 1...100 {
      _ = sessions.wait(.seconds(60))
      _ = sessions.take(.received(one))
    }
    #expect(sessions.say(1, .ping) == [.send(one, .pong)])
  }

  @Test func `the conversation of a user is unknown to other users and to clients with the key`() {
    var sessions = Sessions()
    sessions.enter(1, of: "ann")
    sessions.ask(1, "hello")
    let answered = sessions.answer(1, "hi")
    #expect(answered.responses(to: 1).map(\.conversation) == [Sessions.conversation])
    sessions.enter(2, of: "bob")
    sessions.connect(3, as: "phone", version: "0.4.0")
    let subscription = SessionSubscription(
      conversation: Sessions.conversation, cursor: .sequence(0))
    let unknown = SessionSubscription(conversation: Sessions.other, cursor: .sequence(0))
    for connection in [UInt64(2), 3] {
      let effects = sessions.say(connection, .subscribe(subscription))
      let others = sessions.say(connection, .subscribe(unknown))
      #expect(Self.entries(effects, to: connection) == [])
      #expect(Self.entries(others, to: connection) == [])
      #expect(effects.count == others.count)
    }
    let own = sessions.say(1, .subscribe(subscription))
    #expect(Self.entries(own, to: 1) == ["hello", "hi"])
  }

  /// Returns the texts of the windows for a connection.
  private static func entries(
    _ effects: [SessionServer.Effect], to connection: UInt64
  ) -> [String] {
    effects.messages(to: connection).flatMap { message -> [String] in
      guard case .history(let history) = message else { return [] }
      #expect(history.entries.allSatisfy { $0.conversation == history.conversation })
      return history.entries.map(\.text)
    }
  }

  @Test func `other clients of a user share its conversations`() {
    var sessions = Sessions()
    sessions.enter(1, of: "ann")
    sessions.enter(2, of: "ann", as: "tablet")
    _ = sessions.say(
      2,
      .subscribe(SessionSubscription(conversation: Sessions.conversation, cursor: .sequence(0))))
    sessions.ask(1, "hello")
    let effects = sessions.answer(1, "hi")
    #expect(Self.entries(effects, to: 2) == ["hello", "hi"])
  }

  @Test func `equal ids of two users are two clients, prompts and conversations`() {
    var sessions = Sessions()
    sessions.enter(1, of: "ann")
    sessions.enter(2, of: "bob")
    let first = sessions.ask(1, "hello", key: "k")
    let second = sessions.ask(2, "hello", key: "k")
    #expect(first.runs.count == 1 && second.runs.count == 1)
    #expect(Set(first.runs).isDisjoint(with: second.runs))
    _ = sessions.say(2, .killSession(conversation: Sessions.conversation))
    #expect(
      sessions.answer(1, "for ann").responses(to: 1).map(\.result) == [.success(text: "for ann")])
  }

  @Test func `a user cannot acknowledge or cancel what is of another user`() {
    var sessions = Sessions()
    sessions.enter(1, of: "ann")
    sessions.ask(1)
    sessions.enter(2, of: "bob")
    let killed = sessions.say(2, .killSession(conversation: Sessions.conversation))
    #expect(killed == [.send(ConnectionID(2), .sessionKilled(conversation: Sessions.conversation))])
    let answer = sessions.answer(1).responses(to: 1).first
    _ = sessions.say(2, .messageAck(answer?.id ?? ""))
    _ = sessions.gone(1)
    let replays = sessions.enter(3, of: "ann").messages(to: 3).filter {
      if case .replay = $0 { true } else { false }
    }
    #expect(replays.count == 1)
  }

  @Test func `a restart keeps what is of a user`() {
    var sessions = Sessions()
    sessions.enter(1, of: "ann")
    sessions.ask(1, "hello")
    _ = sessions.answer(1, "hi")
    var (next, _) = sessions.restarted()
    next.enter(4, of: "ann")
    let subscription = SessionSubscription(
      conversation: Sessions.conversation, cursor: .sequence(0))
    let effects = next.say(4, .subscribe(subscription))
    #expect(Self.entries(effects, to: 4) == ["hello", "hi"])
  }

  @Test(arguments: [1, 2, 3]) func `a user has a limited number of clients`(count: Int) {
    var sessions = Sessions { $0.clientsPerUser = 2 }
    sessions.connect(100, as: "keyed")
    sessions.enter(101, of: "bob")
    for number in 1...count {
      sessions.enter(UInt64(number), of: "ann", as: "client \(number)")
      if number == 1 { _ = sessions.gone(1) }
    }
    // The first client was away, so it was forgotten in favor of the third one.
    let names = sessions.server.clients.keys.map { SessionNames.split($0) }
    #expect(names.count { $0.user == "ann" } == min(count, 2))
    #expect(names.count == min(count, 2) + 2)
    let further = sessions.enter(9, of: "ann", as: "further")
    #expect((further.codes(to: 9) == ["busy"]) == (count == 3))
  }

  @Test(
    arguments: [
      ("ann", "c"), ("ann", ""), ("a:b", "1:c"), ("\u{1F}", "\u{1F}"), ("ä", "c"), ("1", "1:c"),
      (nil, "c"), (nil, "\u{1F}c"), (nil, "\u{1F}3:annc"), (nil, ""),
    ] as [(String?, String)])
  func `a name of the server has one user and one id`(user: String?, id: String) {
    let name = SessionNames.inner(id, of: user)
    let parts = SessionNames.split(name)
    #expect(parts.user == user && parts.id == id)
    #expect(SessionNames.outer(name) == id)
    if user == nil, !id.hasPrefix("\u{1F}") { #expect(name == id) }
  }

  @Test func `different users and ids have different names`() {
    let users: [String?] = [nil, "a", "ab", "1", "1:a", "\u{1F}1:a"]
    let ids = ["a", "b", "ba", ":a", "1:a", "\u{1F}1:aa", "\u{1F}0:a"]
    let names = users.flatMap { user in ids.map { SessionNames.inner($0, of: user) } }
    #expect(Set(names).count == users.count * ids.count)
  }

  @Test(arguments: [
    "\u{1F}", "\u{1F}a", "\u{1F}9:abc", "\u{1F}-1:a", "\u{1F}:a", "\u{1F}01:ab", "\u{1F}+1:ab",
    "\u{1F}0:a", "\u{1F}1:\u{E4}b",
  ])
  func `other stored names are of no user`(name: String) {
    let parts = SessionNames.split(name)
    #expect(parts.user == nil && parts.id == name)
  }
}
