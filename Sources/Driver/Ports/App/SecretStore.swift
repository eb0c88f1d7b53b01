public import LinkCore
import Synchronization

/// Keeps small secrets by name, such as tokens: a keychain, or files for their owner only.
///
/// Contract: a write is durable when it returns, and replaces the one before as a whole; `nil`
/// removes it. A secret is never part of a failure.
public protocol SecretStore: Sendable {
  /// Returns a secret; `nil` if none is kept.
  ///
  /// - Throws: `.locked` while the device is locked and the secret needs it unlocked, `.denied` if
  ///   others can read it.
  func read(_ name: SecretName) throws(StoreFailure) -> Secret?

  /// Keeps a secret in place of the one before; `nil` removes it.
  ///
  /// - Parameter access: When it can be read again; a system without locks does not distinguish.
  /// - Throws: `.denied`, `.full` or `.locked`.
  func write(_ secret: Secret?, _ name: SecretName, access: SecretAccess) throws(StoreFailure)
}

/// When a secret can be read.
public enum SecretAccess: Sendable, Hashable {
  /// From the first time on that the device was unlocked after its start, as work in background
  /// needs it.
  case afterFirstUnlock
  /// Only while the device is unlocked.
  case whileUnlocked
}

/// The name of a secret: 1 to 64 of a to z, 0 to 9 and `-`.
public struct SecretName: Sendable, Hashable, CustomStringConvertible {
  /// The name itself.
  public let description: String

  /// A name; `nil` unless it has the form.
  public init?(_ name: String) {
    guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy(Self.isAllowed) else {
      return nil
    }
    description = name
  }

  private init(known name: String) { description = name }

  /// The token with which a pairing goes on.
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

/// Secrets that are kept while the process lives; a test can lock it as a device is locked.
public final class MemorySecretStore: SecretStore {
  private struct State {
    var kept: [SecretName: (secret: Secret, access: SecretAccess)] = [:]
    var isLocked = false
  }

  private let state = Mutex(State())

  /// An empty store.
  public init() {}

  /// Locks the device, or unlocks it.
  public func setLocked(_ isLocked: Bool) { state.withLock { $0.isLocked = isLocked } }

  public func read(_ name: SecretName) throws(StoreFailure) -> Secret? {
    let (found, isLocked) = state.withLock { ($0.kept[name], $0.isLocked) }
    guard let found else { return nil }
    if isLocked, found.access == .whileUnlocked { throw Self.locked(name) }
    return found.secret
  }

  public func write(
    _ secret: Secret?, _ name: SecretName, access: SecretAccess
  ) throws(StoreFailure) {
    let isRefused = state.withLock { state in
      if state.isLocked, access == .whileUnlocked { return true }
      state.kept[name] = secret.map { ($0, access) }
      return false
    }
    if isRefused { throw Self.locked(name) }
  }

  private static func locked(_ name: SecretName) -> StoreFailure {
    .locked(detail: "The device is locked; \(name) can be used when it is unlocked.")
  }
}
