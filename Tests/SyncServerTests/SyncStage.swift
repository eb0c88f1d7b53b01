import HoldfastCore
import HoldfastServerFixtures
import HoldfastTestKit
import Testing

@testable import HoldfastServerParts
@testable import HoldfastSyncServer

/// A test harness that drives a sync server at a settable time.
struct SyncStage {
  static let ann = SyncUser("ann", zone: "Europe/Berlin")

  var server: SyncServer
  var now = Instant(nanoseconds: 0)

  init(_ configure: (inout SyncServerPolicy) -> Void = { _ in }) {
    var policy = SyncServerPolicy()
    policy.originPolicy.isLocal = false
    configure(&policy)
    server = SyncServer(policy: policy, at: now)
  }

  /// Creates a harness whose store has the given epoch.
  init(epoch: String) {
    var policy = SyncServerPolicy()
    policy.originPolicy.isLocal = false
    server = SyncServer(policy: policy, epoch: epoch, at: now)
  }

  mutating func feed(_ input: SyncServer.Input) -> [SyncServer.Effect] {
    let effects = server.handle(input, at: now)
    #expect(server.brokenInvariants(.thorough) == [])
    return effects
  }

  mutating func ask(
    _ id: UInt64, _ call: SyncCall, user: SyncUser? = ann
  ) -> [SyncServer.Effect] {
    feed(.request(RequestID(id), call, user: user, wall: Stage.dawn))
  }

  mutating func done(_ token: UInt64, _ outcome: SyncOutcome) -> [SyncServer.Effect] {
    feed(.done(StoreToken(token), outcome))
  }

  /// Returns the answer if it is the only effect.
  static func answer(_ effects: [SyncServer.Effect]) -> SyncAnswer? {
    guard effects.count == 1, case .answer(_, let answer) = effects[0] else { return nil }
    return answer
  }
}
