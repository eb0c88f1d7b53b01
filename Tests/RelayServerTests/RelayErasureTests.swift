import HoldfastCore
import HoldfastRelayData
import HoldfastRelayFixtures
import HoldfastRelayServer
import HoldfastServerParts
import HoldfastTestKit
import Testing

/// Tests of what operators see and erase at the relay.
@Suite struct RelayErasureTests {
  /// Returns a relay with a paired phone, whose samples are those of a user.
  private static func relay(of user: String) -> Relayed {
    var relay = Relayed.paired()
    let order = RelayPull.synced(.user(SyncedUser(user)), from: "home")
    let (_, effects) = relay.pull(order)
    _ = relay.complete(effects)
    return relay
  }

  private static func changes(_ effects: [Relayed.Effect]) -> [RelayChange] {
    effects.flatMap { effect -> [RelayChange] in
      guard case .store(_, let changes) = effect else { return [] }
      return changes
    }
  }

  @Test func `an erasure ends the pairing of the user's phone for good`() {
    var relay = Self.relay(of: "ann")
    #expect(relay.server.adminPhones.map(\.user) == ["ann"])
    let effects = relay.take(.erased(user: "ann"))
    #expect(effects.contains(.close(ConnectionID(1), Closure(4403, "the user was erased"))))
    let changes = Self.changes(effects)
    #expect(changes.contains(.endPhone(RelayStage.phone(1))))
    #expect(changes.contains(.endAccess(RelayStage.hash("token-1"))))
    #expect(relay.server.adminPhones == [])
    // The erasure may be repeated.
    #expect(relay.take(.erased(user: "ann")) == [])
  }

  @Test func `the phones of other users stay`() {
    var relay = Self.relay(of: "ann")
    #expect(relay.take(.erased(user: "ben")) == [])
    #expect(relay.server.adminPhones.map(\.user) == ["ann"])
  }

  @Test func `operators see a phone while it is here and while it is away`() throws {
    var relay = Self.relay(of: "ann")
    var phone = try #require(relay.server.adminPhones.first)
    #expect((phone.state, phone.user, phone.assistants) == (.here, "ann", 1))
    #expect(phone.connection == ConnectionID(1))
    #expect(relay.server.owner(of: ConnectionID(1))?.user == "ann")
    _ = relay.take(.phoneGone(ConnectionID(1), code: 1001, wall: relay.wall))
    phone = try #require(relay.server.adminPhones.first)
    #expect((phone.state, phone.connection, phone.leftAt) == (.away, nil, relay.wall))
    #expect(relay.server.owner(of: ConnectionID(1)) == nil)
  }
}
