import Testing

@testable import HoldfastCore

/// A link whose invariants hold, and a change to its fields that breaks one of them.
struct PlantedLink: Sendable, CustomTestStringConvertible {
  let invariant: String
  let link: @Sendable () -> HeldLink
  let plant: @Sendable (inout HeldLink) -> Void

  init(
    _ invariant: String, _ link: @escaping @Sendable () -> HeldLink = { Self.ready },
    _ plant: @escaping @Sendable (inout HeldLink) -> Void
  ) {
    (self.invariant, self.link, self.plant) = (invariant, link, plant)
  }

  var testDescription: String { invariant }

  /// A link that is connected and stable.
  static var ready: HeldLink { LinkHarness.connected(.messageStream).link }
  /// A link that polls because all tries have failed.
  static var resting: HeldLink {
    var harness = LinkHarness.wanted(.messageStream)
    harness.failAll(.refused)
    return harness.link
  }
  /// A link that has queued a connect with the system.
  static var queued: HeldLink {
    var harness = LinkHarness.wanted(.bottleLink)
    harness.failAll(.refused)
    return harness.link
  }

  static func trying(_ attempt: UInt64, generation: UInt64 = 0) -> HeldLink.Trying {
    HeldLink.Trying(
      attempt: AttemptID(attempt), until: .second(10), establishBy: .second(10),
      series: .reconnect, generation: generation)
  }
}

/// Tests that each invariant check of a link and of its parts can fail.
@Suite struct LinkInvariantTests {
  @Test(arguments: [
    PlantedLink("link: it is idle exactly while it is not wanted") { $0.gate.intent = .none },
    PlantedLink("link: an attempt uses credentials that exist") {
      $0.state = .opening(PlantedLink.trying(1, generation: 99))
    },
    PlantedLink("link: every state that waits has a deadline or a queued connect") {
      $0.state = .resting(.signIn)
    },
    PlantedLink("link: an attempt is in one place", { PlantedLink.queued }) {
      guard case .queued(let queued) = $0.standby.state else { return }
      $0.state = .opening(PlantedLink.trying(queued.number))
    },
    PlantedLink("link: an ended link has nothing armed", { PlantedLink.resting }) {
      $0.state = .failed(.signIn)
    },
    PlantedLink("link: it is stable after it was ready") { link in
      link.change { $0.stableAt = .zero.advanced(by: .seconds(-1)) }
    },
    PlantedLink("standby: it queues only where the policy does", { PlantedLink.resting }) {
      $0.standby.state = .rearming(at: .zero)
    },
    PlantedLink("gate: it is left only in the background") { $0.gate.leavesAt = .zero },
    PlantedLink("credentials: only what exists is renewed in time") {
      $0.gate.credentials.state = .missing
      $0.gate.credentials.refreshAt = .zero
    },
    PlantedLink("windows: no more is remembered than the largest window counts") {
      $0.standby.polls.times = Array(repeating: .zero, count: 1001)
    },
    PlantedLink("windows: events are remembered in order") {
      $0.retry.attempts.times = [.second(2), .second(1)]
    },
    PlantedLink("retry: failures are remembered in order") {
      $0.retry.failures = [.second(2), .second(1)]
    },
    PlantedLink("liveness: the outstanding ping was numbered") { link in
      link.change { $0.liveness.outstanding = .init(id: 99, sentAt: .zero) }
    },
  ])
  func `the invariant check detects a broken link`(plant: PlantedLink) {
    var link = plant.link()
    #expect(link.brokenInvariants(.thorough) == [])
    plant.plant(&link)
    #expect(link.brokenInvariants(.thorough).contains(plant.invariant))
  }

  @Test func `a quick check reads no collection`() {
    var link = PlantedLink.ready
    link.retry.failures = [.second(2), .second(1)]
    let thorough = link.brokenInvariants(.thorough)
    #expect(thorough.contains("retry: failures are remembered in order"))
    #expect(!link.brokenInvariants(.quick).contains("retry: failures are remembered in order"))
  }
}

extension HeldLink {
  /// Applies `body` to the payload of the ready state.
  fileprivate mutating func change(_ body: (inout Ready) -> Void) {
    guard case .ready(var ready) = state else { return }
    body(&ready)
    state = .ready(ready)
  }
}
