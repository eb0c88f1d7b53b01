import HoldfastCore
import Testing

@testable import HoldfastNetlink

@Suite struct NetworkPictureTests {
  typealias Route = NetworkPicture.Route

  struct Case: CustomTestStringConvertible {
    var testDescription: String
    var expected: Reachability
    var target = NetlinkReachability.Target.internet
    var change: @Sendable (inout NetworkPicture) -> Void = { _ in }
  }

  /// Returns a picture in which Wi-Fi and a mobile network are up, and Wi-Fi is preferred.
  static func phone() -> NetworkPicture {
    NetworkPicture(
      links: [
        NetworkPicture.Link(index: 1, name: "lo", isLoopback: true),
        NetworkPicture.Link(index: 2, name: "wlan0"), NetworkPicture.Link(index: 3, name: "cell0"),
      ],
      addresses: [address("10.1.0.2", 24, on: 2), address("10.2.0.2", 24, on: 3)],
      routes: [
        route("0.0.0.0", 0, on: 3, via: "10.2.0.1", metric: 600),
        route("0.0.0.0", 0, on: 2, via: "10.1.0.1", metric: 100),
        route("10.1.0.0", 24, on: 2), route("10.2.0.0", 24, on: 3),
      ])
  }

  static func ip(_ text: String) -> IPAddress {
    guard let address = IPAddress(text) else {
      preconditionFailure("invalid address in a test: \(text)")
    }
    return address
  }

  static func address(_ text: String, _ length: Int, on link: UInt32) -> NetworkPicture.Address {
    NetworkPicture.Address(link: link, address: ip(text), prefixLength: length)
  }

  static func route(
    _ destination: String, _ length: Int, on link: UInt32, via gateway: String? = nil,
    metric: UInt32 = 0, _ condition: Route.Condition = .open
  ) -> Route {
    Route(
      destination: ip(destination), prefixLength: length, link: link,
      gateway: gateway.map { ip($0) }, metric: metric, condition: condition)
  }

  static func path(_ name: String) -> Reachability { .reachable(path: PathID(name)) }

  static let wifi = path("wlan0 10.1.0.2 via 10.1.0.1")
  static let cell = path("cell0 10.2.0.2 via 10.2.0.1")

