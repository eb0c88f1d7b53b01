package import HoldfastCommandKit
import HoldfastCore

/// A validated URL of a server.
package struct ServerAddress: Equatable {
  package var url: String
  package var host: String
  /// Whether the host is this machine.
  package var isLoopback: Bool { NetworkAddress.isLoopback(host: host) }

  /// Creates an address from its text.
  ///
  /// - Parameters:
  ///   - schemes: The scheme that uses TLS and the scheme that does not.
  ///   - alike: The other accepted schemes, for error messages.
  ///   - option: The option that gives the URL, for error messages.
  ///   - allowsQuery: Whether the URL may contain a query.
  /// - Throws: A usage error. Its text does not repeat credentials from the URL.
  package init(
    _ text: String, schemes: (secure: String, plain: String) = ("https", "http"),
    alike: String = "", option: String, allowsQuery: Bool = false, allowsPlaintext: Bool
  ) throws(CommandFailure) {
    func fault(_ remedy: String) -> CommandFailure {
      CommandFailure(.usage, "\(option) is not a valid URL", remedy: remedy)
    }
    let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
    let scheme = parts[0].lowercased()
    guard parts.count == 2, scheme == schemes.secure || scheme == schemes.plain else {
      throw fault("it must begin with \(schemes.secure):// or \(schemes.plain)://\(alike)")
    }
    let authority = parts[1].prefix { !"/?#".contains($0) }
    guard !authority.contains("@") else { throw fault("it must not contain a user name") }
    guard !parts[1].contains("#") else { throw fault("it must not contain a fragment") }
    guard allowsQuery || !parts[1].contains("?") else { throw fault("it must not contain a query") }
    guard !parts[1].contains(where: \.isWhitespace) else {
      throw fault("it must not contain spaces")
    }
    let (host, rest, isLiteral) = Self.parts(of: authority)
    guard !host.isEmpty else { throw fault("it must contain a host") }
    guard !isLiteral || authority.contains("]") else {
      throw fault("an IPv6 address must be written in brackets")
    }
    guard rest.isEmpty || Self.isPort(rest) else {
      throw fault("its port must be a number from 1 to 65535")
    }
    self.host = String(host)
    url = "\(scheme)://\(parts[1])"
    guard scheme == schemes.secure || allowsPlaintext || isLoopback else {
      throw CommandFailure(
        .usage,
        "\(scheme):// to \(host) would let everyone on the network path read what is sent",
        remedy: "use \(schemes.secure)://, or add --allow-plaintext")
    }
  }

  /// Returns the address of a socket. The URL may also have the scheme `https` or `http`.
  package static func socket(
    _ text: String, option: String, allowsPlaintext: Bool
  ) throws(CommandFailure) -> ServerAddress {
    var text = text
    for (http, socket) in [("https://", "wss://"), ("http://", "ws://")]
    where text.lowercased().hasPrefix(http) {
      text = socket + text.dropFirst(http.count)
    }
    return try ServerAddress(
      text, schemes: ("wss", "ws"), alike: " (or https:// or http://)", option: option,
      allowsQuery: true, allowsPlaintext: allowsPlaintext)
  }

  /// Returns whether a text has the form `HOST` or `HOST:PORT`. An IPv6 address must be in
  /// brackets.
  package static func isAuthority(_ text: Substring) -> Bool {
    let (host, rest, isLiteral) = parts(of: text)
    let isHost =
      !host.isEmpty && (!isLiteral || text.contains("]"))
      && host.allSatisfy { isLiteral ? $0.isHexDigit || ":.%".contains($0) : isNamePart($0) }
    return isHost && (rest.isEmpty || isPort(rest))
  }

  /// Returns the host, the text after the host, and whether the host is in brackets.
  private static func parts(
    of authority: Substring
  ) -> (host: Substring, rest: Substring, isLiteral: Bool) {
    let isLiteral = authority.first == "["
    let host =
      isLiteral ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
    return (host, authority.dropFirst(host.count + (isLiteral ? 2 : 0)), isLiteral)
  }

  private static func isNamePart(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || "-._".contains(character)
  }

  private static func isPort(_ rest: Substring) -> Bool {
    guard rest.first == ":", rest.dropFirst().allSatisfy({ $0.isASCII && $0.isNumber }) else {
      return false
    }
    return UInt16(rest.dropFirst()).map { $0 > 0 } ?? false
  }
}
