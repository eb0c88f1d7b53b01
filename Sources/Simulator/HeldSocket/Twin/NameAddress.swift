import LinkCore

/// Addresses as texts, read a second time by the bits that they stand for (RFC 4291 section 2.2,
/// RFC 4632).
enum NameAddress {
  /// The bytes of an address; `nil` for what is none.
  static func bytes(_ text: String) -> [UInt8]? {
    guard text.contains(":") else { return four(text) }
    guard let bytes = six(Array(text)) else { return nil }
    // An IPv4 address in the form of IPv6 is one of IPv4.
    let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 255 && bytes[11] == 255
    return isMapped ? Array(bytes.suffix(4)) : bytes
  }

  private static func four(_ text: String) -> [UInt8]? {
    let numbers = text.split(separator: ".", omittingEmptySubsequences: false)
      .map { part in (0...255).first { String($0) == part } }
    let bytes = numbers.compactMap { $0 }
    return bytes.count == 4 && numbers.count == 4 ? bytes.map { UInt8($0) } : nil
  }

  private static func six(_ text: [Character]) -> [UInt8]? {
    let gap = (0..<text.count - 1).first { text[$0] == ":" && text[$0 + 1] == ":" }
    guard let gap else {
      let bytes = groups(text, mayEndInFour: true)
      return bytes?.count == 16 ? bytes : nil
    }
    let (head, tail) = (Array(text[..<gap]), Array(text[(gap + 2)...]))
    guard let left = head.isEmpty ? [] : groups(head, mayEndInFour: false),
      var bytes = tail.isEmpty ? [] : groups(tail, mayEndInFour: true)
    else { return nil }
    // A gap stands for one group of zeros at least.
    guard left.count + bytes.count < 16 else { return nil }
    while left.count + bytes.count < 16 { bytes.insert(0, at: 0) }
    return left + bytes
  }

  private static func groups(_ text: [Character], mayEndInFour: Bool) -> [UInt8]? {
    var parts = text.split(separator: ":", omittingEmptySubsequences: false).map { String($0) }
    var end: [UInt8] = []
    if mayEndInFour, let last = parts.last, last.contains(".") {
      guard let bytes = four(last) else { return nil }
      parts.removeLast()
      end = bytes
    }
    var bytes: [UInt8] = []
    for part in parts {
      guard let nibbles = digits(part), (1...4).contains(nibbles.count) else { return nil }
      let all = [UInt8](repeating: 0, count: 4 - nibbles.count) + nibbles
      bytes += [all[0] * 16 + all[1], all[2] * 16 + all[3]]
    }
    return bytes + end
  }

  /// The values of hexadecimal digits; `nil` for other signs.
  static func digits(_ text: String) -> [UInt8]? {
    let values = text.map { sign in
      Array("0123456789abcdef").firstIndex(of: sign)
        ?? Array("0123456789ABCDEF").firstIndex(of: sign)
    }
    let known = values.compactMap { $0 }
    return known.count == values.count ? known.map { UInt8($0) } : nil
  }

  static func withoutBrackets(_ host: String) -> String {
    let signs = Array(host)
    guard signs.count > 2, signs[0] == "[", signs[signs.count - 1] == "]" else { return host }
    return String(signs[1..<signs.count - 1])
  }

  static func isLoopback(_ bytes: [UInt8]) -> Bool {
    bytes.count == 4 ? bytes[0] == 127 : bytes == [UInt8](repeating: 0, count: 15) + [1]
  }

  /// The bits of an address, most significant first.
  static func bits(_ bytes: [UInt8]) -> [Bool] {
    bytes.flatMap { byte in (0..<8).map { byte & (128 >> $0) != 0 } }
  }

  /// The bits that a block's addresses share, and how many its addresses have; `nil` for what is
  /// no block.
  static func block(_ text: String) -> (shared: [Bool], all: Int)? {
    var (name, given) = (text, String?.none)
    if let slash = text.firstIndex(of: "/") {
      (name, given) = (String(text[..<slash]), String(text[slash...].dropFirst()))
    }
    guard let bytes = bytes(name) else { return nil }
    let bits = bits(bytes)
    guard let given else { return (bits, bits.count) }
    guard (1...3).contains(given.count), given.allSatisfy({ "0123456789".contains($0) }),
      let number = Int(given)
    else { return nil }
    let length = bits.count == 32 && name.contains(":") ? number - 96 : number
    return length < 0 || length > bits.count ? nil : (Array(bits.prefix(length)), bits.count)
  }

  /// A UUID by its digits.
  static func uuid(_ text: String) -> UUID128? {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { String($0) }
    guard parts.map({ $0.utf8.count }) == [8, 4, 4, 4, 12], let digits = digits(parts.joined())
    else { return nil }
    return UUID128(high: word(digits.prefix(16)), low: word(digits.suffix(16)))
  }

  private static func word(_ digits: ArraySlice<UInt8>) -> UInt64 {
    digits.reduce(0) { $0 * 16 + UInt64($1) }
  }
}
