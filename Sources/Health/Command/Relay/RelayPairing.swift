import Holdfast
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastHealthRelay
import Synchronization

/// The persistent part of a pairing.
///
/// It consists of the resume token in the data directory, with which the next run resumes, and of
/// the push address at the backend.
final class RelayPairing: Sendable {
  /// The name in the push address; `nil` if the phone is not to be woken.
  private let hookAddress: String?
  /// The secret of the user of health sync whose samples answer while the phone is away; `nil` for
  /// none.
  private let syncSecret: Secret?
  private let store: PairingStore
  private let configuration: RelayConfiguration
  private let warn: @Sendable (String) -> Void
  /// The token in the store. It is tracked so that the same token is written only once.
  private let stored = Mutex<Secret?>(nil)

  static let syncSecretFile = Parameter.optional(
    "sync-secret-file", .text("FILE"),
    "a file that contains a secret of `health sync` alone: while this phone is away, assistants get "
      + "their answers from the samples that it has synced to the same backend; the pairing is "
      + "kept when a signal ends the relay")

  init(
    _ call: Invocation, _ configuration: RelayConfiguration, in directory: String
  ) throws(CommandFailure) {
    syncSecret = try call[Self.syncSecretFile].map { path throws(CommandFailure) in
      Secret(try SecretFile(path, option: "--sync-secret-file", "secret").read())
    }
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
      if syncSecret != nil { warn("this backend cannot answer from synced samples") }
      return
    }
    do throws(StoreFailure) {
      if stored.withLock({ $0 }) != token { try store.write(token) }
      stored.withLock { $0 = token }
    } catch {
      warn(error.description)
    }
    if let hookAddress {
      await tell(token, "the push address could not be registered") {
        try await $0.register(.hook(hookAddress))
      }
    }
    if let syncSecret {
      await tell(token, "synced samples cannot be read") { [configuration] in
        try await $0.readSynced(of: syncSecret, zone: configuration.zone)
      }
    }
  }

  /// Sends an order to the backend. A failure is only reported.
  private func tell(
    _ token: Secret, _ problem: String, _ order: (HealthPull) async throws -> Void
  ) async {
    do {
      try await order(try HealthPull(configuration, token: token))
    } catch {
      // A relay that is ending does not need the order.
      if Task.isCancelled { return }
      warn("\(problem): \(Self.reason(error))")
    }
  }

  private static func reason(_ error: any Error) -> String {
    guard case .http(let status, _, _)? = error as? LinkFailure else { return "\(error)".printable }
    switch status {
    case 403: return "no user of health sync has this secret"
    case 404: return "this backend does not do so"
    case 429: return "too many wrong secrets were sent; try again in a quarter of an hour"
    case _: return "\(error)".printable
    }
  }

  /// Removes the token of a relay that was ended by its user, unless questions are answered later or
  /// from synced samples.
  func ended(byUser isEndedByUser: Bool) {
    guard isEndedByUser, hookAddress == nil, syncSecret == nil else { return }
    do throws(StoreFailure) {
      try store.write(nil)
    } catch {
      warn(error.description)
    }
  }
}
