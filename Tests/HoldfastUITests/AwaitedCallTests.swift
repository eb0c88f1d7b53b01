import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastMessageData
import HoldfastPorts
import HoldfastSession
import HoldfastSessionData
import HoldfastSyncData
import HoldfastTestKit
import Testing

@testable import HoldfastUI

/// Tests of the calls of models that wait for their result: success, failure, cancellation, and a
/// model that is closed in between.
@Suite(.timeLimit(.minutes(60))) @MainActor struct AwaitedCallTests {
  private let network = FakeNetwork(clock: BootClock())
  private let reachability = FakeReachability()
  private let links: HoldfastLinks
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    links = HoldfastLinks(
      server: try #require(URL(string: "https://server.example")),
      directory: URL(filePath: scratch.path),
      ports: DevicePorts(network: network, reachability: reachability)
    ) { "token" }
  }

  // MARK: Messages

  /// Answers as a shop does that has these messages, and accepts the socket.
  ///
  /// - Parameter post: Answers a message that the app sends.
  private func serveShop(
    _ messages: [String] = [],
    post: @escaping @Sendable () async -> Result<HTTPAnswer, LinkFailure> = { .failure(.reset) }
  ) {
    network.serve(sockets: { await $0.accept() })
    let page = Self.json(#"{"messages":[\#(messages.joined(separator: ","))]}"#)
    network.serve(requests: { call in
      call.method == "GET" ? .success(page) : await post()
    })
  }

  nonisolated private static func json(_ text: String, status: Int = 200) -> HTTPAnswer {
    HTTPAnswer(
      status: status, headers: ["content-type": "application/json"], body: Array(text.utf8))
  }

  nonisolated private static func message(_ number: Int, _ text: String) -> String {
    let id = "550e8400-e29b-41d4-a716-4466554\(10_000 + number)"
    return #"{"id":"\#(id)","shop_id":"bakery","user_id":"u","message":"\#(text)","#
      + #""created_at":"2026-01-03T15:30:00Z"}"#
  }

  private func shop() throws -> ShopMessages { links.shop(try #require(ShopID("bakery"))) }

  @Test func `a message that was sent is shown when the call returns`() async throws {
    serveShop(post: { .success(Self.json(Self.message(1, "two oat"), status: 201)) })
    let shop = try shop()
    let row = try await shop.send("two oat")
    #expect(row.text == "two oat")
    #expect(shop.messages == [row])
    #expect(shop.waiting == [])
    await shop.close()
  }

  @Test func `a message that the server refuses fails the call, and can be discarded`() async throws
  {
    serveShop(post: { .success(Self.json(#"{"message":"no shouting"}"#, status: 400)) })
    let shop = try shop()
    let error = await #expect(throws: SendError.self) { try await shop.send("LOUD") }
    guard case .refused? = error?.reason else {
      Issue.record("the error is \(String(describing: error))")
      return
    }
    await change(of: shop) { $0.waiting.first?.hasFailed == true }
    #expect(shop.waiting.first?.id == error?.id)
    await shop.close()
  }

  @Test func `a call that is cancelled leaves its message to the outbox`() async throws {
    let posts = Mailbox<Void>()
    serveShop(post: {
      posts.put(())
      _ = await Mailbox<Void>().next()
      return .failure(.reset)
    })
    let shop = try shop()
    let sending = Task { try await shop.send("two oat") }
    _ = await posts.next()
    sending.cancel()
    await #expect(throws: (any Error).self) { try await sending.value }
    #expect(shop.waiting.map(\.text) == ["two oat"])
    #expect(shop.phase == .open)
    await shop.close()
  }

  @Test func `a shop that is closed in between ends its calls`() async throws {
    let calls = Mailbox<String>()
    network.serve(sockets: { await $0.accept() })
    network.serve(requests: { call in
      calls.put(call.method)
      _ = await Mailbox<Void>().next()
      return .failure(.reset)
    })
    let shop = try shop()
    let refreshing = Task { try await shop.refresh() }
    let sending = Task { try await shop.send("two oat") }
    _ = await calls.next()
    await change(of: shop) { !$0.waiting.isEmpty }
    await shop.close()
    let error = await #expect(throws: SendError.self) { try await sending.value }
    #expect(error?.reason == .ended(nil, isQueued: true))
    await #expect(throws: OpenError.closed) { try await refreshing.value }
    await #expect(throws: OpenError.closed) { try await shop.refresh() }
    await #expect(throws: OpenError.closed) { try await shop.send("late") }
  }

  @Test func `a refresh returns when all messages are shown`() async throws {
    serveShop()
    let shop = try shop()
    try await shop.refresh()
    #expect(shop.messages == [])
    serveShop([Self.message(1, "rye"), Self.message(2, "oat")])
    try await shop.refresh()
    #expect(Set(shop.messages.map(\.text)) == ["rye", "oat"])
    await shop.close()
  }

  @Test func `a refresh that cannot fetch says why`() async throws {
    network.serve(sockets: { await $0.reject(status: 503) })
    network.serve(requests: { _ in .failure(.refused) })
    let shop = try shop()
    await #expect(throws: LinkFailure.self) { try await shop.refresh() }
    #expect(shop.connection.phase != .live)
    await shop.close()
  }

  @Test func `a refresh without a network fails at once`() async throws {
    reachability.change(to: .unreachable)
    let shop = try shop()
    await #expect(throws: LinkFailure.self) { try await shop.refresh() }
    #expect(shop.connection.reason == .offline)
    await shop.close()
  }

  // MARK: Answers

  /// Accepts the next session, and returns its socket and its first prompt.
  private func nextPrompt() async throws -> (FakeSocket, SessionPrompt) {
    let socket = try await network.nextSocket()
    let features: Set<SessionFeature> = [.idempotency]
    await socket.accept()
    let hello = SessionServerMessage.hello(SessionHello(message: "hi", features: features))
    await socket.send(text: hello.bytes)
    let connected = SessionConnected(
      message: "", session: "s", version: .newest, features: features, isRecovered: nil)
    await socket.send(text: SessionServerMessage.connected(connected).bytes)
    while true {
      let text = Array(try await socket.nextText().utf8)
      if case .prompt(let prompt) = try SessionClientMessage.read(text) { return (socket, prompt) }
    }
  }

  private func answer(
    _ prompt: SessionPrompt, _ result: SessionResponse.Result, on socket: FakeSocket
  ) async {
    let response = SessionResponse(
      id: "answer", conversation: prompt.conversation, idempotencyKey: prompt.idempotencyKey,
      result: result)
    await socket.send(text: SessionServerMessage.response(response).bytes)
  }

  @Test func `an answer is a turn when the call returns`() async throws {
    let chat = links.conversation()
    let asking = Task { try await chat.answer(to: "What is left to do?") }
    let (socket, prompt) = try await nextPrompt()
    await answer(prompt, .success(text: "Two loaves."), on: socket)
    let turn = try await asking.value
    #expect(turn.text == "Two loaves.")
    #expect(chat.turns.last == turn)
    #expect(chat.turns.map(\.text) == ["What is left to do?", "Two loaves."])
    await chat.close()
  }

  @Test func `a prompt that the server cannot answer fails the call`() async throws {
    let chat = links.conversation()
    let asking = Task { try await chat.answer(to: "What is left to do?") }
    let (socket, prompt) = try await nextPrompt()
    await answer(prompt, .failure(error: "tired"), on: socket)
    await #expect(throws: AnswerError.self) { try await asking.value }
    await chat.close()
  }

  @Test func `a conversation that is closed in between ends its calls`() async throws {
    let chat = links.conversation()
    let asking = Task { try await chat.answer(to: "What is left to do?") }
    let cancelled = Task { try await chat.answer(to: "And then?") }
    _ = try await nextPrompt()
    cancelled.cancel()
    await #expect(throws: (any Error).self) { try await cancelled.value }
    await chat.close()
    await #expect(throws: AnswerError.self) { try await asking.value }
    await #expect(throws: OpenError.closed) { try await chat.answer(to: "late") }
  }

  // MARK: The sync and the bottle

  private static let steps = "HKQuantityTypeIdentifierStepCount"

  private func sync(_ source: FakeHealthSource, _ uploads: any UploadQueue) -> SyncProgress {
    links.parts.uploads = uploads
    let time = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
    source.add([
      SourceSample(
        uuid: UUID128(high: 0, low: 1),
        sample: HealthSample(
          type: Self.steps, value: .quantity(7), unit: "count", start: time, end: time,
          source: "watch"))
    ])
    return links.healthSync(source, types: [Self.steps])
  }

  @Test func `a refresh of the sync returns when everything is handed over`() async throws {
    let queue = CancellableQueue()
    let sync = sync(FakeHealthSource(), queue)
    try await sync.refresh()
    #expect(queue.enqueued.count == 1)
    await sync.close()
    await #expect(throws: OpenError.closed) { try await sync.refresh() }
  }

  @Test func `a refresh of the sync that leaves something says so`() async throws {
    let source = FakeHealthSource()
    source.fail(.locked(detail: "the device is locked"))
    let sync = sync(source, CancellableQueue())
    await #expect(throws: LinkFailure.self) { try await sync.refresh(within: .milliseconds(200)) }
    await sync.close()
  }

  @Test func `a sync that is closed in between ends its refresh`() async throws {
    let source = HangingSource()
    let sync = links.healthSync(source, types: [Self.steps])
    let refreshing = Task { try await sync.refresh() }
    let cancelled = Task { try await sync.refresh() }
    _ = await source.reads.next()
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    await sync.close()
    await #expect(throws: OpenError.closed) { try await refreshing.value }
  }

  @Test func `a bottle that is closed in between ends its calls without success`() async throws {
    let bottle = links.bottle(SilentRadio(.on))
    let refreshing = Task { await bottle.refresh() }
    let asking = Task { await bottle.perform(.command(.ping)) }
    await change(of: bottle) { $0.status.adapter == .on }
    await bottle.close()
    #expect([nil, .bottleAsleep, .connectionFailed].contains(await refreshing.value))
    #expect(
      [nil, .notSent(.bottleAsleep), .notSent(.connectionFailed)].contains(await asking.value))
  }
}

/// A source whose pages never arrive.
private final class HangingSource: HealthSource {
  /// The reads of pages.
  let reads = Mailbox<Void>()
  private let never = Mailbox<Void>()

  func observe(
    _ types: [String], _ fired: @escaping @Sendable ([String], Wake) -> Void
  ) async {
    fired(types, Wake(budget: .seconds(10)) { _ in })
  }

  func page(
    _ type: String, from start: HealthPageStart, limit: Int
  ) async throws(HealthSourceFailure) -> SourcePage {
    reads.put(())
    _ = await never.next()
    throw .locked(detail: "never")
  }

  func stop() async { never.close() }
}
