import LinkCore
import LinkWire
import Testing

@testable import LinkServerCore

/// Requests that wait, and what they wait for.
@Suite struct SyncWaitingTests {
  @Test func `a single request that waits for nothing breaks the invariants`() {
    var stage = SyncStage()
    _ = stage.ask(1, SyncCall("POST", .sync, body: []))
    stage.server.work = [:]
    #expect(
      stage.server.brokenInvariants(.thorough) == [
        "sync: only requests whose work goes on wait", "sync: a request waits for its own work",
      ])
  }
}
