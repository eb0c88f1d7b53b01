import HoldfastTestKit
import LinkCore
import LinkWire
import Testing

@testable import LinkServerCore

/// Each part of an invariant of the relay's tables can fail alone.
@Suite struct RelayTableInvariantTests {
  private static let phone = RelayStage.phone(1)
  private static let away = RelayStage.phone(2)
  private static let token = RelayStage.hash("token-1")

  private func check(_ plants: [PlantedFault<RelayServer>]) {
    #expect(unnoticed(plants, in: RelayServerInvariantTests.busy) == [])
  }

  @Test func `what is held beyond its bound, or after the end, is found`() {
    check([
      (
        "relay server: the bytes of unfinished answers are bounded",
        { $0.gathered = $0.policy.maxGatheredBytes + 1 }
      ),
      (
        "relay server: what the store failed has an alarm",
        { $0.owedEnds = [.endPhone(Self.phone)] }
      ),
      (
        "relay server: a drain ends when nothing is left to wait for",
        { ($0.mode, $0.sockets, $0.waits) = (.finished, [:], [:]) }
      ),
      (
        "relay server: what is kept of a phone is bounded",
        { server in
          let line = Array(repeating: CallID(1), count: server.policy.callsPerPhone + 1)
          server.phones[Self.phone]?.line = line
        }
      ),
      (
        "relay server: an arrival is a socket whose phone has no name yet",
        { $0.arrivals[ConnectionID(99)] = .init(address: "home") }
      ),
    ])
  }

  @Test func `more askers than calls are found`() {
    check([
      (
        "relay server: each call is found by its question",
        { server in
          for number in UInt64(97)...99 { server.callsByAsk[AskID(number)] = CallID(1) }
        }
      )
    ])
  }

  @Test func `a question to a phone that is over, and a token without an access, are found`() {
    check([
      (
        "relay server: a phone that is over is kept for its tokens alone",
        { $0.phones[Self.phone]?.presence = .over(since: .zero, .lost) }
      ),
      (
        "relay server: a token is an access to one phone",
        { $0.phones[Self.away]?.tokens = [RelayStage.hash("x")] }
      ),
    ])
  }

  @Test func `names that lead to no phone, or to one that is over, are found`() {
    check([
      (
        "relay server: a device and a resume token lead to a phone that may come back",
        { $0.resumes[RelayStage.hash("x")] = Self.phone }
      ),
      (
        "relay server: a device and a resume token lead to a phone that may come back",
        { server in
          server.phones[Self.away]?.presence = .over(since: .zero, .lost)
          server.devices[RelayStage.device(2)] = nil
        }
      ),
      (
        "relay server: a pair is shown by a phone, and expires",
        { $0.phones[Self.away]?.presence = .over(since: .zero, .lost) }
      ),
      (
        "relay server: a token is an access to one phone",
        { server in
          server.phones[Self.phone]?.tokens = []
          server.phones[Self.away]?.tokens = [Self.token]
        }
      ),
      (
        "relay server: a token is an access to one phone",
        { $0.accesses[Self.token]?.kept.phone = RelayStage.phone(9) }
      ),
    ])
  }

  @Test func `an unknown call is found in its line, and nowhere else`() {
    let found = ["relay server: a call is in the line of its phone, once"]
    var here = RelayServerInvariantTests.busy
    here.phones[Self.phone]?.line += [CallID(98), CallID(99)]
    #expect(here.brokenInvariants(.thorough) == found)
    var away = RelayServerInvariantTests.busy
    away.phones[Self.away]?.push = .hook("bell")
    away.phones[Self.away]?.line = [CallID(99)]
    #expect(away.brokenInvariants(.thorough) == found)
  }

  @Test func `a drain that ends before the store has answered is found`() {
    check([
      (
        "relay server: a drain ends when nothing is left to wait for",
        { server in
          (server.mode, server.sockets, server.calls) = (.finished, [:], [:])
          server.waits[StoreToken(99)] = RelayServer.Written(changes: [], wait: .nothing)
        }
      )
    ])
  }

  @Test func `a device that leads to a phone that is over is found`() {
    check([
      (
        "relay server: a device and a resume token lead to a phone that may come back",
        { server in
          server.phones[Self.away]?.presence = .over(since: .zero, .lost)
          server.resumes[RelayStage.hash("resume-2")] = nil
        }
      )
    ])
  }
}
