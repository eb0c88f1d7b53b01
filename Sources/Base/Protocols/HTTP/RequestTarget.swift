/// The parts of a request target (RFC 9112 section 3.2, RFC 3986 section 3).
struct RequestTarget {
  var origin: String
  var path: String
  var segments: [String]
  var query: [HTTPQueryItem]
  /// The authority of a target in absolute form.
  var authority: String?

  init(_ target: ArraySlice<UInt8>, method: String) throws(HTTPError) {
    guard method != "CONNECT" else {
      throw HTTPError(status: 501, detail: "tunnels are not supported")
    }
    guard target.allSatisfy({ Text.isVisible($0) && $0 != Self.fragment }) else {
      throw .bad("an invalid byte in the target")
    }
    if target.elementsEqual("*".utf8) {
      guard method == "OPTIONS" else { throw .bad("only OPTIONS may ask for *") }
      (origin, path, segments, query, authority) = ("*", "*", [], [], nil)
      return
    }
    let reduced = try Self.reduced(target)
    authority = reduced.authority
    let mark = reduced.origin.firstIndex(of: Self.question) ?? reduced.origin.endIndex
    let pathBytes = reduced.origin[..<mark]
    origin = String(decoding: reduced.origin, as: UTF8.self)
    path = String(decoding: pathBytes, as: UTF8.self)
    segments = try Self.segments(pathBytes)
    query = try Self.items(reduced.origin[mark...].dropFirst())
  }

  private static let slash: UInt8 = 0x2F
  private static let question: UInt8 = 0x3F
  private static let fragment: UInt8 = 0x23
  private static let percent: UInt8 = 0x25
  private static let plus: UInt8 = 0x2B

  private static func reduced(
    _ target: ArraySlice<UInt8>
  ) throws(HTTPError) -> (authority: String?, origin: ArraySlice<UInt8>) {
    if target.first == slash { return (nil, target) }
    let lower = target.prefix(8).map(Text.lowercased)
    let schemes = ["http://", "https://"]
    guard let scheme = schemes.first(where: { lower.starts(with: $0.utf8) }) else {
      throw .bad("a target that is not a path")
    }
    let rest = target.dropFirst(scheme.utf8.count)
    let authority = String(
      decoding: rest.prefix { $0 != slash && $0 != question }, as: UTF8.self)
    guard HostField.isValid(authority) else { throw .bad("a target with a bad authority") }
    let tail = rest.dropFirst(authority.utf8.count)
    return (authority, tail.first == slash ? tail : [slash] + tail)
  }

  private static func segments(_ path: ArraySlice<UInt8>) throws(HTTPError) -> [String] {
    var found: [String] = []
    for part in path.dropFirst().split(separator: slash, omittingEmptySubsequences: false) {
      let segment = try decoded(part, plusIsSpace: false)
      guard segment != ".", segment != ".." else { throw .bad("a path with dot segments") }
      found.append(segment)
    }
    return found == [""] ? [] : found
  }

  private static func items(_ query: ArraySlice<UInt8>) throws(HTTPError) -> [HTTPQueryItem] {
    var found: [HTTPQueryItem] = []
    for part in query.split(separator: 0x26) {
      let equals = part.firstIndex(of: 0x3D) ?? part.endIndex
      found.append(
        HTTPQueryItem(
          name: try decoded(part[..<equals], plusIsSpace: true),
          value: try decoded(part[equals...].dropFirst(), plusIsSpace: true)))
    }
    return found
  }

  /// Percent-decodes text. Throws an error unless the result is valid UTF-8 without NUL.
  private static func decoded(
    _ text: ArraySlice<UInt8>, plusIsSpace: Bool
  ) throws(HTTPError) -> String {
    guard text.contains(where: { $0 == percent || $0 == plus }) else {
      return String(decoding: text, as: UTF8.self)
    }
    var bytes: [UInt8] = []
    var input = text.makeIterator()
    while let byte = input.next() {
      if byte == plus, plusIsSpace {
        bytes.append(Text.space)
      } else if byte == percent {
        guard let high = input.next().flatMap(Text.hexValue),
          let low = input.next().flatMap(Text.hexValue), high << 4 | low != 0
        else { throw .bad("a broken percent-encoding") }
        bytes.append(high << 4 | low)
      } else {
        bytes.append(byte)
      }
    }
    guard let decoded = String(validating: bytes, as: UTF8.self) else {
      throw .bad("a percent-encoding that is not UTF-8")
    }
    return decoded
  }
}

/// Validation of a Host field or an authority (RFC 9110 section 7.2, RFC 3986 section 3.2).
enum HostField {
  static func isValid(_ host: String) -> Bool {
    var name = Array(host.utf8)[...]
    if name.first == 0x5B {
      guard let end = name.firstIndex(of: 0x5D) else { return false }
      let literal = name[(name.startIndex + 1)..<end]
      guard !literal.isEmpty, literal.allSatisfy(isAddress) else { return false }
      return isPort(name[(end + 1)...])
    }
    let colon = name.firstIndex(of: Text.colon) ?? name.endIndex
    let port = name[colon...]
    name = name[..<colon]
    return !name.isEmpty && name.allSatisfy(isName) && isPort(port)
  }

  private static func isPort(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard let first = bytes.first else { return true }
    return first == Text.colon && bytes.count <= 6 && bytes.dropFirst().allSatisfy(Text.isDigit)
  }

  private static func isAddress(_ byte: UInt8) -> Bool {
    Text.hexValue(byte) != nil || byte == Text.colon || byte == 0x2E || byte == 0x25
      || byte == 0x76
  }

  /// Returns whether a byte may be part of a `reg-name` without percent-encoding. The underscore is
  /// accepted, since it is common in private names.
  private static func isName(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: true
    case _: false
    }
  }
}
