import LinkCore

/// Names of all forms, of addresses and of things, read and written a second time.
struct NameWalk: TwinWalk {
  var chance: Chance
  var stray: String?

  init(_ chance: Chance) { self.chance = chance }

  /// Tries so many names of each kind; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    for _ in 0..<times where stray == nil {
      tryAddress(address())
      tryAddress(changed(address()))
      tryBytes()
      tryBlock()
      tryUUID()
      tryHex()
      trySearch()
    }
    return stray
  }

  // Addresses.

  private static let addresses = [
    "127.0.0.1", "127.255.255.255", "128.0.0.1", "126.0.0.1", "0.0.0.0", "0.0.0.1", "1.2.3.4",
    "255.255.255.255", "256.1.1.1", "01.2.3.4", "1.2.3", "1.2.3.4.5", "1..3.4", "", "localhost",
    "::", "::1", "1::", "::2", "0:0:0:0:0:0:0:1", "100::1", "0:0:0:0:0:0:0:0", "fe80::1",
    "2001:DB8::a:b", "2001:db8:0:1:2:3:4:5", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::",
    "::1:2:3:4:5:6:7", "1:2:3:4::5:6:7:8", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3",
    ":::", ":1:2:3:4:5:6:7", "12345::", "::00001", "::g", "::ffff:10.0.0.1", "::FFFF:127.0.0.1",
    "::ffff:a00:1", "::fffe:10.0.0.1", "1::ffff:10.0.0.1", "::10.0.0.1", "10.0.0.1::",
    "1:2:3:4:5:6:10.0.0.1", "1:2:3:4:5:6:7:10.0.0.1", "10.0.0.1:1::", "::10.0.0.1:1",
    "::10.0.0.256", "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
    "0000:0000:0000:0000:0000:ffff:127.0.0.001", "0:0:0:0:0:ffff:127.0.0.1",
  ]

  private mutating func address() -> String {
    let text = one(Self.addresses)
    switch number(0...4) {
    case 0: return "[\(text)]"
    case 1:
      return one(["[", "]", "[]", "[a", "LOCALHOST", "Localhost", "localhos", "[\(text)", "[:]"])
    case _: return text
    }
  }

  private mutating func changed(_ text: String) -> String {
    var signs = Array(text)
    guard !signs.isEmpty else { return text }
    let place = number(0...signs.count - 1)
    switch number(0...2) {
    case 0: signs[place] = one(Array("0159afAFgG:.+ []é-/@`"))
    case 1: signs.remove(at: place)
    case _: signs.insert(one(Array("0159afAFgG:.+ []é-/@`")), at: place)
    }
    return String(signs)
  }

  private mutating func tryAddress(_ text: String) {
    let (found, must) = (NetworkAddress(text), NameAddress.bytes(text))
    compare("the address \(text)", found?.bytes, must)
    compareHost(
      String(NetworkAddress.withoutBrackets(text)), NetworkAddress(host: text),
      isHere: NetworkAddress.isLoopback(host: text), of: text)
    if let found, let must { look(found, must) }
  }

  mutating func compareHost(
    _ bare: String, _ address: NetworkAddress?, isHere: Bool, of text: String
  ) {
    let host = NameAddress.withoutBrackets(text)
    compare("\(text) without brackets", bare, host)
    let ofHost = NameAddress.bytes(host)
    compare("the host \(text)", address?.bytes, ofHost)
    let must = ofHost.map { NameAddress.isLoopback($0) } ?? (host.lowercased() == "localhost")
    // Brackets are for addresses.
    let isBracketed = host != text && ofHost == nil
    compare("whether \(text) is this machine", isHere, must && !isBracketed)
  }

  /// Compares an address with the bytes that it must have.
  mutating func look(_ found: NetworkAddress, _ must: [UInt8]) {
    compare("whether \(must) is this machine", found.isLoopback, NameAddress.isLoopback(must))
    let isAny = must.filter { $0 != 0 }.isEmpty
    compare("whether \(must) is any", found.isUnspecified, isAny)
    compare("whether \(must) is of IPv6", found.isIPv6, must.count == 16)
    let half = must.count == 16 ? must.prefix(8) : must.prefix(4)
    let signs = Array("0123456789abcdef")
    let origin = half.map { "\(signs[Int($0) / 16])\(signs[Int($0) % 16])" }.joined()
    compare("the origin of \(must)", found.origin, origin)
  }

  private mutating func tryBytes() {
    let count = one([4, 16, 16, 0, 3, 5, 15, 17])
    var bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
    if count == 16, happens(2) {
      bytes.replaceSubrange(..<12, with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255])
      if happens(3) { bytes[number(0...11)] = 1 }
    }
    let text = bytes.map { String($0) }.joined(separator: ".")
    let isMapped =
      count == 16 && bytes[10] == 255 && bytes[11] == 255 && bytes[..<10].allSatisfy { $0 == 0 }
    let must = count == 4 || count == 16 ? isMapped ? Array(bytes[12...]) : bytes : nil
    compare("the address of \(text)", NetworkAddress(bytes: bytes)?.bytes, must)
  }

  private mutating func tryBlock() {
    let base = one(["10.1.128.0", "255.255.255.255", "2001:db8::8000", "::ffff:10.1.128.0", "::"])
    let length = one([0, 1, 7, 8, 9, 17, 24, 31, 32, 33, 96, 97, 104, 120, 127, 128, 129, 1_000])
    var text = happens(6) ? base : "\(base)/\(length)"
    if happens(5) { text = changed(text) }
    if happens(12) { text = base + one(["/", "/8/9", "/+8", "/008", "/0008", "/-1", "/8 "]) }
    let (found, must) = (AddressBlock(text), NameAddress.block(text))
    compare("whether \(text) is a block", found != nil, must != nil)
    guard let found, let must else { return }
    compare("the text of a block", found.description, text)
    for _ in 0..<3 {
      // An address that differs from the base in one bit, near the end of what is shared.
      guard var bytes = NameAddress.bytes(base) else { return }
      if happens(6) { bytes = bytes.count == 4 ? [UInt8](repeating: 0, count: 16) : [0, 0, 0, 0] }
      let bit = must.shared.count + number(-2...2)
      if (0..<bytes.count * 8).contains(bit) { bytes[bit / 8] ^= 128 >> UInt8(bit % 8) }
      let bits = NameAddress.bits(bytes)
      guard let address = NetworkAddress(bytes: bytes) else { return }
      let isIn = bits.count == must.all && bits.starts(with: must.shared)
      compare("whether \(text) holds \(bytes)", found.contains(address), isIn)
    }
  }

  // Other names.

  private mutating func tryUUID() {
    var draws = chance
    let id = UUID128.random(using: &chance)
    let words = (draws.next(), draws.next())
    let signs = Array("0123456789abcdef")
    var digits: [Character] = []
    for word in [words.0, words.1] {
      for place in 0..<16 { digits.append(signs[Int(word >> UInt64(60 - 4 * place) & 15)]) }
    }
    // Version 4, and the variant of the standard.
    digits[12] = "4"
    let third = NameAddress.digits(String(digits[16])).map { $0[0] } ?? 0
    digits[16] = signs[8 + Int(third) % 4]
    var text = ""
    for (place, digit) in digits.enumerated() {
      if [8, 12, 16, 20].contains(place) { text += "-" }
      text.append(digit)
    }
    compare("a random name", id.description, text)
    compare("\(text), read,", UUID128(text), id)
    compare("\(text), read in upper case,", UUID128(text.uppercased()), id)
    let odd =
      happens(2) ? changed(text) : one([text + "0", String(text.dropLast()), "", text + "-"])
    compareUUID([UUID128(odd), UUID128(utf8: ArraySlice(odd.utf8))], of: odd)
    let other = UUID128(
      high: happens(2) ? id.high : id.high &+ 1,
      low: happens(3) ? id.low : id.low &+ one([1, .max]))
    compare("the order of \(id) and \(other)", id < other, "\(id)" < "\(other)")
  }

  /// Compares what a text and its bytes are read as.
  mutating func compareUUID(_ found: [UUID128?], of text: String) {
    let must = NameAddress.uuid(text)
    compare("\(text), read,", found, [must, must])
  }

  mutating func compareDigit(_ found: UInt8?, of byte: UInt8) {
    let must = NameAddress.digits(String(UnicodeScalar(byte)))?.first
    compare("the digit \(byte)", found, must)
  }

  private mutating func tryHex() {
    let byte = UInt8(truncatingIfNeeded: one(Array(0x2F...0x67)) as Int)
    compareDigit(Hex.value(of: byte), of: byte)
    let bytes = [0, 9, 10, 15, 16, 0x9A, 255].map { (one([$0, 7]) as Int) }.map { UInt8($0) }
    let signs = Array("0123456789abcdef")
    let text = bytes.map { "\(signs[Int($0) / 16])\(signs[Int($0) % 16])" }.joined()
    compare("the digits of \(bytes)", Hex.text(of: bytes), text)
  }

  private mutating func trySearch() {
    let all = (0..<number(0...9)).map { _ in number(0...5) }.sorted()
    let limit = number(0...6)
    let place = all.firstIndex { $0 >= limit } ?? all.count
    compare("the place of \(limit) in \(all)", all.end { $0 < limit }, place)
    let part = all.dropFirst(min(2, all.count))
    let inPart = part.firstIndex { $0 >= limit } ?? part.endIndex
    compare("the place of \(limit) in a part of \(all)", part.end { $0 < limit }, inPart)
  }
}
