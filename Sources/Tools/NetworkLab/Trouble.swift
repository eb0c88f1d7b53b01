/// A network path of the phone.
public enum PhoneLink: String, Sendable, CaseIterable {
  /// The interface `wlan0`, which is preferred.
  case wifi
  /// The interface `cell0`.
  case cell

  /// The name of the interface in the phone's namespace.
  public var interface: String { self == .wifi ? "wlan0" : "cell0" }

  /// The router of the link.
  public var router: NetworkLab.Namespace { self == .wifi ? .accessPoint : .tower }

  /// The address from which the server receives traffic over this link.
  public var publicAddress: String { self == .wifi ? "10.9.1.2" : "10.9.2.2" }

  private var gateway: String { self == .wifi ? "10.1.0.1" : "10.2.0.1" }

  private var metric: Int { self == .wifi ? 100 : 600 }

  var route: String { route(metric: metric) }

  /// A route that has priority over the normal routes of both links.
  var preferredRoute: String { route(metric: 50) }

  private func route(metric: Int) -> String {
    "route replace default via \(gateway) dev \(interface) metric \(metric)"
  }
}

/// The way in which a router treats packets.
public enum Forwarding: String, Sendable, CaseIterable {
  /// The router forwards packets.
  case open
  /// The router drops packets. Connections stay half-open, without errors on either side.
  case blackhole
  /// The router answers TCP packets with a RST, so open and new connections fail at once.
  case reset

  fileprivate var rule: String {
    switch self {
    case .open: ""
    case .blackhole: "drop"
    case .reset: "meta l4proto tcp reject with tcp reset"
    }
  }
}

/// Fault injection.
extension NetworkLab {
  /// Turns a link off on the phone. The address stays, the routes are removed, and sockets stall.
  public func linkDown(_ link: PhoneLink) async throws {
    try await ip(in: .phone, "link set \(link.interface) down")
  }

  /// Turns a link on again and restores its default route.
  public func linkUp(_ link: PhoneLink) async throws {
    try await ip(in: .phone, "link set \(link.interface) up", link.route)
  }

  /// Routes new connections over `link`. Open connections keep their address but lose their path.
  public func moveDefaultRoute(to link: PhoneLink) async throws {
    for other in PhoneLink.allCases where other != link {
      // This route exists only if the default route was moved to the other link before.
      _ = try? await ip(in: .phone, "route del default dev \(other.interface) metric 50")
    }
    try await ip(in: .phone, link.preferredRoute)
  }

  /// Sets how the router of `link` treats packets.
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

  /// Drops all packets at the router of `link`, or forwards them again.
  public func blackhole(_ isOn: Bool, behind link: PhoneLink = .wifi) async throws {
    try await forward(isOn ? .blackhole : .open, behind: link)
  }

  /// Resets every connection at the router of `link`, or forwards packets again.
  public func reset(_ isOn: Bool, behind link: PhoneLink = .wifi) async throws {
    try await forward(isOn ? .reset : .open, behind: link)
  }

  /// Removes the router's NAT entries and stops the router from picking up established connections.
  ///
  /// The phone's writes stall. The server's writes are answered with a RST, which the phone never
  /// receives.
  public func expireNAT(behind link: PhoneLink = .wifi) async throws {
    try await run(in: link.router, "sysctl", "-qw", "net.netfilter.nf_conntrack_tcp_loose=0")
    try await run(in: link.router, "conntrack", "--flush")
  }

  /// Turns the peer interface of a link off or on. While it is off, the phone's interface stays up
  /// but has no carrier.
  public func carrier(_ isOn: Bool, of link: PhoneLink = .wifi) async throws {
    try await ip(in: link.router, "link set phone \(isOn ? "up" : "down")")
  }

  /// Changes the phone's address on `wlan0`. Open connections stall without an error.
  public func changeAddress() async throws {
    let old = wifiHost
    // The last component runs from 2 to 99 and then starts again at 2.
    wifiHost = old == 99 ? 2 : old + 1
    try await ip(
      in: .phone, "addr del 10.1.0.\(old)/24 dev wlan0",
      "addr add 10.1.0.\(wifiHost)/24 dev wlan0", PhoneLink.wifi.route)
  }

  /// Closes the phone's TCP sockets on `wlan0`, as a mobile system does for a suspended app.
  public func killSockets() async throws {
    try await run(in: .phone, "ss", "-K", "src", "10.1.0.\(wifiHost)")
  }
}
