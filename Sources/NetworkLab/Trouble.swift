/// One of the phone's two ways out.
public enum PhoneLink: String, Sendable, CaseIterable {
  /// `wlan0`, preferred.
  case wifi
  /// `cell0`.
  case cell

  /// The interface's name in the phone.
  public var interface: String { self == .wifi ? "wlan0" : "cell0" }

  /// The router at its other end.
  public var router: NetworkLab.Place { self == .wifi ? .accessPoint : .tower }

  /// The address that the server sees traffic over this link come from.
  public var publicAddress: String { self == .wifi ? "10.9.1.2" : "10.9.2.2" }

  private var gateway: String { self == .wifi ? "10.1.0.1" : "10.2.0.1" }

  private var metric: Int { self == .wifi ? 100 : 600 }

  var route: String { route(metric: metric) }

  /// Wins over both links' own routes.
  var preferredRoute: String { route(metric: 50) }

  private func route(metric: Int) -> String {
    "route replace default via \(gateway) dev \(interface) metric \(metric)"
  }
}

/// What a router does with the packets that it should pass on.
public enum Forwarding: String, Sendable, CaseIterable {
  /// It passes them on.
  case open
  /// It drops them: a half-open path, silent on both sides.
  case blackhole
  /// It answers TCP with a RST, so that both open and new connections fail at once.
  case reset

  fileprivate var rule: String {
    switch self {
    case .open: ""
    case .blackhole: "drop"
    case .reset: "meta l4proto tcp reject with tcp reset"
    }
  }
}

/// Trouble, as a phone meets it.
extension NetworkLab {
  /// Takes a link down by the phone's own hand: addresses stay, routes go, sockets stall.
  public func linkDown(_ link: PhoneLink) async throws {
    try await ip(in: .phone, "link set \(link.interface) down")
  }

  /// Brings a link that was down back, with its default route.
  public func linkUp(_ link: PhoneLink) async throws {
    try await ip(in: .phone, "link set \(link.interface) up", link.route)
  }

  /// New connections leave by `link` from now on; open ones keep their address and lose the way.
  public func moveDefaultRoute(to link: PhoneLink) async throws {
    for other in PhoneLink.allCases where other != link {
      // There is such a route only when it was moved there before.
      _ = try? await ip(in: .phone, "route del default dev \(other.interface) metric 50")
    }
    try await ip(in: .phone, link.preferredRoute)
  }

  /// Sets what the router behind `link` does from now on.
  public func forward(_ forwarding: Forwarding, behind link: PhoneLink = .wifi) async throws {
    try await run(
      in: link.router, "nft", "-f", "-",
      input: """
        table inet trouble
        delete table inet trouble
        table inet trouble {
          chain pass {
            type filter hook forward priority 0
            \(forwarding.rule)
          }
        }

        """)
  }

  /// Drops everything at the access point, or stops doing so.
  public func blackhole(_ isOn: Bool, behind link: PhoneLink = .wifi) async throws {
    try await forward(isOn ? .blackhole : .open, behind: link)
  }

  /// Resets every connection at the access point, or stops doing so.
  public func reset(_ isOn: Bool, behind link: PhoneLink = .wifi) async throws {
    try await forward(isOn ? .reset : .open, behind: link)
  }

  /// The router forgets its NAT entries, and takes up no connection in the middle.
  ///
  /// The phone's writes stall; the server's are answered by a RST that the phone never sees.
  public func expireNAT(behind link: PhoneLink = .wifi) async throws {
    try await run(in: link.router, "sysctl", "-qw", "net.netfilter.nf_conntrack_tcp_loose=0")
    try await run(in: link.router, "conntrack", "--flush")
  }

  /// The far end of a link goes, or comes back; the phone's interface stays up without carrier.
  public func carrier(_ isOn: Bool, of link: PhoneLink = .wifi) async throws {
    try await ip(in: link.router, "link set phone \(isOn ? "up" : "down")")
  }

  /// The phone gets another address on `wlan0`; open connections stall without a word.
  public func changeAddress() async throws {
    let old = wifiHost
    // From 2 to 99 and around again.
    wifiHost = old == 99 ? 2 : old + 1
    try await ip(
      in: .phone, "addr del 10.1.0.\(old)/24 dev wlan0",
      "addr add 10.1.0.\(wifiHost)/24 dev wlan0", PhoneLink.wifi.route)
  }

  /// Ends the phone's TCP sockets over `wlan0`, as a mobile system does with a sleeping app's.
  public func killSockets() async throws {
    try await run(in: .phone, "ss", "-K", "src", "10.1.0.\(wifiHost)")
  }
}
