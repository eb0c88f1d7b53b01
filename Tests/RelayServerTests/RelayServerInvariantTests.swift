import HoldfastCore
import HoldfastRelayData
import HoldfastRelayFixtures
import HoldfastServerParts
import HoldfastTestKit
import Testing

@testable import HoldfastRelayServer

/// Tests that each invariant of `RelayServer` and its parts detects a planted fault.
@Suite struct RelayServerInvariantTests {
  private static let phone = RelayStage.phone(1)
  private static let token = RelayStage.hash("token-1")

  /// A server with two phones. The first is connected and has one question in progress and one
  /// waiting. The second is disconnected.
  private static var busy: RelayServer {
    var relayed = Relayed()
    relayed.phone(1)
    relayed.login(1)
    relayed.phone(2)
    _ = relayed.complete(relayed.gone(2))
    _ = relayed.question(1)
    _ = relayed.question(2)
    return relayed.server
  }

  private static let access = StoredAccess(
    token: token, phone: phone, expiresAt: RelayStage.dawn.advanced(by: .seconds(60)))

  private static let plants: [PlantedFault<RelayServer>] = [
    ("server frame: no effect is pending between two inputs", { $0.frame.emit(.finished) }),
    (
      "relay server: a drain ends when nothing is left to wait for",
      { server in
        _ = server.frame.drain(within: .zero, grace: .zero, limit: .zero)
        server.frame.finish()
      }
    ),
    (
      "relay server: calls and sockets are bounded",
      { server in for number in UInt64(1)...4_096 { server.tokens.wait(RequestID(number), .logout) }
      }
    ),
    (
      "relay server: calls and sockets are bounded",
      { server in
        for number in UInt64(2)...10_001 {
          server.sockets.open(ConnectionID(number), from: "home", at: .zero)
        }
      }
    ),
    (
      "relay server: a failed write has an alarm",
      { server in
        let write = server.writes.begin([.endPhone(phone)], then: .nothing)
        _ = server.writes.end(write, failure: .full(detail: "no space left"))
      }
    ),
    ("relay server: each question has an alarm", { $0.alarms = AlarmQueue() }),
    ("relay server: each access ends", { $0.alarms = AlarmQueue() }),
    (
      "relay server: a question is of an access to its phone",
      { $0.tokens = RelayTokens($0.policy) }
    ),
    (
      "relay server: a question is asked on the connection of its phone",
      { $0.phones = RelayPhones($0.policy) }
    ),
    (
      "relay server: a phone that is over is kept for its tokens alone",
      { _ = $0.phones.end(phone, .lost, at: .zero) }
    ),
    (
      "relay server: a phone is woken for what waits, or has an alarm for it",
      { server in
        server.phones.change(phone) {
          $0.leave(at: .zero, wall: RelayStage.dawn)
          $0.register(.hook("bell"))
        }
      }
    ),
    (
      "relay server: a pair is shown by a phone, and expires",
      { _ = $0.pairing.show(RelayStage.pair(9), of: RelayStage.phone(9), until: .zero) }
    ),
    (
      "relay server: the tokens of a phone are bounded",
      { server in
        for _ in 1...8 {
          server.tokens.admit(access, until: .second(60), isNew: false, at: .zero)
        }
      }
    ),
  ]

  private static let partPlants: [PlantedFault<RelayServer>] = [
    (
      "relay sockets: an address's count is that of its sockets",
      { $0.sockets.open(ConnectionID(1), from: "home", at: .zero) }
    ),
    (
      "relay sockets: only a socket whose phone has no name has an arrival",
      { $0.sockets.wait(RelayServer.Arrival(address: "home"), on: ConnectionID(1)) }
    ),
    (
      "relay tokens: a token is an access to one phone",
      { $0.tokens.admit(access, until: .second(60), isNew: false, at: .zero) }
    ),
    (
      "relay questions: each is known by its name and by its call",
      { server in for _ in 1...2 { ask(9, of: &server) } }
    ),
    (
      "relay questions: what is kept of a phone is bounded",
      { server in for number in UInt64(10)...25 { ask(number, of: &server) } }
    ),
    (
      "token buckets: the names that are counted are bounded",
      { server in
        var policy = server.policy
        policy.maxPhones = -1
        server.phones = RelayPhones(policy)
      }
    ),
    (
      "lock out: the addresses that it watches are bounded",
      { server in
        var policy = server.policy
        policy.maxWatchedAddresses = -1
        server.pairing = RelayPairing(policy, at: .zero)
      }
    ),
  ]

  private static func ask(_ number: UInt64, of server: inout RelayServer) {
    _ = server.questions.add(
      RelayStage.question(), to: phone, of: token, RequestID(number), at: .zero,
      wall: RelayStage.dawn)
  }

  @Test func `detects each broken invariant`() {
    #expect(unnoticed(Self.plants + Self.partPlants, in: Self.busy) == [])
  }
}
