public import HoldfastCore
import Synchronization

/// A store of small secrets by name, such as tokens. Examples are a keychain, and files that only
/// their owner can read.
///
/// Contract: a write is durable when it returns, and replaces the whole previous value. Writing
/// `nil` removes the secret. An error never contains a secret.
public protocol SecretStore: Sendable {
  /// Returns a secret; `nil` if none is stored.
  ///
  /// - Throws: `.locked` while the device is locked and the secret cannot be read in this state;
  ///   `.denied` if the system refuses it, or others can read the secret; `.corrupt` if it is not
  ///   text; `.other` for any other reason. A later attempt may succeed after `.locked` and `.other`.
  func read(_ name: SecretName) throws(StoreFailure) -> Secret?

  /// Stores a secret in place of the previous one, or removes the secret if the value is `nil`.
  ///
  /// - Parameter access: The condition under which the secret can be read. It has no effect on a
  ///   system that cannot be locked.
  /// - Throws: `.denied`, `.full`, `.locked`, `.corrupt` or `.other`.
  func write(_ secret: Secret?, _ name: SecretName, access: SecretAccess) throws(StoreFailure)
}

/// The condition under which a secret can be read.
public enum SecretAccess: Sendable, Hashable {
  /// The secret can be read once the device has been unlocked after its start, as background work
  /// needs.
  case afterFirstUnlock
  /// The secret can be read only while the device is unlocked.
  case whileUnlocked
}

/// The name of a secret, which has 1 to 64 of the characters a to z, 0 to 9 and `-`.
public struct SecretName: Sendable, Hashable, CustomStringConvertible {
  /// The name itself.
  public let description: String

  /// Creates a name; `nil` if the text is not valid.
  public init?(_ name: String) {
    guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy(Self.isAllowed) else {
      return nil
    }
    description = name
  }

  private init(known name: String) { description = name }

  /// The name of the token that resumes a pairing, in a store that has one pairing.
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

/// A secret store in memory. Tests can lock it as a device is locked.
public final class MemorySecretStore: SecretStore {
  private struct State {
    var secrets: [SecretName: (secret: Secret, access: SecretAccess)] = [:]
    var isLocked = false
  }

  private let state = Mutex(State())

  /// Creates an empty store.
  public init() {}

  /// Simulates locking or unlocking the device.
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
