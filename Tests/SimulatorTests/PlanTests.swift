import Foundation
import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastWorlds
import Testing

struct PlanTests {
  @Test(arguments: DayPreset.allCases) func `a plan lasts an hour at least`(_ preset: DayPreset) {
    for server in ServerKind.allCases {
      #expect(Plan.drawn(preset, seed: 1, server: server).length >= .seconds(3600))
    }
  }

  private static let actions: [(String, Action)] = [
    ("others 3", Action(.others, 3)), ("send", Action(.send)), ("loadOlder", Action(.loadOlder)),
    ("pullToRefresh", Action(.pullToRefresh)), ("retryFailed", Action(.retryFailed)),
    ("background 250ms", Action(.background, for: .milliseconds(250))),
    ("suspend 30s", Action(.suspend, for: .seconds(30))),
    ("sleep 1h", Action(.sleep, for: .seconds(3600))),
    ("leaveScreen 2s", Action(.leaveScreen, for: .seconds(2))),
    ("realtimeOff 2s", Action(.realtimeOff, for: .seconds(2))),
    ("slowReader 2s", Action(.slowReader, for: .seconds(2))),
    ("kill 0s", Action(.kill, for: .zero)), ("reset", Action(.reset)),
    ("halfOpen", Action(.halfOpen)),
    ("blackHole 2s", Action(.blackHole, for: .seconds(2))),
    ("unreachable 2s", Action(.unreachable, for: .seconds(2))), ("handover", Action(.handover)),
    ("mappingExpired", Action(.mappingExpired)),
    ("captivePortal 5m known", Action(.captivePortal, 0, "known", for: .seconds(300))),
    ("captivePortal 5m unknown", Action(.captivePortal, 0, "unknown", for: .seconds(300))),
    (
      "dialsFail certificate 9s",
      Action(.dialsFail, 0, DialObstacle.certificate.rawValue, for: .seconds(9))
    ),
    ("narrow 300 9s", Action(.narrow, 300, for: .seconds(9))),
    ("crash 2s", Action(.crash, for: .seconds(2))),
    ("deploy 2s", Action(.deploy, for: .seconds(2))),
    ("beginAnew 5", Action(.beginAnew, 5)), ("trim 5", Action(.trim, 5)),
    ("remove 5", Action(.remove, 5)),
    ("restStatus 503 9s", Action(.restStatus, 503, for: .seconds(9))),
    ("upgradeStatus 401 9s", Action(.upgradeStatus, 401, for: .seconds(9))),
    ("dieAfterNextPost 2s", Action(.dieAfterNextPost, for: .seconds(2))),
    ("sendImage", Action(.sendImage)), ("cutNextImage", Action(.cutNextImage)),
    ("dieAfterNextImage 2s", Action(.dieAfterNextImage, for: .seconds(2))),
    ("dieBeforeNextImagePost 2s", Action(.dieBeforeNextImagePost, for: .seconds(2))),
    ("imagesElsewhere 3 9s", Action(.imagesElsewhere, 3, for: .seconds(9))),
    ("slowStore 40ms 9s", Action(.slowStore, by: .milliseconds(40), for: .seconds(9))),
    ("revokeTokens isRefused", Action(.revokeTokens, 0, TokenRefresh.isRefused.rawValue)),
    ("removeMember 2s", Action(.removeMember, for: .seconds(2))),
    ("oversizedFrame", Action(.oversizedFrame)),
    ("malformedFrames 4", Action(.malformedFrames, 4)), ("close 1001", Action(.close, 1001)),
    ("serverClock -1h", Action(.serverClock, by: .seconds(-3600))),
    ("storeFull 2s", Action(.storeFull, for: .seconds(2))),
    ("storeLocked 2s", Action(.storeLocked, for: .seconds(2))),
    ("storeSlow 2s", Action(.storeSlow, for: .seconds(2))),
    ("wallClock 1s", Action(.wallClock, by: .seconds(1))),
    ("flap 9s", Action(.flap, for: .seconds(9))),
    ("unreachable@1 2s", Action(.unreachable, for: .seconds(2), on: 1)),
    ("storeFull@backend 2s", Action(.storeFull, for: .seconds(2), at: .backend)),
    ("kill@backend0 2s", Action(.kill, for: .seconds(2), at: .backend, on: 0)),
  ]

  @Test(arguments: actions) func `an action is written as text and read back`(
    _ text: String, _ action: Action
  ) {
    #expect(action.text == text)
    #expect(Action(text: text) == action)
  }

  @Test(arguments: [
    "", "sends", "send 3", "others", "others x", "crash -2s", "crash 2", "close 70000",
    "captivePortal 2s", "captivePortal 2s maybe", "dialsFail rain 2s", "restStatus 503",
    "serverClock --1s", "narrow 1 2s 3s", "restStatus 99 1s", "restStatus 600 1s", "close 999",
    "close 5000", "narrow 0 1s", "narrow 1000000001 1s", "others -1", "others 100001",
    "crash 10001h", "reset@", "reset@x", "reset@100", "reset@-1", "reset@0@1", "reset@moon",
    "reset@0backend", "sleep@backend 1s", "suspend@backend 1s", "kill@client 1s", "crash@phone 1s",
  ])
  func `invalid texts are not actions`(_ text: String) {
    #expect(Action(text: text) == nil)
  }

  @Test func `unspecified network conditions have their default values`() throws {
    let plan =
      #"{"seed":7,"server":"plain","conditions":{"delay":"250ms","slow":0.5,"history":3},"#
      + #""actions":[{"at":"1m","action":"reset"}],"length":"1h"}"#
    let read = try JSONDecoder().decode(Plan.self, from: Data(plan.utf8))
    var meant = Plan(
      seed: 7, server: .plain, events: [Planned(at: .seconds(60), Action(.reset))],
      length: .seconds(3600))
    meant.networkConditions.delay = .milliseconds(250)
    meant.networkConditions.slow = 0.5
    meant.numbers.history = 3
    #expect(read == meant)
  }

  @Test(arguments: [
    #"{"seed":7,"server":"plain","actions":[],"length":"an hour"}"#,
    #"{"seed":7,"server":"plain","actions":[{"at":"1m","action":"rest"}],"length":"1h"}"#,
    #"{"seed":7,"server":"plain","conditions":{"delay":25},"actions":[],"length":"1h"}"#,
    #"{"seed":7,"actions":[],"length":"1h"}"#,
    #"{"seed":7,"server":"plain","conditions":{"loss":1.5},"actions":[],"length":"1h"}"#,
    #"{"seed":7,"server":"plain","conditions":{"history":-1},"actions":[],"length":"1h"}"#,
    #"{"seed":7,"server":"plain","conditions":{"historyPage":0},"actions":[],"length":"1h"}"#,
    #"{"seed":7,"server":"plain","conditions":{"bandwidth":-1},"actions":[],"length":"1h"}"#,
    #"{"seed":7,"server":"plain","actions":[],"length":"10001h"}"#,
  ])
  func `an invalid plan is refused`(_ text: String) {
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(Plan.self, from: Data(text.utf8))
    }
  }
}
