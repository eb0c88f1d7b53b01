import HoldfastCore
import HoldfastSyncData
import HoldfastTestKit
import Testing

@testable import HoldfastServerParts
@testable import HoldfastSyncServer

/// Tests of the space that uploads take: on the disk, of one user, and in all.
@Suite struct UploadSpaceTests {
  private static let mebibyte = 1 << 20

  private static func name(_ number: Int) -> UUID128 { UUID128(high: 9, low: UInt64(number)) }

  private static func stored(
    _ number: Int, of user: String = "ann", _ count: Int, age: Int
  ) -> StoredUpload {
    StoredUpload(
      id: name(number), record: UploadRecord(user: user, length: nil, isGzip: false),
      offset: count, age: .seconds(age))
  }

  /// Space of which uploads leave 100 bytes free.
  private static func disk(_ free: Int) -> SyncServer.Input {
    .disk(DiskSpace(free: free, total: 1_000))
  }

  private static func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 7, count: count) }

  @Test(arguments: [
    (0, 0), (9, 0), (10, 1), (640 << 20, 64 << 20), ((640 << 20) - 10, (64 << 20) - 1),
    (640 << 20 + 10, 64 << 20), (1 << 40, 64 << 20),
  ])
  func `uploads leave 64 MiB free, or a tenth of a small disk`(_ total: Int, _ reserve: Int) {
    #expect(DiskSpace(free: 0, total: total).reserve == reserve)
  }

  @Test(arguments: [(109, false), (110, true), (111, true)])
  func `an upload begins if its bytes leave enough space`(_ free: Int, _ isTaken: Bool) {
    for call in [
      SyncStage.creation(Self.bytes(10)), SyncStage.creation(length: 10),
      SyncStage.creation(Self.bytes(4), length: 10),
    ] {
      var stage = SyncStage()
      #expect(stage.feed(Self.disk(free)) == [])
      let answer = stage.ask(1, call).answer
      #expect(answer?.status == (isTaken ? nil : 503))
      #expect(answer?.retryAfter == (isTaken ? nil : .seconds(30)))
      let text = answer.map { String(decoding: $0.body, as: UTF8.self) }
      #expect(text?.contains("The server's disk is almost full") != isTaken)
      #expect(stage.server.uploads.all.isEmpty != isTaken)
    }
  }

  @Test(arguments: [(101, false), (102, true), (103, true)])
  func `a piece is stored if it leaves enough space`(_ free: Int, _ isTaken: Bool) {
    var stage = SyncStage.begun(2)
    _ = stage.feed(Self.disk(free))
    let call = SyncStage.call("PATCH", [1, 2], offset: 2, isComplete: false)
    #expect(stage.ask(1, call).answer?.status == (isTaken ? nil : 503))
    if isTaken { _ = stage.done(2, .written(4)) }
    let head = stage.ask(2, SyncStage.call("HEAD")).answer
    #expect(head?.field("Upload-Offset") == (isTaken ? "4" : "2"))
  }

  @Test(arguments: [(117, false), (118, true)])
  func `the last piece needs space for the content as well`(_ free: Int, _ isTaken: Bool) {
    var stage = SyncStage.begun(2)
    _ = stage.feed(Self.disk(free))
    let call = SyncStage.call("PATCH", Self.bytes(8), offset: 2, isComplete: true)
    #expect(stage.ask(1, call).answer?.status == (isTaken ? nil : 503))
  }

  @Test(arguments: [(102, false), (103, true)])
  func `the received part of a cut request is kept if it leaves enough space`(
    _ free: Int, _ isKept: Bool
  ) {
    var stage = SyncStage()
    var call = SyncStage.creation(isComplete: true)
    _ = stage.feed(.announced(RequestID(1), call, user: SyncStage.ann))
    _ = stage.feed(Self.disk(free))
    call.body = [1, 2, 3]
    #expect(stage.feed(.cut(RequestID(1), call)).count == (isKept ? 1 : 0))
    #expect(stage.server.uploads.all.isEmpty != isKept)
  }

  @Test func `no upload is announced while too little space is left`() {
    var stage = SyncStage()
    _ = stage.feed(Self.disk(99))
    let call = SyncStage.creation(isComplete: true)
    #expect(stage.feed(.announced(RequestID(1), call, user: SyncStage.ann)) == [])
  }

  @Test(arguments: [(100, 0), (99, 1), (96, 1), (95, 2), (92, 2), (91, 3), (0, 3)])
  func `the oldest uploads are removed while too little space is left`(
    _ free: Int, _ count: Int
  ) {
    var stage = SyncStage()
    _ = stage.feed(.restored((1...3).map { Self.stored($0, 4, age: 100 - $0) }))
    #expect(
      stage.feed(Self.disk(free)) == (1...3).prefix(count).map { .upload(.forget(Self.name($0))) })
  }

  @Test func `the oldest uploads are removed if a new one needs their space`() {
    var stage = SyncStage()
    _ = stage.feed(.restored((1...3).map { Self.stored($0, of: "ben", 4, age: 100 - $0) }))
    #expect(stage.feed(Self.disk(105)) == [])
    let effects = stage.ask(1, SyncStage.creation(Self.bytes(10)))
    #expect(effects.prefix(2) == [.upload(.forget(Self.name(1))), .upload(.forget(Self.name(2)))])
    #expect(effects.count == 3)
    // No removal would suffice.
    #expect(stage.ask(2, SyncStage.creation(Self.bytes(10), name: Self.name(7))).count == 1)
  }

  @Test func `an upload does not make room for itself`() {
    var stage = SyncStage.begun(2)
    _ = stage.feed(Self.disk(101))
    let call = SyncStage.call("PATCH", [1, 2], offset: 2, isComplete: false)
    #expect(stage.ask(1, call).answer?.status == 503)
    #expect(stage.server.uploads.all.count == 1)
  }

  @Test func `the space of bytes that are being written is taken until it is measured again`() {
    var stage = SyncStage()
    _ = stage.feed(Self.disk(115))
    _ = stage.ask(1, SyncStage.creation(Self.bytes(10)))
    let other = SyncStage.creation(Self.bytes(6), name: Self.name(1))
    #expect(stage.ask(2, other).answer?.status == 503)
    _ = stage.feed(Self.disk(115))
    #expect(stage.ask(3, other).answer?.status == 503)
    _ = stage.done(1, .written(10))
    #expect(stage.ask(5, other).first == .upload(.forget(SyncStage.name)))
  }

  @Test func `the space is measured every five minutes while there are uploads`() {
    var stage = SyncStage()
    _ = stage.feed(Self.disk(1_000))
    #expect(stage.server.deadline == nil)
    #expect(stage.feed(.restored([Self.stored(1, 4, age: 0)])) == [.upload(.measure)])
    let due = stage.now.advanced(by: .seconds(300))
    #expect(stage.server.deadline == due)
    stage.now = due.advanced(by: .zero - .nanoseconds(1))
    #expect(stage.server.tick(at: stage.now) == [])
    stage.now = due
    #expect(stage.server.tick(at: due) == [.upload(.measure)])
    #expect(stage.server.deadline == Instant.zero.advanced(by: Uploads.age))
    #expect(stage.feed(Self.disk(99)) == [.upload(.forget(Self.name(1)))])
    #expect(stage.server.deadline == nil)
  }

  // MARK: Bounds in bytes

  @Test(arguments: [(-1, 0), (0, 0), (1, 1)])
  func `the uploads of a user have at most 40 MiB, without the oldest`(
    _ excess: Int, _ removed: Int
  ) {
    var stage = SyncStage()
    let own = (1...10).map { Self.stored($0, 4 * Self.mebibyte, age: 100 - $0) }
    let last = Self.stored(11, 4 * Self.mebibyte - 10, age: 1)
    _ = stage.feed(.restored(own.dropLast() + [last, Self.stored(99, of: "ben", 4, age: 999)]))
    #expect(stage.server.uploads.all.count == 11)
    let effects = stage.ask(1, SyncStage.creation(Self.bytes(10 + excess), length: 20))
    #expect(
      effects.dropLast() == (1...10).prefix(removed).map { .upload(.forget(Self.name($0))) }[...])
    _ = stage.done(1, .written(10 + excess))
    #expect(stage.server.uploads.all.count == 12 - removed)
  }

  @Test(arguments: [(-1, 0), (0, 0), (1, 1)])
  func `all uploads have at most 240 MiB, without the oldest`(_ excess: Int, _ removed: Int) {
    var stage = SyncStage()
    let all = (1...60).map { number in
      let count = 4 * Self.mebibyte - (number == 60 ? 10 : 0)
      return Self.stored(number, of: "user-\(number % 6)", count, age: 100 - number)
    }
    #expect(stage.feed(.restored(all)) == [.upload(.measure)])
    let effects = stage.ask(1, SyncStage.creation(Self.bytes(10 + excess), length: 20))
    #expect(
      effects.dropLast() == (1...60).prefix(removed).map { .upload(.forget(Self.name($0))) }[...])
  }

  @Test func `a piece removes the oldest upload of its user`() {
    var stage = SyncStage()
    let own = (1...10).map { Self.stored($0, 4 * Self.mebibyte, age: 100 - $0) }
    var short = own
    short[0].offset -= 1
    _ = stage.feed(.restored(short))
    let first = SyncStage.call(
      "PATCH", [1], offset: short[0].offset, isComplete: false, name: Self.name(1))
    #expect(stage.ask(1, first).count == 1)
    _ = stage.done(1, .written(4 * Self.mebibyte))
    #expect(stage.ask(2, SyncStage.creation([1])).first == .upload(.forget(Self.name(2))))
  }

  @Test func `uploads of an earlier process beyond the bounds are removed`() {
    var stage = SyncStage()
    let own = (1...11).map { Self.stored($0, 4 * Self.mebibyte, age: $0) }
    #expect(stage.feed(.restored(own)) == [.upload(.forget(Self.name(11))), .upload(.measure)])
    var other = SyncStage()
    let all = (1...61).map {
      Self.stored($0, of: "user-\($0 % 7)", 4 * Self.mebibyte, age: $0)
    }
    #expect(other.feed(.restored(all)) == [.upload(.forget(Self.name(61))), .upload(.measure)])
  }

  // MARK: The health

  @Test func `a store that failed is checked until it works`() {
    var stage = SyncStage()
    _ = stage.ask(1, SyncCall("POST", .refresh))
    _ = stage.done(1, .failed(.full(detail: "x")))
    for (token, outcome) in [(2, SyncOutcome.failed(.full(detail: "x"))), (3, .checked)] {
      #expect(stage.server.serviceHealth != .ok)
      let due = stage.now.advanced(by: .seconds(30))
      #expect(stage.server.deadline == due)
      #expect(stage.server.tick(at: due.advanced(by: .zero - .nanoseconds(1))) == [])
      stage.now = due
      #expect(stage.server.tick(at: due) == [.check(StoreToken(UInt64(token)))])
      #expect(stage.server.deadline == nil)
      #expect(stage.done(UInt64(token), outcome) == [])
    }
    #expect(stage.server.serviceHealth == .ok)
    #expect(stage.server.deadline == nil)
  }

  @Test func `a damaged store is damaged until something is stored`() {
    var stage = SyncStage()
    _ = stage.ask(1, SyncCall("POST", .sync))
    _ = stage.done(1, .failed(.corrupt(detail: "x")))
    stage.now = stage.now.advanced(by: .seconds(30))
    _ = stage.server.tick(at: stage.now)
    _ = stage.done(2, .checked)
    #expect(stage.server.serviceHealth == .failing(reason: "the sync store is damaged"))
    _ = stage.ask(2, SyncCall("POST", .sync))
    _ = stage.done(3, .stored(IngestCounts()))
    #expect(stage.server.serviceHealth == .ok)
  }
}
