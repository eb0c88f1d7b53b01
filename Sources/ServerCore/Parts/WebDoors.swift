/// The names of this server and the origins that browsers may use.
public struct WebDoors: Sendable, Hashable {
  /// Whether the server listens on this machine alone; then a foreign Host is refused.
  ///
  /// A page of the web that has its name point to 127.0.0.1 would otherwise be let in (DNS
  /// rebinding).
  public var isLocal = true
  /// The name or address that is listened on, as a Host field spells it; let in with any port.
  public var ownName: String?
  /// Hosts that are let in besides this machine's, in lower case and with a port that is not the
  /// scheme's: `relay.example`, `relay.example:8443`; the names of a proxy in front. Where there
  /// are some, no other is let in, wherever the server listens.
  public var hosts: [String] = []
  /// Origins of web pages that may call besides those of this machine, such as
  /// `https://app.example`.
  public var origins: [String] = []

  /// Open to this machine.
  public init() {}

  /// Whether a request with this Host may come in.
  public func admit(host: String?) -> Bool {
    guard isLocal || !hosts.isEmpty else { return true }
    let host = host?.lowercased() ?? ""
    return Self.names(host, Self.thisMachine + (ownName.map { [$0] } ?? []))
      || hosts.contains(Self.withoutUsualPort(host))
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
  public func admit(origin: String?) -> Bool {
    guard let origin, !origins.contains(origin) else { return true }
    return ["http://", "https://"].contains { scheme in
      origin.hasPrefix(scheme)
        && Self.names(origin.dropFirst(scheme.count).lowercased(), Self.thisMachine)
    }
  }

  /// What is said to a page that is not let in.
  public static let foreignOrigin = "Web pages of this origin may not call."

  private static let thisMachine = ["localhost", "127.0.0.1", "[::1]"]

  /// Whether the value of a Host field (RFC 9110 section 7.2) is one of the names, with any port.
  private static func names(_ host: String, _ names: [String]) -> Bool {
    names.contains { name in
      guard host.hasPrefix(name) else { return false }
      let rest = host.dropFirst(name.count)
      let isPort = rest.first == ":" && rest.dropFirst().utf8.allSatisfy { 0x30...0x39 ~= $0 }
      return rest.isEmpty || isPort
    }
  }
}
