import HoldfastCore

/// The URLs to which a backend may be told to send requests of its own.
public enum OutgoingURL {
  /// Returns whether a text is an `https` URL, or an `http` URL of this machine, without user, password
  /// and fragment.
  public static func isValid(_ text: String) -> Bool { WebURL(text) != nil }
}

/// An `https` URL, or an `http` URL of this machine, reduced to what the rules compare.
///
/// Only the forms that clients of OAuth use are accepted: printable ASCII without user, password
/// and fragment.
struct WebURL: Sendable, Hashable, Codable {
  /// The URL as it was given.
  let text: String
  let isSecure: Bool
  /// The host in lower case. An IPv6 address is in brackets.
  let host: String
  /// The port, or `nil` if it is not given.
  let port: String?
  /// The path and the query. It is empty or begins with `/` or `?`.
  let rest: String

  /// Parses a URL of at most `limit` bytes. Returns `nil` for another form.
  init?(_ text: String, atMost limit: Int = 2_048) {
    let forbidden: Set<UInt8> = Set("#\"<>\\^`{|}".utf8)
    guard text.utf8.count <= limit,
      text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !forbidden.contains($0) }),
      let colon = text.range(ofScheme: ["https", "http"])
    else { return nil }
    let after = text[colon...].dropFirst(3)
    let end = after.firstIndex { $0 == "/" || $0 == "?" } ?? after.endIndex
    guard let (host, port) = Self.split(after[..<end]) else { return nil }
    self.text = text
    isSecure = text[..<colon].lowercased() == "https"
    (self.host, self.port, rest) = (host, port, String(after[end...]))
    guard isSecure || isLoopback else { return nil }
  }

  /// Splits `host` or `host:port`. Returns `nil` if either is not valid.
  private static func split(_ authority: Substring) -> (host: String, port: String?)? {
    let isBracketed = authority.first == "["
    guard
      let hostEnd = isBracketed
        ? authority.firstIndex(of: "]").map({ authority.index(after: $0) })
        : authority.firstIndex(of: ":") ?? authority.endIndex
    else { return nil }
    let host = authority[..<hostEnd].lowercased()
    let rest = authority[hostEnd...]
    guard !host.isEmpty,
      isBracketed ? NetworkAddress(host: host)?.isIPv6 == true : host.utf8.allSatisfy(isOfName)
    else { return nil }
    guard let colon = rest.first else { return (host, nil) }
    let port = rest.dropFirst()
    guard colon == ":", (1...5).contains(port.utf8.count),
      port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(port), number > 0
    else { return nil }
    return (host, String(port))
  }

  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
      true
    case _: false
    }
  }

  /// Whether the URL is one of this machine.
  var isLoopback: Bool { NetworkAddress.isLoopback(host: host) }

  /// The host, with the port unless it is the usual one of the scheme.
  var authority: String {
    guard let port, port != (isSecure ? "443" : "80") else { return host }
    return "\(host):\(port)"
  }

  /// The scheme and the authority (RFC 6454 section 6.2).
  var origin: String { "\(isSecure ? "https" : "http")://\(authority)" }

  /// The URL without the port of a loopback host, since the port of such a URL may differ (RFC 8252
  /// section 7.3).
  var comparable: String {
    guard isLoopback else { return text }
    return "\(isSecure ? "https" : "http")://\(host)\(rest)"
  }

  /// The source expressions for a content security policy of a form that leads to this URL.
  ///
  /// A client's page may send the browser on to another origin, so all of `https` and of this
  /// machine is included. There is no expression for an IPv6 address, so the scheme stands for it.
  var policySources: String {
    let usual = "https: http://localhost:* http://127.0.0.1:*"
    return isSecure || ["localhost", "127.0.0.1"].contains(host) ? usual : "\(usual) http:"
  }

  /// Returns the URL with more items in its query.
  func adding(_ items: [(String, String?)]) -> String {
    let more = items.compactMap { name, value in
      value.map { "\(name)=\($0.percentEncoded)" }
    }
    let mark = rest.contains("?") ? (rest.hasSuffix("?") ? "" : "&") : "?"
    return text + mark + more.joined(separator: "&")
  }
}

extension String {
  /// Returns the index of the `://` after one of the schemes, in any letter case.
  fileprivate func range(ofScheme schemes: [String]) -> Index? {
    guard let colon = firstIndex(of: ":"), self[colon...].hasPrefix("://"),
      schemes.contains(self[..<colon].lowercased())
    else { return nil }
    return colon
  }
}

/// The address under which clients reach a backend: an origin that is `https`, or `http` on this
/// machine.
public struct PublicURL: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The origin, without a slash at the end.
  public let description: String
  /// The host, with the port unless it is the usual one of the scheme.
  public let authority: String

  /// Parses an origin. One slash at the end is ignored. Returns `nil` for another form.
  public init?(_ text: String) {
    guard let url = WebURL(text), url.rest.isEmpty || url.rest == "/" else { return nil }
    (description, authority) = (url.origin, url.authority)
  }

  /// The URL of the protected resource (RFC 8707 section 2).
  public var resource: String { description + "/mcp" }
}
