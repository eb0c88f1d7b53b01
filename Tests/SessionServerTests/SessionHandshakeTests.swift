import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastServerParts
@testable import HoldfastSessionServer

/// Tests for upgrades, keys, versions and the lifetime of sockets.
@Suite struct SessionHandshakeTests {
  private let one = ConnectionID(1)

  @Test func `an upgrade is accepted and greeted with a challenge`() {
    var sessions = Sessions()
    let effects = sessions.open(1)
    #expect(effects.first == .accept(one))
    guard case .hello(let hello)? = effects.messages(to: 1).first else {
      return #expect(Bool(false), "no hello was sent")
    }
    #expect(hello.version == "0.5.0")
    #expect(hello.authVersion == 1)
    #expect(
      hello.instructions == "Send connect with session_id, and with api_key or challenge_response.")
    #expect(hello.challenge == Sessions.challenge)
    #expect(hello.features == Set(SessionFeature.allCases))
  }

  @Test func `a ping is answered before and after connect`() {
    var sessions = Sessions()
    _ = sessions.open(1)
    #expect(sessions.say(1, .ping) == [.send(one, .pong)])
    _ = sessions.say(1, .connect(SessionConnect(session: "ann")), proof: .key)
    #expect(sessions.say(1, .ping) == [.send(one, .pong)])
  }

  @Test func `the right key connects`() {
    var sessions = Sessions()
    let effects = sessions.connect(1, features: [.resume, .parts])
    #expect(
      effects == [
        .send(
          one,
          .connected(
            SessionConnected(
              message: "Session registered", session: "ann", version: .newest,
              features: [.resume, .parts], isRecovered: true)))
      ])
  }

  @Test(arguments: [
    SessionClientMessage.connect(SessionConnect(session: "ann")), .messageAck("m"),
    .unsubscribe(conversation: "c"), .unknown(type: "x"),
    .prompt(Sessions.prompt()),
  ])
  func `without the key, every message except ping ends the connection`(
    message: SessionClientMessage
  ) {
    var sessions = Sessions()
    _ = sessions.open(1)
    #expect(
      sessions.say(1, message) == [
        .send(one, .authError(message: "Authentication failed")),
        .close(one, Closure(4401, "authentication failed")),
      ])
    #expect(sessions.say(1, .ping) == [])
  }

  @Test func `an unreadable message ends a connection that has not authenticated`() {
    var sessions = Sessions()
    _ = sessions.open(1)
    let effects = sessions.take(.unreadable(one, detail: "no JSON", field: nil))
    #expect(effects.last == .close(one, Closure(4401, "authentication failed")))
  }

  @Test(arguments: [(-31, false), (-30, true), (0, true), (30, true), (31, false)])
  func `a signed challenge is valid within 30 s of the server's clock`(skew: Int, isGood: Bool) {
    var sessions = Sessions()
    _ = sessions.open(1)
    let connect = SessionConnect(
      session: "ann", timestamp: sessions.wall.advanced(by: .seconds(skew)))
    let effects = sessions.say(1, .connect(connect), proof: .challenge)
    #expect(effects.contains { if case .close = $0 { true } else { false } } == !isGood)
  }

  @Test func `a signed challenge without a time is refused`() {
    var sessions = Sessions()
    _ = sessions.open(1)
    let effects = sessions.say(1, .connect(SessionConnect(session: "ann")), proof: .challenge)
    #expect(effects.last == .close(one, Closure(4401, "authentication failed")))
  }

  @Test func `a challenge can be used once`() {
    var sessions = Sessions()
    _ = sessions.open(1)
    #expect(sessions.server.challenge(of: one) == Sessions.challenge)
    _ = sessions.say(1, .connect(SessionConnect(session: "ann")), proof: .key)
    #expect(sessions.server.challenge(of: one) == nil)
  }

  @Test(arguments: [
    (nil, SessionVersion.oldest), ("soon", .oldest), ("0.4.0", .oldest), ("0.5.0", .newest),
    ("1.0.0", .newest),
  ])
  func `the version is the lower one of both sides`(named: String?, spoken: SessionVersion) {
    var sessions = Sessions()
    let effects = sessions.connect(1, version: named)
    guard case .connected(let connected)? = effects.messages(to: 1).first else {
      return #expect(Bool(false), "the client received no connected message")
    }
    #expect(connected.version == spoken)
  }

  @Test func `a version below 0_4_0 is refused with the required one`() {
    var sessions = Sessions()
    let effects = sessions.connect(1, version: "0.3.9")
    #expect(
      effects == [
        .send(
          one,
          .error(
            SessionError(
              message: "This server speaks versions from 0.4.0 on; update the client.",
              code: "unsupported_protocol_version", required: .oldest, received: "0.3.9"))),
        .close(one, Closure(4426, "unsupported protocol version")),
      ])
  }

  @Test func `a second connect and an unknown type cause an error and do not close the socket`() {
    var sessions = Sessions()
    sessions.connect(1)
    let again = sessions.say(1, .connect(SessionConnect(session: "ann")), proof: .key)
    #expect(again.codes(to: 1) == ["already_connected"])
    #expect(sessions.say(1, .unknown(type: "x")).codes(to: 1) == ["unknown_type"])
    let garbled = sessions.take(.unreadable(one, detail: "no JSON", field: nil))
    #expect(garbled.codes(to: 1) == ["invalid_message"])
    let cursor = sessions.take(.unreadable(one, detail: "bad", field: "last_seq"))
    #expect(cursor.codes(to: 1) == ["invalid_subscribe"])
    #expect(sessions.server.isOpen(one))
  }

  @Test func `a socket without connect is closed after 30 s`() {
    var sessions = Sessions()
    _ = sessions.open(1)
    #expect(sessions.wait(.nanoseconds(29_999_999_999)) == [])
    #expect(
      sessions.wait(.nanoseconds(1)).contains(.close(one, Closure(4408, "no connect in time"))))
  }

  @Test func `a heartbeat is sent every 45 s`() {
    var sessions = Sessions()
    sessions.connect(1)
    var beats = 0
    for _ in 0..<4 {
      _ = sessions.take(.received(one))
      beats += sessions.wait(.seconds(45)).messages(to: 1).count
    }
    #expect(beats == 4)
  }

  @Test func `a socket is pinged every 30 s and dropped after 90 s of silence`() {
    var sessions = Sessions()
    sessions.connect(1)
    let early = sessions.wait(.nanoseconds(89_999_999_999))
    #expect(early.filter { $0 == .ping(one) }.count == 2)
    #expect(!early.contains(.drop(one)))
    #expect(sessions.wait(.nanoseconds(1)).contains(.drop(one)))
  }

  @Test func `disconnect closes with 1000`() {
    var sessions = Sessions()
    sessions.connect(1)
    #expect(
      sessions.say(1, .disconnect(reason: "background")) == [
        .close(one, Closure(1000, "disconnected"))
      ])
  }

  @Test func `sockets are limited in total and per address`() {
    var sessions = Sessions { ($0.maxSockets, $0.socketsPerAddress) = (3, 2) }
    _ = sessions.open(1)
    _ = sessions.open(2)
    #expect(
      sessions.open(3) == [
        .refuse(ConnectionID(3), HTTPRefusal(429, "too many sockets", retryAfter: .seconds(2)))
      ])
    #expect(sessions.open(4, from: "office").first == .accept(ConnectionID(4)))
    #expect(
      sessions.open(5, from: "train") == [
        .refuse(ConnectionID(5), HTTPRefusal(503, "too busy", retryAfter: .seconds(2)))
      ])
    _ = sessions.gone(1)
    #expect(sessions.open(6).first == .accept(ConnectionID(6)))
  }

  @Test func `a client with one socket too many loses its oldest`() {
    var sessions = Sessions { $0.socketsPerClient = 2 }
    sessions.connect(1)
    sessions.connect(2)
    let effects = sessions.connect(3)
    #expect(
      effects.last
        == .close(one, Closure(4409, "replaced by newer connections of this client")))
  }

  @Test func `at the limit of clients, the one that has been away longest is removed`() {
    var sessions = Sessions { $0.maxClients = 2 }
    sessions.connect(1, as: "ann")
    sessions.connect(2, as: "bob")
    let full = sessions.connect(3, as: "cat")
    #expect(full.codes(to: 3) == ["busy"])
    #expect(full.last == .close(ConnectionID(3), .tryAgainLater))
    _ = sessions.gone(1)
    let room = sessions.connect(4, as: "dan")
    #expect(room.codes(to: 4) == [])
    #expect(sessions.server.clients.keys.sorted() == ["bob", "dan"])
  }

  @Test func `a slow reader is closed`() {
    var sessions = Sessions()
    sessions.connect(1)
    #expect(sessions.take(.overflowed(one)) == [.close(one, .slowReader)])
  }

  @Test func `of several disconnected clients, the one that disconnected first is removed`() {
    var sessions = Sessions { $0.maxClients = 2 }
    for (connection, client) in [(1, "ann"), (2, "bob"), (3, "cat")] as [(UInt64, String)] {
      sessions.connect(connection, as: client)
      _ = sessions.gone(connection)
      sessions.pass(.seconds(1))
    }
    #expect(sessions.server.clients.keys.sorted() == ["bob", "cat"])
  }
}
