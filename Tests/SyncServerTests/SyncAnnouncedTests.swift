import HoldfastCore
import HoldfastUploads
import Testing

@testable import HoldfastServerParts
@testable import HoldfastSyncServer

/// Tests for requests whose heads have arrived, and for the uploads that they announce.
@Suite struct SyncAnnouncedTests {
  private static func foreign() -> SyncCall {
    var call = SyncStage.creation(isComplete: true)
    call.host = "evil.example"
    return call
  }

  private static func asked() -> SyncCall {
    var call = SyncStage.creation(isComplete: true)
    call.method = "GET"
    return call
  }

  private static func elsewhere() -> SyncCall {
    var call = SyncStage.creation(isComplete: true)
    call.path = .refresh
    return call
  }

  @Test(arguments: [
    foreign(), asked(), elsewhere(), SyncStage.creation(isComplete: true, .tus),
  ])
  func `sends no upload information for a request whose upload cannot be resumed`(call: SyncCall) {
    var stage = SyncStage { $0.originPolicy.isLocal = true }
    var call = call
    if call.host == nil { call.host = "127.0.0.1" }
    #expect(stage.feed(.announced(RequestID(1), call, user: SyncStage.ann)) == [])
    #expect(stage.server.uploads.all == [:])
  }

  @Test(arguments: ["HEAD", "DELETE"])
  func `requests without a body are not waited for`(method: String) {
    var stage = SyncStage.begun(2)
    let call = SyncStage.call(method)
    #expect(stage.feed(.announced(RequestID(1), call, user: SyncStage.ann)) == [])
    #expect(stage.ask(2, SyncStage.call("HEAD")).answer?.field("Upload-Offset") == "2")
  }

  @Test func `an announced upload stays although its first request delivered no bytes`() {
    var stage = SyncStage()
    let call = SyncStage.creation(isComplete: true)
    _ = stage.feed(.announced(RequestID(1), call, user: SyncStage.ann))
    #expect(stage.ask(2, SyncStage.call("HEAD")) == [.upload(.interrupt(RequestID(1)))])
    let effects = stage.feed(.cut(RequestID(1), call))
    #expect(effects.answer?.status == 204)
    #expect(effects.answer?.field("Upload-Offset") == "0")
  }

  @Test func `a waiting request is answered although the completed request is refused`() {
    var stage = SyncStage.begun(2) { $0.maxRequests = 1 }
    var patch = SyncStage.call("PATCH", offset: 2, isComplete: false)
    _ = stage.feed(.announced(RequestID(1), patch, user: SyncStage.ann))
    #expect(stage.ask(2, SyncStage.call("HEAD")) == [.upload(.interrupt(RequestID(1)))])
    #expect(stage.ask(3, SyncCall("POST", .refresh)) == [.check(StoreToken(2))])
    patch.body = [5]
    #expect(stage.ask(1, patch).answers.map(\.status) == [503, 204])
  }

  @Test func `a request that waited for an upload is refused while the store is full`() {
    var stage = SyncStage.begun(2) { $0.maxRequests = 1 }
    var patch = SyncStage.call("PATCH", offset: 2, isComplete: false)
    _ = stage.feed(.announced(RequestID(1), patch, user: SyncStage.ann))
    patch.body = [5]
    #expect(stage.ask(2, patch) == [.upload(.interrupt(RequestID(1)))])
    #expect(stage.ask(3, SyncCall("POST", .refresh)) == [.check(StoreToken(2))])
    let busy = SyncAnswer.error(503, "Too busy", retryAfter: .seconds(2))
    #expect(stage.feed(.cut(RequestID(1), patch)) == [.answer(RequestID(2), busy)])
  }

  @Test func `requests that wait for an upload are answered in order`() {
    var stage = SyncStage.begun(2)
    _ = stage.ask(1, SyncStage.call("PATCH", [1], offset: 2, isComplete: false))
    _ = stage.ask(2, SyncStage.call("PATCH", [1], offset: 3, isComplete: false))
    for id in UInt64(3)...4 { #expect(stage.ask(id, SyncStage.call("HEAD")) == []) }
    #expect(Self.answered(stage.done(2, .written(3))) == [RequestID(1)])
    #expect(Self.answered(stage.done(3, .written(4))) == [2, 3, 4].map { RequestID($0) })
  }

  private static func answered(_ effects: [SyncServer.Effect]) -> [RequestID] {
    effects.compactMap { if case .answer(let id, _) = $0 { id } else { nil } }
  }
}
