/// A format that can contain an export but is not the XML itself. It is recognized by its first
/// four bytes.
public enum ExportDisguise: Sendable, Hashable, CaseIterable {
  /// The gzip format (RFC 1952 section 2.3.1).
  case gzip
  case bzip2
  case xz
  /// The Zstandard format (RFC 8878 section 3.1.1).
  case zstandard
  /// A zip file that arrives through a pipe, so that the directory at its end cannot be read first.
  case zip
  /// UTF-16 with a byte order mark (RFC 2781 section 3.2) or without (XML 1.0 appendix F.1).
  case utf16

  static let length = 4

  init?(_ start: ArraySlice<UInt8>) {
    let found = Self.allCases.first { disguise in
      disguise.beginnings.contains { start.starts(with: $0) }
    }
    guard let found else { return nil }
    self = found
  }

  private var beginnings: [[UInt8]] {
    switch self {
    case .gzip: [[0x1F, 0x8B]]
    case .bzip2: [Array("BZh".utf8)]
    case .xz: [[0xFD, 0x37, 0x7A, 0x58]]
    case .zstandard: [[0x28, 0xB5, 0x2F, 0xFD]]
    case .zip: [Array("PK\u{3}\u{4}".utf8), Array("PK\u{5}\u{6}".utf8)]
    case .utf16: [[0xFE, 0xFF], [0xFF, 0xFE], [0, 0x3C], [0x3C, 0]]
    }
  }

  /// A human-readable description of the format and of what to do.
  var advice: String {
    switch self {
    case .gzip: "it is packed with gzip; unpack it with gunzip first"
    case .bzip2: "it is packed with bzip2; unpack it with bunzip2 first"
    case .xz: "it is packed with xz; unpack it with unxz first"
    case .zstandard: "it is packed with zstd; unpack it with unzstd first"
    case .zip: "it is a zip that comes through a pipe; name the file itself"
    case .utf16: "it is XML in UTF-16; convert it with iconv -f UTF-16 -t UTF-8 first"
    }
  }
}
