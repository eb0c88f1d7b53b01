import CHoldfastLinux
import Foundation
import HoldfastCore
import HoldfastTestKit
import Testing

@testable import HoldfastNetlink

/// Tests of reachability with the real kernel. Each lab has its own network namespaces.
@Suite(.enabled(if: Lab.works, "needs root and `ip netns`"), .timeLimit(.minutes(60)))
struct NetlinkReachabilityTests {
  static let wifi = NetworkPictureTests.wifi
  static let cell = NetworkPictureTests.cell

  @Test func `satisfies the contract of a reachability monitor`() async throws {
    let lab = try await Lab()
    try await lab.addWiFi()
    try await lab.addCell()
    var links = ["wlan0", "cell0"].makeIterator()
    try await reachabilityMonitorContract(lab.monitor()) {
      if let link = links.next() { try await lab.ip("link set \(link) down") }
    }
  }

  @Test func `a namespace with loopback alone is unreachable`() async throws {
    let lab = try await Lab()
    try await lab.ip("link set lo up")
    var changes = lab.monitor().changes().makeAsyncIterator()
    #expect(await changes.next() == .unreachable)
    try await lab.addWiFi()
    #expect(await changes.next() == Self.wifi)
  }

  @Test func `the path moves to the other link when one goes down, and back when it returns`()
    async throws
  {
    let lab = try await Lab()
    try await lab.addWiFi()
    try await lab.addCell()
    var changes = lab.monitor().changes().makeAsyncIterator()
    #expect(await changes.next() == Self.wifi)
    try await lab.ip("link set wlan0 down")
    #expect(await changes.next() == Self.cell)
    try await lab.raise("wlan0")
    try await lab.ip("route add default via 10.1.0.1 dev wlan0 metric 100")
    #expect(await changes.next() == Self.wifi)
  }

  @Test func `reports unreachable when the last link goes down`() async throws {
    let lab = try await Lab()
    try await lab.addWiFi()
    var changes = lab.monitor().changes().makeAsyncIterator()
    #expect(await changes.next() == Self.wifi)
    try await lab.ip("link set wlan0 down")
    #expect(await changes.next() == .unreachable)
  }

  @Test func `detects a default route that is removed with its address`() async throws {
    for _ in 0..<10 {
      let lab = try await Lab()
      try await lab.addWiFi()
      var changes = lab.monitor().changes().makeAsyncIterator()
      #expect(await changes.next() == Self.wifi)
      try await lab.ip("address del 10.1.0.2/24 dev wlan0")
      #expect(await changes.next() == .unreachable)
    }
  }

  @Test func `a new address on the same link is a new path`() async throws {
    let lab = try await Lab()
    try await lab.addWiFi()
    var changes = lab.monitor().changes().makeAsyncIterator()
    #expect(await changes.next() == Self.wifi)
    try await lab.ip("address del 10.1.0.2/24 dev wlan0")
    #expect(await changes.next() == .unreachable)
    try await lab.ip("address add 10.1.0.3/24 dev wlan0")
    try await lab.ip("route add default via 10.1.0.1 dev wlan0 metric 100")
    #expect(await changes.next() == .reachable(path: PathID("wlan0 10.1.0.3 via 10.1.0.1")))
  }

  @Test func `a default route on another link is a new path`() async throws {
    let lab = try await Lab()
    try await lab.addWiFi()
    try await lab.addCell()
    var changes = lab.monitor().changes().makeAsyncIterator()
    #expect(await changes.next() == Self.wifi)
    try await lab.ip("route add default via 10.2.0.1 dev cell0 metric 50")
    #expect(await changes.next() == Self.cell)
    try await lab.ip("route del default via 10.2.0.1 dev cell0 metric 50")
    #expect(await changes.next() == Self.wifi)
  }

