import Foundation
import Holdfast
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastPorts
import HoldfastTestKit
import Synchronization
import Testing

/// Tests of an app that does not read its updates.
@Suite(.timeLimit(.minutes(60)))
struct SlowReaderTests {
  private let clock = TestClock()
  private let network: FakeNetwork

  init() {
    network = FakeNetwork(clock: clock)
  }

  @Test func `a link stays up while its app does not read, and nothing is lost`() async throws {
    let late = Self.message(1)
    let missed = Flag()
    network.serve(requests: { request in
      guard request.method == "GET" else { return .failure(.reset) }
      return .success(Self.page(missed.isSet ? [late] : []))
    })
    let stream = try await open()
    let socket = try #require(await network.sockets.next())
    await socket.accept()
    await until { await stream.snapshot.link.status.phase == .connected }
    for number in 1...1200 { stream.enqueue("\(number)") }
    await until { await stream.snapshot.outbox.entries.count == 1000 }
    for _ in 1...3 {
      clock.advance(by: .seconds(60))
      await socket.ping()
      // The ping counts as traffic, so the silence time-out is 90 s from now.
      let silence = clock.now.advanced(by: .seconds(90))
      await until { await stream.snapshot.link.deadline == silence }
      #expect(await stream.snapshot.link.status.phase == .connected)
    }
    missed.set()
    await socket.send(text: Array(late.utf8))
    var seen: [String] = []
    for await update in stream {
      guard case .messages(let messages, via: _) = update else { continue }
      seen += messages.map(\.text)
      break
    }
    #expect(seen == ["late 1"])
    #expect(network.sockets.count == 0, "the stream did not dial again")
    await stream.close()
  }

  @Test func `awaited sends need no loop, and do not let the queue of updates grow`()
    async throws
  {
    let sent = Counter()
    network.serve(requests: { request in
      guard request.method == "POST" else { return .success(Self.page([])) }
      return .success(
        HTTPAnswer(
          status: 201, headers: ["content-type": "application/json"],
          body: Array(Self.message(sent.next()).utf8)))
    })
    let stream = try await open()
    await network.sockets.next()?.accept()
    for number in 1...1_100 { try await stream.send("\(number)") }
    await stream.close()
    var unread = 0
    for await _ in stream { unread += 1 }
    #expect(unread <= 1_024)
  }

  private func until(_ condition: () async -> Bool) async {
    while await !condition(), !Task.isCancelled { await Task.yield() }
  }

  private func open() async throws -> ShopStream {
    let streams = try await ShopStreams(
      storage: .memory, tokens: .fixed("token"),
      ports: DevicePorts(network: network, reachability: AlwaysReachable(), clock: clock))
    return try await streams.open(
      StreamConfiguration(server: "http://127.0.0.1:1", shop: try #require(ShopID("shop"))))
  }

  private static func message(_ number: Int) -> String {
    #"""
    {"id":"550e8400-e29b-41d4-a716-4466554\#(10_000 + number)","shop_id":"shop",\#
    "user_id":"you","message":"late \#(number)","created_at":"2026-01-03T15:30:00Z",\#
    "updated_at":null,"is_edited":false}
    """#
  }

  private static func page(_ messages: [String]) -> HTTPAnswer {
    HTTPAnswer(
      status: 200, headers: ["content-type": "application/json"],
      body: Array(
        #"{"status":200,"data":{"messages":[\#(messages.joined(separator: ","))]},"message":""}"#
          .utf8))
  }
}

/// A flag that any task can set.
private final class Flag: Sendable {
  private let state = Mutex(false)

  var isSet: Bool { state.withLock(\.self) }

  func set() { state.withLock { $0 = true } }
}

/// A counter that any task can use.
private final class Counter: Sendable {
  private let state = Mutex(0)

  func next() -> Int {
    state.withLock { count in
      count += 1
      return count
    }
  }
}
