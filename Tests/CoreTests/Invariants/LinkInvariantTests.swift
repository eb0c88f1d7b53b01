import Testing

@testable import LinkCore

/// A link whose invariants hold, and a change of its fields that breaks one of them.
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

  static var idle: HeldLink { HeldLink(policy: .messageStream, seed: 1) }
  /// Connected and stable.
  static var ready: HeldLink { LinkBench.connected(.messageStream).link }
  /// Connected, not stable yet.
  static var fresh: HeldLink {
    var bench = LinkBench.wanted(.messageStream)
    bench.connect()
    return bench.link
  }
  static var opening: HeldLink {
    var bench = LinkBench.wanted(.messageStream)
    bench.give(.prepared(bench.attempt))
    return bench.link
  }
  static var preparing: HeldLink { LinkBench.wanted(.messageStream).link }
  /// Polls, since all tries failed.
  static var resting: HeldLink {
    var bench = LinkBench.wanted(.messageStream)
    bench.failAll(.refused)
    return bench.link
  }
  /// Has a queued connect of the system.
  static var queued: HeldLink {
    var bench = LinkBench.wanted(.bottleLink)
    bench.failAll(.refused)
    return bench.link
  }

  /// Connected, and never again by itself once it was in background.
  static var manual: HeldLink { LinkBench.connected(.healthRelayForeground).link }

  /// Tries in front, beside a queued connect of the system.
  static var searching: HeldLink { LinkBench.wanted(.bottleLink).link }

  static func trying(
    _ attempt: UInt64, until: Double = 10, series: Series = .reconnect, generation: UInt64 = 0
  ) -> HeldLink.Trying {
    HeldLink.Trying(
      attempt: AttemptID(attempt), until: .second(until), establishBy: .second(10),
      series: series, generation: generation)
  }

  static let polling = Standby.State.polling(
    Standby.Polling(
      nextPoll: .zero, nextProbe: .second(5), server: .works, isSpreading: false))
}

/// Each invariant of a link and of its parts can fail.
@Suite struct LinkInvariantTests {
  private func check(_ plant: PlantedLink) {
    var link = plant.link()
    #expect(link.brokenInvariants(.thorough) == [])
    plant.plant(&link)
    #expect(link.brokenInvariants(.thorough).contains(plant.invariant))
  }

  @Test(arguments: [
    PlantedLink("link: it is idle exactly while it is not wanted") { $0.gate.wish = .none },
    PlantedLink("link: it leaves only what is wanted", { PlantedLink.idle }) {
      $0.gate.leavesAt = .zero
    },
    PlantedLink("link: it is held by an obstacle that exists") {
      $0.state = .held(HeldLink.Held(obstacle: .unreachable, series: .first))
    },
    PlantedLink("link: it is held by an obstacle that exists") {
      $0.state = .held(HeldLink.Held(obstacle: .background, series: .first))
    },
    PlantedLink("link: it is held by an obstacle that exists", { PlantedLink.manual }) {
      $0.state = .held(HeldLink.Held(obstacle: .unreachable, series: .first))
    },
    PlantedLink("link: it waits to try only while the gate is open") {
      $0.state = .waiting(HeldLink.Waiting(until: .zero, series: .first))
      $0.gate.reachability = .unreachable
    },
    PlantedLink("link: it tries only while the gate is open", { PlantedLink.opening }) {
      $0.gate.reachability = .captivePortal
    },
    PlantedLink("link: an attempt uses credentials that exist") {
      $0.state = .opening(PlantedLink.trying(1, generation: 99))
    },
    PlantedLink("link: a link that stands uses credentials that exist") {
      let trying = PlantedLink.trying(1, generation: 99)
      $0.state = .ready(HeldLink.Ready(trying, policy: .messageStream, at: .second(10)))
    },
    PlantedLink("link: it waits for credentials only during a refresh") {
      $0.state = .refreshing(HeldLink.Refreshing(series: .first))
    },
    PlantedLink("link: every state that waits has a deadline or a queued connect") {
      $0.state = .resting(.signIn)
    },
    PlantedLink("link: every state that waits has a deadline or a queued connect") {
      $0.state = .refreshing(HeldLink.Refreshing(series: .first))
    },
    PlantedLink("link: the user is shown the present state", { PlantedLink.preparing }) {
      $0.state = .resting(.signIn)
    },
  ]) func `what a link wants and waits for is checked`(plant: PlantedLink) { check(plant) }