  @Test func `reports unreachable when the carrier is lost even though the route remains`()
    async throws
  {
    let lab = try await Lab()
    try await lab.addWiFi()
    var changes = lab.monitor().changes().makeAsyncIterator()
    #expect(await changes.next() == Self.wifi)
    try await lab.run("-n \(lab.tower) link set ap-wlan0 down")
    #expect(await changes.next() == .unreachable)
    #expect(try await lab.ip("route show default").contains("linkdown"))
    try await lab.run("-n \(lab.tower) link set ap-wlan0 up")
    #expect(await changes.next() == Self.wifi)
  }

  @Test func `IPv6 alone is a path, and link-local addresses are not`() async throws {
    let lab = try await Lab()
    try await lab.addLink("wlan0")
    var changes = lab.monitor().changes().makeAsyncIterator()
    #expect(await changes.next() == .unreachable)
    try await lab.ip("address add 2001:db8:1::2/64 dev wlan0 nodad")
    try await lab.ip("route add default via 2001:db8:1::1 dev wlan0")
    #expect(
      await changes.next()
        == .reachable(path: PathID("wlan0 2001:db8:1:: via 2001:db8:1::1")))
    try await lab.ip("address del 2001:db8:1::2/64 dev wlan0")
    #expect(await changes.next() == .unreachable)
  }

  @Test func `a neighbour is reachable without a default route`() async throws {
    let lab = try await Lab()
    try await lab.addWiFi()
    let target = NetlinkReachability.Target(host: "10.1.0.77")
    var changes = lab.monitor(target).changes().makeAsyncIterator()
    #expect(await changes.next() == .reachable(path: PathID("wlan0 10.1.0.2")))
    try await lab.ip("link set wlan0 down")
    #expect(await changes.next() == .unreachable)
  }

  @Test func `the result is correct after a burst of route changes`() async throws {
    let lab = try await Lab()
    try await lab.addWiFi()
    var changes = lab.monitor().changes().makeAsyncIterator()
    #expect(await changes.next() == Self.wifi)
    try lab.batch(Self.storm + ["link set wlan0 down"])
    #expect(await changes.next() == .unreachable)
  }

  @Test func `dropped netlink messages are not a failure`() async throws {
    let lab = try await Lab()
    try await lab.addWiFi()
    let outcome = await lab.onThread {
      let news = try NetlinkSocket(groups: UInt32(RTMGRP_IPV4_ROUTE))
      try lab.batch(Self.storm)
      // The second-to-last column is the number of messages that the socket dropped (proc(5)).
      let sockets = try String(contentsOfFile: "/proc/thread-self/net/netlink", encoding: .utf8)
      let lost = sockets.split(separator: "\n").contains { line in
        let columns = line.split(separator: " ")
        return columns.count > 8 && (Int(columns[8]) ?? 0) > 0
      }
      try news.drain()
      return lost
    }
    #expect(try outcome.get())
  }

  static let storm = (0..<4_000).map {
    "route add 10.\(100 + $0 / 250).\($0 % 250).0/24 dev wlan0"
  }

  @Test func `two streams report the same changes, and ending one does not end the other`()
    async throws
  {
    let lab = try await Lab()
    try await lab.addWiFi()
    let monitor = lab.monitor()
    var retained = monitor.changes().makeAsyncIterator()
    do {
      var dropped = monitor.changes().makeAsyncIterator()
      #expect(await dropped.next() == Self.wifi)
    }
    #expect(await retained.next() == Self.wifi)
    try await lab.ip("link set wlan0 down")
    #expect(await retained.next() == .unreachable)
  }
}

@Suite struct LoopbackReachabilityTests {
  @Test(.timeLimit(.minutes(60)))
  func `a server on this device is reachable whatever the network does`() async {
    var changes = NetlinkReachability(target: .loopback).changes().makeAsyncIterator()
    #expect(await changes.next() == .reachable(path: PathID("lo")))
  }

  @Test(.timeLimit(.minutes(60)))
  func `the first state is reported at once`() async {
    var changes = NetlinkReachability(target: .internet).changes().makeAsyncIterator()
    #expect(await changes.next() != nil)
  }
}
