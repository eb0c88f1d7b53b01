#if os(Linux)
  import CHoldfastLinux

  /// The reason why the kernel's state could not be read.
  enum NetlinkFailure: Error, Equatable {
    /// A system call failed with this `errno`, or the kernel refused the request with it.
    case system(Int32)
    /// A datagram has inconsistent lengths. Parsing stopped at this byte.
    case malformed(offset: Int)
    /// The state changed during every attempt to read it completely.
    case unstable
  }

  /// One message of the response to a dump request.
  enum NetlinkRecord: Equatable {
    case link(NetworkPicture.Link)
    case address(NetworkPicture.Address)
    case routes([NetworkPicture.Route])
    /// The dump is complete.
    case done
    /// The kernel refused the request with this `errno`.
    case refused(Int32)
    /// A record that does not affect paths.
    case ignored
  }

  /// A record, with the header fields that describe the dump.
  struct NetlinkMessage: Equatable {
    var record: NetlinkRecord
    var sequence: UInt32
    /// Whether the state changed during the dump (`NLM_F_DUMP_INTR`). The dump must then be
    /// repeated.
    var isInterrupted: Bool
  }

  /// A parser of netlink messages (netlink(7), rtnetlink(7)). Numbers are in host byte order.
  struct NetlinkReader {
    private static let headerSize = 16
    private let bytes: [UInt8]

    /// Parses all messages of a datagram.
    static func messages(in datagram: [UInt8]) throws(NetlinkFailure) -> [NetlinkMessage] {
      let reader = NetlinkReader(bytes: datagram)
      var found: [NetlinkMessage] = []
      var offset = 0
      while offset < datagram.count {
        let length = Int(try reader.number(at: offset, UInt32.self))
        guard length >= headerSize, length <= datagram.count - offset else {
          throw .malformed(offset: offset)
        }
        found.append(
          NetlinkMessage(
            record: try reader.record(
              type: Int(try reader.number(at: offset + 4, UInt16.self)),
              in: offset + headerSize..<offset + length),
            sequence: try reader.number(at: offset + 8, UInt32.self),
            isInterrupted: try reader.number(at: offset + 6, UInt16.self) & UInt16(NLM_F_DUMP_INTR)
              != 0))
        offset += (length + 3) & ~3
      }
      return found
    }

    private func record(
      type: Int, in body: Range<Int>
    ) throws(NetlinkFailure) -> NetlinkRecord {
      switch type {
      case Int(NLMSG_DONE): return .done
      case Int(NLMSG_ERROR): return .refused(0 &- (try number(at: body, 0, Int32.self)))
      case Int(RTM_NEWLINK): return .link(try link(in: body))
      case Int(RTM_NEWADDR): return try address(in: body).map { .address($0) } ?? .ignored
      case Int(RTM_NEWROUTE): return try routes(in: body).map { .routes($0) } ?? .ignored
      case _: return .ignored
      }
    }

    // MARK: Links and addresses

    private func link(in body: Range<Int>) throws(NetlinkFailure) -> NetworkPicture.Link {
      let flags = try number(at: body, 8, UInt32.self)
      let attributes = try attributes(in: body, after: 16)
      let name = bytes[attributes[Int(IFLA_IFNAME)] ?? 0..<0].prefix { $0 != 0 }
      let running = IFF_UP.rawValue | IFF_RUNNING.rawValue
      return NetworkPicture.Link(
        index: try number(at: body, 4, UInt32.self), name: String(decoding: name, as: UTF8.self),
        isLoopback: flags & IFF_LOOPBACK.rawValue != 0, isRunning: flags & running == running)
    }

    /// Parses an address. Returns `nil` if its scope is limited to the link or host, or if
    /// duplicate address detection is pending or has failed.
    private func address(
      in body: Range<Int>
    ) throws(NetlinkFailure) -> NetworkPicture.Address? {
      let attributes = try attributes(in: body, after: 8)
      var flags = UInt32(try number(at: body, 2, UInt8.self))
      if let long = attributes[Int(IFA_FLAGS)] { flags = try number(at: long, 0, UInt32.self) }
      let scope = try number(at: body, 3, UInt8.self)
      // `IFA_ADDRESS` is the peer's address on a point-to-point link.
      guard let range = attributes[Int(IFA_LOCAL)] ?? attributes[Int(IFA_ADDRESS)],
        let address = IPAddress(bytes: bytes[range]),
        scope < UInt8(RT_SCOPE_LINK.rawValue),
        flags & UInt32(IFA_F_TENTATIVE | IFA_F_DADFAILED) == 0
      else { return nil }
      return NetworkPicture.Address(
        link: try number(at: body, 4, UInt32.self), address: address,
        prefixLength: Int(try number(at: body, 1, UInt8.self)),
        isDeprecated: flags & UInt32(IFA_F_DEPRECATED) != 0)
    }

    // MARK: Routes

    /// Returns one route for each next hop. Returns `nil` for tables other than the main table, and
    /// for route types other than unicast, unreachable, prohibit and blackhole.
    private func routes(
      in body: Range<Int>
    ) throws(NetlinkFailure) -> [NetworkPicture.Route]? {
      let attributes = try attributes(in: body, after: 12)
      var table = UInt32(try number(at: body, 4, UInt8.self))
      if let long = attributes[Int(RTA_TABLE.rawValue)] {
        table = try number(at: long, 0, UInt32.self)
      }
      guard table == UInt32(RT_TABLE_MAIN.rawValue),
        let unspecified = Self.unspecified(family: try number(at: body, 0, UInt8.self)),
        let condition = Self.condition(type: try number(at: body, 7, UInt8.self))
      else { return nil }
      let destination = attributes[Int(RTA_DST.rawValue)].flatMap { IPAddress(bytes: bytes[$0]) }
      var route = NetworkPicture.Route(
        destination: destination ?? unspecified,
        prefixLength: Int(try number(at: body, 1, UInt8.self)), link: 0, condition: condition)
      route.source = attributes[Int(RTA_PREFSRC.rawValue)].flatMap { IPAddress(bytes: bytes[$0]) }
      if let metric = attributes[Int(RTA_PRIORITY.rawValue)] {
        route.metric = try number(at: metric, 0, UInt32.self)
      }
      if let hops = attributes[Int(RTA_MULTIPATH.rawValue)] {
        return try nextHops(in: hops, of: route)
      }
      if let link = attributes[Int(RTA_OIF.rawValue)] {
        route.link = try number(at: link, 0, UInt32.self)
      }
      let flags = try number(at: body, 8, UInt32.self)
      return [try nextHop(route, attributes, flags: flags)].compactMap(\.self)
    }

    /// Parses the next hops. Each is a `struct rtnexthop`: the length, flags, weight and link, and
    /// then attributes.
    private func nextHops(
      in range: Range<Int>, of route: NetworkPicture.Route
    ) throws(NetlinkFailure) -> [NetworkPicture.Route] {
      var found: [NetworkPicture.Route] = []
      var offset = range.lowerBound
      while offset < range.upperBound {
        let length = Int(try number(at: offset, UInt16.self))
        guard length >= 8, length <= range.upperBound - offset else {
          throw .malformed(offset: offset)
        }
        let hop = offset..<offset + length
        var next = route
        next.link = try number(at: hop, 4, UInt32.self)
        let attributes = try attributes(in: hop, after: 8)
        let flags = UInt32(try number(at: hop, 2, UInt8.self))
        if let open = try nextHop(next, attributes, flags: flags) { found.append(open) }
        offset += (length + 3) & ~3
      }
      return found
    }

    /// Sets the gateway and the condition of a route. Returns `nil` if the kernel skips this next
    /// hop.
    private func nextHop(
      _ route: NetworkPicture.Route, _ attributes: [Int: Range<Int>], flags: UInt32
    ) throws(NetlinkFailure) -> NetworkPicture.Route? {
      guard flags & UInt32(RTNH_F_DEAD) == 0 else { return nil }
      var route = route
      if let gateway = attributes[Int(RTA_GATEWAY.rawValue)] {
        route.gateway = IPAddress(bytes: bytes[gateway])
      } else if let via = attributes[Int(RTA_VIA.rawValue)] {
        // A gateway of the other address family is preceded by two bytes with that family.
        route.gateway = IPAddress(bytes: bytes[via].dropFirst(2))
      }
      if route.condition == .open, flags & UInt32(RTNH_F_LINKDOWN) != 0 {
        route.condition = .intoTheVoid
      }
      return route
    }

    private static func unspecified(family: UInt8) -> IPAddress? {
      switch Int32(family) {
      case AF_INET: IPAddress(bytes: Array(repeating: 0, count: 4))
      case AF_INET6: IPAddress(bytes: Array(repeating: 0, count: 16))
      case _: nil
      }
    }

    private static func condition(type: UInt8) -> NetworkPicture.Route.Condition? {
      switch Int(type) {
      case Int(RTN_UNICAST): .open
      case Int(RTN_UNREACHABLE), Int(RTN_PROHIBIT), Int(RTN_BLACKHOLE): .refused
      case _: nil
      }
    }

    // MARK: Bytes

    /// Returns the attributes that follow a fixed part of `size` bytes, by type.
    private func attributes(
      in body: Range<Int>, after size: Int
    ) throws(NetlinkFailure) -> [Int: Range<Int>] {
      guard body.count >= size else { throw .malformed(offset: body.lowerBound) }
      var found: [Int: Range<Int>] = [:]
      var offset = body.lowerBound + size
      while offset < body.upperBound {
        let length = Int(try number(at: offset, UInt16.self))
        guard length >= 4, length <= body.upperBound - offset else {
          throw .malformed(offset: offset)
        }
        // The two highest bits describe the encoding of the value and are not part of the type.
        let type = Int(try number(at: offset + 2, UInt16.self) & 0x3FFF)
        found[type] = offset + 4..<offset + length
        offset += (length + 3) & ~3
      }
      return found
    }

    private func number<Number: FixedWidthInteger & BitwiseCopyable>(
      at range: Range<Int>, _ offset: Int, _ type: Number.Type
    ) throws(NetlinkFailure) -> Number {
      guard offset + MemoryLayout<Number>.size <= range.count else {
        throw .malformed(offset: range.lowerBound)
      }
      return try number(at: range.lowerBound + offset, type)
    }

    private func number<Number: FixedWidthInteger & BitwiseCopyable>(
      at offset: Int, _ type: Number.Type
    ) throws(NetlinkFailure) -> Number {
      guard offset + MemoryLayout<Number>.size <= bytes.count else {
        throw .malformed(offset: offset)
      }
      return unsafe bytes.withUnsafeBytes {
        unsafe $0.loadUnaligned(fromByteOffset: offset, as: type)
      }
    }
  }
#endif
