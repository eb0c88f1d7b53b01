import CHoldfastLinux
import HoldfastCore
import Testing

@testable import HoldfastNetlink

@Suite struct NetlinkReaderTests {
  @Test func `a datagram of each kind is read`() throws {
    let messages = try NetlinkReader.messages(in: Datagram.all)
    let gateway = NetworkPictureTests.ip("10.1.0.1")
    var source = NetworkPictureTests.route("10.9.0.0", 16, on: 4, metric: 7)
    source.source = NetworkPictureTests.ip("10.1.0.2")
    let expected: [NetlinkRecord] = [
      .link(NetworkPicture.Link(index: 4, name: "wlan0")),
      .link(NetworkPicture.Link(index: 5, name: "eth0", isRunning: false)),
      .link(NetworkPicture.Link(index: 1, name: "lo", isLoopback: true)),
      .address(NetworkPictureTests.address("10.1.0.2", 24, on: 4)),
      .ignored,  // link-local
      .ignored,  // tentative
      .address(
        NetworkPicture.Address(
          link: 4, address: NetworkPictureTests.ip("2001:db8::9"), prefixLength: 64,
          isDeprecated: true)),
      .routes([
        NetworkPictureTests.route("0.0.0.0", 0, on: 4, via: "10.1.0.1", metric: 100, .intoTheVoid)
      ]),
      .routes([]),  // dead
      .routes([source]),
      .ignored,  // the table of local addresses
      .routes([NetworkPictureTests.route("::", 0, on: 1, metric: .max, .refused)]),
      .routes([
        NetworkPicture.Route(
          destination: NetworkPictureTests.ip("0.0.0.0"), prefixLength: 0, link: 4,
          gateway: gateway),
        NetworkPicture.Route(
          destination: NetworkPictureTests.ip("0.0.0.0"), prefixLength: 0, link: 5,
          gateway: NetworkPictureTests.ip("fe80::1"), condition: .intoTheVoid),
      ]),
      .ignored,
      .refused(13),
      .done,
    ]
    #expect(messages.map(\.record) == expected)
    #expect(messages.allSatisfy { $0.sequence == 7 })
    #expect(messages.map(\.isInterrupted) == Array(repeating: false, count: 15) + [true])
  }

  @Test func `an empty datagram holds nothing`() throws {
    #expect(try NetlinkReader.messages(in: []) == [])
  }

  @Test(arguments: [
    [UInt8](repeating: 0, count: 3), [UInt8](repeating: 0, count: 16),
    [15, 0, 0, 0] + [UInt8](repeating: 0, count: 12),
    [17, 0, 0, 0] + [UInt8](repeating: 0, count: 12),
    [0xFF, 0xFF, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 12),
    [16, 0, 0, 0, 16, 0] + [UInt8](repeating: 0, count: 10),
  ])
  func `a message with a wrong length is malformed`(_ datagram: [UInt8]) {
    #expect(throws: NetlinkFailure.self) { try NetlinkReader.messages(in: datagram) }
  }

  @Test func `the lowest error number does not overflow`() throws {
    let datagram = Datagram.message(UInt16(NLMSG_ERROR), Datagram.bytes(UInt32(1) << 31))
    #expect(try NetlinkReader.messages(in: datagram).map(\.record) == [.refused(.min)])
  }

  @Test func `a datagram with changed bytes yields records or a typed failure`() {
    var generator = RandomSource(seed: 11)
    var (read, failed) = (0, 0)
    for _ in 0..<20_000 {
      var datagram = Datagram.all
      for _ in 0..<Int.random(in: 1...6, using: &generator) {
        let index = Int.random(in: 0..<datagram.count, using: &generator)
        datagram[index] =
          Bool.random(using: &generator) ? UInt8.random(in: 0...255, using: &generator) : 0
      }
      if Int.random(in: 0..<8, using: &generator) == 0 {
        datagram.removeLast(Int.random(in: 1..<datagram.count, using: &generator))
      }
      do throws(NetlinkFailure) {
        var picture = NetworkPicture()
        for message in try NetlinkReader.messages(in: datagram) {
          switch message.record {
          case .link(let link): picture.links.append(link)
          case .address(let address): picture.addresses.append(address)
          case .routes(let routes): picture.routes += routes
          case .done, .refused, .ignored: break
          }
        }
        _ = picture.reachability(of: .internet)
        read += 1
      } catch {
        failed += 1
      }
    }
    #expect(read > 1_000)
    #expect(failed > 1_000)
  }
}

