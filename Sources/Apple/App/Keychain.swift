#if canImport(Security)
  import Foundation
  public import HoldfastCore
  public import HoldfastPorts
  import Security

  /// A store of secrets in the keychain. The secrets stay on this device: no backup and no other
  /// device receives them.
  ///
  /// They outlive the app: a later installation of the app finds them.
  public struct Keychain: SecretStore {
    private let service: String

    /// Creates a store.
    ///
    /// - Parameter service: The name that all secrets of the store have in common, such as the
    ///   bundle identifier. It must be the same in each launch.
    public init(service: String) { self.service = service }

    public func read(_ name: SecretName) throws(StoreFailure) -> Secret? {
      var query = query(name)
      query[kSecReturnData as String] = true
      var found: CFTypeRef?
      let status = unsafe SecItemCopyMatching(query as CFDictionary, &found)
      if status == errSecItemNotFound { return nil }
      try check(status, name)
      guard let data = found as? Data, let text = String(data: data, encoding: .utf8) else {
        throw .corrupt(detail: "The keychain's item \(name) is not text.")
      }
      return Secret(text)
    }

    public func write(
      _ secret: Secret?, _ name: SecretName, access: SecretAccess
    ) throws(StoreFailure) {
      guard let secret else {
        let status = SecItemDelete(query(name) as CFDictionary)
        if status != errSecItemNotFound { try check(status, name) }
        return
      }
      let value: [String: Any] = [
        kSecValueData as String: Data(secret.text.utf8),
        kSecAttrAccessible as String: access.attribute,
      ]
      var status = SecItemUpdate(query(name) as CFDictionary, value as CFDictionary)
      if status == errSecItemNotFound {
        let item = query(name).merging(value) { _, new in new }
        status = SecItemAdd(item as CFDictionary, nil)
      }
      // An extension of the app added the item in the meantime.
      if status == errSecDuplicateItem {
        status = SecItemUpdate(query(name) as CFDictionary, value as CFDictionary)
      }
      try check(status, name)
    }

    /// Returns the attributes that identify the item of a secret.
    private func query(_ name: SecretName) -> [String: Any] {
      var query: [String: Any] = [
        kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
        kSecAttrAccount as String: name.description,
      ]
      #if os(macOS)
        // The older keychain of a Mac ignores the accessibility.
        query[kSecUseDataProtectionKeychain as String] = true
      #endif
      return query
    }

    private func check(_ status: OSStatus, _ name: SecretName) throws(StoreFailure) {
      switch status {
      case errSecSuccess: return
      case errSecInteractionNotAllowed:
        throw .locked(
          detail: "The keychain does not allow access to \(name) now, for example before the "
            + "device was unlocked.")
      case errSecNotAvailable:
        throw .locked(detail: "The keychain is not available for \(name) now.")
      // The item that an extension added was removed before its update.
      case errSecItemNotFound:
        throw .locked(detail: "Another process changes \(name) in the keychain at the same time.")
      case errSecDiskFull: throw .full(detail: "The keychain has no room for \(name).")
      case errSecDecode: throw .corrupt(detail: "The keychain cannot decode \(name).")
      case errSecMissingEntitlement:
        throw .denied(detail: "The app lacks the entitlement for the keychain's item \(name).")
      case errSecAuthFailed: throw .denied(detail: "The keychain refused \(name).")
      // A lack of memory, for example. The next attempt may succeed.
      case _: throw .other(detail: "The keychain failed for \(name) with status \(status).")
      }
    }
  }

  extension SecretAccess {
    fileprivate var attribute: CFString {
      switch self {
      case .afterFirstUnlock: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
      case .whileUnlocked: kSecAttrAccessibleWhenUnlockedThisDeviceOnly
      }
    }
  }
#endif
