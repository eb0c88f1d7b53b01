import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageStream
import HoldfastWorlds
import Testing

/// Tests of groups G and H: idle and slow links, network paths that lose their mappings, and clocks
/// that stop.
struct QuietScenarios {
  @Test func `live data keeps a link without pings alive`() {
    let talk = (1..<12).map { (50 * $0, Action(.others, 1)) }
    let recording = whole(.short(talk) { $0.numbers.ping = .seconds(100_000) })
    #expect(recording.opens.count == 1)
  }

  @Test func `a healthy link with a delay of one second is kept`() {
    let recording = whole(
      .short([(100, Action(.others, 5)), (200, Action(.send)), (300, Action(.others, 5))]) {
        $0.networkConditions.delay = .milliseconds(900)
        $0.networkConditions.jitter = .milliseconds(200)
      })
    #expect(recording.opens.count == 1)
  }

  @Test func `the server's pings keep a NAT mapping that expires after a minute`() {
    let recording = whole(.short((1..<10).map { (59 * $0, Action(.mappingExpired)) }))
    #expect(recording.opens.count == 1)
  }

  @Test func `an expired NAT mapping is detected by silence, and by the next request`() {
    let recording = whole(
      .short([
        (75, Action(.mappingExpired)), (76, Action(.others, 2)), (80, Action(.pullToRefresh)),
      ]) {
        $0.numbers.ping = .seconds(80)
      })
    #expect(recording.shown("other 2").map { $0 < .second(180) } == true)
  }

  @Test func `an idle hour costs no request and no attempt`() {
    var plan = Plan.short([]) { $0.numbers.tokenLife = .seconds(36_000) }
    plan.length = .seconds(3600)
    let recording = whole(plan)
    #expect(recording.opens.count == 1)
    let late = recording.effects.filter {
      if case .fetch = $0.effect { $0.at > .second(10) && $0.at < .second(3600) } else { false }
    }
    #expect(late.isEmpty)
  }

  @Test func `a standby resumes polling after the background`() {
    let recording = whole(
      .short([
        (99, Action(.upgradeStatus, 404, for: .seconds(480))), (100, Action(.reset)),
        (150, Action(.background, for: .seconds(60))), (300, Action(.others, 2)),
      ]))
    #expect(recording.shown("other 2").map { $0 < .second(340) } == true)
  }
}
