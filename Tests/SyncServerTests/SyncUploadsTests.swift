import HoldfastCore
import HoldfastServerFixtures
import HoldfastSyncData
import HoldfastTestKit
import HoldfastUploads
import Testing

@testable import HoldfastServerParts
@testable import HoldfastSyncServer

extension SyncStage {
  static let ben = SyncUser("ben")
  static let name = UUID128(high: 1, low: 1)

  /// Creates an upload that holds `count` bytes.
  mutating func begin(
    _ count: Int, length: Int? = 10, _ dialect: UploadDialect = .current
  ) {
    _ = ask(100, Self.creation([UInt8](repeating: 7, count: count), length: length, dialect))
    _ = done(server.work.newest.number, .written(count))
  }

  /// Returns a harness with an upload that holds `count` bytes.
  static func begun(
    _ count: Int, _ configure: (inout SyncServerPolicy) -> Void = { _ in }
  ) -> SyncStage {
    var stage = SyncStage(configure)
    stage.begin(count)
    return stage
  }

  static func creation(
    _ body: [UInt8] = [], length: Int? = 10, isComplete: Bool? = false,
    _ dialect: UploadDialect = .current, name: UUID128 = name
  ) -> SyncCall {
    var call = SyncCall("POST", .sync, body: body)
    call.upload = UploadFields(dialect, length: length, isComplete: isComplete)
    call.candidate = name
    return call
  }

  static func call(
    _ method: String, _ body: [UInt8] = [], offset: Int? = nil, isComplete: Bool? = nil,
    _ dialect: UploadDialect = .current, name: UUID128 = name
  ) -> SyncCall {
    var call = SyncCall(method, .upload, body: body)
    call.upload = UploadFields(dialect, offset: offset, isComplete: isComplete)
    (call.uploadID, call.mediaType) = (name, dialect.mediaType)
    return call
  }
}

extension [SyncServer.Effect] {
  /// The answers among the effects.
  var answers: [SyncAnswer] {
    compactMap { if case .answer(_, let answer) = $0 { answer } else { nil } }
  }

  var answer: SyncAnswer? { answers.count == 1 ? answers[0] : nil }
}

extension SyncAnswer {
  func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }
}

@Suite struct SyncUploadsTests {
  static let record = UploadRecord(user: "ann", length: 10, isGzip: false)
  static let location = "/api/sync/upload?id=\(SyncStage.name)"

  @Test func `counts the bytes of uploads as they are stored`() {
    var stage = SyncStage.begun(2)
    _ = stage.ask(1, SyncStage.call("PATCH", [1, 2, 3], offset: 2, isComplete: false))
    _ = stage.done(2, .written(5))
    #expect(stage.server.metricsText.contains("holdfast_sync_upload_bytes_total 5\n"))
  }

