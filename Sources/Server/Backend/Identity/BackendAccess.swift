import HoldfastCore
import HoldfastPorts
import HoldfastServerSockets
import Synchronization

/// A value that can be replaced while others use it, such as the content of a file that a signal
/// reloads.
final class Renewable<Value: Sendable>: Sendable {
  private let stored: Mutex<Value>

  init(_ value: Value) { stored = Mutex(value) }

  var value: Value { stored.withLock { $0 } }

  func renew(_ value: Value) { stored.withLock { $0 = value } }

  func change(_ body: (inout Value) -> Void) { stored.withLock { body(&$0) } }
}

/// What tells the users of a backend: tokens, the secrets of health sync, and the key of sessions.
///
/// The services provide the parts that they open.
final class BackendAccess: Sendable {
  let tokens = Provided<TokenAuthority>()
  let syncSecrets = Provided<Renewable<SyncSecrets>>()
  let sessionKey = Provided<Renewable<SessionKey>>()
}

extension BackendSetup {
  /// Returns the verifier of tokens, which is opened once.
  func authority() throws(BackendError) -> TokenAuthority {
    if let known = access.tokens.value { return known }
    let authority = try TokenAuthority.open(for: configuration)
    access.tokens.provide(authority)
    return authority
  }
}

extension Backend {
  /// Reads the secrets of health sync, the key of sessions and the identity provider's keys again.
  /// Failures are logged, and what cannot be read remains as it was.
  ///
  /// - Returns: The first failure.
  func reloadAccess(_ access: BackendAccess) -> BackendError? {
    var first: BackendError?
    func attempt(_ step: () throws(BackendError) -> Void) {
      do throws(BackendError) {
        try step()
      } catch {
        log.note(.reloadFailed, error.description)
        first = first ?? error
      }
    }
    attempt { () throws(BackendError) in
      guard let secrets = access.syncSecrets.value else { return }
      secrets.renew(try SyncSecrets.read(configuration.syncSecretPath))
    }
    attempt { () throws(BackendError) in
      guard let key = access.sessionKey.value else { return }
      key.renew(try SessionKey.read(at: configuration.sessionKeyPath))
    }
    attempt { () throws(BackendError) in
      guard let count = try access.tokens.value?.renew(at: BootClock().now) else { return }
      log.note(.tokenKeys, count: UInt64(count))
    }
    // A fetch may be due now.
    try? sockets().inject { handler, hub in handler.turn(on: hub) { $0.fetchKeys(on: hub) } }
    return first
  }
}
