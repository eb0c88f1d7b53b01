import Holdfast
import HoldfastBackend
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastMessageStream
import HoldfastTestKit
import Testing

/// Tests of the whole client with the whole backend, over real sockets and with a real store.
@Suite(.timeLimit(.minutes(60))) struct ShopStreamTests {
  @Test func `shows the history first, then live messages, each message once`() async throws {
    let harness = try await StreamBackendHarness.make()
    try await harness.post(["one", "two"])
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive && $0.texts.count >= 2 }
    try await harness.post("three")
    await follower.wait { $0.texts.count >= 3 }
    let seen = await follower.seen
    #expect(seen.texts == ["one", "two", "three"])
    #expect(seen.messages.prefix(2).map(\.via) == [.history, .history])
    // If the machine stalls for long, the link is lost, and a catch-up may fetch the message.
    let isLost = seen.statuses.contains { $0.state == .reconnecting }
    #expect(seen.messages.last?.via == .live || isLost)
    #expect(seen.statuses.map(\.state).first == .connecting)
    await stream.close()
    await harness.end()
  }

  @Test(arguments: [Fault.cut, .reset])
  func `a lost link is restored immediately, and the timeline is complete`(fault: Fault)
    async throws
  {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    try await harness.post("before")
    await follower.wait { $0.texts.contains("before") }
    try await harness.proxy.set(fault)
    try await harness.post(["during 1", "during 2"])
    try await harness.proxy.set(.pass)
    await follower.wait { $0.texts.count >= 3 && $0.isLive }
    try await harness.post("after")
    await follower.wait { $0.texts.count >= 4 }
    #expect(await follower.seen.texts == ["before", "during 1", "during 2", "after"])
    await stream.close()
    await harness.end()
  }

  @Test func `a half-open link is detected by its silence`() async throws {
    var policy = ShopServerPolicy()
    policy.pingInterval = .milliseconds(300)
    let harness = try await StreamBackendHarness.make(policy: policy)
    let (stream, follower) = try await harness.follow([("liveness.silence", "1s")])
    await follower.wait { $0.isLive }
    try await harness.proxy.set(.blackhole())
    try await harness.post("lost on the way")
    await follower.wait { $0.statuses.last?.reason == .failure(.timeout(.silence)) || !$0.isLive }
    try await harness.proxy.set(.pass)
    await follower.wait { $0.texts.contains("lost on the way") }
    await stream.close()
    await harness.end()
  }

  @Test func `a refused link falls back to polling, and later reconnects`() async throws {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    try await harness.proxy.set(.cut)
    try await harness.proxy.set(.refuse)
    await follower.wait { $0.statuses.last?.state == .polling }
    #expect(await follower.seen.statuses.last?.mode == .polling)
    try await harness.post("while away")
    try await harness.proxy.set(.pass)
    await follower.wait { $0.texts.contains("while away") && $0.isLive }
    await stream.close()
    await harness.end()
  }

  @Test func `more than a thousand messages arrive, each once and in order`() async throws {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    let texts = (1...1100).map { "m\($0)" }
    try await harness.post(Array(texts.prefix(550)))
    try await harness.proxy.set(.cut)
    try await harness.proxy.set(.pass)
    try await harness.post(Array(texts.dropFirst(550)))
    await follower.wait { $0.texts.count >= 1100 }
    // Live messages that arrive while a gap is filled are shown immediately, although they belong
    // after the gap.
    let seen = await follower.seen.messages.map(\.message).sorted { $0.key < $1.key }
    #expect(seen.map(\.text) == texts)
    await stream.close()
    await harness.end()
  }

  @Test func `an expired token is refreshed silently, and nothing is missed`() async throws {
    let harness = try await StreamBackendHarness.make(ttl: .seconds(2))
    let (stream, follower) = try await harness.follow([
      ("gate.refreshLead", "0s"), ("retry.stability", "500ms"),
    ])
    #expect(await harness.tokens.asked.next(2).count == 2)
    try await harness.post("after the expiry")
    await follower.wait { $0.isLive && $0.texts.contains("after the expiry") }
    #expect(await follower.seen.texts == ["after the expiry"])
    await stream.close()
    await harness.end()
  }

  @Test func `a removed member is notified, and nothing is retried`() async throws {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    try await harness.backend.removeMember("phone", of: harness.shop)
    await follower.wait { $0.notices.contains(.forbidden) }
    #expect(await follower.seen.statuses.last?.state == .disconnected)
    #expect(await stream.snapshot.deadline == nil)
    await stream.close()
    await harness.end()
  }

  @Test func `signing out deletes the token and ends all attempts`() async throws {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    await stream.signOut()
    await follower.wait { $0.statuses.last?.reason == .signIn }
    #expect(await follower.seen.statuses.last?.state == .disconnected)
    #expect(await stream.snapshot.deadline == nil)
    await stream.close()
    await harness.end()
  }

  @Test func `a message sent offline is delivered once when the network returns`() async throws {
    let harness = try await StreamBackendHarness.make()
    harness.reachability.change(to: .reachable(path: PathID("a")))
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    harness.reachability.change(to: .unreachable)
    await follower.wait { $0.statuses.last?.reason == .blocked(.unreachable) }
    stream.enqueue("written in the lift")
    await follower.wait { $0.outbox.count >= 1 }
    harness.reachability.change(to: .reachable(path: PathID("a")))
    await follower.wait { $0.texts.contains("written in the lift") && $0.sent.count >= 1 }
    await stream.close()
    await harness.end()
  }

  @Test func `a plain server without positions is supported`() async throws {
    var policy = ShopServerPolicy()
    policy.dialect = .plain
    let harness = try await StreamBackendHarness.make(policy: policy)
    try await harness.post((1...120).map { "old \($0)" })
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive && $0.texts.count >= 50 }
    try await harness.proxy.set(.cut)
    try await harness.post((1...130).map { "missed \($0)" })
    try await harness.proxy.set(.pass)
    await follower.wait { $0.texts.count >= 180 }
    // A plain server sends its pages newest first, so only the sorted timeline is in order.
    let shown = await follower.seen.messages.map(\.message).sorted { $0.key < $1.key }
    #expect(shown.map(\.text) == (71...120).map { "old \($0)" } + (1...130).map { "missed \($0)" })
    await stream.close()
    await harness.end()
  }

  @Test func `older messages are loaded page by page up to the first one`() async throws {
    let harness = try await StreamBackendHarness.make()
    try await harness.post((1...120).map { "\($0)" })
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive && $0.texts.count >= 50 }
    stream.loadOlder()
    await follower.wait { $0.texts.count >= 100 }
    stream.loadOlder()
    await follower.wait { $0.texts.count >= 120 }
    stream.loadOlder()
    await follower.wait { $0.historyEnds.last == false }
    #expect(Set(await follower.seen.texts).count == 120)
    await stream.close()
    await harness.end()
  }

  @Test func `a second run shows the stored messages, then only new ones`() async throws {
    let harness = try await StreamBackendHarness.make()
    try await harness.post("first")
    let (first, one) = try await harness.follow()
    await one.wait { $0.isLive && $0.texts.count >= 1 }
    await first.close()
    try await harness.post("second")
    let (second, two) = try await harness.follow()
    await two.wait { $0.isLive && $0.texts.count >= 2 }
    #expect(await two.seen.messages.map(\.via) == [.history, .catchUp])
    await second.close()
    await harness.end()
  }

  @Test func `five shops can be open, and a sixth is refused`() async throws {
    let harness = try await StreamBackendHarness.make()
    var open: [ShopStream] = []
    for number in 1...5 {
      var configuration = try harness.configuration()
      configuration.shop = try #require(ShopID("shop-\(number)"))
      open.append(try await harness.streams.open(configuration))
    }
    await #expect(throws: OpenError.tooMany(limit: 5)) {
      try await harness.streams.open(try harness.configuration())
    }
    for stream in open { await stream.close() }
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    await stream.close()
    await harness.end()
  }

  @Test func `a slow reader slows the stream down and loses nothing`() async throws {
    let harness = try await StreamBackendHarness.make()
    let stream = try await harness.streams.open(try harness.configuration())
    try await harness.post((1...300).map { "\($0)" })
    let follower = Follower()
    follower.follow(stream)
    await follower.wait { $0.texts.count >= 300 }
    #expect(Set(await follower.seen.texts) == Set((1...300).map { "\($0)" }))
    await stream.close()
    await harness.end()
  }

  @Test func `a message sent just before the close is stored`() async throws {
    let harness = try await StreamBackendHarness.make()
    for text in ["one", "two"] {
      let stream = try await harness.streams.open(try harness.configuration())
      stream.enqueue(text)
      await stream.close()
    }
    let (stream, follower) = try await harness.follow()
    // Each message is shown once and leaves the outbox, no matter which of the three streams sent
    // it.
    await follower.wait { seen in
      seen.texts == ["one", "two"] && seen.outbox.allSatisfy { seen.sent.contains($0.id) }
    }
    await stream.close()
    await harness.end()
  }

  @Test func `polling without a socket requests a token first`() async throws {
    let harness = try await StreamBackendHarness.make()
    try await harness.post("there")
    var configuration = try harness.configuration()
    configuration.realtime = false
    let stream = try await harness.streams.open(configuration)
    let follower = Follower()
    follower.follow(stream)
    stream.enqueue("mine")
    await follower.wait { $0.texts.count >= 2 && $0.sent.count >= 1 }
    #expect(await follower.seen.notices == [])
    #expect(await harness.tokens.given == 1)
    await stream.close()
    await harness.end()
  }
}
