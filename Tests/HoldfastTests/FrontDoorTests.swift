import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastPorts
import HoldfastTestKit
import Testing

/// Tests of a stream whose app, network or token source misbehaves.
@Suite(.timeLimit(.minutes(60))) struct FrontDoorTests {
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
    let stream = try await streams(.fixed(token)).open(configuration)
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
    let stream = try await streams(tokens.source).open(
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
    // lifetime of 120 s leaves enough time on a busy machine.
    let ends = BootClock().wall.nanoseconds / 1_000_000_000 + 120
    let claims = Data(#"{"exp":\#(ends)}"#.utf8).base64EncodedString().filter { $0 != "=" }
    let asked = Mailbox<Void>()
    let tokens = TokenSource {
      asked.put(())
      return "e30.\(claims).c2ln"
    }
    let stream = try await streams(tokens).open(
      try configuration([("gate.refreshTimeout", "1s")]))
    let follower = Follower()
    follower.follow(stream)
    let socket = await network.sockets.next()
    await socket?.accept()
    await follower.wait(\.isLive)
    stream.enqueue("not through yet")
    #expect(await asked.next(2).count == 2)
    stream.enqueue("nor this")
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
    let streams = try await streams(.fixed("SEKRIT.TOKEN.TEXT"))
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
    let stream = try await streams(.fixed("SEKRIT.TOKEN.TEXT")).open(try configuration())
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
    let stream = try await streams(LedTokens().source).open(try configuration())
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
    let streams = try await streams(.fixed("SEKRIT.TOKEN.TEXT"), lifecycle)
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
    let streams = try await streams(.fixed("SEKRIT.TOKEN.TEXT"), lifecycle)
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
    let stream = try await streams(.fixed(token)).open(configuration)
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
    let stream = try await streams(.fixed("e30.\(claims).c2ln")).open(try configuration())
    let follower = Follower()
    follower.follow(stream)
    let socket = await network.sockets.next()
    await socket?.accept()
    await follower.wait(\.isLive)
    stream.enqueue("hello")
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
    let stream = try await streams(LedTokens().source).open(try configuration())
    let follower = Follower()
    follower.follow(stream)
    let texts = (1...600).map { "\($0)" }
    for text in texts { stream.enqueue(text) }
    await follower.wait { $0.outbox.contains { $0.text == "600" } }
    var seen: Set<String> = []
    #expect(await follower.seen.outbox.map(\.text).filter { seen.insert($0).inserted } == texts)
    await stream.close()
  }

  @Test func `a refusal by the server ends the wait of a sender`() async throws {
    network.serve(requests: { request in
      guard request.method == "POST" else { return .success(Self.page(for: request)) }
      return .success(
        HTTPAnswer(
          status: 400, headers: ["content-type": "application/json"],
          body: Array(#"{"message":"no shouting"}"#.utf8)))
    })
    let stream = try await streams(.fixed("SEKRIT.TOKEN.TEXT")).open(try configuration())
    await network.sockets.next()?.accept()
    let refusal = LinkFailure.http(status: 400, retryAfter: nil, detail: "no shouting")
    let error = await #expect(throws: SendError.self) { try await stream.send("LOUD") }
    #expect(error?.reason == .refused(refusal))
    await stream.close()
  }

  @Test func `a sender that waits in vain at a wrong path gets the server's answer`() async throws {
    network.serve(requests: { _ in
      .success(HTTPAnswer(status: 404, headers: [:], body: []))
    })
    network.serve(sockets: { await $0.reject(status: 404) })
    let stream = try await streams(.fixed("token")).open(try configuration())
    let follower = Follower()
    follower.follow(stream)
    await follower.wait { $0.statuses.contains { $0.failure?.failureClass == .notFound } }
    // Once this message is stored, the stream has recorded the failure.
    stream.enqueue("first")
    await follower.wait { !$0.outbox.isEmpty }
    let error = await #expect(throws: SendError.self) {
      try await stream.send("hello", within: .milliseconds(10))
    }
    guard case .timeout(let failure)? = error?.reason else {
      Issue.record("the error is \(String(describing: error))")
      return
    }
    #expect(failure?.failureClass == .notFound)
    #expect(error?.description.contains("in time: the server answered 404") == true)
    await stream.close()
  }

  @Test func `a sender that waits when the user must sign in gets an error; its message stays`()
    async throws
  {
    network.serve(requests: { request in
      guard request.method == "POST" else { return .success(Self.page(for: request)) }
      return .success(HTTPAnswer(status: 503, headers: [:], body: []))
    })
    let tokens = TokenSource { UUID().uuidString }
    let stream = try await streams(tokens).open(try configuration())
    let follower = Follower()
    follower.follow(stream)
    let socket = await network.sockets.next()
    await socket?.accept()
    await follower.wait(\.isLive)
    let sending = Task { try await stream.send("hello") }
    await follower.wait { $0.outbox.contains { $0.text == "hello" } }
    // The token is renewed once; the new one is refused too.
    network.serve(sockets: { await $0.reject(status: 401) })
    await socket?.fail(.reset)
    let error = await #expect(throws: SendError.self) { try await sending.value }
    let failure = try #require(stream.failure)
    #expect(failure.failureClass == .unauthorized)
    #expect(error?.reason == .ended(failure, isQueued: true))
    #expect(await stream.snapshot.outbox.entries.map(\.isFailed) == [false])
    await stream.close()
  }

  @Test func `a loop ends when the user must sign in, and a new one continues afterwards`()
    async throws
  {
    let posts = Mailbox<HTTPCall>()
    network.serve(requests: { request in
      if request.method == "POST" { posts.put(request) }
      return .success(Self.page(for: request))
    })
    let signIn = SignIn()
    let stream = try await streams(signIn.source).open(try configuration())
    for await _ in stream {}
    let failure = try #require(stream.failure)
    #expect(failure.failureClass == .unauthorized)
    let error = await #expect(throws: SendError.self) { try await stream.send("hello") }
    let waits = try #require(error)
    #expect(waits.reason == .ended(failure, isQueued: true))
    await signIn.finish()
    stream.reconnect()
    #expect(stream.failure == nil)
    await network.sockets.next()?.accept()
    for await case .status(let status) in stream where status.state == .connected { break }
    let keys = await posts.next()?.headers.filter { $0.name == "Idempotency-Key" }.map(\.value)
    #expect(keys == [waits.id.description], "reconnecting sends the message that waits")
    await stream.close()
  }

  @Test(arguments: [
    "not a url", "ftp://shop.example", "wss://shop.example", "https://", "http://192.0.2.1",
    "https://user@shop.example", "https://shop.example/?a=b",
  ])
  func `a server that cannot be used is refused at once`(server: String) async throws {
    let streams = try await ShopStreams(storage: .memory, tokens: .fixed("token"))
    let shop = try #require(ShopID("shop"))
    let error = await #expect(throws: OpenError.self) {
      try await streams.open(StreamConfiguration(server: server, shop: shop))
    }
    guard case .configuration(let text)? = error else {
      Issue.record("the error is \(String(describing: error))")
      return
    }
    #expect(text.contains("https://"))
  }

  @Test func `the id of a shop can be a UUID, which is written in lower case`() {
    let uuid = UUID()
    #expect(ShopID(uuid).description == uuid.uuidString.lowercased())
  }

  @Test func `a shop that is open is refused, and a URL's scheme may have any case`() async throws {
    let streams = try await streams(.fixed("token"))
    var secure = try configuration()
    secure.server = "HTTPS://shop.example"
    let stream = try await streams.open(secure)
    let again = stream.configuration
    await #expect(throws: OpenError.alreadyOpen(shop: "shop")) { try await streams.open(again) }
    await stream.close()
    await streams.close()
  }

  @Test func `plaintext needs the app's option even with a network of the app`() async throws {
    let streams = try await streams(.fixed("token"))
    let shop = try #require(ShopID("shop"))
    let error = await #expect(throws: OpenError.self) {
      try await streams.open(StreamConfiguration(server: "http://192.0.2.1", shop: shop))
    }
    #expect(error?.description.contains("allowsPlaintext") == true)
    await streams.close()
  }

  @Test func `plaintext to another device is possible if the app allows it`() async throws {
    let streams = try await ShopStreams(storage: .memory, tokens: .fixed("token"))
    var configuration = try configuration()
    configuration.server = "http://192.0.2.1"
    configuration.allowsPlaintext = true
    _ = try await streams.open(configuration)
    await streams.close()
  }

  @Test func `closing all streams stores what was sent and frees the store`() async throws {
    let scratch = try Scratch()
    let configuration = try configuration()
    let ports = DevicePorts(network: network, reachability: AlwaysReachable())
    let streams = try await ShopStreams(
      storage: .directory(scratch("phone")), tokens: LedTokens().source, ports: ports)
    let stream = try await streams.open(configuration)
    stream.enqueue("kept")
    let locked = await #expect(throws: OpenError.self) {
      try await ShopStreams(
        storage: .directory(scratch("phone")), tokens: .fixed("token"), ports: ports)
    }
    guard case .store(.locked)? = locked else {
      Issue.record("the error is \(String(describing: locked))")
      return
    }
    await streams.close()
    for await _ in stream {}
    await #expect(throws: OpenError.closed) { try await streams.open(configuration) }
    let store = try await HoldfastPlatform.store(in: scratch("phone"))
    #expect(try await store.load(configuration.shop, limit: 1).outbox.map(\.text) == ["kept"])
    await store.close()
  }

  private func fetchFailure(of stream: ShopStream) async -> LinkFailure? {
    for await case .notice(.fetchFailed(let failure)) in stream { return failure }
    return nil
  }

  private func streams(
    _ tokens: TokenSource, _ lifecycle: any LifecycleMonitor = AlwaysForeground()
  ) async throws(OpenError) -> ShopStreams {
    try await ShopStreams(
      storage: .memory, tokens: tokens,
      ports: DevicePorts(
        network: network, reachability: AlwaysReachable(), lifecycle: lifecycle))
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

/// The tokens of a source whose first two calls wait for answers from the test, even if they are
/// canceled.
///
/// Later calls occur only on a busy machine. They return the second answer immediately.
private actor LedTokens {
  nonisolated let asked = Mailbox<Void>()
  nonisolated let answers = [Mailbox<String>(), Mailbox<String>()]
  private var calls = 0
  private var second: String?

  nonisolated var source: TokenSource { TokenSource { try await self.token() } }

  private func token() async throws -> String {
    asked.put(())
    if let second { return second }
    let call = min(calls, 1)
    calls += 1
    guard let token = await Task(operation: { [answers] in await answers[call].next() }).value
    else { throw CancellationError() }
    if call == 1 { second = token }
    return token
  }
}

/// The tokens of a user who first has to sign in.
private actor SignIn {
  private var isDone = false

  nonisolated var source: TokenSource { TokenSource { try await self.token() } }

  func finish() { isDone = true }

  private func token() throws -> String {
    guard isDone else { throw TokenFailure.rejected }
    return "token"
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
