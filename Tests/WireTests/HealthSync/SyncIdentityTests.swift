import HoldfastCore
import HoldfastSyncData
import HoldfastUploads
import Testing

/// Tests of how servers identify themselves and report the data that they have stored.
@Suite struct SyncIdentityTests {
  private static let server = "https://a.example"

  private static func read(_ text: String) -> SyncIdentity {
    SyncIdentity(Array(text.utf8), server: server)
  }

  @Test func `a server reports its epoch, the user and the newest time stamp of the phone`() {
    let stamp = Timestamp(nanoseconds: 1_768_766_401_000_000_000)
    let body = SyncIdentity.ready(epoch: "0f", user: "änn", stamp: stamp)
    let text =
      #"{"status":"ok","endpoint":"sync","epoch":"0f","user":"änn","#
      + #""timestamp":"2026-01-18T20:00:01Z"}"#
    #expect(String(decoding: body, as: UTF8.self) == text)
    let owner = SyncOwner(server: Self.server, user: "änn", epoch: "0f")
    #expect(Self.read(text) == SyncIdentity(owner, stamp: stamp))
    #expect(
      SyncIdentity(SyncIdentity.ready(epoch: "0f", user: "änn", stamp: nil), server: Self.server)
        == SyncIdentity(owner))
  }

  @Test(arguments: [
    #"{"status":"ok","endpoint":"sync","timestamp":"2026-11-26T11:00:00.000Z"}"#,
    #"{"status":"ok","endpoint":"sync"}"#, "", "ok", "[]", #"{"epoch":7,"user":null}"#,
    #"{"epoch":"","user":"","timestamp":"yesterday"}"#, #"{"epoch":"a b"}"#, #"{"epoch":"é"}"#,
    #"{"epoch":"\#(String(repeating: "e", count: 65))"}"#,
    #"{"user":"\#(String(repeating: "u", count: 201))"}"#,
  ])
  func `invalid members are ignored`(text: String) {
    #expect(Self.read(text) == SyncIdentity(SyncOwner(server: Self.server)))
  }

  @Test func `the epoch is read from a header field of each answer`() {
    #expect(SyncIdentity.epoch { $0 == "sync-epoch" ? "0f" : nil } == "0f")
    #expect(SyncIdentity.epoch { _ in nil } == nil)
    #expect(SyncIdentity.epoch { _ in "" } == nil)
    #expect(SyncIdentity.epoch { _ in String(repeating: "e", count: 64) }?.utf8.count == 64)
    #expect(SyncIdentity.epoch { _ in String(repeating: "e", count: 65) } == nil)
  }

  @Test(arguments: [
    ("", true), (#"{"success":true}"#, true), (#"{"success":true,"inserted":{}}"#, true),
    (#"{"success":false,"error":"database is locked"}"#, false), ("{}", false),
    (#"{"error":"database is locked"}"#, false), (#"{"success":"true"}"#, false),
    (#"{"success":null}"#, false), ("<html>", false), ("[]", false), ("true", false),
  ])
  func `a batch counts as stored if the answer reports success or is empty`(
    body: String, isStored: Bool
  ) {
    #expect(SyncReply.isSuccess(Array(body.utf8)) == isStored)
    #expect(SyncReply.isDenied(Array(body.utf8)) == body.hasPrefix(#"{"success":false"#))
  }

  @Test func `refused records are counted apart from duplicates, if there are any`() throws {
    let counts = IngestCounts(records: 1, skippedDuplicates: 2, refused: 3)
    let text =
      #"{"success":true,"inserted":{"records":1,"workouts":0},"skippedDuplicates":2,"refused":3}"#
    #expect(String(decoding: counts.bytes, as: UTF8.self) == text)
    #expect(try IngestCounts.read(counts.bytes) == counts)
  }
}
