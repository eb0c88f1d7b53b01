import HoldfastTestKit
import LinkCore
import LinkHealth
import LinkWire
import Testing

@testable import LinkServerCore

/// Each invariant of the relay's server can fail.
@Suite struct RelayServerInvariantTests {
  private typealias Plant = PlantedFault<RelayServer>

  private static let phone = RelayStage.phone(1)
  private static let token = RelayStage.hash("token-1")

  /// Phone 1 is here and asked a question, and another question waits; phone 2 is away.
  static var busy: RelayServer {
    var relayed = Relayed()
    relayed.phone(1)
    relayed.login(1)
    relayed.phone(2)
    _ = relayed.settle(relayed.gone(2))
    _ = relayed.question(1)
    _ = relayed.question(2)
    return relayed.server
  }

  private func check(_ plants: [Plant]) {
    #expect(unnoticed(plants, in: Self.busy) == [])
  }

  @Test func `what is counted and bounded is checked`() {
    check([
      ("relay server: nothing is asked for between two inputs", { $0.effects = [.finished] }),
      (
        "relay server: calls and sockets are bounded",
        { server in
          for number in UInt64(1)...4_096 { server.pending[AskID(number)] = .logout }
        }
      ),
      ("relay server: each call is found by its question", { $0.callsByRequest = [:] }),
      ("relay server: the bytes of unfinished answers are bounded", { $0.gathered = -1 }),
      (
        "relay server: addresses are counted only while they have sockets",
        { $0.addresses = ["a": 1, "b": 1, "c": 1] }
      ),
      ("relay server: what the store failed has an alarm", { $0.owedPhones = [Self.phone] }),
      (
        "relay server: what the store is to be told later has an alarm",
        { $0.alarms.clear(.notes) }
      ),
      ("relay server: a drain ends when nothing is left to wait for", { $0.mode = .finished }),
      ("relay server: an address's count is that of its sockets", { $0.addresses = ["home": 2] }),
      (
        "relay server: an arrival is a socket whose phone has no name yet",
        { $0.arrivals[ConnectionID(1)] = .init(device: nil, resume: nil, address: "home") }
      ),
      (
        "relay server: a plain phone owes no less than nothing",
        { $0.sockets[ConnectionID(1)]?.owed = -1 }
      ),
    ])
  }

  @Test func `calls and the lines of phones are checked`() {
    check([
      (
        "relay server: a call is known by its question and by its asker", { $0.callsByAsk = [:] }
      ),
      (
        "relay server: each call has an alarm",
        { server in for id in server.calls.keys { server.alarms.clear(.call(id)) } }
      ),
      (
        "relay server: each login and logout that waits has an alarm",
        { $0.pending[AskID(99)] = .logout }
      ),
      ("relay server: a call is of an access to its phone", { $0.accesses = [:] }),
      ("relay server: the bytes are those of unfinished answers", { $0.gathered = 1 }),
      (
        "relay server: a call is asked on the connection of its phone",
        { $0.change { $0.stage = .asked(ConnectionID(9)) } }
      ),
      (
        "relay server: a lease is one of the tries of a call",
        { $0.change { $0.stage = .leased("x", until: .zero) } }
      ),
      (
        "relay server: a call is in the line of its phone, once",
        { $0.phones[Self.phone]?.line = [] }
      ),
      (
        "relay server: a call is in the line of its phone, once",
        { server in
          let line = server.phones[Self.phone]?.line ?? []
          server.phones[Self.phone]?.line = []
          server.phones[RelayStage.phone(2)]?.line = line
        }
      ),
    ])
  }

  @Test func `the table of those who asked is checked`() {
    check([
      (
        "relay server: a call is known by its question and by its asker",
        { $0.callsByAsk[AskID(99)] = CallID(1) }
      ),
      (
        "relay server: a call is known by its question and by its asker",
        { server in for ask in server.callsByAsk.keys { server.callsByAsk[ask] = CallID(99) } }
      ),
      (
        "relay server: a call is known by its question and by its asker",
        { server in
          for id in server.callsByRequest.keys { server.callsByRequest[id] = CallID(99) }
        }
      ),
    ])
  }

