import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealth
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastSyncServer
import Synchronization

/// The samples of the users of health sync, which answer questions while a phone is away.
///
/// The service of health sync provides them when it opens. There are none before.
final class SyncedSamples: Sendable {
  private struct Source {
    var store: any SyncStore
    var secrets: Renewable<SyncSecrets>
    var zones: SyncZones
    /// HMAC with SHA-256 with the key of the data directory.
    var sign: @Sendable ([UInt8]) -> [UInt8]
  }

  private let source = Mutex<Source?>(nil)

  /// Provides the samples of a store, and the users who own them.
  ///
  /// - Parameter sign: A keyed hash function, which returns 32 bytes.
  func provide(
    _ store: any SyncStore, _ secrets: Renewable<SyncSecrets>, _ zones: SyncZones,
    signing sign: @escaping @Sendable ([UInt8]) -> [UInt8]
  ) {
    source.withLock { $0 = Source(store: store, secrets: secrets, zones: zones, sign: sign) }
  }

  /// Returns the choice that a phone's order makes.
  func choice(of order: SyncedOrder) -> SyncedChoice {
    switch order {
    case .stop: return .none
    case .read(let secret, let zone):
      guard let source = source.withLock({ $0 }),
        let user = source.secrets.value.user(of: secret)
      else { return .unknownSecret }
      let proof = source.secrets.value.proof(of: user.name, signing: source.sign)
      return .user(SyncedUser(user.name, zone: zone, proof: proof))
    }
  }

  /// Answers a question as the phone does. The answer names its origin.
  ///
  /// The answer is `nil` if the user has no samples, is no longer a user or has another secret than
  /// the phone sent, and after a failure.
  func answer(
    _ question: HealthQuestion, of user: SyncedUser, at wall: Timestamp
  ) async -> (object: HealthObject?, failure: StoreFailure?) {
    guard let source = source.withLock({ $0 }),
      let known = source.secrets.value.owner(of: user, signing: source.sign)
    else { return (nil, nil) }
    do throws(StoreFailure) {
      let zone = source.zones.rules(of: user.zone ?? known.zone)
      return (try await Self.answer(question, of: known.name, zone, wall, source.store), nil)
    } catch {
      return (nil, error)
    }
  }

  private static func answer(
    _ question: HealthQuestion, of user: String, _ zone: ZoneRules, _ wall: Timestamp,
    _ store: any SyncStore
  ) async throws(StoreFailure) -> HealthObject? {
    let types = try await store.summary(of: user)
    guard !types.isEmpty else { return nil }
    let last = try await store.lastSync(of: user)
    let stored = StoredHealth(
      lastSamples: Dictionary(types.map { ($0.type, $0.last) }) { max($0, $1) }, lastImport: last,
      firstSynced: Dictionary(types.map { ($0.type, $0.first) }) { min($0, $1) })
    var answering = HealthAnswering(
      question, zone: zone, now: wall, limits: .parts, stored: stored)
    while true {
      switch answering.step {
      case .read(let query): answering.take(try await store.samples(query, of: user))
      case .list: answering.take(types)
      case .done(let object): return object.synced(asOf: last)
      }
    }
  }
}
