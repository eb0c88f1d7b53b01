#if os(Linux)
  import Glibc

  /// An IPv4 or IPv6 address, in network byte order.
  public struct IPAddress: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The bytes of the address, which are 4 or 16.
    public let bytes: [UInt8]

    /// Creates an address from 4 or 16 bytes; `nil` for any other number of bytes.
    public init?(bytes: some Sequence<UInt8>) {
      let bytes = Array(bytes)
      guard bytes.count == 4 || bytes.count == 16 else { return nil }
      self.bytes = bytes
    }

    /// Parses an address in text form (RFC 4291 section 2.2, or four decimal numbers); `nil` for
    /// any other text.
    public init?(_ text: String) {
      let isLong = text.utf8.contains(UInt8(ascii: ":"))
      var bytes = [UInt8](repeating: 0, count: isLong ? 16 : 4)
      guard unsafe inet_pton(isLong ? AF_INET6 : AF_INET, text, &bytes) == 1 else { return nil }
      self.bytes = bytes
    }

    /// Whether the address has 16 bytes.
    public var isIPv6: Bool { bytes.count == 16 }

    /// Whether the address is ::1, or is in 127.0.0.0/8 or its IPv6 form (::ffff:127.0.0.0/104).
    public var isLoopback: Bool {
      guard isIPv6 else { return bytes[0] == 127 }
      let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127]
      return bytes.starts(with: mapped)
        || (bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1)
    }

    /// Returns the address with all bits except the first `length` cleared.
    func masked(to length: Int) -> IPAddress {
      IPAddress(
        unchecked: bytes.enumerated().map { index, byte in
          let retained = min(max(length - index * 8, 0), 8)
          return byte & UInt8(truncatingIfNeeded: 0xFF00 >> retained)
        })
    }

    /// Returns whether an address of the same family has the same first `length` bits.
    func matches(_ prefix: IPAddress, length: Int) -> Bool {
      bytes.count == prefix.bytes.count && masked(to: length) == prefix.masked(to: length)
    }

    private init(unchecked bytes: [UInt8]) {
      self.bytes = bytes
    }

    public var description: String {
      var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
      let family = isIPv6 ? AF_INET6 : AF_INET
      guard let start = unsafe inet_ntop(family, bytes, &text, socklen_t(text.count)) else {
        return "?"
      }
      _ = unsafe start
      return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    public static func < (left: IPAddress, right: IPAddress) -> Bool {
      left.bytes.count == right.bytes.count
        ? left.bytes.lexicographicallyPrecedes(right.bytes) : left.bytes.count < right.bytes.count
    }
  }
#endif
