import Foundation
package import HoldfastCore

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
    if url.hasPrefix("https:") { return "wss:" + url.dropFirst("https:".count) }
    if url.hasPrefix("http:") { return "ws:" + url.dropFirst("http:".count) }
    return url
  }

  /// Returns whether a string is a URL with a host.
  package static func hasHost(_ url: String) -> Bool {
    URLComponents(string: url)?.host?.isEmpty == false
  }

  /// Returns the host of a WebSocket URL passed by an app.
  ///
  /// - Throws: `.local` if the URL is not a valid WebSocket URL.
  package static func webSocketHost(_ url: String) throws(LinkFailure) -> String {
    guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(),
      scheme == "ws" || scheme == "wss", let host = parts.host, !host.isEmpty, parts.user == nil,
      parts.fragment == nil
    else {
      throw .local(detail: "the URL is not like wss://host/path, without a user or a fragment")
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

extension LinkFailure {
  /// Runs `work`, and converts its error into a local failure.
  package static func local<Value, Failure: Error & CustomStringConvertible>(
    _ work: () async throws(Failure) -> Value
  ) async throws(LinkFailure) -> Value {
    do throws(Failure) {
      return try await work()
    } catch {
      throw .local(detail: error.description)
    }
  }
}
