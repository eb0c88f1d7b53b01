import Foundation
import Holdfast
import HoldfastTestKit
import HoldfastCore
import HoldfastPorts
import HoldfastStorage
import HoldfastWire
import HoldfastMessageStream
import Testing

/// Tests of a stream whose app, network or token source misbehaves.
@Suite(.timeLimit(.minutes(10))) struct FrontDoorTests {
  private let network = FakeNetwork(clock: BootClock())

  @Test(arguments: ["SEKRIT.TOKEN.TEXT", "SEKRIT/TOKEN+TEXT=="])
  func `a response that echoes the request puts no token into notices or the journal`(
    token: String
  ) async throws {
    let encoded = token.replacing("/", with: "%2F").replacing("+", with: "%2b")
      .replacing("=", with: "%3D")
    network.serve(requests: { _ in
      let note = "cannot GET /x?token=\(encoded) for\\u0007 \(token) as \(token.dropLast(3))"
      return .success(
        HTTPAnswer(
          status: 500, headers: ["content-type": "application/json"],
          body: Array(#"{"message":"\#(note)"}"#.utf8)))
    })
    let path = NSTemporaryDirectory() + "holdfast-\(UUID().uuidString).jsonl"
    defer { try? FileManager.default.removeItem(atPath: path) }
    var configuration = try configuration()
    configuration.authentication = .query
    configuration.journal = path
    let stream = try await streams(FixedToken(token)).open(configuration)
    let failure = await fetchFailure(of: stream)
    await stream.close()
    let detail = "cannot GET /x?token=[token] for [token] as [token]"
    #expect(failure == .http(status: 500, retryAfter: nil, detail: detail))
    #expect(!(try String(contentsOfFile: path, encoding: .utf8)).contains("SEKRIT"))
  }

  @Test func `a token source that hangs is called again, and its late answer is ignored`()
    async throws
  {
    network.serve(requests: { .success(Self.page(for: $0)) })
    let tokens = LedTokens()
    let stream = try await streams(tokens).open(
      try configuration([("gate.refreshTimeout", "1s")]))
    tokens.answers[1].put("second")
    #expect(await tokens.asked.next(2).count == 2)
    let socket = await network.sockets.next()
    #expect(socket?.request.headers.first?.value == "Bearer second")
    tokens.answers[0].put("first")
    await socket?.fail(.reset)
    let again = await network.sockets.next()
    #expect(again?.request.headers.first?.value == "Bearer second")
    await stream.close()
  }

  @Test
  func `a fixed token that expires soon is used until the server refuses it`() async throws {
    network.serve(requests: { .success(Self.page(for: $0)) })
    network.serve(requests: { request in
      guard request.method == "GET" else { return .failure(.reset) }
      return .success(Self.page(for: request))
    })
    // The token is renewed after half of its lifetime, but not if it expires before it is read. A
    // lifetime of 40 s leaves enough time on a busy machine.
    let ends = BootClock().wall.nanoseconds / 1_000_000_000 + 40
    let claims = Data(#"{"exp":\#(ends)}"#.utf8).base64EncodedString().filter { $0 != "=" }
    let tokens = CountedTokens(text: "e30.\(claims).c2ln")
    let stream = try await streams(tokens).open(
      try configuration([("gate.refreshTimeout", "1s")]))
    let follower = Follower()
    follower.follow(stream)
    let socket = await network.sockets.next()
    await socket?.accept()
    await follower.wait(\.isLive)
    stream.send("not through yet")
    #expect(await tokens.asked.next(2).count == 2)
    stream.send("nor this")
    await follower.wait { $0.outbox.contains { $0.text == "nor this" } }
    #expect(await follower.seen.outbox.allSatisfy { !$0.isFailed })
    // Refuse every socket, because a renewal that is in progress ignores the first refusal.
    network.serve(sockets: { await $0.reject(status: 401) })
    await socket?.fail(.reset)
    await follower.wait { $0.statuses.last?.reason == .signIn }
    await follower.wait { $0.outbox.last?.isFailed == true }
    await stream.close()
  }

  @Test func `a released stream frees its shop for another stream`() async throws {
    network.serve(requests: { .success(Self.page(for: $0)) })
    let streams = streams(FixedToken("SEKRIT.TOKEN.TEXT"))
    let configuration = try configuration()
    do {
      let stream = try await streams.open(configuration)
      #expect(stream.configuration.shop == configuration.shop)
    }
    var again: ShopStream?
    while again == nil, !Task.isCancelled {
      again = try? await streams.open(configuration)
      await Task.yield()
    }
    await again?.close()
  }

  @Test func `a connect sends the last position, and missed messages arrive over the socket`()
    async throws
  {
    network.serve(requests: { _ in
      .success(
        HTTPAnswer(
          status: 200, headers: ["content-type": "application/json"],
          body: Array(#"{"messages":[],"head":"e:4"}"#.utf8)))
    })
    let stream = try await streams(FixedToken("SEKRIT.TOKEN.TEXT")).open(try configuration())
    let follower = Follower()
    follower.follow(stream)
    let socket = try #require(await network.sockets.next())
    let named = socket.request.headers.filter { $0.name == StreamHeader.after }.map(\.value)
    #expect(named == ["e:4"])
    await socket.accept(headers: [StreamHeader.head: "e:5", StreamHeader.after: "e:4"])
    let missed =
      #"{"id":"550e8400-e29b-41d4-a716-446655440000","shop_id":"shop","user_id":"you","#
      + #""message":"missed","created_at":"2026-01-02T03:04:05Z","position":"e:5"}"#
    await socket.send(text: Array(missed.utf8))
    await follower.wait { $0.texts == ["missed"] }
    #expect(await follower.seen.messages.map(\.via) == [.catchUp])
    await stream.whole()
    await stream.close()
  }

  @Test func `a wait for the complete timeline can be canceled`() async throws {
    let stream = try await streams(LedTokens()).open(try configuration())
    let waiting = Task { await stream.whole() }
    waiting.cancel()
    await waiting.value
    await stream.close()
  }

  private static func page(for request: HTTPCall) -> HTTPAnswer {
    HTTPAnswer(
      status: 200, headers: ["content-type": "application/json"],
      body: Array(#"{"messages":[]}"#.utf8))
  }

  @Test func `a device that wakes verifies its link, and leaves the app in the background`()
    async throws
  {
    network.serve(requests: { .success(Self.page(for: $0)) })
    let lifecycle = FakeLifecycle()
    let streams = streams(FixedToken("SEKRIT.TOKEN.TEXT"), lifecycle)
    let stream = try await streams.open(try configuration())
    let follower = Follower()
    follower.follow(stream)
    let socket = await network.sockets.next()
    await socket?.accept()
    await follower.wait(\.isLive)
    lifecycle.send(.didWake)
    guard case .ping = await socket?.actions.next() else {
      Issue.record("the link was not probed")
      return
    }
    for event in [LifecycleEvent.background, .willSleep, .didWake] { lifecycle.send(event) }
    await follower.wait { !$0.isLive }
    #expect(network.sockets.count == 0)
    lifecycle.send(.foreground)
    #expect(await network.sockets.next() != nil)
    await stream.close()
  }

  @Test func `after a sleep with the app in front, the stream reconnects`()
    async throws
  {
    network.serve(requests: { .success(Self.page(for: $0)) })
    let lifecycle = FakeLifecycle()
    let streams = streams(FixedToken("SEKRIT.TOKEN.TEXT"), lifecycle)
    let stream = try await streams.open(try configuration())
    let follower = Follower()
    follower.follow(stream)
    let socket = await network.sockets.next()
    await socket?.accept()
    await follower.wait(\.isLive)
    lifecycle.send(.willSleep)
    await follower.wait { $0.statuses.last?.reason == .blocked(.background) }
    #expect(await socket?.actions.next() == .closed(code: 1001, reason: ""))
    lifecycle.send(.didWake)
    await network.sockets.next()?.accept()
    await follower.wait(\.isLive)
    await stream.close()
  }

  @Test(arguments: ["SEKRIT.TOKEN.TEXT"])
  func `a frame that echoes the token puts it into no notice and no journal`(
    token: String
  ) async throws {
    network.serve(requests: { .success(Self.page(for: $0)) })
    let path = NSTemporaryDirectory() + "holdfast-\(UUID().uuidString).jsonl"
    defer { try? FileManager.default.removeItem(atPath: path) }
    var configuration = try configuration()
    configuration.journal = path
    let stream = try await streams(FixedToken(token)).open(configuration)
    let follower = Follower()
    follower.follow(stream)
    let socket = await network.sockets.next()
    await socket?.accept()
    await follower.wait(\.isLive)
    await socket?.send(text: Array(#"{"type":"no \#(token)"}"#.utf8))
    let stranger =
      #"{"id":"550e8400-e29b-41d4-a716-446655440000","shop_id":"\#(token)","#
      + #""user_id":"u","message":"x","created_at":"2026-01-03T15:30:00Z"}"#
    await socket?.send(text: Array(stranger.utf8))
    await follower.wait { $0.notices.count == 2 }
    #expect(
      await follower.seen.notices == [
        .unknownType("no [token]"), .malformed(.wrongShop(found: "[token]")),
      ])
    await stream.close()
    #expect(!(try String(contentsOfFile: path, encoding: .utf8)).contains("SEKRIT"))
  }

  @Test
  func `the user's id is read from the token`() async throws {
    network.serve(requests: { request in
      request.method == "GET" ? .success(Self.page(for: request)) : .failure(.reset)
    })
    let claims = Data(#"{"sub":"me","exp":9000000001}"#.utf8).base64EncodedString()
      .filter { $0 != "=" }
    let stream = try await streams(FixedToken("e30.\(claims).c2ln")).open(try configuration())
    let follower = Follower()
    follower.follow(stream)
    let socket = await network.sockets.next()
    await socket?.accept()
    await follower.wait(\.isLive)
    stream.send("hello")
    // Wait until a send has failed and the stream reports the failed attempt.
    await follower.wait {
      $0.outbox.contains { if case .queued(let tries) = $0.state { tries > 0 } else { false } }
    }
    let now = RFC3339.format(BootClock().wall)
    let echo =
      #"{"id":"550e8400-e29b-41d4-a716-446655440000","shop_id":"shop","#
      + #""user_id":"me","message":"hello","created_at":"\#(now)"}"#
    await socket?.send(text: Array(echo.utf8))
    await follower.wait { !$0.sent.isEmpty && $0.texts == ["hello"] }
    #expect(await follower.seen.sent.count == 1)
    await stream.close()
  }

  @Test func `commands stay in order, whatever their number`() async throws {
    let stream = try await streams(LedTokens()).open(try configuration())
    let follower = Follower()
    follower.follow(stream)
    let texts = (1...600).map { "\($0)" }
    for text in texts { stream.send(text) }
    await follower.wait { $0.outbox.contains { $0.text == "600" } }
    var seen: Set<String> = []
    #expect(await follower.seen.outbox.map(\.text).filter { seen.insert($0).inserted } == texts)
    await stream.close()
  }

  private func fetchFailure(of stream: ShopStream) async -> LinkFailure? {
    for await case .notice(.fetchFailed(let failure)) in stream { return failure }
    return nil
  }

  private func streams(
    _ tokens: any TokenSource, _ lifecycle: any LifecycleMonitor = AlwaysForeground()
  ) -> ShopStreams {
    ShopStreams(
      StreamEnvironment(
        network: network, store: HoldfastPlatform.memoryStore(), reachability: AlwaysReachable(),
        lifecycle: lifecycle, tokens: tokens))
  }

  private func configuration(
    _ changes: [(key: String, value: String)] = []
  ) throws -> StreamConfiguration {
    StreamConfiguration(
      server: "http://127.0.0.1:1", shop: try #require(ShopID("shop")),
      policy: try LinkPolicy.messageStream.setting(
        StreamBackendHarness.quick + Self.patient + changes))
  }

  /// Long time-outs, because the test acts as the server: it sends no pings and may be slow.
  private static let patient: [(key: String, value: String)] = [
    ("liveness.silence", "10m"), ("establish.timeout", "10m"), ("establish.openTimeout", "10m"),
  ]
}

/// A token source whose first two calls wait for answers from the test, even if they are canceled.
///
/// Later calls occur only on a busy machine. They return the second answer immediately.
private actor LedTokens: TokenSource {
  nonisolated let asked = Mailbox<Void>()
  nonisolated let answers = [Mailbox<String>(), Mailbox<String>()]
  private var calls = 0
  private var second: String?

  func token() async throws(TokenFailure) -> String {
    asked.put(())
    if let second { return second }
    let call = min(calls, 1)
    calls += 1
    guard let token = await Task(operation: { [answers] in await answers[call].next() }).value
    else { throw .unavailable }
    if call == 1 { second = token }
    return token
  }
}

/// A token source that always returns the same token and records each call.
private struct CountedTokens: TokenSource {
  let text: String
  let asked = Mailbox<Void>()

  func token() async throws(TokenFailure) -> String {
    asked.put(())
    return text
  }
}

extension OutboxEntry {
  fileprivate var isFailed: Bool {
    switch state {
    case .queued: false
    case .failed: true
    }
  }
}
