import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastWorlds
import Testing

/// Tests of group B: apps that enter the background and return.
struct BackgroundScenarios {
  @Test(arguments: ServerKind.allCases)
  func `messages sent during suspension are shown when the app returns`(
    _ server: ServerKind
  ) {
    let recording = whole(
      .short(
        server: server, [(100, Action(.suspend, for: .seconds(200))), (150, Action(.others, 30))]))
    #expect(recording.shown("other 30").map { $0 >= .second(300) && $0 < .second(304) } == true)
  }

  @Test func `no attempt is made in the background, whatever happens`() {
    let recording = whole(
      .short([
        (100, Action(.background, for: .seconds(200))), (120, Action(.handover)),
        (150, Action(.crash, for: .seconds(20))),
        (180, Action(.unreachable, for: .seconds(20))), (220, Action(.others, 2)),
      ]))
    #expect(recording.opens.filter { $0 > .second(100) && $0 < .second(300) } == [])
    #expect(recording.opens(after: 300).map { $0 < .second(303) } == true)
  }

  @Test func `an app that is suspended again and again connects each time`() {
    let plan = Plan.short(
      (0..<8).map { (60 + 60 * $0, Action(.suspend, for: .seconds(30))) })
    let recording = whole(plan)
    #expect(recording.opens.count >= 9)
    #expect(recording.mostAtOnce == 1)
  }

  @Test func `an app that was killed in the background shows its stored messages at once`() {
    let recording = whole(
      .short([
        (100, Action(.background, for: .seconds(100))), (120, Action(.kill, for: .seconds(10))),
        (125, Action(.unreachable, for: .seconds(300))),
      ]))
    let relaunch = recording.times { $0 == .launched(.phone, run: 2) }.first
    let shown = recording.effects.first { entry in
      guard let relaunch, entry.at >= relaunch,
        case .update(.messages(let messages, via: .history)) = entry.effect
      else { return false }
      return messages.contains { $0.text == "old 59" }
    }
    #expect(shown.map { $0.at < .second(203) } == true)
  }
}
