import Holdfast
import HoldfastCore
import HoldfastSocket
import HoldfastTestKit
import Testing

/// Tests of `ShopStream.send`, which waits until the server has stored the message.
@Suite(.timeLimit(.minutes(60))) struct StreamSendTests {
  @Test func `a message sent offline has an ID once the network is back`() async throws {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await offline(harness)
    let sending = Task { try await stream.send("written in the lift") }
    await follower.wait { !$0.outbox.isEmpty }
    harness.reachability.change(to: .reachable(path: PathID("a")))
    let id = try await sending.value
    await follower.wait { seen in seen.messages.contains { $0.message.id == id } }
    await harness.end()
  }

  @Test func `a reply is one on the server, sent at once or later`() async throws {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await offline(harness)
    harness.reachability.change(to: .reachable(path: PathID("a")))
    let first = try await stream.send("Who is in?")
    let now = ShopMessage.Content("Me", parent: first)
    let later = ShopMessage.Content("Me, too", parent: first)
    let second = try await stream.send(now)
    stream.enqueue(later)
    await follower.wait { seen in seen.messages.contains { $0.message.content == later } }
    #expect(await follower.seen.messages.first { $0.message.id == second }?.message.content == now)
    await harness.end()
  }

  @Test func `a message that is not accepted or is discarded ends the wait`() async throws {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await offline(harness)
    let refused = await #expect(throws: SendError.self) { try await stream.send("") }
    #expect(refused?.reason == .refused(.local(detail: "it is empty")))
    let sending = Task { try await stream.send("never mind") }
    await follower.wait { $0.outbox.last?.text == "never mind" }
    let id = try #require(await follower.seen.outbox.last).id
    stream.discard(id)
    let discarded = await #expect(throws: SendError.self) { try await sending.value }
    #expect(discarded == SendError(id: id, .discarded))
    await harness.end()
  }

  @Test func `cancelling the task ends only the wait`() async throws {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await offline(harness)
    let sending = Task { try await stream.send("still sent") }
    await follower.wait { !$0.outbox.isEmpty }
    sending.cancel()
    let cancelled = await #expect(throws: SendError.self) { try await sending.value }
    #expect(cancelled?.reason == .cancelled)
    harness.reachability.change(to: .reachable(path: PathID("a")))
    await follower.wait { $0.texts.contains("still sent") }
    await harness.end()
  }

  @Test func `a time limit ends only the wait`() async throws {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await offline(harness)
    // Once this message is stored, the stream has recorded why it is not connected.
    let first = stream.enqueue("first")
    await follower.wait { !$0.outbox.isEmpty }
    let error = await #expect(throws: SendError.self) {
      try await stream.send("still sent", within: .milliseconds(10))
    }
    let late = try #require(error)
    #expect(late.reason == .timeout(.local(detail: "this device is offline")))
    harness.reachability.change(to: .reachable(path: PathID("a")))
    await follower.wait { $0.sent == [first, late.id] }
    await harness.end()
  }

  @Test func `the end of the stream ends the wait`() async throws {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await offline(harness)
    let first = Task { try await stream.send("first") }
    await follower.wait { $0.outbox.contains { $0.text == "first" } }
    await stream.signOut()
    // A message that was waiting has failed, and `retry` sends it.
    let error = await #expect(throws: SendError.self) { try await first.value }
    let failed = try #require(error)
    let failure = try #require(stream.failure)
    #expect(failed == SendError(id: failed.id, .refused(failure)))
    #expect(await stream.snapshot.outbox.entries.map(\.id) == [failed.id])
    // `reconnect` sends a message that is written now.
    let queued = await #expect(throws: SendError.self) { try await stream.send("second") }
    #expect(queued?.reason == .ended(failure, isQueued: true))
    let empty = await #expect(throws: SendError.self) { try await stream.send("") }
    #expect(empty?.reason == .refused(.local(detail: "it is empty")))
    await stream.close()
    let late = await #expect(throws: SendError.self) { try await stream.send("too late") }
    #expect(late?.reason == .ended(nil, isQueued: false))
    await harness.end()
  }

  @Test func `a message that waits while the stream is closed stays in the outbox`() async throws {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await offline(harness)
    let sending = Task { try await stream.send("for the next run") }
    await follower.wait { !$0.outbox.isEmpty }
    await stream.close()
    let closed = await #expect(throws: SendError.self) { try await sending.value }
    #expect(closed?.reason == .ended(nil, isQueued: true))
    await harness.end()
  }

  @Test func `an outcome that arrives before the wait is kept`() async {
    let waiters = OutcomeWaiters<Int, String>()
    waiters.register(1)
    waiters.resolve(1, "early")
    waiters.resolve(1, "late")
    #expect(await waiters.wait(for: 1) == "early")
    waiters.register(2)
    waiters.endAll("over")
    waiters.register(3)
    #expect(await waiters.wait(for: 2) == "over")
    #expect(await waiters.wait(for: 3) == "over")
    waiters.reopen()
    waiters.register(4)
    let waiting = Task { await waiters.wait(for: 4) }
    waiting.cancel()
    #expect(await waiting.value == nil)
  }

  /// Returns a stream that was live and is now offline.
  private func offline(
    _ harness: StreamBackendHarness
  ) async throws -> (ShopStream, Follower) {
    harness.reachability.change(to: .reachable(path: PathID("a")))
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    harness.reachability.change(to: .unreachable)
    await follower.wait { $0.statuses.last?.reason == .blocked(.unreachable) }
    return (stream, follower)
  }
}
