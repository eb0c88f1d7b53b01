import LinkCore
import Testing

@testable import LinkSimulator

/// The second accounts of policies.
@Suite struct PolicyTwinTests {
  @Test(arguments: [
    ("1.5s", Duration.milliseconds(1_500)), ("90m", .seconds(5_400)),
    ("10000h", .seconds(36_000_000)),
    ("40us", .microseconds(40)), ("7ns", .nanoseconds(7)),
  ])
  func `the account reads durations`(text: String, duration: Duration) {
    #expect(PolicyText.duration(text) == duration)
  }

  @Test(arguments: ["", "5", "10001h", "1.s", ".5s", "-1s", "0.1ns", "1 s"])
  func `the account refuses what is no duration`(text: String) {
    #expect(PolicyText.duration(text) == nil)
  }

  @Test func `the account writes and reads schedules`() {
    let text = "1s*2 max 30s +-0.25 min 500ms x20"
    let schedule = Schedule.exponential(
      first: .seconds(1), factor: 2, cap: .seconds(30), jitter: 0.25, floor: .milliseconds(500),
      attempts: 20)
    #expect(PolicyText.text(schedule) == text)
    #expect(PolicyText.schedule(text) == schedule)
    #expect(PolicyText.text(.list([])) == "none")
    #expect(PolicyText.schedule("0s,90s") == .list([.zero, .seconds(90)]))
    #expect(PolicyText.schedule("0s, 90s") == nil)
  }

  @Test func `the account says what cannot be`() {
    var sheet = PolicySheet(.socket)
    #expect(PolicyProblems(sheet).list == [])
    #expect(sheet.change("liveness.silence", to: "25s") == nil)
    #expect(sheet.change("liveness.idle", to: "1s standby") == nil)
    #expect(
      PolicyProblems(sheet).list == [
        "liveness.ping must be shorter than liveness.silence",
        "liveness.idle=standby needs a standby",
      ])
    #expect(
      sheet.change("gate.settle", to: "x")
        == "gate.settle cannot be \"x\"; it is the wait after a change of network "
        + "(a duration such as 250ms, 30s, 15m); its range is 0s to 10000h")
    #expect(sheet.change("standby.probe", to: "1s") == "standby.probe has no meaning for socket")
  }

  @Test func `the account of presets has the numbers of the seeds`() {
    let session = PolicyPresets.numbers("session")
    #expect(session["retry.first"] == "1s*2 max 30s +-0.25 min 1s x20")
    #expect(session["liveness.poorPing"] == "1m")
    #expect(session["standby.probe"] == nil)
    #expect(PolicyPresets.numbers("message-stream")["standby.probe"] == "5m")
  }

  @Test func `a policy with another number is found`() throws {
    let policy = LinkPolicy.messageStream
    let changes: [(String, (inout PolicySheet) -> Void)] = [
      ("the name of a policy", { $0 = PolicySheet(.session) }),
      ("the tries of a policy", { $0.set("retry.windows", to: "7/7s") }),
      ("the gate of a policy", { $0.set("gate.settle", to: "7ms") }),
      ("the signs of life of a policy", { $0.set("liveness.idle", to: "77s idle") }),
      ("the beginning of a policy", { $0.set("establish.timeout", to: "77s") }),
      ("the standby of a policy", { $0.standby = .none }),
      ("the verdicts of a policy", { $0.verdicts = [:] }),
    ]
    try PolicyWalk.expect(PolicySheet(policy), changes) { walk, sheet in
      walk.compareParts(of: policy, sheet) { "a policy" }
    }
  }

  @Test func `a text of a policy that is read or written otherwise is found`() throws {
    let (second, waits) = (Duration.seconds(1), Schedule.list([.seconds(1)]))
    try PolicyTextWalk.expect(each: [
      (nil, { $0.compareText("1s", of: second) }),
      ("the text of \(second)", { $0.compareText("1000ms", of: second) }),
      (nil, { $0.compareReading(second, of: "1s") }),
      ("2s, read,", { $0.compareReading(second, of: "2s") }),
      (nil, { $0.compareReading(waits, of: "1s") }),
      ("none, read,", { $0.compareReading(waits, of: "none") }),
      (nil, { $0.compareBounds(second...second, of: waits, before: 0) }),
      (
        "the bounds of try 1 of \(waits)",
        { $0.compareBounds(second...second, of: waits, before: 1) }
      ),
    ])
  }
}

extension PolicySheet {
  /// Changes a number to one that can be.
  fileprivate mutating func set(_ name: String, to text: String) {
    #expect(change(name, to: text) == nil)
  }
}