  @Test(arguments: [
    PlantedLink("link: the current attempt was numbered", { PlantedLink.opening }) {
      $0.state = .opening(PlantedLink.trying(99))
    },
    PlantedLink(
      "link: a transport opens only while the live link is wanted", { PlantedLink.opening }
    ) { $0.gate.wish = .standbyOnly },
    PlantedLink(
      "link: an attempt begins only while the live link is wanted", { PlantedLink.preparing }
    ) { $0.gate.wish = .standbyOnly },
    PlantedLink(
      "link: a transport opens only while the live link is wanted", { PlantedLink.searching }
    ) { $0.gate.lifecycle = .background },
    PlantedLink(
      "link: an attempt begins only while the live link is wanted", { PlantedLink.searching }
    ) {
      $0.state = .preparing(PlantedLink.trying(1))
      $0.gate.lifecycle = .background
    },
    PlantedLink("link: it prepares only where the policy says so") {
      $0.state = .preparing(PlantedLink.trying(1))
    },
    PlantedLink("link: it prepares only where the policy says so", { PlantedLink.manual }) {
      $0.state = .preparing(PlantedLink.trying(1, series: .first))
    },
    PlantedLink("link: opening ends within the time of the attempt") {
      $0.state = .opening(PlantedLink.trying(1, series: .first))
    },
    PlantedLink("link: opening ends within the time of the attempt") {
      $0.state = .opening(PlantedLink.trying(1, until: 11))
    },
    PlantedLink("link: establishing ends with the time of the attempt") {
      $0.state = .establishing(PlantedLink.trying(1, until: 9))
    },
    PlantedLink("link: a probe is a reconnect") {
      var series = Series.first
      series.isProbe = true
      $0.state = .waiting(HeldLink.Waiting(until: .zero, series: series))
    },
    PlantedLink("link: it is stable after it was ready") { link in
      link.change { $0.stableAt = .zero.advanced(by: .seconds(-1)) }
    },
    PlantedLink("link: nothing was heard before it was ready") { link in
      link.change { $0.liveness.lastHeard = .zero.advanced(by: .seconds(-1)) }
    },
    PlantedLink("link: the window of a drain is obeyed up to the longest wish") { link in
      link.change { $0.drainWindow = .seconds(-1) }
    },
    PlantedLink("link: the window of a drain is obeyed up to the longest wish") { link in
      link.change { [policy = link.policy.retry] in
        $0.drainWindow = policy.longestWish + .nanoseconds(1)
      }
    },
  ]) func `the attempt under way is checked`(plant: PlantedLink) { check(plant) }

