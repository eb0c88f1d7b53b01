import HoldfastChildProcesses
import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastDemo

@Suite(.timeLimit(.minutes(60))) struct DemoSceneTests {
  private static func entry(_ number: UInt64) -> MessageChecker.Entry {
    MessageChecker.Entry(
      key: TimelineKey(createdAt: .init(nanoseconds: 1), id: UUID128(high: 3, low: number)),
      text: "text")
  }

  private static func line(_ number: UInt64, via: String) -> AppLine {
    .message(MessageChecker.Shown(id: UUID128(high: 3, low: number), text: "text", via: via))
  }

  @Test func `an accepted message is missing until it is shown, in either order`() async {
    let scene = Scene()
    await scene.launched(.messages)
    await scene.note { $0.accept(Self.entry(1)) }
    await scene.note { $0.accept(Self.entry(2)) }
    #expect(await scene.facts.unseen == [Self.entry(1).key.id, Self.entry(2).key.id])
    await scene.receive(Self.line(1, via: "live"), from: .messages)
    await scene.receive(Self.line(3, via: "live"), from: .messages)
    await scene.note { $0.accept(Self.entry(3)) }
    #expect(await scene.facts.unseen == [Self.entry(2).key.id])
  }

  @Test func `separates runs, and counts the delivery path once for each message`() async {
    let scene = Scene()
    await scene.launched(.messages)
    await scene.receive(Self.line(1, via: "catchUp"), from: .messages)
    await scene.ended(.messages, AppEnding(cause: .signalled(9)))
    await scene.launched(.messages)
    await scene.receive(Self.line(1, via: "history"), from: .messages)
    await scene.receive(Self.line(2, via: "live"), from: .messages)
    let facts = await scene.facts
    #expect(facts.runs.map(\.count) == [1, 2])
    #expect(facts.via == ["catchUp": 1, "live": 1])
    #expect(facts[.messages].ending == nil)
    #expect(facts[.messages].status == AppLine.Status())
  }

  @Test func `separates the relay from the messages`() async {
    let scene = Scene()
    await scene.launched(.messages)
    await scene.launched(.relay)
    await scene.receive(AppLine(#"{"event":"status","status":"running"}"#), from: .relay)
    await scene.receive(
      AppLine(#"{"event":"pair","word":"harbour","code":"123456"}"#), from: .relay)
    await scene.receive(
      AppLine(#"{"event":"status","status":"CONNECTED","mode":"live"}"#), from: .messages)
    await scene.ended(.relay, AppEnding(cause: .exited(0)))
    let facts = await scene.facts
    #expect(facts[.relay].statuses.map(\.status.status) == ["", "running"])
    #expect(facts.pair == AppLine.Pair(word: "harbour", code: "123456"))
    #expect(facts[.messages].status == AppLine.Status(status: "CONNECTED", mode: "live"))
    #expect(facts[.relay].ending == AppEnding(cause: .exited(0)) && facts[.messages].ending == nil)
  }

  @Test func `the end of an app is described by its status or signal and its last diagnostic`() {
    let ends = [
      AppEnding(cause: .exited(0)), AppEnding(cause: .exited(1), diagnostic: "no space"),
      AppEnding(cause: .signalled(9)),
    ]
    #expect(ends.map(\.description) == ["status 0", "status 1: no space", "signal 9"])
    #expect(ends.map(\.isKilled) == [false, false, true])
  }

  @Test func `a wait ends when its condition becomes true`() async {
    let scene = Scene()
    async let met = scene.wait(atMost: .seconds(60)) { $0[.messages].status.isConnected }
    await scene.receive(.status(.init(status: "CONNECTED", mode: "live")), from: .messages)
    #expect(await met != nil)
  }

  @Test func `a wait returns nil when its time is over`() async {
    #expect(await Scene().wait(atMost: .milliseconds(1)) { _ in false } == nil)
  }

  @Test func `a wait returns nil when it is canceled`() async {
    let scene = Scene()
    let waiting = Task { await scene.wait(atMost: .seconds(60)) { _ in false } }
    waiting.cancel()
    #expect(await waiting.value == nil)
  }
}
