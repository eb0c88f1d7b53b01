import LinkCore
import LinkWire
import Testing

/// What servers say about themselves, and about what they have stored.
@Suite struct SyncIdentityTests {
  private static let server = "https://a.example"

  private static func read(_ text: String) -> SyncIdentity {
    SyncIdentity(Array(text.utf8), server: server)
  }

  @Test func `a server names its epoch, the person and the newest stamp of the phone`() {
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
  func `what makes no sense is as if it was not said`(text: String) {
    #expect(Self.read(text) == SyncIdentity(SyncOwner(server: Self.server)))
  }

  @Test func `an epoch is in a header field of each answer`() {
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
  func `a batch is stored if the answer says so, or has nothing to say`(
    body: String, isStored: Bool
  ) {
    #expect(SyncReply.isSuccess(Array(body.utf8)) == isStored)
    #expect(SyncReply.isDenied(Array(body.utf8)) == body.hasPrefix(#"{"success":false"#))
  }

  @Test func `refused records are told apart from duplicates, where there are any`() throws {
    let tally = SyncTally(records: 1, skippedDuplicates: 2, refused: 3)
    let text =
      #"{"success":true,"inserted":{"records":1,"workouts":0},"skippedDuplicates":2,"refused":3}"#
    #expect(String(decoding: tally.bytes, as: UTF8.self) == text)
    #expect(try SyncTally.read(tally.bytes) == tally)
  }

  /// Six batches of a phone that read six pages at 10 s, which come in any order: their order is
  /// that of their stamps.
  @Test(arguments: [[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1], [3, 6, 1, 5, 2, 4]] as [[Int64]])
  func `stamps that ran ahead count in their order, and none behind the clock`(order: [Int64]) {
    var stamps = SyncStamps()
    let arrived = Timestamp(nanoseconds: 10_900_000_000)
    var counts: [Int64: Timestamp] = [:]
    for number in order {
      let made = Timestamp(nanoseconds: (10 + number) * 1_000_000_000)
      counts[number] = stamps.note(made, of: "p", arrived: arrived)
    }
    let inOrder = (1...6).compactMap { counts[$0] }
    #expect(zip(inOrder, inOrder.dropFirst()).allSatisfy { $0 < $1 })
    #expect(inOrder.allSatisfy { $0 < arrived })
    for (number, time) in counts {
      let made = Timestamp(nanoseconds: (10 + number) * 1_000_000_000)
      let later = arrived.advanced(by: .seconds(3_600))
      #expect(stamps.note(made, of: "p", arrived: later) == time, "a copy")
    }
    // A phone whose page was bounded long ago, and whose batches come in another order now.
    let second: Int64 = 1_000_000_000
    func note(_ made: Int64, at arrived: Int64) -> Timestamp {
      stamps.note(
        Timestamp(nanoseconds: made * second), of: "p",
        arrived: Timestamp(nanoseconds: arrived * second))
    }
    let honest = note(900, at: 905)
    let ahead = note(1_043, at: 1_042)
    let late = note(1_042, at: 1_042)
    #expect(honest < late && late < ahead)
    let next = Timestamp(nanoseconds: 1_100_000_000_000)
    #expect(stamps.note(next, of: "p", arrived: next) == next)
  }
}
