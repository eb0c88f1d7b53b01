/// A network path of the phone.
public enum PhoneLink: String, Sendable, CaseIterable {
  /// The interface `wlan0`, which is preferred.
  case wifi
  /// The interface `cell0`.
  case cell

  /// The name of the interface in the phone.
  public var interface: String { self == .wifi ? "wlan0" : "cell0" }

  /// The router of the link.
  public var router: NetworkLab.Namespace { self == .wifi ? .accessPoint : .tower }

  /// The address from which the server receives traffic over this link.
  public var publicAddress: String { self == .wifi ? "10.9.1.2" : "10.9.2.2" }

  private var gateway: String { self == .wifi ? "10.1.0.1" : "10.2.0.1" }

  private var metric: Int { self == .wifi ? 100 : 600 }

  var route: String { route(metric: metric) }

  /// A route with priority over both links' own routes.
  var preferredRoute: String { route(metric: 50) }

  private func route(metric: Int) -> String {
    "route replace default via \(gateway) dev \(interface) metric \(metric)"
  }
}

/// The treatment of packets by a router.
public enum Forwarding: String, Sendable, CaseIterable {
  /// The router forwards packets.
  case open
  /// The router drops packets, which makes a half-open path without errors on either side.
  case blackhole
  /// The router answers TCP with a RST, so that open and new connections fail at once.
  case reset

  fileprivate var rule: String {
    switch self {
    case .open: ""
    case .blackhole: "drop"
    case .reset: "meta l4proto tcp reject with tcp reset"
    }
  }
}

/// The injected faults.
extension NetworkLab {
  /// Turns a link off on the phone: its address stays, its routes are removed, sockets stall.
  public func linkDown(_ link: PhoneLink) async throws {
    try await ip(in: .phone, "link set \(link.interface) down")
  }

  /// Turns a link on again, with its default route.
  public func linkUp(_ link: PhoneLink) async throws {
    try await ip(in: .phone, "link set \(link.interface) up", link.route)
  }

  /// Routes new connections over `link`; open ones keep their address and lose their path.
  public func moveDefaultRoute(to link: PhoneLink) async throws {
    for other in PhoneLink.allCases where other != link {
      // The route exists only if it was moved there before.
      _ = try? await ip(in: .phone, "route del default dev \(other.interface) metric 50")
    }
    try await ip(in: .phone, link.preferredRoute)
  }

  /// Sets the treatment of packets by the router of `link`.
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

  /// Drops all packets at the router of `link`, or stops doing so.
  public func blackhole(_ isOn: Bool, behind link: PhoneLink = .wifi) async throws {
    try await forward(isOn ? .blackhole : .open, behind: link)
  }

  /// Resets every connection at the router of `link`, or stops doing so.
  public func reset(_ isOn: Bool, behind link: PhoneLink = .wifi) async throws {
    try await forward(isOn ? .reset : .open, behind: link)
  }

  /// Removes the router's NAT entries and stops it from picking up established connections.
  ///
  /// The phone's writes stall. The server's writes are answered by a RST that the phone never
  /// receives.
  public func expireNAT(behind link: PhoneLink = .wifi) async throws {
    try await run(in: link.router, "sysctl", "-qw", "net.netfilter.nf_conntrack_tcp_loose=0")
    try await run(in: link.router, "conntrack", "--flush")
  }

  /// Turns the peer interface of a link off or on; the phone's interface stays up without carrier.
  public func carrier(_ isOn: Bool, of link: PhoneLink = .wifi) async throws {
    try await ip(in: link.router, "link set phone \(isOn ? "up" : "down")")
  }

  /// Changes the phone's address on `wlan0`; open connections stall without an error.
  public func changeAddress() async throws {
    let old = wifiHost
    // The addresses run from 2 to 99 and start again.
    wifiHost = old == 99 ? 2 : old + 1
    try await ip(
      in: .phone, "addr del 10.1.0.\(old)/24 dev wlan0",
      "addr add 10.1.0.\(wifiHost)/24 dev wlan0", PhoneLink.wifi.route)
  }

  /// Closes the phone's TCP sockets over `wlan0`, as a mobile system does for a suspended app.
  public func killSockets() async throws {
    try await run(in: .phone, "ss", "-K", "src", "10.1.0.\(wifiHost)")
  }
}
