#if os(Linux)
  import LinkCore

  /// The kernel's links, addresses and routes at one moment, and what they mean for a target.
  struct NetworkPicture: Equatable {
    struct Link: Equatable {
      var index: UInt32
      var name: String
      var isLoopback = false
      /// Switched on (`IFF_UP`) and able to carry packets (`IFF_RUNNING`).
      var isRunning = true
    }

    struct Address: Equatable {
      var link: UInt32
      var address: IPAddress
      var prefixLength: Int
      /// New connections should not use it any more (RFC 4862 section 5.5.4).
      var isDeprecated = false
    }

    struct Route: Equatable {
      enum Condition: Equatable {
        /// Packets go out.
        case open
        /// The carrier is gone, yet the kernel sends packets into it (`RTNH_F_LINKDOWN`).
        case intoTheVoid
        /// The kernel answers with an error: an unreachable, prohibit or blackhole route.
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
    /// Those that can be used with the outside: no link-local, host or tentative ones.
    var addresses: [Address] = []
    /// The main table, without routes that the kernel skips (`RTNH_F_DEAD`).
    var routes: [Route] = []

    /// Names the path to `target`.
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

    /// One public address of each family: the path to it is the path to the internet, whether a
    /// default route or a tunnel's two halves of the address space lead there.
    private static let outside = ["8.8.8.8", "2001:4860:4860::8888"].compactMap {
      IPAddress($0)
    }

    /// What the kernel would do: the longest prefix decides, then the lowest metric.
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
      // An IPv6 host changes the last 64 bits of its address from time to time (RFC 8981); that is
      // no other path.
      return "\(link.name) \(source.isIPv6 ? source.masked(to: 64) : source)\(via)"
    }

    /// The address to send from: the route's own, or one of the link in the subnet of the next hop,
    /// or any of the link, or (a link without numbers) any of the device.
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
