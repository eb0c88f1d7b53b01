import HoldfastCore
import HoldfastSyncData
import HoldfastUploads
import Testing

@testable import HoldfastServerParts
@testable import HoldfastSyncServer

/// Tests for requests whose bodies are interrupted, and for requests that wait for an upload.
@Suite struct SyncCutTests {
  @Test(arguments: [UploadDialect.iOS, .current])
  func `a client receives the location of its upload, and interrupted bytes are stored`(
    dialect: UploadDialect
  ) {
    var stage = SyncStage()
    var call = SyncStage.creation(isComplete: true, dialect)
    let effects = stage.feed(.announced(RequestID(1), call, user: SyncStage.ann))
    guard case .upload(.inform(RequestID(1), let fields))? = effects.first else {
      Issue.record("the client receives no upload information: \(effects)")
      return
    }
    #expect(fields.prefix(dialect.fields.count) == dialect.fields[...])
    #expect(fields.contains(UploadField("Location", SyncUploadsTests.location)))
    call.body = [1, 2, 3]
    #expect(
      stage.feed(.cut(RequestID(1), call))
        == [
          .upload(.write(StoreToken(1), SyncStage.name, SyncUploadsTests.record, at: 0, [1, 2, 3]))
        ])
    #expect(stage.done(1, .written(3)) == [])
    let head = stage.ask(2, SyncStage.call("HEAD", [], dialect)).answer
    #expect(head?.field("Upload-Offset") == "3")
  }

  @Test func `a whole payload in one request is a batch and leaves no upload`() {
    var stage = SyncStage()
    var call = SyncStage.creation(isComplete: true)
    _ = stage.feed(.announced(RequestID(1), call, user: SyncStage.ann))
    call.body = [1, 2]
    #expect(
      stage.ask(1, call)
        == [.ingest(StoreToken(1), SyncStage.ann, body: [1, 2], isGzip: false)])
    let answer = stage.done(1, .stored(IngestCounts())).answer
    #expect(answer?.status == 200)
    #expect(answer?.field("Upload-Complete") == "?1")
    #expect(stage.ask(2, SyncStage.call("HEAD")).answer?.status == 404)
  }

  @Test func `a request about an upload interrupts the body in transfer and waits for it`() {
    var stage = SyncStage.begun(2)
    var patch = SyncStage.call("PATCH", offset: 2, isComplete: true)
    #expect(stage.feed(.announced(RequestID(1), patch, user: SyncStage.ann)) == [])
    #expect(stage.ask(2, SyncStage.call("HEAD")) == [.upload(.interrupt(RequestID(1)))])
    patch.body = [5, 6]
    let expected = stage.feed(.cut(RequestID(1), patch))
    #expect(
      expected == [
        .upload(.write(StoreToken(2), SyncStage.name, SyncUploadsTests.record, at: 2, [5, 6]))
      ])
    #expect(stage.done(2, .written(4)).answer?.field("Upload-Offset") == "4")
  }

  @Test func `a body that arrives during a store write is not waited for`() {
    var stage = SyncStage.begun(2)
    _ = stage.ask(1, SyncStage.call("PATCH", [1], offset: 2, isComplete: false))
    let patch = SyncStage.call("PATCH", offset: 3, isComplete: true)
    #expect(stage.feed(.announced(RequestID(2), patch, user: SyncStage.ann)) == [])
    #expect(stage.ask(3, SyncStage.call("HEAD")) == [])
    #expect(stage.done(2, .written(3)).answers.map(\.status) == [204, 204])
  }

  @Test func `limits how many requests wait for an upload`() {
    var stage = SyncStage.begun(2)
    _ = stage.ask(1, SyncStage.call("PATCH", [1], offset: 2, isComplete: false))
    for id in 0..<UInt64(Uploads.mostWaiting) {
      #expect(stage.ask(10 + id, SyncStage.call("HEAD")) == [])
    }
    #expect(stage.ask(20, SyncStage.call("HEAD")).answer?.status == 503)
    #expect(
      stage.done(2, .written(3)).answers.map(\.status) == [204]
        + Array(
          repeating: 204, count: Uploads.mostWaiting))
  }

  @Test(arguments: [(62, true), (63, true), (64, false)])
  func `bytes of an interrupted body are stored while the store accepts work`(
    work: Int, isStored: Bool
  ) {
    var stage = SyncStage()
    #expect(stage.server.policy.maxRequests == 64)
    var call = SyncStage.creation(isComplete: true)
    _ = stage.feed(.announced(RequestID(1), call, user: SyncStage.ann))
    for id in 0..<UInt64(work) { _ = stage.ask(10 + id, SyncCall("POST", .refresh)) }
    #expect(stage.server.work.count == work)
    call.body = [1, 2]
    let expected = SyncServer.Effect.upload(
      .write(StoreToken(UInt64(work) + 1), SyncStage.name, SyncUploadsTests.record, at: 0, [1, 2]))
    #expect(stage.feed(.cut(RequestID(1), call)) == (isStored ? [expected] : []))
    #expect((stage.server.uploads.all[SyncStage.name] != nil) == isStored)
  }

  @Test func `the body of an announced request goes to the announced upload`() {
    var stage = SyncStage()
    var call = SyncStage.creation()
    _ = stage.feed(.announced(RequestID(1), call, user: SyncStage.ann))
    (call.body, call.candidate) = ([1, 2], UUID128(high: 7, low: 7))
    #expect(
      stage.ask(1, call)
        == [.upload(.write(StoreToken(1), SyncStage.name, SyncUploadsTests.record, at: 0, [1, 2]))])
    #expect(stage.done(1, .written(2)).answer?.field("Location") == SyncUploadsTests.location)
  }

  @Test func `an announced upload ends when its body is refused`() {
    var stage = SyncStage()
    var call = SyncStage.creation()
    _ = stage.feed(.announced(RequestID(1), call, user: SyncStage.ann))
    call.body = [UInt8](repeating: 1, count: 11)
    #expect(stage.ask(1, call).answer?.status == 400)
    #expect(stage.server.uploads.all == [:])
    #expect(stage.server.deadline == nil)
  }

  @Test func `no upload is announced beyond the limit`() {
    var stage = SyncStage()
    for number in 0...UInt64(Uploads.most) {
      let call = SyncStage.creation(name: UUID128(high: 9, low: number))
      let effects = stage.feed(.announced(RequestID(number), call, user: SyncStage.ann))
      #expect(effects.count == (number < Uploads.most ? 1 : 0))
    }
    #expect(stage.server.uploads.all.count == Uploads.most)
  }

  @Test func `an upload is refused with 503 while the maximum number of bodies arrive`() {
    var stage = SyncStage()
    for number in 0..<UInt64(Uploads.most) {
      let call = SyncStage.creation(name: UUID128(high: 9, low: number))
      _ = stage.feed(.announced(RequestID(number), call, user: SyncStage.ann))
    }
    var busy = SyncAnswer.error(503, "Too busy", retryAfter: .seconds(2))
    busy.listsEncodings = true
    #expect(stage.ask(999, SyncStage.creation([1])) == [.answer(RequestID(999), busy)])
  }

  @Test func `a request that waits for an upload is answered although the bytes were not stored`() {
    var stage = SyncStage()
    _ = stage.ask(1, SyncStage.creation([1]))
    #expect(stage.ask(2, SyncStage.call("HEAD")) == [])
    let answers = stage.done(1, .failed(.full(detail: "no room"))).answers
    #expect(answers.map(\.status) == [503, 204])
    #expect(answers.last?.field("Upload-Offset") == "0")
  }

  @Test func `a request that waits for the last bytes of an upload receives 404`() {
    var stage = SyncStage.begun(2)
    let rest = [UInt8](repeating: 1, count: 8)
    _ = stage.ask(1, SyncStage.call("PATCH", rest, offset: 2, isComplete: true))
    #expect(stage.ask(2, SyncStage.call("HEAD")) == [])
    let answers = stage.done(2, .stored(IngestCounts(records: 1))).answers
    #expect(answers.map(\.status) == [200, 404])
  }

  @Test func `space for an announced upload is freed only once`() {
    var stage = SyncStage()
    func name(_ number: UInt64) -> UUID128 { UUID128(high: 9, low: number) }
    for number in 0..<UInt64(Uploads.mostOfUser) {
      stage.now = Instant(nanoseconds: Int64(number))
      _ = stage.ask(100 + number, SyncStage.creation([1], name: name(number)))
      _ = stage.done(stage.server.work.newest.number, .written(1))
    }
    var call = SyncStage.creation()
    let effects = stage.feed(.announced(RequestID(1), call, user: SyncStage.ann))
    #expect(effects.first == .upload(.forget(name(0))))
    call.body = [1]
    let token = StoreToken(stage.server.work.newest.number + 1)
    #expect(
      stage.ask(1, call)
        == [.upload(.write(token, SyncStage.name, SyncUploadsTests.record, at: 0, [1]))])
  }

  @Test func `interrupted uploads are evicted once a user has more than the limit`() {
    var stage = SyncStage()
    let count = UInt64(Uploads.mostOfUser) + 2
    var calls: [SyncCall] = []
    for number in 0..<count {
      stage.now = Instant(nanoseconds: Int64(number))
      calls.append(SyncStage.creation(name: UUID128(high: 9, low: number)))
      let effects = stage.feed(
        .announced(RequestID(100 + number), calls[Int(number)], user: SyncStage.ann))
      #expect(effects.count == 1)
    }
    for number in 0..<count {
      calls[Int(number)].body = [1]
      _ = stage.feed(.cut(RequestID(100 + number), calls[Int(number)]))
      _ = stage.done(stage.server.work.newest.number, .written(1))
    }
    let effects = stage.ask(1, SyncStage.creation([1]))
    let forgotten = (0...2).map { SyncServer.Effect.upload(.forget(UUID128(high: 9, low: $0))) }
    let token = stage.server.work.newest
    #expect(
      effects == forgotten + [
        .upload(.write(token, SyncStage.name, SyncUploadsTests.record, at: 0, [1]))
      ])
  }

  @Test func `interrupted bytes at a wrong offset are dropped`() {
    var stage = SyncStage.begun(2)
    var patch = SyncStage.call("PATCH", offset: 1, isComplete: true)
    _ = stage.feed(.announced(RequestID(1), patch, user: SyncStage.ann))
    patch.body = [5]
    #expect(stage.feed(.cut(RequestID(1), patch)) == [])
    #expect(stage.ask(2, SyncStage.call("HEAD")).answer?.field("Upload-Offset") == "2")
  }

  @Test(arguments: [(2, true), (3, false)])
  func `an interrupted body is not stored beyond the announced length`(bytes: Int, isStored: Bool) {
    var stage = SyncStage()
    var call = SyncStage.creation(length: 2, isComplete: true)
    _ = stage.feed(.announced(RequestID(1), call, user: SyncStage.ann))
    call.body = [UInt8](repeating: 7, count: bytes)
    let record = UploadRecord(user: "ann", length: 2, isGzip: false)
    let expected = SyncServer.Effect.upload(
      .write(StoreToken(1), SyncStage.name, record, at: 0, call.body))
    #expect(stage.feed(.cut(RequestID(1), call)) == (isStored ? [expected] : []))
    #expect((stage.server.uploads.all[SyncStage.name] != nil) == isStored)
  }

  @Test(arguments: [
    (SyncOutcome.stored(IngestCounts()), 204), (.refused(reason: "It is no batch."), 400),
    (.tooLong(limit: 9), 413),
  ])
  func `the final answer of a tus upload names the protocol version once`(
    outcome: SyncOutcome, status: Int
  ) {
    var stage = SyncStage()
    stage.begin(2, length: 10, .tus)
    let rest = [UInt8](repeating: 9, count: 8)
    _ = stage.ask(1, SyncStage.call("PATCH", rest, offset: 2, isComplete: nil, .tus))
    let answer = stage.done(2, outcome).answer
    #expect(answer?.status == status)
    #expect(answer?.fields.filter { $0.name == "Tus-Resumable" }.map(\.value) == ["1.0.0"])
  }
}
