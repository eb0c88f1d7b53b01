import HoldfastCore
import HoldfastServerFixtures
import HoldfastSyncData
import HoldfastUploads
import Testing

@testable import HoldfastServerParts
@testable import HoldfastSyncServer

/// Tests for which uploads are stored and for how long, and for the handling of their last bytes.
@Suite struct SyncRestoredTests {
  private static let rest = [UInt8](repeating: 1, count: 8)

  private static func name(_ number: Int) -> UUID128 { UUID128(high: 9, low: UInt64(number)) }

  private static func stored(_ number: Int, of user: String, age: Int) -> StoredUpload {
    StoredUpload(
      id: name(number), record: UploadRecord(user: user, length: 10, isGzip: false), offset: 4,
      age: .seconds(age))
  }

  @Test func `the youngest uploads of an earlier process are restored, up to the limit`() {
    var stage = SyncStage()
    let stored = (0...Uploads.most).map { Self.stored($0, of: "u\($0)", age: $0) }
    #expect(
      stage.feed(.restored(stored)) == [
        .upload(.forget(Self.name(Uploads.most))), .upload(.measure),
      ])
    #expect(stage.server.uploads.all.count == Uploads.most)
  }

  @Test func `an upload whose bytes are being stored does not expire`() {
    var stage = SyncStage.begun(2)
    let day = Instant(nanoseconds: 0).advanced(by: Uploads.age)
    stage.now = day
    _ = stage.ask(1, SyncStage.call("PATCH", [1], offset: 2, isComplete: false))
    #expect(stage.server.tick(at: day) == [])
    #expect(stage.done(2, .written(3)).answer?.field("Upload-Offset") == "3")
  }

  @Test func `the oldest upload without a pending write is evicted`() {
    var stage = SyncStage()
    let own = (0..<Uploads.mostOfUser).map { Self.stored($0, of: "ann", age: 100 - $0) }
    _ = stage.feed(.restored(own))
    let patch = SyncStage.call("PATCH", [1], offset: 4, isComplete: false, name: Self.name(0))
    _ = stage.ask(1, patch)
    #expect(stage.ask(2, SyncStage.creation([1])).first == .upload(.forget(Self.name(1))))
  }

  @Test func `a new upload does not evict another user's`() {
    var stage = SyncStage()
    let own = (0..<Uploads.mostOfUser).map { Self.stored($0, of: "ann", age: 100 - $0) }
    _ = stage.feed(.restored(own + [Self.stored(99, of: "ben", age: 1_000)]))
    #expect(stage.ask(1, SyncStage.creation([1])).first == .upload(.forget(Self.name(0))))
  }

  @Test func `an upload may be exactly as long as the largest body`() {
    let most = SyncServerPolicy.maxBodyBytes
    var stage = SyncStage()
    stage.begin(0, length: nil)
    stage.server.uploads.all[SyncStage.name]?.offset = most - 1
    let record = UploadRecord(user: "ann", length: nil, isGzip: false)
    #expect(
      stage.ask(1, SyncStage.call("PATCH", [1], offset: most - 1, isComplete: true))
        == [.upload(.finish(StoreToken(2), SyncStage.name, record, at: most - 1, [1]))])
  }

  @Test func `last bytes that the store failed to write are refused with a retry-after`() {
    var stage = SyncStage.begun(2)
    _ = stage.ask(1, SyncStage.call("PATCH", Self.rest, offset: 2, isComplete: true))
    let failed = SyncAnswer.error(
      503, "The store failed", "Nothing was stored.", retryAfter: .seconds(30))
    #expect(
      stage.done(2, .failed(.full(detail: "no room"))) == [.answer(RequestID(1), failed)])
    #expect(stage.ask(2, SyncStage.call("HEAD")).answer?.field("Upload-Offset") == "2")
  }

  @Test func `the file of an upload is removed even if its last bytes were stored first`() {
    var stage = SyncStage()
    _ = stage.ask(1, SyncStage.creation([1, 2]))
    _ = stage.ask(2, SyncStage.call("PATCH", [1, 2] + Self.rest, offset: 0, isComplete: true))
    let effects = stage.done(1, .failed(.full(detail: "no room")))
    #expect(effects.contains { if case .upload(.finish) = $0 { true } else { false } })
    #expect(
      stage.done(2, .stored(IngestCounts(records: 1))).contains(.upload(.forget(SyncStage.name))))
  }

  @Test func `a batch uploaded by tus is counted and clears the store failure`() {
    var stage = SyncStage()
    stage.begin(2, .tus)
    _ = stage.ask(1, SyncCall("POST", .refresh))
    _ = stage.done(2, .failed(.full(detail: "")))
    #expect(stage.server.serviceHealth != .ok)
    _ = stage.ask(2, SyncStage.call("PATCH", Self.rest, offset: 2, .tus))
    _ = stage.done(3, .stored(IngestCounts(records: 3)))
    #expect(stage.server.serviceHealth == .ok)
    #expect(stage.server.metricsText.contains("holdfast_sync_batches_total 1\n"))
    #expect(stage.server.metricsText.contains("holdfast_sync_samples_total 3\n"))
  }
}
