#if os(Linux)
  import HoldfastCore

  /// A snapshot of the kernel's links, addresses and routes, which determines the network paths.
  struct NetworkPicture: Equatable {
    struct Link: Equatable {
      var index: UInt32
      var name: String
      var isLoopback = false
      /// Whether the link is switched on (`IFF_UP`) and can carry packets (`IFF_RUNNING`).
      var isRunning = true
    }

    struct Address: Equatable {
      var link: UInt32
      var address: IPAddress
      var prefixLength: Int
      /// Whether new connections should avoid the address (RFC 4862 section 5.5.4).
      var isDeprecated = false
    }

    struct Route: Equatable {
      enum Condition: Equatable {
        /// The kernel sends packets through the link.
        case open
        /// The link has no carrier, but the kernel still sends packets through it
        /// (`RTNH_F_LINKDOWN`).
        case intoTheVoid
        /// The kernel returns an error, because the route is unreachable, prohibit or blackhole.
        case refused
      }

      var destination: IPAddress
      var prefixLength: Int
      var link: UInt32
      var gateway: IPAddress?
      var source: IPAddress?
      var metric: UInt32 = 0
      var condition = Condition.open
    }

    var links: [Link] = []
    /// The addresses that can be used with other hosts, without link-local, host and tentative
    /// ones.
    var addresses: [Address] = []
    /// The routes of the main table, except those that the kernel skips (`RTNH_F_DEAD`).
    var routes: [Route] = []

    /// Returns whether `target` is reachable, and the path to it.
    func reachability(of target: NetlinkReachability.Target) -> Reachability {
      let paths: [String]
      switch target {
      case .loopback: return .reachable(path: Self.loopback)
      case .address(let address):
        guard !address.isLoopback, !addresses.contains(where: { $0.address == address }) else {
          return .reachable(path: Self.loopback)
        }
        paths = [path(to: address)].compactMap(\.self)
      case .internet: paths = Self.outside.compactMap(path(to:))
      }
      return paths.isEmpty ? .unreachable : .reachable(path: PathID(paths.joined(separator: " + ")))
    }

    static let loopback = PathID("lo")

    /// A public address of each family. The path to it is the path to the internet, whether a
    /// default route leads there or a tunnel that routes each half of the address space.
    private static let outside = ["8.8.8.8", "2001:4860:4860::8888"].compactMap {
      IPAddress($0)
    }

    /// Returns the path that the kernel would select: that with the longest prefix, and among
    /// those, with the lowest metric.
    private func path(to address: IPAddress) -> String? {
      let best =
        routes
        .filter { address.matches($0.destination, length: $0.prefixLength) }
        .min { left, right in
          (right.prefixLength, left.metric, left.link) < (
            left.prefixLength, right.metric, right.link
          )
        }
      guard let best, best.condition == .open,
        let link = links.first(where: { $0.index == best.link }), link.isRunning, !link.isLoopback,
        let source = source(for: best, to: address)
      else { return nil }
      let via = best.gateway.map { " via \($0)" } ?? ""
      // An IPv6 host changes the last 64 bits of its address from time to time (RFC 8981). This
      // does not change the path.
      return "\(link.name) \(source.isIPv6 ? source.masked(to: 64) : source)\(via)"
    }

    /// Returns the source address. If the route has none, it is an address of the link, preferably
    /// in the same subnet as the next hop. If the link has no addresses, it is any address of the
    /// device.
    private func source(for route: Route, to target: IPAddress) -> IPAddress? {
      if let source = route.source { return source }
      let nextHop = route.gateway ?? target
      return
        addresses
        .filter { $0.address.isIPv6 == target.isIPv6 }
        .min { rank($0, route, nextHop) < rank($1, route, nextHop) }?
        .address
    }

    private func rank(
      _ candidate: Address, _ route: Route, _ nextHop: IPAddress
    ) -> (Int, Int, Int, IPAddress) {
      (
        candidate.link == route.link ? 0 : 1,
        nextHop.matches(candidate.address, length: candidate.prefixLength) ? 0 : 1,
        candidate.isDeprecated ? 1 : 0, candidate.address
      )
    }
  }
#endif
