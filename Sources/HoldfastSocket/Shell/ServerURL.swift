import Foundation
import HoldfastCore

/// Functions that build and check the URLs of a backend.
package enum ServerURL {
  /// Returns the URL of a path. If the server's address has a path, it becomes a prefix.
  package static func http(_ server: String, _ path: String) -> String {
    var base = server
    while base.hasSuffix("/") { base.removeLast() }
    return base + path
  }

  /// Returns the WebSocket URL of a path.
  package static func socket(_ server: String, _ path: String) -> String {
    let url = http(server, path)
    let scheme = url.prefix { $0 != ":" }
    switch scheme.lowercased() {
    case "https": return "wss" + url.dropFirst(scheme.count)
    case "http": return "ws" + url.dropFirst(scheme.count)
    case _: return url
    }
  }

  /// Returns whether a string is a URL with a host.
  package static func hasHost(_ url: String) -> Bool {
    URLComponents(string: url)?.host?.isEmpty == false
  }

  /// Returns whether the port of a URL, if it has one, exists.
  package static func hasPossiblePort(_ url: String) -> Bool {
    (URLComponents(string: url)?.port ?? 0) <= UInt16.max
  }

  /// Returns the host of a WebSocket URL passed by an app.
  ///
  /// - Throws: `.configuration`, with the remedy, if the URL is not a valid WebSocket URL, or if it
  ///   would send plaintext to another device.
  package static func webSocketHost(
    _ url: String, allowsPlaintext: Bool
  ) throws(OpenError) -> String {
    try host(
      of: url, schemes: (plain: "ws", secure: "wss"), allowsQuery: true,
      allowsPlaintext: allowsPlaintext)
  }

  /// Returns the host of a URL passed by an app.
  ///
  /// - Throws: `.configuration`, with the remedy, if the URL is not valid, or if it would send
  ///   plaintext to another device.
  package static func host(
    of url: String, schemes: (plain: String, secure: String), allowsQuery: Bool,
    allowsPlaintext: Bool
  ) throws(OpenError) -> String {
    let (plain, secure) = schemes
    let parts = URLComponents(string: url)
    let scheme = parts?.scheme?.lowercased()
    if let scheme, scheme != plain, scheme != secure {
      throw .configuration(
        "the scheme of the URL must be \(plain) or \(secure), as in \(secure)://host/path")
    }
    guard let parts, scheme != nil, let host = parts.host, !host.isEmpty, parts.user == nil,
      parts.fragment == nil, allowsQuery || parts.query == nil
    else {
      let form = "\(secure)://host[:port][/path]"
      let rest = allowsQuery ? "a user or a fragment" : "a user, a query or a fragment"
      throw .configuration("the URL is not like \(form), without \(rest)")
    }
    guard hasPossiblePort(url) else {
      throw .configuration("the port of the URL must be at most \(UInt16.max)")
    }
    guard scheme == secure || allowsPlaintext || NetworkAddress.isLoopback(host: host) else {
      throw .configuration(
        "\(plain):// to \(host) would not be encrypted; use \(secure)://, or set allowsPlaintext "
          + "in a configuration of your own")
    }
    return host
  }

  /// Returns the `http` URL of a page on the host of a WebSocket URL; `nil` if that URL is invalid.
  ///
  /// The port of a `wss` URL is removed, so the page is requested on the default port.
  package static func page(_ path: String, besides url: String) -> String? {
    guard hasHost(url), var parts = URLComponents(string: url) else { return nil }
    if parts.scheme?.lowercased() == "wss" { parts.port = nil }
    (parts.scheme, parts.path, parts.query) = ("http", path, nil)
    return parts.string
  }
}
