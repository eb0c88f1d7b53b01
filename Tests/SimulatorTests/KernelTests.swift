import HoldfastCore
import HoldfastHeldSocket
import HoldfastMessageChecks
import HoldfastMessageStream
import HoldfastWorlds
import Testing

@testable import HoldfastHeldChecks
@testable import HoldfastHeldWorld
@testable import HoldfastLinkChecks
@testable import HoldfastWorldKernel

/// Tests of the simulation kernel that all features share.
struct KernelTests {
  @Test func `no change becomes durable while no process runs`() {
    var kills = 0
    for seed in UInt64(1)...10 {
      var plan = Plan.drawn(.cafe, seed: seed)
      // Writes take several seconds, so that processes are killed during writes.
      plan.events += (1...20).flatMap { minute in
        [
          Planned(at: .seconds(60 * minute), Action(.storeSlow, for: .seconds(59))),
          Planned(at: .seconds(60 * minute + 20), Action(.kill, for: .seconds(20))),
        ]
      }
      plan.events.sort { $0.at < $1.at }
      var isDead = false
      _ = play(plan, as: StreamModel.self) { seen, _ in
        switch seen {
        case .launched: isDead = false
        case .killed:
          isDead = true
          kills += 1
        case .fact(.stored): #expect(!isDead, "seed \(seed)")
        case .received, .ticked, .suspended, .resumed, .upgraded, .serverLost, .wentDead, .server,
          .began,
          .ended, .calm, .fact:
          return
        }
      }
    }
    #expect(kills > 100)
  }

  @Test(arguments: [HostKind.phone, .backend])
  func `a passed deadline that does not move ends the run, on each host`(kind: HostKind) {
    var world = SpinningWorld(kind)
    let outcome = world.play()
    let details = outcome.findings.filter { $0.kind == .stuck }.map(\.detail)
    #expect(details == ["a deadline that has come and does not move"])
  }
}

/// Tests of the limits that end an endless run, and of the report of a broken invariant.
struct EndlessTests {
  @Test func `allows the maximum number of events at one instant, and not one more`() {
    var pace = Pace(mostInRun: 100, mostAtOnce: 3)
    for _ in 0..<3 { #expect(pace.excess(at: .zero) == nil) }
    var next = pace
    #expect(pace.excess(at: .zero) == "more than 3 events at one instant")
    #expect(next.excess(at: Instant(nanoseconds: 1)) == nil)
  }

  @Test func `allows the maximum number of events in a run, and not one more`() {
    var pace = Pace(mostInRun: 3, mostAtOnce: 100)
    for moment in Int64(1)...3 { #expect(pace.excess(at: Instant(nanoseconds: moment)) == nil) }
    #expect(pace.excess(at: Instant(nanoseconds: 4)) == "more than 3 events in one run")
  }

  @Test func `an endless chain of events at one instant ends the run`() {
    var world = SpinningWorld(.client)
    world.repeats = true
    let outcome = world.play()
    let details = outcome.findings.filter { $0.kind == .endless }.map(\.detail)
    #expect(details == ["more than 100000 events at one instant"])
  }

  @Test func `a broken invariant is found once, at the step that broke it`() {
    let outcome = play(Plan.drawn(.cafe, seed: 1), as: Cracked.self)
    let found = outcome.findings.filter { $0.kind == .brokenInvariant }
    #expect(found.map(\.detail) == ["cracked: it has seen fewer than 7 steps"])
    var steps = 0
    var seventh: Instant?
    _ = play(Plan.drawn(.cafe, seed: 1), as: Cracked.self) { seen, phoneState in
      switch seen {
      case .received, .ticked:
        steps += 1
        if steps == 7 { seventh = phoneState.now }
      case .launched, .killed, .suspended, .resumed, .upgraded, .serverLost, .wentDead, .server,
        .began,
        .ended, .calm, .fact:
        return
      }
    }
    #expect(found.first?.at == seventh)
  }
}

/// A stream that violates an invariant in its seventh step.
private struct Cracked: WrappingClient {
  private(set) var model: StreamModel
  private var steps = 0

  init(settings: StreamSettings, seed: UInt64) {
    model = StreamModel(settings: settings, seed: seed)
  }

  mutating func handle(_ input: StreamModel.Input, at now: Instant) -> [StreamModel.Effect] {
    steps += 1
    return model.handle(input, at: now)
  }

  mutating func tick(at now: Instant) -> [StreamModel.Effect] {
    steps += 1
    return model.tick(at: now)
  }

  func check(_ check: inout InvariantCheck) {
    check.require(steps < 7, "cracked: it has seen fewer than 7 steps")
  }
}

/// A world with an idle phone and an idle server, one of which never advances its deadline.
private struct SpinningWorld: SimulatedWorld, ~Copyable {
  typealias Feature = HeldFeature

  var kernel: Kernel<HeldFeature>
  var clients: [SocketModel]
  private let kind: HostKind
  /// Whether each scheduled event immediately schedules another one.
  var repeats = false

  init(_ kind: HostKind, _ setup: RunSetup<HeldFeature> = RunSetup()) {
    self.kind = kind
    kernel = Kernel(
      WorldPlan(seed: 1, events: [], length: .seconds(60)), setup, watch: nil)
    clients = [SocketModel(SocketSettings(policy: .socket), seed: 1)]
    kernel.checkers.views = [
      PhoneView(PhoneState(policy: .socket, status: clients[0].status, own: HeldFeature.State()))
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
  mutating func take(_ scheduled: HeldFeature.ScheduledEvent, on host: HostID?) {
    if repeats { kernel.later(scheduled, after: .zero) }
  }
  mutating func prepare() {
    if repeats { kernel.later(.removes([]), after: .seconds(1)) }
  }
  func begin(
    _ eventKind: HeldFeature.EventKind, _ event: PlannedEvent<HeldFeature.EventKind>, _ index: Int
  ) {}
  func becomeCalm() {}
  func heal() {}
}
