import Foundation
import HoldfastTestKit
import Testing

/// Tests that the real client, on a phone with two uplinks, completes its timeline in time after
/// each fault.
@Suite(
  .serialized, .timeLimit(.minutes(60)),
  .enabled(if: NetworkLab.isAvailable, "\(NetworkLab.obstacle ?? "")"))
struct HandoverTests {
  @Test func `the default route moves from Wi-Fi to cellular and back`() async throws {
    try await run { lab, rig in
      for link in [PhoneLink.cell, .wifi] {
        try await rig.meets(.routeMoves) { try await lab.moveDefaultRoute(to: link) }
      }
    }
  }

  @Test func `the Wi-Fi link goes down, and comes back`() async throws {
    try await run { lab, rig in
      try await rig.meets(.linkDown) { try await lab.linkDown(.wifi) }
      try await rig.meets(.linkUp) { try await lab.linkUp(.wifi) }
    }
  }

  @Test func `the access point loses its carrier`() async throws {
    try await run { lab, rig in
      try await rig.meets(.carrierLost) {
        try await lab.carrier(false)
      } until: {
        try await lab.carrier(true)
      }
    }
  }

  @Test func `the path behind the access point drops all packets`() async throws {
    try await run { lab, rig in
      try await rig.meets(.blackHole) {
        try await lab.blackhole(true)
      } until: {
        try await lab.blackhole(false)
      }
    }
  }

  @Test func `the access point forgets the connection`() async throws {
    try await run { lab, rig in
      try await rig.meets(.natForgotten) { try await lab.expireNAT() }
    }
  }

  @Test func `the phone's address changes under the connection`() async throws {
    try await run { lab, rig in
      try await rig.meets(.addressChanges) { try await lab.changeAddress() }
    }
  }

  @Test func `the system kills the phone's sockets`() async throws {
    try await run { lab, rig in
      try await rig.meets(.socketsKilled) { try await lab.killSockets() }
    }
  }

  private func run(
    _ story: (NetworkLab, HandoverRig) async throws -> Void
  ) async throws {
    try await NetworkLab.with { lab in
      try await CommandProcess.scratch { directory in
        let rig = try await HandoverRig(in: lab, directory: directory)
        await rig.begins()
        try await rig.post(2)
        await rig.becomesWhole()
        try await story(lab, rig)
        await rig.end()
      }
    }
  }
}
