#if canImport(Network)
  import Foundation
  import HoldfastCore
  import HoldfastSocketEngine

  /// The target of a request, as Foundation parses its URL.
  struct WebAddress: Equatable {
    var isSecure: Bool
    /// The host in ASCII. An IPv6 address is in brackets.
    var host: String
    var port: UInt16
    /// The path and query, as they appear in a request line.
    var target: String

    /// The URL with the HTTP scheme.
    var url: String { "\(isSecure ? "https" : "http")://\(host):\(port)\(target)" }

    /// The value of the `Host` field (RFC 9110 section 7.2). It omits the scheme's default port.
    var authority: String { port == (isSecure ? 443 : 80) ? host : "\(host):\(port)" }

    /// Parses a URL, and appends items to its query.
    ///
    /// - Parameter schemes: The allowed schemes, and whether each is encrypted.
    init(
      _ url: String, query: [(name: String, value: String)], schemes: [String: Bool]
    ) throws(LinkFailure) {
      guard let parts = URLComponents(string: url) else { throw .local(detail: "Bad URL.") }
      guard let scheme = parts.scheme?.lowercased(), let isSecure = schemes[scheme] else {
        let known = schemes.keys.sorted().joined(separator: " or ")
        throw .local(detail: "The URL's scheme must be \(known).")
      }
      guard parts.user == nil, parts.password == nil else {
        throw .local(detail: "The URL contains a user or password; put credentials into a header.")
      }
      guard let host = parts.encodedHost, !host.isEmpty,
        let port = UInt16(exactly: parts.port ?? (isSecure ? 443 : 80))
      else { throw .local(detail: "The URL has no host that can be looked up.") }
      let bare = NetworkAddress.withoutBrackets(host)
      self.host = bare.contains(":") ? "[\(bare)]" : String(bare)
      (self.isSecure, self.port) = (isSecure, port)
      let items = query.map { "\($0.name.percentEncoded)=\($0.value.percentEncoded)" }
      let all = ([parts.percentEncodedQuery].compactMap { $0 } + items).joined(separator: "&")
      let path = parts.percentEncodedPath
      target = (path.isEmpty ? "/" : path) + (all.isEmpty ? "" : "?\(all)")
    }

    /// Throws an error unless the connection is encrypted, stays on this device, or may use
    /// plaintext.
    func demandPrivacy(allowsPlaintext: Bool) throws(LinkFailure) {
      guard isSecure || NetworkAddress.isLoopback(host: host) || allowsPlaintext else {
        throw .local(
          detail: "Plaintext to \(host) is refused; use TLS, or set allowsPlaintext.")
      }
    }
  }
#endif
