import HoldfastCore
import Testing

@testable import HoldfastSyncServer

/// Tests for requests that wait for an upload.
@Suite struct SyncWaitingTests {
  @Test func `a drain that times out answers every request that waits for an upload`() {
    var stage = SyncStage.begun(2)
    _ = stage.ask(1, SyncStage.call("PATCH", [1], offset: 2, isComplete: false))
    #expect(stage.ask(2, SyncStage.call("HEAD")) == [])
    _ = stage.feed(.drain(within: .seconds(5)))
    let late = SyncAnswer.error(503, "Stopped", retryAfter: .seconds(2))
    #expect(
      stage.server.tick(at: .second(10)) == [
        .answer(RequestID(1), late), .answer(RequestID(2), late), .finished,
      ])
    #expect(stage.server.brokenInvariants(.thorough) == [])
  }
}
