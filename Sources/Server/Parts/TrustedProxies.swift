public import HoldfastCore

/// The proxies in front of the backend that are trusted to report the address of a client.
public struct TrustedProxies: Sendable, Hashable {
  /// The addresses of the proxies. The default is none.
  public var blocks: [AddressBlock] = []
  /// The maximum number of addresses that are read from one request, starting with the nearest.
  public static let maxHops = 32

  /// Creates an empty list of proxies.
  public init() {}

  /// Returns whether an address is that of a proxy.
  public func contains(_ address: NetworkAddress) -> Bool {
    blocks.contains { $0.contains(address) }
  }

  /// Returns the client's address.
  ///
  /// The addresses are read from right to left, as long as the proxy that added each of them is
  /// trusted. Addresses that the client itself sent are therefore ignored. If both header fields
  /// are present and lead to different addresses, a proxy forwarded one of the fields unchecked.
  /// The result is then the address of the peer.
  ///
  /// - Parameters:
  /// - peer: The remote address of the connection.
  ///   - forwarded: The values of `Forwarded` (RFC 7239), in order.
  ///   - forwardedFor: The values of `X-Forwarded-For`, in order.
  public func client(
    of peer: NetworkAddress, forwarded: [String], forwardedFor: [String]
  ) -> NetworkAddress {
    guard contains(peer) else { return peer }
    let one = forwarded.isEmpty ? nil : nearest(peer, Self.nodes(forwarded: forwarded))
    let other = forwardedFor.isEmpty ? nil : nearest(peer, Self.nodes(forwardedFor: forwardedFor))
    guard let found = one ?? other else { return peer }
    return other == nil || other == found ? found : peer
  }

  private func nearest(_ peer: NetworkAddress, _ nodes: [String?]) -> NetworkAddress {
    var found = peer
    for node in nodes.reversed().prefix(Self.maxHops) {
      // `unknown` and obfuscated names end the search. Only the proxy that added them is known.
      guard let address = node.flatMap(Self.address) else { return found }
      found = address
      guard contains(address) else { return address }
    }
    return found
  }

  private static func nodes(forwardedFor values: [String]) -> [String?] {
    values.joined(separator: ",").split(separator: ",", omittingEmptySubsequences: false)
      .map { trimmed($0) }
  }

  /// Returns the `for` parameter of each element, or `nil` where there is none.
  ///
  /// A value with an unbalanced quote counts as one element without that parameter. Otherwise, a
  /// client could open a quote to hide the text that the proxy appends.
  private static func nodes(forwarded values: [String]) -> [String?] {
    values.flatMap { value in split(value, at: ",").map { $0.map(node(of:)) } ?? [nil] }
  }

  private static func node(of element: String) -> String? {
    for pair in split(element, at: ";") ?? [] {
      let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard halves.count == 2, trimmed(halves[0]).lowercased() == "for" else { continue }
      let value = trimmed(halves[1])
      guard value.hasPrefix("\""), value.hasSuffix("\"") else { return value }
      return String(value.dropFirst().dropLast())
    }
    return nil
  }

  /// Splits a text at separators outside of quotes (RFC 9110 section 5.6.4).
  ///
  /// Returns `nil` if a quote is not closed.
  private static func split(_ text: String, at separator: Character) -> [String]? {
    var parts = [""]
    var (isQuoted, isEscaped) = (false, false)
    for character in text {
      if !isQuoted, character == separator {
        parts.append("")
        continue
      }
      if character == "\"", !isEscaped { isQuoted.toggle() }
      isEscaped = isQuoted && character == "\\" && !isEscaped
      parts[parts.count - 1].append(character)
    }
    return isQuoted ? nil : parts
  }

  /// Parses a node: an address, optionally with a port. IPv6 addresses may be in brackets.
  private static func address(_ node: String) -> NetworkAddress? {
    if let whole = NetworkAddress(node) { return whole }
    if node.hasPrefix("[") {
      guard let end = node.firstIndex(of: "]") else { return nil }
      let rest = node[node.index(after: end)...]
      guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
      return NetworkAddress(node[node.index(after: node.startIndex)..<end])
    }
    guard let colon = node.firstIndex(of: ":") else { return nil }
    return NetworkAddress(node[..<colon])
  }

  private static func trimmed(_ text: some StringProtocol) -> String {
    let isSpace = { (character: Character) in character == " " || character == "\t" }
    let tail = text.drop(while: isSpace).reversed().drop(while: isSpace)
    return String(tail.reversed())
  }
}