/// A builder of datagrams in the kernel's format.
enum Datagram {
  static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    unsafe withUnsafeBytes(of: number) { unsafe Array($0) }
  }

  static func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + Array(repeating: 0, count: (4 - bytes.count % 4) % 4)
  }

  static func attribute(_ type: Int, _ value: [UInt8]) -> [UInt8] {
    padded(bytes(UInt16(value.count + 4)) + bytes(UInt16(type)) + value)
  }

  static func message(_ type: UInt16, _ body: [UInt8], flags: UInt16 = 0) -> [UInt8] {
    padded(
      bytes(UInt32(body.count + 16)) + bytes(type) + bytes(flags) + bytes(UInt32(7))
        + bytes(UInt32(0)) + body)
  }

  static func link(_ index: Int32, _ name: String, flags: UInt32) -> [UInt8] {
    message(
      UInt16(RTM_NEWLINK),
      [0, 0, 0, 0] + bytes(index) + bytes(flags) + bytes(UInt32(0))
        + attribute(Int(IFLA_IFNAME), Array(name.utf8) + [0]))
  }

  static func address(
    _ text: String, _ length: UInt8, scope: UInt8 = 0, flags: UInt32, peer: String? = nil
  ) -> [UInt8] {
    let address = NetworkPictureTests.ip(text)
    let family = UInt8(address.isIPv6 ? 10 : 2)
    let local = peer == nil ? [] : attribute(Int(IFA_LOCAL), address.bytes)
    let outer = peer.map { NetworkPictureTests.ip($0) } ?? address
    return message(
      UInt16(RTM_NEWADDR),
      [family, length, UInt8(truncatingIfNeeded: flags), scope] + bytes(UInt32(4))
        + attribute(Int(IFA_ADDRESS), outer.bytes) + local
        + attribute(Int(IFA_FLAGS), bytes(flags)))
  }

  static func route(
    family: UInt8 = 2, length: UInt8 = 0, table: UInt8 = 254, type: UInt8 = 1, flags: UInt32 = 0,
    _ attributes: [(Int, [UInt8])]
  ) -> [UInt8] {
    message(
      UInt16(RTM_NEWROUTE),
      [family, length, 0, 0, table, 3, 0, type] + bytes(flags)
        + attributes.flatMap { attribute($0, $1) })
  }

  static func hop(_ link: Int32, flags: UInt8, _ attributes: [UInt8]) -> [UInt8] {
    bytes(UInt16(attributes.count + 8)) + [flags, 0] + bytes(link) + attributes
  }

  static let gateway = NetworkPictureTests.ip("10.1.0.1").bytes

  static let all: [UInt8] = [
    link(4, "wlan0", flags: 0x1_1043), link(5, "eth0", flags: 0x1003), link(1, "lo", flags: 0x49),
    address("10.1.0.2", 24, flags: 0x80, peer: "10.1.0.99"),
    address("fe80::5", 64, scope: 253, flags: 0x80), address("2001:db8::8", 64, flags: 0x40),
    address("2001:db8::9", 64, flags: 0x20),
    route(
      flags: 16,
      [
        (Int(RTA_GATEWAY.rawValue), gateway), (Int(RTA_OIF.rawValue), bytes(UInt32(4))),
        (Int(RTA_PRIORITY.rawValue), bytes(UInt32(100))),
      ]),
    route(flags: 17, [(Int(RTA_GATEWAY.rawValue), gateway)]),
    route(
      length: 16,
      [
        (Int(RTA_DST.rawValue), [10, 9, 0, 0]), (Int(RTA_OIF.rawValue), bytes(UInt32(4))),
        (Int(RTA_PRIORITY.rawValue), bytes(UInt32(7))),
        (Int(RTA_PREFSRC.rawValue), [10, 1, 0, 2]), (Int(RTA_TABLE.rawValue), bytes(UInt32(254))),
      ]),
    route(table: 255, [(Int(RTA_OIF.rawValue), bytes(UInt32(1)))]),
    route(
      family: 10, type: 7,
      [
        (Int(RTA_OIF.rawValue), bytes(UInt32(1))),
        (Int(RTA_PRIORITY.rawValue), bytes(UInt32.max)),
      ]),
    route([
      (
        Int(RTA_MULTIPATH.rawValue),
        hop(4, flags: 0, attribute(Int(RTA_GATEWAY.rawValue), gateway))
          + hop(6, flags: 1, attribute(Int(RTA_GATEWAY.rawValue), gateway))
          + hop(
            5, flags: 16,
            attribute(
              Int(RTA_VIA.rawValue), bytes(UInt16(10)) + NetworkPictureTests.ip("fe80::1").bytes))
      )
    ]),
    message(UInt16(RTM_DELROUTE), []),
    message(UInt16(NLMSG_ERROR), bytes(Int32(-13)) + [UInt8](repeating: 0, count: 16)),
    message(UInt16(NLMSG_DONE), bytes(Int32(0)), flags: 0x10),
  ].flatMap(\.self)
}
