import HoldfastCore
import HoldfastRelayData
import HoldfastRelayFixtures
import HoldfastRelayServer
import HoldfastServerFixtures
import Testing

/// Tests for logins that wait for the store.
struct RelayGrantTests {
  @Test func `a login is not delayed by a login to another phone`() {
    var relay = Relayed()
    for number in UInt64(1)...2 { relay.phone(number) }
    for number in UInt64(1)...2 {
      let (ask, _) = relay.ask(.login(word: "anchor", code: RelayStage.pair(number).code))
      let secret = RelayStage.secret("token-\(number)")
      let access = StoredAccess(
        token: secret.hash, phone: RelayStage.phone(number),
        expiresAt: relay.wall.advanced(by: .seconds(7_200)), since: relay.wall)
      #expect(relay.take(.tokenDrawn(.access(ask, secret))).changes == [.access(access)])
    }
  }

  @Test func `a token stored after its phone ended is ended`() {
    var relay = Relayed.withPhone()
    let (ask, _) = relay.ask(.login(word: "anchor", code: RelayStage.pair(1).code))
    let secret = RelayStage.secret("token-1")
    let granted = relay.take(.tokenDrawn(.access(ask, secret)))
    relay.phone(2, device: 1)
    let late = granted.flatMap { effect -> [Relayed.Effect] in
      guard case .store(let write, _) = effect else { return [effect] }
      return relay.take(.stored(write, failure: nil))
    }
    #expect(late.changes == [.endAccess(secret.hash)])
    #expect(
      late.unstored == [.answer(ask, .refused(.phoneAway(since: .zero, .pairAgain)))])
  }

  @Test func `counts changes that the store failed to write`() {
    var relay = Relayed.withPhone()
    _ = relay.complete(relay.gone(1), failure: .full(detail: "disk"))
    #expect(relay.server.metricsText.contains("holdfast_relay_store_failures_total 1\n"))
  }
}