  @Test func `an upload is created, appended to and completed`() {
    var stage = SyncStage()
    #expect(
      stage.ask(1, SyncStage.creation([1, 2]))
        == [.upload(.write(StoreToken(1), SyncStage.name, Self.record, at: 0, [1, 2]))])
    let created = stage.done(1, .written(2)).answer
    #expect(created?.status == 201)
    #expect(created?.field("Location") == Self.location)
    #expect(created?.field("Upload-Offset") == "2")
    #expect(created?.field("Upload-Complete") == "?0")
    #expect(created?.field("Upload-Limit") == "max-size=4194304, max-age=86400")
    #expect(
      stage.ask(2, SyncStage.call("PATCH", [3], offset: 2, isComplete: false))
        == [.upload(.write(StoreToken(2), SyncStage.name, Self.record, at: 2, [3]))])
    let appended = stage.done(2, .written(3)).answer
    #expect(appended?.status == 204)
    #expect(appended?.field("Upload-Offset") == "3")
    let rest = [UInt8](repeating: 9, count: 7)
    #expect(
      stage.ask(3, SyncStage.call("PATCH", rest, offset: 3, isComplete: true))
        == [.upload(.finish(StoreToken(3), SyncStage.name, Self.record, at: 3, rest))])
    let effects = stage.done(3, .stored(IngestCounts(records: 1)))
    #expect(effects.answer?.status == 200)
    #expect(effects.answer?.field("Upload-Complete") == "?1")
    #expect(effects.contains(.upload(.forget(SyncStage.name))))
    #expect(stage.ask(4, SyncStage.call("HEAD")).answer?.status == 404)
  }

  @Test func `the offset is reported with the length and the limits`() {
    var stage = SyncStage()
    stage.begin(4)
    stage.now = Instant(nanoseconds: 3_600_000_000_000)
    let head = stage.ask(1, SyncStage.call("HEAD")).answer
    #expect(head?.status == 204)
    #expect(head?.field("Upload-Offset") == "4")
    #expect(head?.field("Upload-Length") == "10")
    #expect(head?.field("Upload-Complete") == "?0")
    #expect(head?.field("Upload-Limit") == "max-size=4194304, max-age=82800")
    #expect(head?.headers.contains { $0 == ("Cache-Control", "no-store") } == true)
    let iOS = stage.ask(2, SyncStage.call("HEAD", [], .iOS)).answer
    #expect(iOS?.field("Upload-Incomplete") == "?1")
    let tus = stage.ask(3, SyncStage.call("HEAD", [], .tus)).answer
    #expect(tus?.status == 200)
    #expect(tus?.field("Tus-Resumable") == "1.0.0")
  }

  @Test(arguments: [3, 5])
  func `a wrong offset is a conflict that reports the right one`(offset: Int) {
    var stage = SyncStage()
    stage.begin(4)
    let answer = stage.ask(1, SyncStage.call("PATCH", [1], offset: offset, isComplete: false))
      .answer
    #expect(answer?.status == 409)
    #expect(answer?.field("Upload-Offset") == "4")
    #expect(answer?.field("Upload-Complete") == "?0")
    #expect(stage.ask(2, SyncStage.call("HEAD")).answer?.field("Upload-Offset") == "4")
  }

  @Test func `an upload is visible only to its user`() {
    var stage = SyncStage()
    stage.begin(4)
    for method in ["HEAD", "PATCH", "DELETE"] {
      let call = SyncStage.call(method, [1], offset: 4, isComplete: false)
      #expect(stage.ask(1, call, user: SyncStage.ben).answer?.status == 404)
    }
    #expect(stage.ask(2, SyncStage.call("HEAD")).answer?.status == 204)
  }

  @Test func `more bytes than announced end the upload`() {
    var stage = SyncStage()
    stage.begin(4)
    let seven = [UInt8](repeating: 1, count: 7)
    let effects = stage.ask(1, SyncStage.call("PATCH", seven, offset: 4, isComplete: true))
    #expect(effects.answer?.status == 400)
    #expect(effects.contains(.upload(.forget(SyncStage.name))))
    stage.begin(4)
    let short = stage.ask(2, SyncStage.call("PATCH", [1], offset: 4, isComplete: true))
    #expect(short.answer?.status == 400)
  }

  @Test(arguments: [UploadDialect.current, .tus])
  func `more bytes than announced end the upload even before it is complete`(
    dialect: UploadDialect
  ) {
    var stage = SyncStage()
    stage.begin(4, dialect)
    let seven = [UInt8](repeating: 1, count: 7)
    let call = SyncStage.call("PATCH", seven, offset: 4, isComplete: false, dialect)
    var refusal = SyncAnswer(.inconsistent)
    if dialect == .tus { refusal.fields = dialect.fields }
    #expect(
      stage.ask(1, call) == [.upload(.forget(SyncStage.name)), .answer(RequestID(1), refusal)])
  }

  @Test(arguments: [(10, true, true), (9, true, false), (11, true, false), (11, false, false)])
  func `the announced length cannot change`(length: Int, ends: Bool, isTaken: Bool) {
    var stage = SyncStage()
    stage.begin(4)
    let rest = [UInt8](repeating: 1, count: ends ? length - 4 : 2)
    var call = SyncStage.call("PATCH", rest, offset: 4, isComplete: ends)
    call.upload?.length = length
    #expect(stage.ask(1, call).answer?.status == (isTaken ? nil : 400))
  }

  @Test func `an upload that ends early is refused even if it then announces less`() {
    var stage = SyncStage()
    stage.begin(4)
    var call = SyncStage.call("PATCH", [1, 2], offset: 4, isComplete: true)
    call.upload?.length = 6
    #expect(stage.ask(1, call).answer?.status == 400)
  }

  @Test func `an upload has at most as many bytes as a body`() {
    let most = SyncServerPolicy.maxBodyBytes
    var stage = SyncStage()
    let tooLong = stage.ask(1, SyncStage.creation(length: most + 1)).answer
    #expect(tooLong?.status == 413)
    #expect(tooLong?.field("Upload-Limit")?.hasPrefix("max-size=4194304") == true)
    #expect(stage.ask(2, SyncStage.creation(length: most)).answers.isEmpty)
    _ = stage.done(1, .written(0))
    stage.server.uploads.all[SyncStage.name]?.record.length = nil
    stage.server.uploads.all[SyncStage.name]?.offset = most - 1
    let over = stage.ask(
      3, SyncStage.call("PATCH", [1, 2], offset: most - 1, isComplete: false))
    #expect(over.answer?.status == 413)
  }

  @Test func `an append must name its media type from interop version 6 on`() {
    for (dialect, isDemanded) in [
      (UploadDialect.iOS, false), (.draft(5), false), (.draft(6), true), (.current, true),
      (.tus, true),
    ] {
      var stage = SyncStage()
      stage.begin(4)
      var call = SyncStage.call("PATCH", [1], offset: 4, isComplete: false, dialect)
      call.mediaType = "application/json"
      #expect((stage.ask(1, call).answer?.status == 415) == isDemanded, "\(dialect)")
    }
  }

  @Test func `a tus upload needs a length and is complete with its last byte`() {
    var stage = SyncStage()
    let missing = SyncStage.creation(length: nil, isComplete: nil, .tus)
    #expect(stage.ask(1, missing).answer?.status == 400)
    stage.begin(0, .tus)
    let rest = [UInt8](repeating: 1, count: 10)
    let effects = stage.ask(2, SyncStage.call("PATCH", rest, offset: 0, .tus))
    #expect(effects == [.upload(.finish(StoreToken(2), SyncStage.name, Self.record, at: 0, rest))])
    let answer = stage.done(2, .stored(IngestCounts(records: 1))).answer
    #expect(answer?.status == 204)
    #expect(answer?.field("Upload-Offset") == "10")
    var other = SyncCall("POST", .sync)
    other.speaksOtherTus = true
    let refusal = stage.ask(3, other).answer
    #expect(refusal?.status == 412)
    #expect(refusal?.field("Tus-Version") == "1.0.0")
    // The protocol lets clients of any version request the supported versions.
    var question = SyncCall("OPTIONS", .sync)
    question.speaksOtherTus = true
    #expect(stage.ask(4, question).answer?.status == 204)
  }

  @Test func `every answer to a tus request names the version`() {
    var stage = SyncStage()
    var other = SyncCall("POST", .sync)
    other.speaksOtherTus = true
    var elsewhere = SyncCall("GET", .steps)
    elsewhere.speaksOtherTus = true
    let head = SyncStage.call("HEAD", [], .tus)
    var answers = [
      stage.ask(1, SyncStage.creation(length: nil, isComplete: nil, .tus)).answer,
      stage.ask(2, other).answer, stage.ask(3, head).answer, stage.ask(4, head, user: nil).answer,
      stage.ask(5, SyncStage.call("HEAD", [], .current)).answer, stage.ask(6, elsewhere).answer,
    ]
    _ = stage.feed(.drain(within: .seconds(1)))
    answers.append(stage.ask(7, head).answer)
    #expect(answers.map { $0?.status } == [400, 412, 404, 401, 404, 412, 503])
    #expect(
      answers.map { $0?.fields.filter { $0.name == "Tus-Resumable" }.map(\.value) }
        == [["1.0.0"], ["1.0.0"], ["1.0.0"], ["1.0.0"], [], [], ["1.0.0"]])
  }

  @Test func `OPTIONS describes resumable uploads`() {
    var stage = SyncStage()
    for path in [SyncPath.sync, .upload] {
      let answer = stage.ask(1, SyncCall("OPTIONS", path)).answer
      #expect(answer?.status == 204)
      #expect(answer?.field("Accept-Patch") == "application/partial-upload")
      #expect(answer?.allow == path.allow)
    }
  }

  // MARK: The store, and time

  @Test func `a store failure at completion keeps the bytes`() {
    var stage = SyncStage.begun(2)
    let rest = [UInt8](repeating: 1, count: 8)
    _ = stage.ask(1, SyncStage.call("PATCH", rest, offset: 2, isComplete: true))
    let answer = stage.done(2, .unfinished(10, .full(detail: "no room"))).answer
    #expect(answer?.status == 503)
    #expect(answer?.field("Upload-Complete") == nil)
    #expect(stage.ask(2, SyncStage.call("HEAD")).answer?.field("Upload-Offset") == "10")
    #expect(
      stage.ask(3, SyncStage.call("PATCH", [], offset: 10, isComplete: true))
        == [.upload(.finish(StoreToken(3), SyncStage.name, Self.record, at: 10, []))])
  }

  @Test func `bytes that were not stored do not count in the offset`() {
    var stage = SyncStage.begun(2)
    _ = stage.ask(1, SyncStage.call("PATCH", [1], offset: 2, isComplete: false))
    #expect(stage.done(2, .failed(.full(detail: "no room"))).answer?.status == 503)
    #expect(stage.ask(2, SyncStage.call("HEAD")).answer?.field("Upload-Offset") == "2")
    var fresh = SyncStage()
    _ = fresh.ask(1, SyncStage.creation([1]))
    #expect(fresh.done(1, .failed(.full(detail: "no room"))).answer?.status == 503)
    #expect(fresh.ask(2, SyncStage.call("HEAD")).answer?.status == 404)
  }

  @Test func `an upload ends a day after its last bytes`() {
    var stage = SyncStage.begun(2)
    let day = Uploads.age
    #expect(stage.server.deadline == Instant(nanoseconds: 0).advanced(by: day))
    let before = Instant(nanoseconds: 0).advanced(by: day - .nanoseconds(1))
    #expect(stage.server.tick(at: before) == [])
    #expect(
      stage.server.tick(at: before.advanced(by: .nanoseconds(1))) == [
        .upload(.forget(SyncStage.name))
      ])
    #expect(stage.server.deadline == nil)
  }

  @Test func `uploads of an earlier process continue unless they are too old`() {
    var stage = SyncStage()
    let old = UUID128(high: 2, low: 2)
    let stored = StoredUpload(id: SyncStage.name, record: Self.record, offset: 4, age: .seconds(60))
    var tooOld = stored
    (tooOld.id, tooOld.age) = (old, Uploads.age)
    #expect(stage.feed(.restored([stored, tooOld])) == [.upload(.forget(old)), .upload(.measure)])
    #expect(stage.ask(1, SyncStage.call("HEAD")).answer?.field("Upload-Offset") == "4")
    #expect(
      stage.server.deadline == Instant(nanoseconds: 0).advanced(by: Uploads.age - .seconds(60)))
  }

  @Test func `a user's 17th upload evicts the oldest`() {
    var stage = SyncStage()
    func name(_ number: Int) -> UUID128 { UUID128(high: 9, low: UInt64(number)) }
    for number in 0..<16 {
      stage.now = Instant(nanoseconds: Int64(number))
      _ = stage.ask(UInt64(number), SyncStage.creation([1], name: name(number)))
      _ = stage.done(stage.server.work.newest.number, .written(1))
    }
    #expect(stage.server.uploads.all.count == 16)
    let next = stage.ask(99, SyncStage.creation([1], name: name(99)))
    #expect(next.first == .upload(.forget(name(0))))
    #expect(stage.server.uploads.all.count == 16)
  }

  @Test func `a new upload evicts the oldest of all users at the global limit`() {
    var stage = SyncStage()
    func name(_ number: UInt64) -> UUID128 { UUID128(high: 9, low: number) }
    let record = UploadRecord(user: "ben", length: 10, isGzip: false)
    let stored = (0..<UInt64(Uploads.most)).map { number in
      StoredUpload(id: name(number), record: record, offset: 4, age: .seconds(number))
    }
    #expect(stage.feed(.restored(stored)) == [.upload(.measure)])
    let oldest = name(UInt64(Uploads.most) - 1)
    #expect(
      stage.ask(1, SyncStage.creation([1])) == [
        .upload(.forget(oldest)),
        .upload(.write(StoreToken(1), SyncStage.name, Self.record, at: 0, [1])),
      ])
  }

  @Test func `a drain stores the bytes of interrupted bodies`() {
    var stage = SyncStage.begun(2)
    var patch = SyncStage.call("PATCH", offset: 2, isComplete: true)
    _ = stage.feed(.announced(RequestID(1), patch, user: SyncStage.ann))
    #expect(stage.feed(.drain(within: .seconds(5))) == [.upload(.interrupt(RequestID(1)))])
    patch.body = [5]
    let effects = stage.feed(.cut(RequestID(1), patch))
    #expect(effects == [.upload(.write(StoreToken(2), SyncStage.name, Self.record, at: 2, [5]))])
    #expect(stage.done(2, .written(3)) == [.finished])
  }

  @Test func `DELETE ends an upload`() {
    var stage = SyncStage.begun(2)
    let effects = stage.ask(1, SyncStage.call("DELETE"))
    #expect(effects.answer?.status == 204)
    #expect(effects.contains(.upload(.forget(SyncStage.name))))
    #expect(stage.ask(2, SyncStage.call("DELETE")).answer?.status == 404)
  }

  @Test func `the record of an upload is read back from the beginning of its file`() throws {
    let records = [
      Self.record, UploadRecord(user: "\"\u{1}ä", length: nil, isGzip: true),
    ]
    for record in records {
      let line = record.line
      let found = try #require(UploadRecord.read(line + [1, 10, 2]))
      #expect(found.record == record)
      #expect(found.bytes == line.count)
      #expect(UploadRecord.read(line.dropLast()) == nil)
    }
    #expect(UploadRecord.read(Array("{}\n".utf8)) == nil)
    #expect(UploadRecord.read(Array(repeating: 32, count: 2_048) + [10]) == nil)
  }
}

extension UploadRecord {
  static func read(_ bytes: ArraySlice<UInt8>) -> (UploadRecord, Int)? {
    read(Array(bytes)).map { ($0.record, $0.bytes) }
  }
}
