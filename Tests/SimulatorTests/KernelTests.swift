import HeldSocket
import LinkCore
import MessageStream
import Testing

@testable import LinkSimulator

/// What the kernel does for every feature.
struct KernelTests {
  @Test func `nothing becomes durable while no process runs`() {
    var kills = 0
    for seed in UInt64(1)...10 {
      var plan = Plan.drawn(.cafe, seed: seed)
      // Writes take seconds, so that kills fall while the disk writes.
      plan.acts += (1...20).flatMap { minute in
        [
          Planned(at: .seconds(60 * minute), Action(.storeSlow, for: .seconds(59))),
          Planned(at: .seconds(60 * minute + 20), Action(.kill, for: .seconds(20))),
        ]
      }
      plan.acts.sort { $0.at < $1.at }
      var isDead = false
      _ = play(plan, as: StreamModel.self) { seen, _ in
        switch seen {
        case .launched: isDead = false
        case .killed:
          isDead = true
          kills += 1
        case .fact(.stored): #expect(!isDead, "seed \(seed)")
        case .told, .ticked, .suspended, .resumed, .upgraded, .serverLost, .wentDead, .began,
          .ended, .calm, .fact:
          return
        }
      }
    }
    #expect(kills > 100)
  }

  @Test(arguments: [HostKind.phone, .backend])
  func `a deadline that has come and does not move ends the run, on each host`(kind: HostKind) {
    var world = SpinningWorld(kind)
    let outcome = world.play()
    let details = outcome.findings.filter { $0.kind == .stuck }.map(\.detail)
    #expect(details == ["a deadline that has come and does not move"])
  }
}

/// A phone that does nothing and a server, one of which never moves its deadline.
private struct SpinningWorld: SimulatedWorld, ~Copyable {
  typealias Feature = HeldFeature

  var kernel: Kernel<HeldFeature>
  var clients: [SocketModel]
  private let kind: HostKind

  init(_ kind: HostKind) {
    self.kind = kind
    kernel = Kernel(
      WorldPlan(seed: 1, acts: [], length: .seconds(60)), RunSetup(), hosts: [.phone, .backend],
      watch: nil)
    clients = [SocketModel(SocketSettings(policy: .socket), seed: 1)]
    kernel.bench.views = [
      PhoneView(Standing(policy: .socket, status: clients[0].status, own: HeldFeature.State()))
    ]
  }

  func deadline(of host: HostID) -> Instant? { host.kind == kind ? .second(5) : nil }
  func tick(_ host: HostID) {}

  func boot(_ host: HostID) {}
  func isWanted(_ phone: HostID) -> Bool { false }
  func perform(_ effect: SocketModel.Effect, of phone: HostID) {}
  func upgradeArrived(_ line: TrafficID, _ hello: Nothing, at server: HostID) {}
  func arrived(_ packet: HeldFeature.Packet?, on line: TrafficID, at server: HostID) {}
  func opened(_ attempt: AttemptID, _ packet: HeldFeature.Packet) -> SocketModel.Input { .start }
  func received(_ attempt: AttemptID, _ packet: HeldFeature.Packet) -> SocketModel.Input { .start }
  func take(_ cue: HeldFeature.Cue, on host: HostID?) {}
  func begin(_ verb: HeldFeature.Verb, _ act: Act<HeldFeature.Verb>, _ index: Int) {}
  func becomeCalm() {}
  func heal() {}
}
