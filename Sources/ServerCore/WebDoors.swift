/// Who may come in from a browser: by which names of this server, and from which pages.
public struct WebDoors: Sendable, Hashable {
  /// Whether the server listens on this machine alone; then a foreign Host is refused.
  ///
  /// A page of the web that has its name point to 127.0.0.1 would otherwise be let in (DNS
  /// rebinding).
  public var isLocal = true
  /// Hosts that are let in all the same, in lower case and with a port that is not the scheme's:
  /// `relay.example`, `relay.example:8443`; the names of a proxy in front.
  public var hosts: [String] = []
  /// Origins of web pages that may call besides those of this machine, such as
  /// `https://app.example`.
  public var origins: [String] = []

  /// Open to this machine.
  public init() {}

  /// Whether a request with this Host may come in.
  public func admit(host: String?) -> Bool {
    let host = host?.lowercased() ?? ""
    return !isLocal || Self.isThisMachine(host) || hosts.contains(host)
  }

  /// Whether a request with this Origin may come in; one without comes from no page.
  public func admit(origin: String?) -> Bool {
    guard let origin, !origins.contains(origin) else { return true }
    return ["http://", "https://"].contains { scheme in
      origin.hasPrefix(scheme)
        && Self.isThisMachine(origin.dropFirst(scheme.count).lowercased())
    }
  }

  /// What is said to a page that is not let in.
  public static let foreignOrigin = "Web pages of this origin may not call."

  /// Whether the value of a Host field (RFC 9110 section 7.2) names this machine, with any port.
  private static func isThisMachine(_ host: String) -> Bool {
    ["localhost", "127.0.0.1", "[::1]"].contains { name in
      guard host.hasPrefix(name) else { return false }
      let rest = host.dropFirst(name.count)
      let isPort = rest.first == ":" && rest.dropFirst().utf8.allSatisfy { 0x30...0x39 ~= $0 }
      return rest.isEmpty || isPort
    }
  }
}
