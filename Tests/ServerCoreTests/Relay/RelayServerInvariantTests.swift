import HoldfastTestKit
import LinkCore
import LinkHealth
import LinkWire
import Testing

@testable import LinkServerCore

/// The check of the relay's server, and that of each of its parts, can fail.
@Suite struct RelayServerInvariantTests {
  private static let phone = RelayStage.phone(1)
  private static let token = RelayStage.hash("token-1")

  /// Phone 1 is here and asked a question, and another question waits; phone 2 is away.
  private static var busy: RelayServer {
    var relayed = Relayed()
    relayed.phone(1)
    relayed.login(1)
    relayed.phone(2)
    _ = relayed.settle(relayed.gone(2))
    _ = relayed.question(1)
    _ = relayed.question(2)
    return relayed.server
  }

  private static let plants: [PlantedFault<RelayServer>] = [
    ("relay server: nothing is asked for between two inputs", { $0.effects = [.finished] }),
    (
      "relay server: calls and sockets are bounded",
      { server in
        for number in UInt64(1)...4_096 { server.pending[AskID(number)] = .logout }
      }
    ),
    (
      "relay server: calls and sockets are bounded",
      { server in
        let one = server.sockets[ConnectionID(1)]
        for number in UInt64(1)...10_001 { server.sockets[ConnectionID(number)] = one }
      }
    ),
    (
      "relay server: the bytes of unfinished answers are bounded",
      { $0.gathered = $0.policy.maxGatheredBytes + 1 }
    ),
    ("relay server: a drain ends when nothing is left to wait for", { $0.mode = .finished }),
    ("relay server: an address's count is that of its sockets", { $0.addresses = ["home": 2] }),
    // Calls.
    ("relay server: each call is found by its question", { $0.callsByRequest = [:] }),
    (
      "relay server: each call has an alarm",
      { server in for id in server.calls.keys { server.alarms.clear(.call(id)) } }
    ),
    (
      "relay server: a call is in the line of its phone, once",
      { $0.phones[phone]?.line = [] }
    ),
    (
      "relay server: a phone is asked one question at a time",
      { server in
        for id in server.calls.keys { server.calls[id]?.stage = .asked(ConnectionID(1)) }
      }
    ),
    // Phones and accesses.
    (
      "relay server: what is kept of a phone is bounded",
      { $0.phones[phone]?.tokens = Array(repeating: token, count: 9) }
    ),
    (
      "relay server: a phone is woken for what waits, or has an alarm for it",
      { server in
        server.phones[phone]?.presence = .away(since: .zero)
        server.phones[phone]?.push = .hook("bell")
      }
    ),
    ("relay server: a token is an access to one phone", { $0.phones[phone]?.tokens = [] }),
    ("relay server: each access ends", { $0.alarms.clear(.access(token)) }),
    // Parts.
    (
      "post rate: the users that it counts are bounded",
      { server in
        for number in 0...server.knocks.bound { server.knocks.fullAt["\(number)"] = .zero }
      }
    ),
    (
      "signed out: what is remembered is bounded",
      { server in
        for number in 0...SignedOut.bound {
          server.signedOut.reasons[RelayStage.hash("\(number)")] = (.byUser, .zero)
        }
      }
    ),
    (
      "lock out: the addresses that it watches are bounded",
      { server in
        for number in 0...100_000 { server.lockOut.marks["\(number)"] = .locked(until: .zero) }
      }
    ),
    ("relay pairs: a phone shows one pair", { $0.pairs.shown += $0.pairs.shown }),
  ]

  @Test func `a broken server is found`() {
    #expect(unnoticed(Self.plants, in: Self.busy) == [])
  }
}
