import LinkCore
import LinkWire
import Testing

@testable import HoldfastDemo

@Suite(.timeLimit(.minutes(1))) struct DemoSceneTests {
  private static func entry(_ number: UInt64) -> Judge.Entry {
    Judge.Entry(
      key: TimelineKey(createdAt: .init(nanoseconds: 1), id: UUID128(high: 3, low: number)),
      text: "text")
  }

  private static func line(_ number: UInt64, via: String) -> PhoneLine {
    .message(Judge.Shown(id: UUID128(high: 3, low: number), text: "text", via: via))
  }

  @Test func `misses what was accepted until it is shown, whichever comes first`() async {
    let scene = Scene()
    await scene.phoneLaunched()
    await scene.accepted(Self.entry(1))
    await scene.accepted(Self.entry(2))
    #expect(await scene.facts.unseen == [Self.entry(1).key.id, Self.entry(2).key.id])
    await scene.phoneSaid(Self.line(1, via: "live"))
    await scene.phoneSaid(Self.line(3, via: "live"))
    await scene.accepted(Self.entry(3))
    #expect(await scene.facts.unseen == [Self.entry(2).key.id])
  }

  @Test func `keeps each run apart and counts a way once a message`() async {
    let scene = Scene()
    await scene.phoneLaunched()
    await scene.phoneSaid(Self.line(1, via: "catchUp"))
    await scene.phoneEnded("status 9")
    await scene.phoneLaunched()
    await scene.phoneSaid(Self.line(1, via: "history"))
    await scene.phoneSaid(Self.line(2, via: "live"))
    let facts = await scene.facts
    #expect(facts.runs.map(\.count) == [1, 2])
    #expect(facts.via == ["catchUp": 1, "live": 1])
    #expect(facts.ending == nil)
    #expect(facts.status == PhoneLine.Status())
  }

  @Test func `keeps the relay apart from the messages`() async {
    let scene = Scene()
    await scene.launched(.messages)
    await scene.launched(.relay)
    await scene.heard(#"{"event":"status","status":"running"}"#, from: .relay)
    await scene.heard(#"{"event":"pair","word":"harbour","code":"123456"}"#, from: .relay)
    await scene.heard(#"{"event":"status","status":"CONNECTED","mode":"live"}"#, from: .messages)
    await scene.ended(.relay, "status 0")
    let facts = await scene.facts
    #expect(facts.relay.statuses.map(\.word) == ["running"])
    #expect(facts.relay.pair == RelayLine.Pair(word: "harbour", code: "123456"))
    #expect(facts.status == PhoneLine.Status(status: "CONNECTED", mode: "live"))
    #expect(facts.hasEnded(.relay) && !facts.hasEnded(.messages))
  }

  @Test func `answers a wait when its condition comes true`() async {
    let scene = Scene()
    async let met = scene.wait(atMost: .seconds(60)) { $0.status.isConnected }
    await scene.phoneSaid(.status(.init(status: "CONNECTED", mode: "live")))
    #expect(await met != nil)
  }

  @Test func `answers a wait with nothing when its time is over`() async {
    #expect(await Scene().wait(atMost: .milliseconds(1)) { _ in false } == nil)
  }

  @Test func `answers a wait with nothing when it is cancelled`() async {
    let scene = Scene()
    let waiting = Task { await scene.wait(atMost: .seconds(60)) { _ in false } }
    waiting.cancel()
    #expect(await waiting.value == nil)
  }
}