  @Test(arguments: [
    PlantedLink("link: the queued attempt was numbered", { PlantedLink.queued }) {
      $0.standby.state = .queued(AttemptID(99))
    },
    PlantedLink("link: an attempt is in one place", { PlantedLink.queued }) {
      guard case .queued(let queued) = $0.standby.state else { return }
      $0.state = .opening(PlantedLink.trying(queued.number))
    },
    PlantedLink("link: an ended link has nothing armed", { PlantedLink.resting }) {
      $0.state = .failed(.signIn)
    },
    PlantedLink("link: an ended link has nothing armed", { PlantedLink.idle }) {
      $0.standby.state = PlantedLink.polling
    },
    PlantedLink("link: a resting link has its standby armed", { PlantedLink.resting }) {
      $0.standby.disarm()
    },
    PlantedLink("link: a link that is held has nothing queued", { PlantedLink.queued }) {
      $0.state = .held(HeldLink.Held(obstacle: .unreachable, series: .first))
    },
    PlantedLink("link: a queued connect is armed while it tries", { PlantedLink.queued }) {
      $0.state = .waiting(HeldLink.Waiting(until: .second(9), series: .first, failure: nil))
      $0.standby.disarm()
    },
    PlantedLink("link: only an unproven link keeps polls") {
      $0.standby.state = PlantedLink.polling
    },
    PlantedLink("link: only an unproven link keeps polls", { PlantedLink.fresh }) {
      $0.standby.state = .rearming(at: .zero)
    },
    PlantedLink("standby: it polls only where the policy does", { PlantedLink.queued }) {
      $0.standby.state = PlantedLink.polling
    },
    PlantedLink("standby: it queues only where the policy does", { PlantedLink.resting }) {
      $0.standby.state = .rearming(at: .zero)
    },
    PlantedLink("standby: the poll that is awaited was numbered", { PlantedLink.resting }) {
      $0.standby.pollID = 0
      guard case .polling(var polling) = $0.standby.state else { return }
      polling.isAsking = true
      $0.standby.state = .polling(polling)
    },
    PlantedLink("standby: the next probe is due after the last one", { PlantedLink.resting }) {
      guard case .polling(var polling) = $0.standby.state else { return }
      polling.lastProbe = polling.nextProbe.advanced(by: .nanoseconds(1))
      $0.standby.state = .polling(polling)
    },
  ]) func `what stays armed is checked`(plant: PlantedLink) { check(plant) }

  @Test(arguments: [
    PlantedLink("gate: it is left only in the background") { $0.gate.leavesAt = .zero },
    PlantedLink("credentials: no refresh is planned while one runs") {
      $0.gate.credentials.refreshAt = .zero
      $0.gate.credentials.refreshBy = .zero
    },
    PlantedLink("credentials: only what exists is renewed in time") {
      $0.gate.credentials.state = .missing
      $0.gate.credentials.refreshAt = .zero
    },
    PlantedLink("windows: no more is remembered than the largest window counts") {
      $0.retry.attempts.times = Array(repeating: .zero, count: 1001)
    },
    PlantedLink("windows: no more is remembered than the largest window counts") {
      $0.standby.polls.times = Array(repeating: .zero, count: 1001)
    },
    PlantedLink("windows: events are remembered in order") {
      $0.retry.attempts.times = [.second(2), .second(1)]
    },
    PlantedLink("retry: no more failures are remembered than the breaker counts") {
      $0.retry.failures = Array(repeating: .zero, count: 1001)
    },
    PlantedLink("retry: no more failures are remembered than the breaker counts") {
      $0.retry.failures = [.zero]
    },
    PlantedLink("retry: failures are remembered in order") {
      $0.retry.failures = [.second(2), .second(1)]
    },
    PlantedLink("liveness: data were heard") { link in
      link.change { $0.liveness.lastData = $0.liveness.lastHeard.advanced(by: .nanoseconds(1)) }
    },
    PlantedLink("liveness: the outstanding ping was numbered") { link in
      link.change { $0.liveness.outstanding = .init(id: 99, sentAt: .zero) }
    },
    PlantedLink("liveness: the outstanding ping was numbered") { link in
      link.change {
        $0.liveness.outstanding = .init(id: $0.liveness.nextPing, sentAt: $0.liveness.lastPing)
      }
    },
    PlantedLink("liveness: the outstanding ping is the last") { link in
      link.change { $0.liveness.outstanding = .init(id: 0, sentAt: .second(99)) }
    },
    PlantedLink("liveness: after an unanswered ping another one is out") { link in
      link.change { $0.liveness.missed = 1 }
    },
  ]) func `the parts of a link are checked`(plant: PlantedLink) { check(plant) }

  @Test func `a quick check reads no collection`() {
    var link = PlantedLink.ready
    link.retry.failures = [.second(2), .second(1)]
    let thorough = link.brokenInvariants(.thorough)
    #expect(thorough.contains("retry: failures are remembered in order"))
    #expect(!link.brokenInvariants(.quick).contains("retry: failures are remembered in order"))
  }
}

extension HeldLink {
  /// Changes a link that is ready.
  fileprivate mutating func change(_ body: (inout Ready) -> Void) {
    guard case .ready(var ready) = state else { return }
    body(&ready)
    state = .ready(ready)
  }
}
