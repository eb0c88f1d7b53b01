import Foundation
import HoldfastTestKit
import Testing

/// The real client on a phone with two uplinks; each trouble ends with a whole timeline in time.
@Suite(
  .serialized, .timeLimit(.minutes(3)),
  .enabled(if: NetworkLab.isAvailable, "\(NetworkLab.obstacle ?? "")"))
struct HandoverTests {
  @Test func `the default route moves from Wi-Fi to cellular and back`() async throws {
    try await run { lab, rig in
      for link in [PhoneLink.cell, .wifi] {
        try await rig.notices { try await lab.moveDefaultRoute(to: link) }
        try await rig.post(3)
        try await Self.expectWhole(rig)
      }
    }
  }

  @Test func `the Wi-Fi link goes down, and comes back`() async throws {
    try await run { lab, rig in
      try await rig.notices { try await lab.linkDown(.wifi) }
      try await rig.post(3)
      try await Self.expectWhole(rig)
      try await rig.notices { try await lab.linkUp(.wifi) }
      try await rig.post(2)
      try await Self.expectWhole(rig)
    }
  }

  @Test func `the access point loses its carrier`() async throws {
    try await run { lab, rig in
      try await rig.notices { try await lab.carrier(false) }
      try await rig.post(3)
      try await lab.carrier(true)
      try await Self.expectWhole(rig)
    }
  }

  @Test func `the path behind the access point swallows everything`() async throws {
    try await run { lab, rig in
      try await rig.notices {
        try await lab.blackhole(true)
        try await rig.post(3)
      }
      try await lab.blackhole(false)
      try await Self.expectWhole(rig)
    }
  }

  @Test func `the access point forgets the connection`() async throws {
    try await run { lab, rig in
      try await rig.notices {
        try await lab.expireNAT()
        try await rig.post(3)
      }
      try await Self.expectWhole(rig)
    }
  }

  @Test func `the phone's address changes under the connection`() async throws {
    try await run { lab, rig in
      try await rig.notices { try await lab.changeAddress() }
      try await rig.post(3)
      try await Self.expectWhole(rig)
    }
  }

  @Test func `the system kills the phone's sockets`() async throws {
    try await run { lab, rig in
      try await rig.notices { try await lab.killSockets() }
      try await rig.post(3)
      try await Self.expectWhole(rig)
    }
  }

  private static func expectWhole(_ rig: HandoverRig) async throws {
    let time = try await rig.becomesWhole()
    #expect(time < HandoverRig.bound)
  }

  private func run(
    _ story: (NetworkLab, HandoverRig) async throws -> Void
  ) async throws {
    try await NetworkLab.with { lab in
      try await CommandProcess.scratch { directory in
        let rig = try await HandoverRig(in: lab, directory: directory)
        await rig.begins()
        try await rig.post(2)
        try await Self.expectWhole(rig)
        try await story(lab, rig)
        await rig.end()
      }
    }
  }
}
