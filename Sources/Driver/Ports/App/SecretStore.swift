public import LinkCore
import Synchronization

/// A store of small secrets by name, such as tokens: a keychain, or files readable by their owner
/// only.
///
/// Contract: a write is durable when it returns, and replaces the previous value as a whole.
/// Writing `nil` removes the secret. A secret never appears in a failure.
public protocol SecretStore: Sendable {
  /// Returns a secret; `nil` if none is stored.
  ///
  /// - Throws: `.locked` while the device is locked and the secret requires it to be unlocked;
  ///   `.denied` if others can read the secret.
  func read(_ name: SecretName) throws(StoreFailure) -> Secret?

  /// Stores a secret in place of the previous one; `nil` removes it.
  ///
  /// - Parameter access: When the secret can be read; a system without locks makes no distinction.
  /// - Throws: `.denied`, `.full` or `.locked`.
  func write(_ secret: Secret?, _ name: SecretName, access: SecretAccess) throws(StoreFailure)
}

/// The condition under which a secret can be read.
public enum SecretAccess: Sendable, Hashable {
  /// After the device was unlocked once since it started, as background work requires.
  case afterFirstUnlock
  /// Only while the device is unlocked.
  case whileUnlocked
}

/// The name of a secret: 1 to 64 of the characters a to z, 0 to 9 and `-`.
public struct SecretName: Sendable, Hashable, CustomStringConvertible {
  /// The name itself.
  public let description: String

  /// Creates a name; `nil` if it does not have the form.
  public init?(_ name: String) {
    guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy(Self.isAllowed) else {
      return nil
    }
    description = name
  }

  private init(known name: String) { description = name }

  /// The token with which a pairing is resumed.
  public static let resume = SecretName(known: "resume")

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"):
      true
    case _: false
    }
  }
}

/// Secrets in memory. Tests can lock them in the same way as a device.
public final class MemorySecretStore: SecretStore {
  private struct State {
    var secrets: [SecretName: (secret: Secret, access: SecretAccess)] = [:]
    var isLocked = false
  }

  private let state = Mutex(State())

  /// Creates an empty store.
  public init() {}

  /// Locks or unlocks the device.
  public func setLocked(_ isLocked: Bool) { state.withLock { $0.isLocked = isLocked } }

  public func read(_ name: SecretName) throws(StoreFailure) -> Secret? {
    let (found, isLocked) = state.withLock { ($0.secrets[name], $0.isLocked) }
    guard let found else { return nil }
    if isLocked, found.access == .whileUnlocked { throw Self.locked(name) }
    return found.secret
  }

  public func write(
    _ secret: Secret?, _ name: SecretName, access: SecretAccess
  ) throws(StoreFailure) {
    let isRefused = state.withLock { state in
      if state.isLocked, access == .whileUnlocked { return true }
      state.secrets[name] = secret.map { ($0, access) }
      return false
    }
    if isRefused { throw Self.locked(name) }
  }

  private static func locked(_ name: SecretName) -> StoreFailure {
    .locked(detail: "The device is locked; \(name) can be used when it is unlocked.")
  }
}
