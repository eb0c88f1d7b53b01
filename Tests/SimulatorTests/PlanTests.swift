import Foundation
import LinkCore
import LinkSimulator
import Testing

struct PlanTests {
  @Test(arguments: Preset.allCases) func `a plan lasts an hour at least`(_ preset: Preset) {
    for server in ServerKind.allCases {
      #expect(Plan.drawn(preset, seed: 1, server: server).length >= .seconds(3600))
    }
  }

  private static let actions: [(String, Action)] = [
    ("others 3", .others(messages: 3)), ("send", .send), ("loadOlder", .loadOlder),
    ("pullToRefresh", .pullToRefresh), ("retryFailed", .retryFailed),
    ("background 250ms", .background(for: .milliseconds(250))),
    ("suspend 30s", .suspend(for: .seconds(30))), ("sleep 1h", .sleep(for: .seconds(3600))),
    ("leaveScreen 2s", .leaveScreen(for: .seconds(2))),
    ("realtimeOff 2s", .realtimeOff(for: .seconds(2))),
    ("slowReader 2s", .slowReader(for: .seconds(2))),
    ("kill 0s", .kill(relaunchAfter: .zero)), ("reset", .reset), ("halfOpen", .halfOpen),
    ("blackHole 2s", .blackHole(for: .seconds(2))),
    ("unreachable 2s", .unreachable(for: .seconds(2))), ("handover", .handover),
    ("mappingExpired", .mappingExpired),
    ("captivePortal 5m known", .captivePortal(for: .seconds(300), isKnown: true)),
    ("captivePortal 5m unknown", .captivePortal(for: .seconds(300), isKnown: false)),
    ("dialsFail certificate 9s", .dialsFail(.certificate, for: .seconds(9))),
    ("narrow 300 9s", .narrow(bytesPerSecond: 300, for: .seconds(9))),
    ("crash 2s", .crash(for: .seconds(2))), ("deploy 2s", .deploy(for: .seconds(2))),
    ("beginAnew 5", .beginAnew(keeping: 5)), ("trim 5", .trim(keeping: 5)),
    ("restStatus 503 9s", .restStatus(503, for: .seconds(9))),
    ("upgradeStatus 401 9s", .upgradeStatus(401, for: .seconds(9))),
    ("dieAfterNextPost 2s", .dieAfterNextPost(for: .seconds(2))),
    ("slowStore 40ms 9s", .slowStore(delay: .milliseconds(40), for: .seconds(9))),
    ("revokeTokens isRefused", .revokeTokens(refresh: .isRefused)),
    ("removeMember 2s", .removeMember(for: .seconds(2))), ("oversizedFrame", .oversizedFrame),
    ("malformedFrames 4", .malformedFrames(count: 4)), ("close 1001", .close(code: 1001)),
    ("serverClock -1h", .serverClock(by: .seconds(-3600))),
    ("storeFull 2s", .storeFull(for: .seconds(2))),
    ("storeLocked 2s", .storeLocked(for: .seconds(2))),
    ("storeSlow 2s", .storeSlow(for: .seconds(2))),
    ("wallClock 1s", .wallClock(by: .seconds(1))),
  ]

  @Test(arguments: actions) func `an action is written in words`(_ text: String, _ action: Action) {
    #expect(action.text == text)
    #expect(Action(text: text) == action)
  }

  @Test(arguments: [
    "", "sends", "send 3", "others", "others x", "crash -2s", "crash 2", "close 70000",
    "captivePortal 2s", "captivePortal 2s maybe", "dialsFail rain 2s", "restStatus 503",
    "serverClock --1s", "narrow 1 2s 3s",
  ])
  func `other words are no action`(_ text: String) {
    #expect(Action(text: text) == nil)
  }

  @Test func `a weather of which little is said is else as on a good day`() throws {
    let text = #"{"delay":"250ms","slow":0.5}"#
    var weather = Weather()
    weather.delay = .milliseconds(250)
    weather.slow = 0.5
    #expect(try JSONDecoder().decode(Weather.self, from: Data(text.utf8)) == weather)
    let plan =
      #"{"seed":7,"server":"plain","actions":[{"at":"1m","action":"reset"}],"length":"1h"}"#
    let read = try JSONDecoder().decode(Plan.self, from: Data(plan.utf8))
    let meant = Plan(
      seed: 7, server: .plain, weather: Weather(),
      actions: [Planned(at: .seconds(60), .reset)], length: .seconds(3600))
    #expect(read == meant)
  }

  @Test(arguments: [
    #"{"seed":7,"server":"plain","actions":[],"length":"an hour"}"#,
    #"{"seed":7,"server":"plain","actions":[{"at":"1m","action":"rest"}],"length":"1h"}"#,
    #"{"seed":7,"server":"plain","weather":{"delay":25},"actions":[],"length":"1h"}"#,
  ])
  func `what cannot be read is refused`(_ text: String) {
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(Plan.self, from: Data(text.utf8))
    }
  }
}
