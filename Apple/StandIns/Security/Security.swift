// A stand-in for Apple's module Security that runs on Linux: a keychain in memory.
@_exported public import Foundation
import Synchronization

public typealias OSStatus = Int32
public typealias CFString = NSString
public typealias CFDictionary = NSDictionary
public typealias CFTypeRef = AnyObject

public let errSecSuccess: OSStatus = 0
public let errSecDiskFull: OSStatus = -34
public let errSecParam: OSStatus = -50
public let errSecAllocate: OSStatus = -108
public let errSecNotAvailable: OSStatus = -25291
public let errSecAuthFailed: OSStatus = -25293
public let errSecDuplicateItem: OSStatus = -25299
public let errSecItemNotFound: OSStatus = -25300
public let errSecInteractionNotAllowed: OSStatus = -25308
public let errSecDecode: OSStatus = -26275
public let errSecMissingEntitlement: OSStatus = -34018

// The constants are computed: a stored one would be a global variable of a class that is not
// Sendable here, which Apple's constants are not.
public var kSecClass: CFString { "class" as NSString }
public var kSecClassGenericPassword: CFString { "genp" as NSString }
public var kSecAttrService: CFString { "svce" as NSString }
public var kSecAttrAccount: CFString { "acct" as NSString }
public var kSecValueData: CFString { "v_Data" as NSString }
public var kSecReturnData: CFString { "r_Data" as NSString }
public var kSecAttrAccessible: CFString { "pdmn" as NSString }
public var kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString { "cku" as NSString }
public var kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString { "aku" as NSString }
public var kSecUseDataProtectionKeychain: CFString { "nleg" as NSString }

public func SecItemCopyMatching(
  _ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?
) -> OSStatus {
  vault(query) { vault, key in
    guard let key, query[kSecReturnData] as? Bool == true else { return errSecParam }
    guard let item = vault.items[key] else { return errSecItemNotFound }
    guard vault.opens(item.access) else { return errSecInteractionNotAllowed }
    result?.pointee = item.data as NSData
    return errSecSuccess
  }
}

public func SecItemAdd(
  _ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?
) -> OSStatus {
  vault(attributes) { vault, key in
    guard let key, let item = Vault.Item(attributes) else { return errSecParam }
    if let rival = vault.rival.take() {
      guard vault.keepsRival else { return errSecDuplicateItem }
      vault.items[key] = rival
    }
    guard vault.items[key] == nil else { return errSecDuplicateItem }
    guard vault.opens(item.access) else { return errSecInteractionNotAllowed }
    vault.items[key] = item
    return errSecSuccess
  }
}

public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
  vault(query) { vault, key in
    guard let key, let item = Vault.Item(attributesToUpdate) else { return errSecParam }
    guard let old = vault.items[key] else { return errSecItemNotFound }
    guard vault.opens(item.access), vault.opens(old.access) else {
      return errSecInteractionNotAllowed
    }
    vault.items[key] = item
    return errSecSuccess
  }
}

public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
  vault(query) { vault, key in
    guard let key else { return errSecParam }
    return vault.items.removeValue(forKey: key) == nil ? errSecItemNotFound : errSecSuccess
  }
}

/// The items of one service, and the lock of the device that holds them.
private struct Vault: Sendable {
  struct Item: Sendable {
    var data: Data
    var access: String

    init(data: Data, access: String) { (self.data, self.access) = (data, access) }
    init?(_ attributes: NSDictionary) {
      guard let data = attributes[kSecValueData] as? Data,
        let access = attributes[kSecAttrAccessible] as? String
      else { return nil }
      self.init(data: data, access: access)
    }
  }

  var items: [String: Item] = [:]
  var lock = ScriptedKeychain.Lock.unlocked
  /// The item that another process adds before the next `SecItemAdd`.
  var rival: Item?
  /// Whether that item is still there after `SecItemAdd`.
  var keepsRival = true
  var failure: OSStatus?

  func opens(_ access: String) -> Bool {
    switch lock {
    case .unlocked: true
    case .locked: access != "aku"
    case .neverUnlocked: false
    }
  }
}

private let vaults = Mutex<[String: Vault]>([:])

private func vault(
  _ query: NSDictionary, _ use: (inout Vault, String?) -> OSStatus
) -> OSStatus {
  guard query[kSecClass] as? String == "genp", let service = query[kSecAttrService] as? String
  else { return errSecParam }
  return vaults.withLock { vaults in
    if let failure = vaults[service]?.failure { return failure }
    return use(&vaults[service, default: Vault()], query[kSecAttrAccount] as? String)
  }
}

/// The script's side of the keychain. Tests that run in parallel use different services.
@_spi(Script) public struct ScriptedKeychain: Sendable {
  /// A state of the device.
  public enum Lock: Sendable { case unlocked, locked, neverUnlocked }

  private let service: String
  public init(service: String) { self.service = service }

  public func set(_ lock: Lock) { change { $0.lock = lock } }
  /// Makes every call fail with a status; `nil` ends this.
  public func fail(_ status: OSStatus?) { change { $0.failure = status } }
  /// Lets another process add an item between the next update and the next add.
  ///
  /// - Parameter isKept: Whether the item stays. Otherwise it is removed right after the add.
  public func addRival(_ text: String, isKept: Bool = true) {
    change {
      $0.rival = Vault.Item(data: Data(text.utf8), access: "cku")
      $0.keepsRival = isKept
    }
  }
  /// Replaces the data of an item by bytes that are not text.
  public func spoil(_ account: String) { change { $0.items[account]?.data = Data([0xFF, 0xFE]) } }
  /// The accessibility of each item by its account.
  public var accessibility: [String: String] {
    vaults.withLock { $0[service]?.items.mapValues(\.access) ?? [:] }
  }

  private func change(_ change: (inout Vault) -> Void) {
    vaults.withLock { change(&$0[service, default: Vault()]) }
  }
}
