import Foundation
import Holdfast
import HoldfastTestKit
import HoldfastUI
import HoldfastCore
import HoldfastPorts
import Testing

/// Returns the links of an app with a fake network.
@MainActor func links(
  in scratch: Scratch, _ network: FakeNetwork,
  lifecycle: any LifecycleMonitor = AlwaysForeground(), clock: any LinkClock,
  secrets: (any SecretStore)? = nil
) throws -> HoldfastLinks {
  HoldfastLinks(
    server: try #require(URL(string: "https://server.example")),
    directory: URL(filePath: scratch.path),
    ports: DevicePorts(
      network: network, reachability: FakeReachability(), lifecycle: lifecycle, clock: clock,
      secrets: secrets)
  ) { "token" }
}
