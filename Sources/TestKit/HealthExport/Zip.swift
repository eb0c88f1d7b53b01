/// A zip archive of uncompressed files (APPNOTE 6.3.10, sections 4.3.7, 4.3.12, 4.3.16).
public struct Zip {
  /// The bytes of the archive.
  public private(set) var bytes: [UInt8] = []

  /// Creates an archive of the given files.
  public init(_ files: [(name: String, content: [UInt8])]) {
    var directory: [UInt8] = []
    for file in files {
      let offset = bytes.count
      let name = Array(file.name.utf8)
      // The fields are: version 2.0, names in UTF-8, stored without compression, no time.
      let common =
        Self.two(20) + Self.two(0x0800) + Self.two(0) + Self.two(0) + Self.two(0x21)
        + Self.four(Self.checksum(file.content)) + Self.four(UInt32(file.content.count))
        + Self.four(UInt32(file.content.count)) + Self.two(UInt16(name.count)) + Self.two(0)
      bytes += [0x50, 0x4B, 3, 4] + common + name + file.content
      directory += [0x50, 0x4B, 1, 2] + Self.two(0x0314) + common + Self.two(0) + Self.two(0)
      directory += Self.two(0) + Self.four(0o100644 << 16) + Self.four(UInt32(offset)) + name
    }
    let count = Self.two(UInt16(files.count))
    let end =
      [0x50, 0x4B, 5, 6] + Self.two(0) + Self.two(0) + count + count
      + Self.four(UInt32(directory.count)) + Self.four(UInt32(bytes.count)) + Self.two(0)
    bytes += directory + end
  }

  private static func two(_ value: UInt16) -> [UInt8] {
    [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
  }

  private static func four(_ value: UInt32) -> [UInt8] {
    two(UInt16(truncatingIfNeeded: value)) + two(UInt16(truncatingIfNeeded: value >> 16))
  }

  /// Returns the CRC-32 of ISO 3309, computed bit by bit.
  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    var sum: UInt32 = .max
    for byte in bytes {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
    }
    return ~sum
  }
}
