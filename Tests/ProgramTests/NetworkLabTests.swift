import Foundation
import HoldfastTestKit
import Testing

@testable import HoldfastLab

/// Tests of the lab's faults, observed through plain sockets in the lab.
@Suite(
  .serialized, .timeLimit(.minutes(60)),
  .enabled(if: NetworkLab.isAvailable, "\(NetworkLab.obstacle ?? "")"))
struct NetworkLabTests {
  @Test func `the phone reaches the server over Wi-Fi through the access point`() async throws {
    try await NetworkLab.with { lab in
      let peers = try await LabPeers(in: lab)
      #expect(await peers.connect() == "open")
      #expect(await peers.serverSays() == "from 10.9.1.2")
      #expect(await peers.say("hello") == "hello")
    }
  }

  @Test func `new connections follow the default route`() async throws {
    try await NetworkLab.with { lab in
      let peers = try await LabPeers(in: lab)
      for link in [PhoneLink.cell, .wifi, .cell] {
        try await lab.moveDefaultRoute(to: link)
        #expect(await peers.connect() == "open")
        #expect(await peers.serverSays() == "from \(link.publicAddress)")
      }
    }
  }

  @Test func `a link that goes down stalls its sockets, and new sockets use the other link`()
    async throws
  {
    try await NetworkLab.with { lab in
      let (old, new) = (try await LabPeers(in: lab), try await LabPeers(in: lab))
      #expect(await old.connect() == "open")
      try await lab.linkDown(.wifi)
      #expect(await old.say("lost", timeLimit: LabPeers.silence) == "stall")
      #expect(await new.connect() == "open")
      #expect(await new.serverSays() == "from 10.9.2.2")
      try await lab.linkUp(.wifi)
      #expect(await new.connect() == "open")
      #expect(await new.serverSays() == "from 10.9.1.2")
      // A retransmission delivers the data that was sent while the link was down.
      #expect(await old.receive() == "lost")
    }
  }

  @Test func `a black hole is silent, and delivers the waiting bytes when it ends`() async throws {
    try await NetworkLab.with { lab in
      let peers = try await LabPeers(in: lab)
      #expect(await peers.connect() == "open")
      try await lab.blackhole(true)
      #expect(await peers.say("held", timeLimit: LabPeers.silence) == "stall")
      try await lab.blackhole(false)
      #expect(await peers.receive() == "held")
    }
  }

  @Test func `a black hole leaves new connects without an answer`() async throws {
    try await NetworkLab.with { lab in
      let peers = try await LabPeers(in: lab)
      try await lab.blackhole(true)
      #expect(await peers.connect(timeLimit: LabPeers.silence) == "stall")
      try await lab.blackhole(false)
      #expect(await peers.connect() == "open")
    }
  }

  @Test func `a reset ends open connections and refuses new ones`() async throws {
    try await NetworkLab.with { lab in
      let peers = try await LabPeers(in: lab)
      #expect(await peers.connect() == "open")
      try await lab.reset(true)
      #expect(await peers.say("hello") == "ECONNRESET")
      #expect(await peers.connect() == "ECONNREFUSED")
      try await lab.reset(false)
      #expect(await peers.connect() == "open")
    }
  }

  @Test func `a forgotten NAT entry resets the server and leaves the phone in silence`()
    async throws
  {
    try await NetworkLab.with { lab in
      let peers = try await LabPeers(in: lab)
      #expect(await peers.connect() == "open")
      #expect(await peers.serverSays() == "from 10.9.1.2")
      try await lab.expireNAT()
      peers.push()
      #expect(await peers.serverSays() == "lost ECONNRESET")
      #expect(await peers.say("hello", timeLimit: LabPeers.silence) == "stall")
      #expect(await peers.connect() == "open")
    }
  }

  @Test func `the carrier can be lost and restored while the interface stays up`() async throws {
    try await NetworkLab.with { lab in
      let peers = try await LabPeers(in: lab)
      #expect(await peers.connect() == "open")
      for isOn in [false, true] {
        try await lab.carrier(isOn)
        let carrier = try await lab.run(in: .phone, "cat", "/sys/class/net/wlan0/carrier")
        #expect(carrier == (isOn ? "1\n" : "0\n"))
        let flags = try await lab.run(in: .phone, "ip", "link", "show", "wlan0", "up")
        #expect(flags.contains("wlan0"))
      }
      #expect(await peers.connect() == "open")
    }
  }

  @Test func `a change of address stalls open connections and allows new ones`()
    async throws
  {
    try await NetworkLab.with { lab in
      let peers = try await LabPeers(in: lab)
      #expect(await peers.connect() == "open")
      try await lab.changeAddress()
      #expect(await peers.say("lost", timeLimit: LabPeers.silence) == "stall")
      #expect(await peers.connect() == "open")
      #expect(await peers.say("found") == "found")
    }
  }

  @Test func `killed sockets fail at once`() async throws {
    try await NetworkLab.with { lab in
      let peers = try await LabPeers(in: lab)
      #expect(await peers.connect() == "open")
      try await lab.killSockets()
      #expect(await peers.receive() == "ECONNABORTED")
      #expect(await peers.connect() == "open")
    }
  }

  @Test func `a lab and its processes are removed at its end`() async throws {
    struct Stop: Error {}
    var program: LabProcess?
    var names: [String] = []
    await #expect(throws: Stop.self) {
      try await NetworkLab.with { lab in
        names = NetworkLab.Namespace.allCases.map(lab.name)
        program = try await lab.spawn(in: .phone, ["tail", "-f", "/dev/null"])
        throw Stop()
      }
    }
    #expect(await program?.exit() == SIGKILL)
    #expect(names.count == 4)
    #expect(names.filter { FileManager.default.fileExists(atPath: "/run/netns/" + $0) } == [])
  }

  @Test func `a program's lines and status are available outside the lab`() async throws {
    try await NetworkLab.with { lab in
      let script = "read a; echo \"$a $B\"; printf rest; echo bad >&2; exit 7"
      let program = try await lab.spawn(
        in: .phone, ["sh", "-c", script], environment: ["B": "there"])
      program.send("hello")
      #expect(await program.lines.reduce(into: []) { $0.append($1) } == ["hello there", "rest"])
      #expect(await program.diagnostics.reduce(into: []) { $0.append($1) } == ["bad"])
      #expect(await program.exit() == 7)
      program.send("nobody reads this")
    }
  }

  @Test func `a failed command reports its status and its output`() async throws {
    try await NetworkLab.with { lab in
      let error = await #expect(throws: NetworkLabError.self) {
        try await lab.run(in: .phone, "sh", "-c", "echo no; exit 3")
      }
      #expect(error?.status == 3)
      #expect(error?.output == "no\n")
    }
  }

  @Test func `the next lab removes what a killed process left`() async throws {
    let dead = try await NetworkLab.with { lab in
      let program = try await lab.spawn(in: .phone, ["true"])
      _ = await program.exit()
      return program.identifier
    }
    let left = "labphone-\(dead)-1"
    try await Shell.run(["ip", "netns", "add", left])
    try await NetworkLab.with { lab in
      let names = try await Shell.run(["ip", "netns", "list"])
      #expect(names.contains(lab.name(of: .phone)))
      #expect(!names.contains(left))
    }
  }
}
