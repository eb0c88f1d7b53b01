import HoldfastCore

/// The host names of this server, and the origins of web pages that may use it.
public struct OriginPolicy: Sendable, Hashable {
  /// A Boolean value that indicates whether the server is reachable only from this machine.
  ///
  /// If it is true, requests with a foreign Host are refused. Otherwise, a web page whose name
  /// resolves to 127.0.0.1 could call the server (DNS rebinding).
  public var isLocal = true
  /// The name or address that the server listens on, in lower case. It is admitted with any port.
  public var ownName: String?
  /// Additional hosts to admit, such as `relay.example` or `relay.example:8443`.
  ///
  /// They can be the names of a proxy in front of the server, for example. They are in lower case
  /// and include the port unless it is the scheme's default. If the list is not empty, no other
  /// foreign host is admitted, even if the server is reachable from other machines.
  public var hosts: [String] = []
  /// Additional origins whose web pages may call the server, such as `https://app.example`.
  ///
  /// Pages of this machine and of `hosts` are always admitted.
  public var origins: [String] = []

  /// Creates a policy that admits only this machine.
  public init() {}

  /// Returns whether a request with this Host is admitted.
  public func admit(host: String?) -> Bool {
    guard isLocal || !hosts.isEmpty else { return true }
    let host = host?.lowercased() ?? ""
    return isHere(host) || hosts.contains(Self.withoutUsualPort(host))
  }

  /// Returns a host without the default port of a scheme, 80 or 443.
  ///
  /// Both are removed, because a server behind a proxy cannot determine the scheme.
  public static func withoutUsualPort(_ host: String) -> String {
    for port in [":80", ":443"] where host.hasSuffix(port) {
      return String(host.dropLast(port.count))
    }
    return host
  }

  /// Returns whether a request with this Origin is admitted.
  ///
  /// A request without an Origin does not come from a web page. The server's own names are
  /// admitted, because React Native sends the server's address as the origin of a WebSocket.
  public func admit(origin: String?) -> Bool {
    guard let origin, !origins.contains(origin) else { return true }
    return [("http://", ":80"), ("https://", ":443")].contains { scheme, usual in
      guard origin.hasPrefix(scheme) else { return false }
      let host = origin.dropFirst(scheme.count).lowercased()
      let named = host.hasSuffix(usual) ? String(host.dropLast(usual.count)) : host
      return isHere(host) || hosts.contains(named)
    }
  }

  /// The error message for a page that is not admitted.
  public static let foreignOrigin = "Web pages of this origin may not call."

  /// Returns whether the value of a Host field names this machine or the server's own name.
  private func isHere(_ host: String) -> Bool {
    guard let name = Self.name(of: host) else { return false }
    if NetworkAddress.isLoopback(host: name) { return true }
    guard let ownName else { return false }
    let address = NetworkAddress(host: ownName)
    return name == ownName || address != nil && address == NetworkAddress(host: name)
  }

  /// Returns the name or address in a Host field, without its port (RFC 9110 section 7.2).
  ///
  /// Returns `nil` if the name is empty or followed by anything other than a port.
  private static func name(of host: String) -> Substring? {
    let end = host.first == "[" ? host.firstIndex(of: "]").map { host.index(after: $0) } : nil
    let name = host[..<(end ?? host.firstIndex(of: ":") ?? host.endIndex)]
    let rest = host[name.endIndex...]
    let isPort = rest.first == ":" && rest.dropFirst().utf8.allSatisfy { 0x30...0x39 ~= $0 }
    guard !name.isEmpty, rest.isEmpty || isPort else { return nil }
    return name
  }
}
