import LinkCore
import LinkSimulator
import MessageStream
import Testing

/// Groups G and H: links that are idle or slow, ways that forget them, and clocks that stop.
struct QuietScenarios {
  @Test func `live data proves life where no pings come`() {
    let talk = (1..<12).map { (50 * $0, Action.others(messages: 1)) }
    let recording = whole(.short(talk) { $0.ping = .seconds(100_000) })
    #expect(recording.opens.count == 1)
  }

  @Test func `a healthy link with a second of delay is left alone`() {
    let recording = whole(
      .short([(100, .others(messages: 5)), (200, .send), (300, .others(messages: 5))]) {
        $0.delay = .milliseconds(900)
        $0.jitter = .milliseconds(200)
      })
    #expect(recording.opens.count == 1)
  }

  @Test func `the server's pings keep a mapping that forgets after a minute`() {
    let recording = whole(.short((1..<10).map { (59 * $0, .mappingExpired) }))
    #expect(recording.opens.count == 1)
  }

  @Test func `a mapping that was forgotten is found by silence, and by the next request`() {
    let recording = whole(
      .short([(75, .mappingExpired), (76, .others(messages: 2)), (80, .pullToRefresh)]) {
        $0.ping = .seconds(80)
      })
    #expect(recording.shown("other 2").map { $0 < .second(180) } == true)
  }

  @Test func `an idle hour costs no request and no try`() {
    var plan = Plan.short([]) { $0.tokenLife = .seconds(36_000) }
    plan.length = .seconds(3600)
    let recording = whole(plan)
    #expect(recording.opens.count == 1)
    let late = recording.effects.filter {
      if case .fetch = $0.effect { $0.at > .second(10) && $0.at < .second(3600) } else { false }
    }
    #expect(late.isEmpty)
  }

  @Test func `a standby goes on polling after the app was away`() {
    let recording = whole(
      .short([
        (99, .upgradeStatus(404, for: .seconds(480))), (100, .reset),
        (150, .background(for: .seconds(60))), (300, .others(messages: 2)),
      ]))
    #expect(recording.shown("other 2").map { $0 < .second(340) } == true)
  }
}