  @Test func `more sockets than the bound are found`() {
    check([
      (
        "relay server: calls and sockets are bounded",
        { server in
          let one = server.sockets[ConnectionID(1)]
          for number in UInt64(1)...10_001 { server.sockets[ConnectionID(number)] = one }
        }
      )
    ])
  }

  @Test func `a lease beyond the tries of its call is found`() {
    check([
      (
        "relay server: a lease is one of the tries of a call",
        { server in
          server.change { call in
            call.stage = .leased("x", until: .zero)
            call.leases = call.tries + 1
          }
        }
      )
    ])
  }

  @Test func `a drain that ends before its sockets is found`() {
    check([
      (
        "relay server: a drain ends when nothing is left to wait for",
        { server in
          server.mode = .finished
          server.waits = [:]
          server.calls = [:]
        }
      )
    ])
  }

  @Test func `what is kept of a phone is checked`() {
    check([
      (
        "relay server: what is kept of a phone is bounded",
        { $0.phones[Self.phone]?.tokens = Array(repeating: Self.token, count: 9) }
      ),
      (
        "relay server: what is kept of a phone is bounded",
        {
          $0.phones[Self.phone]?.settled = Array(
            repeating: .init(id: RelayStage.request("x"), lease: "", wasTaken: false), count: 33)
        }
      ),
      (
        "relay server: a phone is asked one question at a time",
        { server in
          for id in server.calls.keys { server.calls[id]?.stage = .asked(ConnectionID(1)) }
        }
      ),
    ])
  }

  @Test func `a phone that a push can wake is checked`() {
    check([
      (
        "relay server: a phone is woken for what waits, or has an alarm for it",
        { server in
          server.phones[Self.phone]?.presence = .away(since: .zero)
          server.phones[Self.phone]?.push = .hook("bell")
        }
      ),
      (
        "relay server: a phone is woken for what waits, or has an alarm for it",
        { server in
          server.phones[Self.phone]?.presence = .away(since: .zero)
          server.phones[Self.phone]?.push = .hook("bell")
          server.waits[StoreToken(99)] = RelayServer.Written(changes: [], wait: .nothing)
        }
      ),
    ])
  }

  @Test func `the parts of the server are checked`() {
    check([
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
      (
        "relay pairs: a phone shows one pair",
        { $0.pairs.shown += $0.pairs.shown }
      ),
      ("alarm queue: each alarm has an entry", { $0.alarms.heap = [] }),
    ])
  }

  @Test func `an address that was locked out brings no network where there is no room`() {
    var policy = RelayServerPolicy()
    (policy.maxWatchedAddresses, policy.wrongPairs) = (3, 1)
    var lockOut = LockOut(policy, at: .zero)
    lockOut.wrong("20010db800010002", at: .zero)
    for home in ["a", "b"] { lockOut.wrong(home, at: .second(601)) }
    #expect(lockOut.marks.count == 3)
    lockOut.wrong("20010db800010002", at: .second(901))
    #expect(lockOut.marks.keys.sorted() == ["20010db800010002", "a", "b"])
  }

  @Test func `phones, pairs and accesses are checked`() {
    check([
      (
        "relay server: a phone that is over is kept for its tokens alone",
        { $0.phones[RelayStage.phone(2)]?.presence = .over(since: .zero, .lost) }
      ),
      (
        "relay server: a phone that is away has a grace",
        { $0.alarms.clear(.grace(RelayStage.phone(2))) }
      ),
      (
        "relay server: a device and a resume token lead to a phone that may come back",
        { $0.devices[RelayStage.device(9)] = Self.phone }
      ),
      (
        "relay server: a pair is shown by a phone, and expires",
        { $0.alarms.clear(.pair(RelayStage.phone(2))) }
      ),
      ("relay server: a token is an access to one phone", { $0.phones[Self.phone]?.tokens = [] }),
      ("relay server: each access ends", { $0.alarms.clear(.access(Self.token)) }),
    ])
  }
}

extension RelayServer {
  /// Changes the call that is asked.
  fileprivate mutating func change(_ body: (inout RelayCall) -> Void) {
    for (id, var call) in calls where call.tries > 0 {
      body(&call)
      calls[id] = call
    }
  }
}
