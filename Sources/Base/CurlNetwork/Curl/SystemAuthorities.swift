import CHoldfastCurl

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The certificate authorities that libcurl trusts by default.
///
/// Debian installs them twice: in one file, and in a directory in which OpenSSL finds an authority
/// by the hash of its name. The whole file is read for each connection and stays in memory with it,
/// which took 16 ms and 800 kB per connection. The directory costs nothing until an authority is
/// looked up.
enum SystemAuthorities {
  /// Whether the directory alone is sufficient.
  static let areInDirectory: Bool = {
    guard let path = unsafe ccurl_authority_path() else { return false }
    return isHashed(unsafe String(cString: path))
  }()

  /// The path of the file with all authorities; `nil` if there is none.
  static var file: String? { unsafe ccurl_authority_file().map { unsafe String(cString: $0) } }

  /// Returns whether a directory contains the file names that OpenSSL looks up (openssl-rehash(1)).
  ///
  /// These names consist of eight hexadecimal digits, a dot and a number.
  static func isHashed(_ path: String) -> Bool {
    guard let directory = unsafe opendir(path) else { return false }
    defer { unsafe closedir(directory) }
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) {
        unsafe Array($0.prefix { $0 != 0 })
      }
      if isHash(name) { return true }
    }
    return false
  }

  private static func isHash(_ name: [UInt8]) -> Bool {
    guard name.count > 9, name[8] == UInt8(ascii: ".") else { return false }
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    let letters = UInt8(ascii: "a")...UInt8(ascii: "f")
    return name[..<8].allSatisfy { digits.contains($0) || letters.contains($0) }
      && name[9...].allSatisfy { digits.contains($0) }
  }
}
