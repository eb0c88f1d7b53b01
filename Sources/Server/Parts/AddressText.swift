public import HoldfastCore

extension NetworkAddress {
  /// The address as text: in dotted decimal, or in the form that RFC 5952 recommends for IPv6.
  public var text: String {
    guard isIPv6 else { return bytes.map { String($0) }.joined(separator: ".") }
    let groups = stride(from: 0, to: 16, by: 2).map { index in
      UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1])
    }
    func joined(_ part: some Sequence<UInt16>) -> String {
      part.map { String($0, radix: 16) }.joined(separator: ":")
    }
    guard let gap = Self.longestGap(in: groups) else { return joined(groups) }
    return "\(joined(groups[..<gap.lowerBound]))::\(joined(groups[gap.upperBound...]))"
  }

  /// The network of the address: the first 24 bits of an IPv4 address or the first 48 of an IPv6
  /// address, such as `203.0.113.0/24`.
  ///
  /// Providers assign at least 48 or 56 bits of an IPv6 address to one customer (RFC 6177), and about
  /// 256 customers share 24 bits of an IPv4 address.
  public var networkText: String {
    let kept = isIPv6 ? 6 : 3
    let network = bytes.prefix(kept) + [UInt8](repeating: 0, count: bytes.count - kept)
    return "\(NetworkAddress(bytes: Array(network))?.text ?? "")/\(kept * 8)"
  }

  /// Returns the first of the longest runs of at least two zeros (RFC 5952 section 4.2).
  private static func longestGap(in groups: [UInt16]) -> Range<Int>? {
    var longest = 0..<1
    var start = 0
    for (index, group) in groups.enumerated() {
      if group != 0 { start = index + 1 }
      if index + 1 - start > longest.count { longest = start..<index + 1 }
    }
    return longest.count > 1 ? longest : nil
  }
}
