/// An IPv4 or IPv6 address without a port.
public struct NetworkAddress: Sendable, Hashable {
  /// The 4 bytes of an IPv4 address or the 16 of an IPv6 address. An IPv4-mapped IPv6 address (RFC
  /// 4291 section 2.5.5.2) is stored as IPv4.
  public let bytes: [UInt8]

  /// Parses an address in dotted decimal or in the form of RFC 4291 section 2.2. Returns `nil` for
  /// other text.
  public init?(_ text: some StringProtocol) {
    guard let bytes = text.contains(":") ? Self.six(Substring(text)) : Self.four(Substring(text))
    else { return nil }
    self.init(bytes)
  }

  /// Creates an address from 4 or 16 bytes, most significant first. Returns `nil` for another
  /// number of bytes.
  public init?(bytes: [UInt8]) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    self.init(bytes)
  }

  private init(_ bytes: [UInt8]) {
    let isMapped = bytes.starts(with: Self.mapped)
    self.bytes = isMapped ? Array(bytes[12...]) : bytes
  }

  private static let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]

  /// Parses the host of a URL or an option as an address, with or without brackets. Returns `nil`
  /// for a name.
  public init?(host: some StringProtocol) {
    self.init(Self.withoutBrackets(host))
  }

  /// Returns the host of a URL or of an option without the brackets of an IPv6 address.
  public static func withoutBrackets(_ host: some StringProtocol) -> Substring {
    let isBracketed = host.first == "[" && host.last == "]" && host.utf8.count > 2
    return isBracketed ? Substring(host.dropFirst().dropLast()) : Substring(host)
  }

  /// Whether the address is a loopback address: 127.0.0.0/8 (RFC 1122 section 3.2.1.3) or ::1 (RFC
  /// 4291 section 2.5.3).
  public var isLoopback: Bool {
    bytes.count == 4 ? bytes[0] == 127 : bytes.last == 1 && bytes.dropLast().allSatisfy { $0 == 0 }
  }

  /// Whether the address stands for every address of its family: `0.0.0.0` or `::`.
  public var isUnspecified: Bool { bytes.allSatisfy { $0 == 0 } }

  /// Whether the address stands for a group of machines: 224.0.0.0/4 (RFC 1112 section 4) or ff00::/8
  /// (RFC 4291 section 2.7).
  public var isMulticast: Bool { isIPv6 ? bytes[0] == 0xFF : bytes[0] & 0xF0 == 0xE0 }

  /// Whether the address is an IPv6 address.
  public var isIPv6: Bool { bytes.count == 16 }

  /// Whether the address is one of the public Internet: not private, local, reserved or a group's
  /// (RFC 6890, RFC 4291 section 2.4).
  public var isGlobal: Bool {
    guard isIPv6 else { return !Self.special.contains { $0.contains(self) } }
    // Only one eighth of the addresses is assigned for general use. Addresses that embed one of
    // IPv4 are left out.
    return bytes[0] & 0xE0 == 0x20 && !Self.special.contains { $0.contains(self) }
  }

  private static let special = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
    "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3", "2001::/23", "2001:db8::/32", "2002::/16",
    "3fff::/20",
  ].compactMap { AddressBlock($0) }

  /// Returns whether the host of a URL or of an option is this machine: `localhost` (RFC 6761
  /// section 6.3) or a loopback address.
  public static func isLoopback(host: some StringProtocol) -> Bool {
    host.lowercased() == "localhost" || NetworkAddress(host: host)?.isLoopback == true
  }

  /// The part of the address that identifies one client, with two hexadecimal digits for each byte.
  ///
  /// The part is a whole IPv4 address, or the upper half of an IPv6 address, since clients may
  /// choose the lower half (RFC 4291 section 2.5.1).
  public var origin: String {
    bytes.prefix(isIPv6 ? 8 : 4)
      .map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined()
  }

  private static func four(_ text: Substring) -> [UInt8]? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var bytes: [UInt8] = []
    for part in parts {
      guard part.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        part.count == 1 || part.first != "0", let byte = UInt8(part)
      else { return nil }
      bytes.append(byte)
    }
    return bytes
  }

  private static func six(_ text: Substring) -> [UInt8]? {
    guard text.utf8.count <= 45 else { return nil }
    guard let gap = text.range(of: "::") else {
      guard let bytes = groups(text), bytes.count == 16 else { return nil }
      return bytes
    }
    let (head, tail) = (text[..<gap.lower], text[gap.upper...])
    guard let left = head.isEmpty ? [] : groups(head), !head.contains("."),
      let right = tail.isEmpty ? [] : groups(tail), left.count + right.count <= 14
    else { return nil }
    return left + [UInt8](repeating: 0, count: 16 - left.count - right.count) + right
  }

  /// Returns the bytes of groups that are separated by colons. The last group may be an IPv4
  /// address.
  private static func groups(_ text: Substring) -> [UInt8]? {
    var bytes: [UInt8] = []
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      if part.contains("."), index == parts.count - 1 {
        guard let last = four(part) else { return nil }
        return bytes + last
      }
      guard (1...4).contains(part.utf8.count),
        part.utf8.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
        let group = UInt16(part, radix: 16)
      else { return nil }
      bytes += [UInt8(group >> 8), UInt8(group & 0xFF)]
    }
    return bytes
  }
}

extension Substring {
  /// Returns the bounds of the first occurrence of `pair`, two equal ASCII characters.
  func range(of pair: String) -> (lower: Index, upper: Index)? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(pair) { return (start, index(start, offsetBy: pair.count)) }
      start = index(after: start)
    }
    return nil
  }
}

/// The addresses that share a prefix, such as `10.0.0.0/8` or `2001:db8::/32` (RFC 4632).
public struct AddressBlock: Sendable, Hashable, CustomStringConvertible {
  private let address: NetworkAddress
  private let length: Int
  /// The text from which the block was parsed.
  public let description: String

  /// Parses a block. An address without a length is a block of that one address. Returns `nil` for
  /// other text, or if the length is out of range.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first, let address = NetworkAddress(first) else { return nil }
    let bits = address.bytes.count * 8
    var length = bits
    if parts.count == 2 {
      guard (1...3).contains(parts[1].utf8.count),
        parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let given = Int(parts[1])
      else { return nil }
      // The prefix length of a mapped address includes the 96 bits before its IPv4 address.
      let isMapped = bits == 32 && first.contains(":")
      length = isMapped ? given - 96 : given
    }
    guard (0...bits).contains(length) else { return nil }
    (self.address, self.length, description) = (address, length, text)
  }

  /// Returns whether an address has the block's prefix.
  public func contains(_ other: NetworkAddress) -> Bool {
    guard other.bytes.count == address.bytes.count else { return false }
    let (whole, rest) = length.quotientAndRemainder(dividingBy: 8)
    guard other.bytes.prefix(whole) == address.bytes.prefix(whole) else { return false }
    guard rest > 0 else { return true }
    return (other.bytes[whole] ^ address.bytes[whole]) >> (8 - UInt8(rest)) == 0
  }
}
