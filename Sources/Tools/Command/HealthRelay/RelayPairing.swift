import HoldfastCommandKit
import HoldfastHealthRelay
import Holdfast
import HoldfastCore
import Synchronization

/// The persistent part of a pairing.
///
/// It consists of the resume token in the data directory, with which the next run resumes, and of
/// the push address at the backend.
final class RelayPairing: Sendable {
  /// The name in the push address; `nil` if the phone is not to be woken.
  private let hookAddress: String?
  private let store: PairingStore
  private let configuration: RelayConfiguration
  private let warn: @Sendable (String) -> Void
  /// The token in the store. It is tracked so that the same token is written only once.
  private let stored = Mutex<Secret?>(nil)

  init(
    _ call: Invocation, _ configuration: RelayConfiguration, in directory: String
  ) {
    hookAddress = call[RelayPull.wake]
    store = PairingStore(in: directory, ports: configuration.ports)
    self.configuration = configuration
    warn = { call.diagnostic($0) }
  }

  /// Resumes a relay with the token that an earlier run stored.
  func restore(_ relay: Relay, fresh: Bool) {
    do throws(StoreFailure) {
      if fresh { try store.write(nil) }
      guard let token = try store.read() else { return }
      stored.withLock { $0 = token }
      relay.resume(token)
    } catch {
      warn(error.description)
    }
  }

  /// Stores the token of a new pairing, and registers the push address with the token.
  func paired(_ relay: Relay) async {
    guard let token = await relay.resumeToken else {
      if hookAddress != nil { warn("this backend cannot wake the phone") }
      return
    }
    do throws(StoreFailure) {
      if stored.withLock({ $0 }) != token { try store.write(token) }
      stored.withLock { $0 = token }
    } catch {
      warn(error.description)
    }
    guard let hookAddress else { return }
    do {
      let pull = try HealthPull(configuration, token: token)
      try await pull.register(.hook(hookAddress))
    } catch {
      // A relay that is ending does not need the registration.
      if Task.isCancelled { return }
      warn("the push address could not be registered: \("\(error)".printable)")
    }
  }

  /// Removes the token of a relay that was ended by its user, unless the phone is to be woken.
  func ended(byUser isEndedByUser: Bool) {
    guard isEndedByUser, hookAddress == nil else { return }
    do throws(StoreFailure) {
      try store.write(nil)
    } catch {
      warn(error.description)
    }
  }
}
