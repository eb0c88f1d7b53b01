import Holdfast
import HoldfastBackend
import HoldfastTestKit
import LinkCore
import LinkServerCore
import LinkWire
import MessageStream
import Testing

/// The whole client against the whole backend, over real sockets and a real store.
@Suite(.timeLimit(.minutes(10))) struct ShopStreamTests {
  @Test func `shows the history first, then live messages, each message once`() async throws {
    let bench = try await StreamBench.make()
    try await bench.post(["one", "two"])
    let (stream, follower) = try await bench.follow()
    await follower.wait { $0.isLive && $0.texts.count >= 2 }
    try await bench.post("three")
    await follower.wait { $0.texts.count >= 3 }
    let seen = await follower.seen
    #expect(seen.texts == ["one", "two", "three"])
    // A machine that stalls for long loses the link. The message then arrives by a catch-up.
    let isLost = seen.statuses.contains { $0.state == .reconnecting }
    #expect(seen.messages.map(\.via) == [.history, .history, isLost ? .catchUp : .live])
    #expect(seen.statuses.map(\.state).first == .connecting)
    await stream.close()
    await bench.end()
  }

  @Test(arguments: [Fault.cut, .reset])
  func `a lost link is restored immediately, and the timeline is complete`(fault: Fault)
    async throws
  {
    let bench = try await StreamBench.make()
    let (stream, follower) = try await bench.follow()
    await follower.wait { $0.isLive }
    try await bench.post("before")
    await follower.wait { $0.texts.contains("before") }
    try await bench.proxy.set(fault)
    try await bench.post(["during 1", "during 2"])
    try await bench.proxy.set(.pass)
    await follower.wait { $0.texts.count >= 3 && $0.isLive }
    try await bench.post("after")
    await follower.wait { $0.texts.count >= 4 }
    #expect(await follower.seen.texts == ["before", "during 1", "during 2", "after"])
    await stream.close()
    await bench.end()
  }

  @Test func `a half-open link is detected by its silence`() async throws {
    var policy = ShopServerPolicy()
    policy.pingInterval = .milliseconds(300)
    let bench = try await StreamBench.make(policy: policy)
    let (stream, follower) = try await bench.follow([("liveness.silence", "1s")])
    await follower.wait { $0.isLive }
    try await bench.proxy.set(.blackhole())
    try await bench.post("lost on the way")
    await follower.wait { $0.statuses.last?.reason == .failure(.timeout(.silence)) || !$0.isLive }
    try await bench.proxy.set(.pass)
    await follower.wait { $0.texts.contains("lost on the way") }
    await stream.close()
    await bench.end()
  }

  @Test func `a refused link falls back to polling, and later reconnects`() async throws {
    let bench = try await StreamBench.make()
    let (stream, follower) = try await bench.follow()
    await follower.wait { $0.isLive }
    try await bench.proxy.set(.cut)
    try await bench.proxy.set(.refuse)
    await follower.wait { $0.statuses.last?.state == .failed }
    #expect(await follower.seen.statuses.last?.mode == .polling)
    try await bench.post("while away")
    try await bench.proxy.set(.pass)
    await follower.wait { $0.texts.contains("while away") && $0.isLive }
    await stream.close()
    await bench.end()
  }

  @Test func `more than a thousand messages arrive, each once and in order`() async throws {
    let bench = try await StreamBench.make()
    let (stream, follower) = try await bench.follow()
    await follower.wait { $0.isLive }
    let texts = (1...1100).map { "m\($0)" }
    try await bench.post(Array(texts.prefix(550)))
    try await bench.proxy.set(.cut)
    try await bench.proxy.set(.pass)
    try await bench.post(Array(texts.dropFirst(550)))
    await follower.wait { $0.texts.count >= 1100 }
    // Live messages that arrive while the gap is filled are shown at once, although they belong
    // after it.
    let seen = await follower.seen.messages.map(\.message).sorted { $0.key < $1.key }
    #expect(seen.map(\.text) == texts)
    await stream.close()
    await bench.end()
  }

  @Test func `an expired token is refreshed silently, and nothing is missed`() async throws {
    let bench = try await StreamBench.make(ttl: .seconds(2))
    let (stream, follower) = try await bench.follow([
      ("gate.refreshLead", "0s"), ("retry.stability", "500ms"),
    ])
    #expect(await bench.tokens.asked.next(2).count == 2)
    try await bench.post("after the expiry")
    await follower.wait { $0.isLive && $0.texts.contains("after the expiry") }
    #expect(await follower.seen.texts == ["after the expiry"])
    await stream.close()
    await bench.end()
  }

  @Test func `a removed member is notified, and nothing is retried`() async throws {
    let bench = try await StreamBench.make()
    let (stream, follower) = try await bench.follow()
    await follower.wait { $0.isLive }
    try await bench.backend.removeMember("phone", of: bench.shop)
    await follower.wait { $0.notices.contains(.forbidden) }
    #expect(await follower.seen.statuses.last?.state == .disconnected)
    #expect(await stream.snapshot.deadline == nil)
    await stream.close()
    await bench.end()
  }

  @Test func `signing out deletes the token and ends all attempts`() async throws {
    let bench = try await StreamBench.make()
    let (stream, follower) = try await bench.follow()
    await follower.wait { $0.isLive }
    await stream.signOut()
    await follower.wait { $0.statuses.last?.reason == .signIn }
    #expect(await follower.seen.statuses.last?.state == .disconnected)
    #expect(await stream.snapshot.deadline == nil)
    await stream.close()
    await bench.end()
  }

  @Test func `a message sent offline is delivered once when the network returns`() async throws {
    let bench = try await StreamBench.make()
    bench.reachability.change(to: .reachable(path: PathID("a")))
    let (stream, follower) = try await bench.follow()
    await follower.wait { $0.isLive }
    bench.reachability.change(to: .unreachable)
    await follower.wait { $0.statuses.last?.reason == .blocked(.unreachable) }
    stream.send("written in the lift")
    await follower.wait { $0.outbox.count >= 1 }
    bench.reachability.change(to: .reachable(path: PathID("a")))
    await follower.wait { $0.texts.contains("written in the lift") && $0.sent.count >= 1 }
    await stream.close()
    await bench.end()
  }

  @Test func `a plain server without positions is supported`() async throws {
    var policy = ShopServerPolicy()
    policy.dialect = .plain
    let bench = try await StreamBench.make(policy: policy)
    try await bench.post((1...120).map { "old \($0)" })
    let (stream, follower) = try await bench.follow()
    await follower.wait { $0.isLive && $0.texts.count >= 50 }
    try await bench.proxy.set(.cut)
    try await bench.post((1...130).map { "missed \($0)" })
    try await bench.proxy.set(.pass)
    await follower.wait { $0.texts.count >= 180 }
    // A plain server sends its pages newest first, so only the complete timeline is in order.
    let shown = await follower.seen.messages.map(\.message).sorted { $0.key < $1.key }
    #expect(shown.map(\.text) == (71...120).map { "old \($0)" } + (1...130).map { "missed \($0)" })
    await stream.close()
    await bench.end()
  }

  @Test func `older messages are loaded page by page up to the first one`() async throws {
    let bench = try await StreamBench.make()
    try await bench.post((1...120).map { "\($0)" })
    let (stream, follower) = try await bench.follow()
    await follower.wait { $0.isLive && $0.texts.count >= 50 }
    stream.loadOlder()
    await follower.wait { $0.texts.count >= 100 }
    stream.loadOlder()
    await follower.wait { $0.texts.count >= 120 }
    stream.loadOlder()
    await follower.wait { $0.historyEnds.last == false }
    #expect(Set(await follower.seen.texts).count == 120)
    await stream.close()
    await bench.end()
  }

  @Test func `a second run shows the stored messages, then only new ones`() async throws {
    let bench = try await StreamBench.make()
    try await bench.post("first")
    let (first, one) = try await bench.follow()
    await one.wait { $0.isLive && $0.texts.count >= 1 }
    await first.close()
    try await bench.post("second")
    let (second, two) = try await bench.follow()
    await two.wait { $0.isLive && $0.texts.count >= 2 }
    #expect(await two.seen.messages.map(\.via) == [.history, .catchUp])
    await second.close()
    await bench.end()
  }

  @Test func `five shops can be open, and a sixth is refused`() async throws {
    let bench = try await StreamBench.make()
    var open: [ShopStream] = []
    for number in 1...5 {
      var configuration = try bench.configuration()
      configuration.shop = try #require(ShopID("shop-\(number)"))
      open.append(try await bench.streams.open(configuration))
    }
    await #expect(throws: OpenError.tooMany(limit: 5)) {
      try await bench.streams.open(try bench.configuration())
    }
    for stream in open { await stream.close() }
    let (stream, follower) = try await bench.follow()
    await follower.wait { $0.isLive }
    await stream.close()
    await bench.end()
  }

  @Test func `a slow reader slows the stream down and loses nothing`() async throws {
    let bench = try await StreamBench.make()
    let stream = try await bench.streams.open(try bench.configuration())
    try await bench.post((1...300).map { "\($0)" })
    let follower = Follower()
    follower.follow(stream)
    await follower.wait { $0.texts.count >= 300 }
    #expect(Set(await follower.seen.texts) == Set((1...300).map { "\($0)" }))
    await stream.close()
    await bench.end()
  }

  @Test func `a message sent just before the close is stored`() async throws {
    let bench = try await StreamBench.make()
    for text in ["one", "two"] {
      let stream = try await bench.streams.open(try bench.configuration())
      stream.send(text)
      await stream.close()
    }
    let (stream, follower) = try await bench.follow()
    // Each message is shown once and leaves the outbox, whichever of the three streams sent it.
    await follower.wait { seen in
      seen.texts == ["one", "two"] && seen.outbox.allSatisfy { seen.sent.contains($0.id) }
    }
    await stream.close()
    await bench.end()
  }

  @Test func `polling without a socket requests a token first`() async throws {
    let bench = try await StreamBench.make()
    try await bench.post("there")
    var configuration = try bench.configuration()
    configuration.realtime = false
    let stream = try await bench.streams.open(configuration)
    let follower = Follower()
    follower.follow(stream)
    stream.send("mine")
    await follower.wait { $0.texts.count >= 2 && $0.sent.count >= 1 }
    #expect(await follower.seen.notices == [])
    #expect(await bench.tokens.given == 1)
    await stream.close()
    await bench.end()
  }
}
