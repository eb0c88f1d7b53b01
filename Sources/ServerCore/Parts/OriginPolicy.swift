import LinkCore

/// The names of this server and the origins that browsers may use.
public struct OriginPolicy: Sendable, Hashable {
  /// Whether the server listens on this machine alone; then a foreign Host is refused.
  ///
  /// A page of the web that has its name point to 127.0.0.1 would otherwise be let in (DNS
  /// rebinding).
  public var isLocal = true
  /// The name or address that is listened on, in lower case; let in with any port.
  public var ownName: String?
  /// Hosts that are let in besides this machine's, in lower case and with a port that is not the
  /// scheme's: `relay.example`, `relay.example:8443`; the names of a proxy in front. Where there
  /// are some, no other is let in, wherever the server listens.
  public var hosts: [String] = []
  /// Origins of web pages that may call besides those of this machine and of `hosts`, such as
  /// `https://app.example`.
  public var origins: [String] = []

  /// Open to this machine.
  public init() {}

  /// Whether a request with this Host may come in.
  public func admit(host: String?) -> Bool {
    guard isLocal || !hosts.isEmpty else { return true }
    let host = host?.lowercased() ?? ""
    return isHere(host) || hosts.contains(Self.withoutUsualPort(host))
  }

  /// A host without a port that the scheme says: 80 or 443, since a server behind a proxy
  /// does not know the scheme.
  public static func withoutUsualPort(_ host: String) -> String {
    for port in [":80", ":443"] where host.hasSuffix(port) {
      return String(host.dropLast(port.count))
    }
    return host
  }

  /// Whether a request with this Origin may come in; one without comes from no page.
  ///
  /// The server's own names are no foreign origin: React Native names the server itself as the
  /// origin of a WebSocket.
  public func admit(origin: String?) -> Bool {
    guard let origin, !origins.contains(origin) else { return true }
    return [("http://", ":80"), ("https://", ":443")].contains { scheme, usual in
      guard origin.hasPrefix(scheme) else { return false }
      let host = origin.dropFirst(scheme.count).lowercased()
      let named = host.hasSuffix(usual) ? String(host.dropLast(usual.count)) : host
      return isHere(host) || hosts.contains(named)
    }
  }

  /// What is said to a page that is not let in.
  public static let foreignOrigin = "Web pages of this origin may not call."

  /// Whether the value of a Host field names this machine or what is listened on.
  private func isHere(_ host: String) -> Bool {
    guard let name = Self.name(of: host) else { return false }
    if NetworkAddress.isLoopback(host: name) { return true }
    guard let ownName else { return false }
    let address = NetworkAddress(host: ownName)
    return name == ownName || address != nil && address == NetworkAddress(host: name)
  }

  /// The name or address in the value of a Host field (RFC 9110 section 7.2), which any port may
  /// follow; `nil` if something else does.
  private static func name(of host: String) -> Substring? {
    let end = host.first == "[" ? host.firstIndex(of: "]").map { host.index(after: $0) } : nil
    let name = host[..<(end ?? host.firstIndex(of: ":") ?? host.endIndex)]
    let rest = host[name.endIndex...]
    let isPort = rest.first == ":" && rest.dropFirst().utf8.allSatisfy { 0x30...0x39 ~= $0 }
    guard !name.isEmpty, rest.isEmpty || isPort else { return nil }
    return name
  }
}