  static let cases: [Case] = [
    Case(testDescription: "the lowest metric wins", expected: wifi),
    Case(testDescription: "an empty picture has no path", expected: .unreachable) {
      $0 = NetworkPicture()
    },
    Case(testDescription: "loopback needs nothing", expected: path("lo"), target: .loopback) {
      $0 = NetworkPicture()
    },
    Case(testDescription: "loopback alone does not reach the internet", expected: .unreachable) {
      $0.links = [$0.links[0]]
      $0.addresses = [address("127.0.0.1", 8, on: 1)]
      $0.routes = [route("127.0.0.0", 8, on: 1), route("0.0.0.0", 0, on: 1)]
    },
    Case(testDescription: "without the first default route the second counts", expected: cell) {
      $0.routes.remove(at: 1)
    },
    Case(
      testDescription: "without a default route the internet is unreachable", expected: .unreachable
    ) {
      $0.routes.removeFirst(2)
    },
    Case(testDescription: "the kernel sends into a lost carrier", expected: .unreachable) {
      $0.routes[1].condition = .intoTheVoid
    },
    Case(testDescription: "a lost carrier on the unused link does not matter", expected: wifi) {
      $0.routes[0].condition = .intoTheVoid
    },
    Case(testDescription: "a refusing route is no path", expected: .unreachable) {
      $0.routes.append(route("0.0.0.0", 0, on: 1, metric: 1, .refused))
    },
    Case(testDescription: "a refusing route of last resort does not matter", expected: wifi) {
      $0.routes.append(route("0.0.0.0", 0, on: 1, metric: .max, .refused))
    },
    Case(testDescription: "a link that does not run is no path", expected: .unreachable) {
      $0.links[1].isRunning = false
    },
    Case(testDescription: "without any address there is no path", expected: .unreachable) {
      $0.addresses = []
    },
    Case(
      testDescription: "an unnumbered link borrows an address",
      expected: path("wlan0 10.2.0.2 via 10.1.0.1")
    ) { $0.addresses.removeFirst() },
    Case(
      testDescription: "the address in the gateway's subnet is the source",
      expected: path("wlan0 10.1.0.2 via 10.1.0.1")
    ) { $0.addresses.insert(address("10.0.0.9", 24, on: 2), at: 0) },
    Case(
      testDescription: "a deprecated address is the second choice",
      expected: path("wlan0 10.1.0.9 via 10.1.0.1")
    ) {
      $0.addresses[0].isDeprecated = true
      $0.addresses.append(address("10.1.0.9", 24, on: 2))
    },
    Case(
      testDescription: "a route's own source wins", expected: path("wlan0 10.9.9.9 via 10.1.0.1")
    ) { $0.routes[1].source = ip("10.9.9.9") },
    Case(
      testDescription: "a tunnel over both halves of the addresses wins over default routes",
      expected: path("tun0 10.8.0.2")
    ) {
      $0.links.append(NetworkPicture.Link(index: 9, name: "tun0"))
      $0.addresses.append(address("10.8.0.2", 24, on: 9))
      $0.routes += [route("0.0.0.0", 1, on: 9), route("128.0.0.0", 1, on: 9)]
    },
    Case(
      testDescription: "both families are named, IPv6 by its subnet",
      expected: path("wlan0 10.1.0.2 via 10.1.0.1 + wlan0 2001:db8:1:2:: via fe80::1")
    ) {
      $0.addresses.append(address("2001:db8:1:2:aaaa:bbbb:cccc:dddd", 64, on: 2))
      $0.routes.append(route("::", 0, on: 2, via: "fe80::1", metric: 1_024))
    },
    Case(testDescription: "IPv6 routes without an IPv6 address are no path", expected: wifi) {
      $0.routes.append(route("::", 0, on: 2, via: "fe80::1", metric: 1_024))
    },
    Case(
      testDescription: "a neighbour needs no default route", expected: path("cell0 10.2.0.2"),
      target: .address(ip("10.2.0.77"))
    ) { $0.routes.removeFirst(2) },
    Case(
      testDescription: "an own address is this device", expected: path("lo"),
      target: .address(ip("10.2.0.2"))),
    Case(
      testDescription: "an address beyond a gateway takes the default route", expected: wifi,
      target: .address(ip("203.0.113.10"))),
    Case(
      testDescription: "IPv4 routes do not lead to an IPv6 address", expected: .unreachable,
      target: .address(ip("2001:db8::1"))),
  ]

  @Test(arguments: cases)
  func `reports the path that the kernel would take`(_ one: Case) {
    var picture = Self.phone()
    one.change(&picture)
    #expect(picture.reachability(of: one.target) == one.expected)
  }

  @Test(arguments: [
    ("localhost", NetlinkReachability.Target.loopback), ("LOCALHOST", .loopback),
    ("a.localhost", .loopback), ("127.0.0.1", .loopback), ("127.9.9.9", .loopback),
    ("::1", .loopback), ("[::1]", .loopback), ("::ffff:127.0.0.1", .loopback),
    ("10.0.0.1", .address(ip("10.0.0.1"))), ("[2001:db8::1]", .address(ip("2001:db8::1"))),
    ("example.org", .internet), ("1.2.3", .internet), ("", .internet), ("localhost.org", .internet),
  ])
  func `the host determines the target whose path is monitored`(
    _ host: String, _ target: NetlinkReachability.Target
  ) {
    #expect(NetlinkReachability.Target(host: host) == target)
  }

  @Test func `addresses are written in their shortest form`() {
    #expect(Self.ip("2001:0db8:0:0:0:0:0:1").description == "2001:db8::1")
    #expect(Self.ip("10.0.0.1").description == "10.0.0.1")
    #expect(IPAddress(bytes: [1, 2, 3]) == nil)
  }

  @Test(arguments: [
    (0, "0.0.0.0"), (1, "128.0.0.0"), (7, "254.0.0.0"), (8, "255.0.0.0"), (9, "255.128.0.0"),
    (31, "255.255.255.254"), (32, "255.255.255.255"), (255, "255.255.255.255"),
  ])
  func `a mask keeps the first bits`(_ length: Int, _ expected: String) {
    #expect(Self.ip("255.255.255.255").masked(to: length).description == expected)
  }
}
