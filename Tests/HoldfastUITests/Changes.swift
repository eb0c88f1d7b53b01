import Foundation
import Holdfast
import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import HoldfastUI
import Testing

extension Scratch {
  /// The name of the secret of the pairing of links in this directory.
  var pairing: SecretName { PairingStore.name(in: self("relay")) }
}

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
