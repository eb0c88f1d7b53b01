import Holdfast
import HoldfastTestKit
import HoldfastCore
import HoldfastSocket
import HoldfastWire
import Testing

/// Tests of `ShopStream.send`, which waits until the server has stored the message.
@Suite(.timeLimit(.minutes(10))) struct StreamSendTests {
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

  @Test func `a message that is not accepted or is discarded ends the wait`() async throws {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await offline(harness)
    await #expect(throws: SendError.refused(.local(detail: "it is empty"))) {
      try await stream.send("")
    }
    let sending = Task { try await stream.send("never mind") }
    await follower.wait { $0.outbox.last?.text == "never mind" }
    stream.discard(try #require(await follower.seen.outbox.last).id)
    await #expect(throws: SendError.discarded) { try await sending.value }
    await harness.end()
  }

  @Test func `cancelling the task ends only the wait`() async throws {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await offline(harness)
    let sending = Task { try await stream.send("still sent") }
    await follower.wait { !$0.outbox.isEmpty }
    sending.cancel()
    await #expect(throws: SendError.cancelled) { try await sending.value }
    harness.reachability.change(to: .reachable(path: PathID("a")))
    await follower.wait { $0.texts.contains("still sent") }
    await harness.end()
  }

  @Test func `the end of the stream ends the wait`() async throws {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await offline(harness)
    let first = Task { try await stream.send("first") }
    await follower.wait { $0.outbox.contains { $0.text == "first" } }
    await stream.signOut()
    let failure = await #expect(throws: SendError.self) { try await first.value }
    #expect(stream.failure != nil)
    #expect(failure == .ended(stream.failure))
    await stream.close()
    await #expect(throws: SendError.ended(nil)) { try await stream.send("too late") }
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
