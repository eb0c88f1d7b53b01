import HoldfastCore
import HoldfastJSON
import Testing

@testable import HoldfastSyncData
@testable import HoldfastUploads

/// Tests of the answers to a batch.
@Suite struct SyncReplyTests {
  @Test func `an answer reports what was stored, and invalid answers are refused`() throws {
    for counts in [
      IngestCounts(), IngestCounts(records: 1, workouts: 2, skippedDuplicates: 3),
      IngestCounts(records: .max, workouts: .max, skippedDuplicates: .max),
    ] {
      #expect(try IngestCounts.read(counts.bytes) == counts)
    }
    for text in [
      #"{"success":false,"inserted":{"records":1,"workouts":0},"skippedDuplicates":0}"#,
      #"{"success":true,"inserted":{"records":1,"workouts":0},"skippedDuplicates":0} x"#,
      #"{"inserted":{"records":1,"workouts":0},"skippedDuplicates":0}"#,
      #"{"success":true,"inserted":{"records":-1,"workouts":0},"skippedDuplicates":0}"#,
      #"{"success":true,"inserted":{"records":0,"workouts":-1},"skippedDuplicates":0}"#,
      #"{"success":true,"inserted":{"records":0,"workouts":0},"skippedDuplicates":-1}"#,
      #"{"success":true,"inserted":{"records":0},"skippedDuplicates":0}"#, "[]", "",
    ] {
      #expect(throws: FieldFault.self) { try IngestCounts.read(Array(text.utf8)) }
    }
  }

  @Test(arguments: [(0, 0), (999_999, 0), (1_000_000, 1), (1_999_999_999, 1_999)])
  func `a refresh is reported in whole milliseconds`(nanoseconds: Int64, shown: Int) {
    let body = SyncReply.refreshed(in: .nanoseconds(nanoseconds))
    #expect(
      String(decoding: body, as: UTF8.self) == #"{"success":true,"refreshedIn":\#(shown)}"#)
  }

  @Test func `the reason of a refusal is its details, its error or its message, up to a limit`() {
    func reason(_ text: String) -> String? { SyncReply.reason(of: Array(text.utf8)) }
    #expect(reason(#"{"message":"c","error":"b","details":"a"}"#) == "a")
    #expect(reason(#"{"message":"c","error":"b"}"#) == "b")
    #expect(reason(#"{"message":"c","error":7}"#) == "c")
    #expect(reason(#"{"other":"c"}"#) == nil)
    #expect(reason("no JSON") == nil)
    for count in [999, 1_000, 1_001] {
      let text = String(repeating: "a", count: count)
      #expect(reason(#"{"error":"\#(text)"}"#)?.count == min(count, 1_000))
    }
    #expect(SyncReply.reason(of: SyncReply.error("a", details: "b")) == "b")
    #expect(SyncReply.reason(of: SyncReply.error("a")) == "a")
  }

  @Test func `replies match the contract`() {
    func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
    #expect(
      text(IngestCounts(records: 2, workouts: 1, skippedDuplicates: 3).bytes)
        == #"{"success":true,"inserted":{"records":2,"workouts":1},"skippedDuplicates":3}"#)
    #expect(text(SyncReply.ready) == #"{"status":"ok","endpoint":"sync"}"#)
    #expect(
      text(SyncReply.refreshed(in: .milliseconds(12))) == #"{"success":true,"refreshedIn":12}"#)
    #expect(
      text(SyncReply.error("Bad request", details: "x"))
        == #"{"error":"Bad request","details":"x"}"#)
    #expect(text(SyncReply.error("Unauthorized")) == #"{"error":"Unauthorized"}"#)
  }
}
