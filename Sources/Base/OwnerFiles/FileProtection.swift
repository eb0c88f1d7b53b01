#if canImport(Darwin) && !os(macOS)
  import Foundation
#endif

/// The attributes that Apple's mobile systems keep for files beside owner and permissions.
///
/// The functions have no effect on Linux, Android and macOS. There a file is not protected by a
/// lock of the device, and whoever makes a backup chooses its content. They also have no effect if
/// the system refuses an attribute, because the content can be used without it.
enum FileProtection {
  /// Prepares a directory that was just created.
  ///
  /// - Files in it can be read and written while the device is locked, but not before its first
  ///   unlock. Without the attribute, an app whose entitlement protects all files until each unlock
  ///   could not work in the background.
  /// - A backup does not contain it. Restored on another device, the identifiers and anchors in it
  ///   would be those of the former device.
  static func prepare(directory path: String) {
    #if canImport(Darwin) && !os(macOS)
      set(.completeUntilFirstUserAuthentication, of: path)
      var url = URL(fileURLWithPath: path, isDirectory: true)
      var values = URLResourceValues()
      values.isExcludedFromBackup = true
      try? url.setResourceValues(values)
    #endif
  }

  /// Lets a file be read before the first unlock of the device.
  static func removeProtection(of path: String) {
    #if canImport(Darwin) && !os(macOS)
      set(.none, of: path)
    #endif
  }

  #if canImport(Darwin) && !os(macOS)
    private static func set(_ type: FileProtectionType, of path: String) {
      try? FileManager.default.setAttributes([.protectionKey: type], ofItemAtPath: path)
    }
  #endif
}
