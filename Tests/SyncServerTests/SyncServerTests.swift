import HoldfastCore
import HoldfastServerFixtures
import HoldfastSyncData
import HoldfastTestKit
import Testing

@testable import HoldfastServerParts
@testable import HoldfastSyncServer

extension SyncAnswer {
  fileprivate var text: String { String(decoding: body, as: UTF8.self) }
}

@Suite struct SyncServerTests {
  private static let post = SyncCall("POST", .sync, body: [1, 2])

  @Test func `a batch is passed to the store, and the counts are the answer`() {
    var stage = SyncStage()
    #expect(
      stage.ask(1, Self.post)
        == [.ingest(StoreToken(1), SyncStage.ann, body: [1, 2], isGzip: false)])
    let counts = IngestCounts(records: 3)
    var answer = SyncAnswer(200, counts.bytes)
    answer.listsEncodings = true
    #expect(stage.done(1, .stored(counts)) == [.answer(RequestID(1), answer)])
    #expect(answer.headers.contains { $0 == ("Accept-Encoding", "gzip") })
  }

  @Test(
    arguments: [
      (nil, false), ("identity", false), ("gzip", true), ("GZIP", true), ("x-gzip", true),
      ("zstd", nil), ("gzip, gzip", nil),
    ] as [(String?, Bool?)])
  func `a body may be compressed with gzip`(encoding: String?, isGzip: Bool?) {
    var stage = SyncStage()
    let effects = stage.ask(1, SyncCall("POST", .sync, encoding: encoding))
    if let isGzip {
      #expect(
        effects == [.ingest(StoreToken(1), SyncStage.ann, body: [], isGzip: isGzip)])
    } else {
      #expect(SyncStage.answer(effects)?.status == 415)
      #expect(SyncStage.answer(effects)?.listsEncodings == true)
    }
  }

  @Test func `the dashboard needs no secret and may contact only its own server`() {
    var stage = SyncStage()
    let answer = SyncStage.answer(stage.ask(1, SyncCall("GET", .dashboard), user: nil))
    #expect(answer?.status == 200)
    #expect(answer?.headers.contains { $0.0 == "Accept-Encoding" } == false)
    #expect(answer?.text.hasPrefix("<!doctype html>") == true)
    let policy = answer?.headers.first { $0.0 == "Content-Security-Policy" }?.1
    #expect(policy?.hasPrefix("default-src 'none';") == true)
    #expect(answer?.headers.contains { $0 == ("X-Content-Type-Options", "nosniff") } == true)
    let posted = SyncStage.answer(stage.ask(2, SyncCall("POST", .dashboard), user: nil))
    #expect(posted?.status == 405)
  }

  @Test(arguments: SyncPath.allCases.filter { $0 != .dashboard })
  func `a request without a known secret is refused before anything is read`(path: SyncPath) {
    var stage = SyncStage()
    let method =
      switch path {
      case .sync, .refresh: "POST"
      case .upload: "HEAD"
      case .steps, .heartRate, .sleep, .workouts, .periods, .daily, .summary, .types, .dashboard:
        "GET"
      }
    let answer = SyncStage.answer(stage.ask(1, SyncCall(method, path), user: nil))
    #expect(answer?.status == 401)
    #expect(answer?.text == #"{"error":"Unauthorized"}"#)
    if path == .steps { #expect(answer?.listsEncodings == false) }
    #expect(answer?.headers.contains { $0 == ("WWW-Authenticate", "Bearer") } == true)
  }

  @Test func `a status request needs no secret`() {
    var stage = SyncStage()
    let answer = SyncStage.answer(stage.ask(1, SyncCall("GET", .sync), user: nil))
    #expect(answer?.status == 200)
    #expect(answer?.text == #"{"status":"ok","endpoint":"sync"}"#)
    #expect(answer?.listsEncodings == true)
  }

  @Test func `an authenticated user receives the epoch and the newest time stamp of a phone`() {
    var stage = SyncStage(epoch: "0f")
    var call = SyncCall("GET", .sync)
    call.showsSecret = true
    let answer = SyncStage.answer(stage.ask(1, call))
    #expect(answer?.status == 200)
    #expect(answer?.text == #"{"status":"ok","endpoint":"sync","epoch":"0f","user":"ann"}"#)
    call.deviceID = "phone"
    #expect(
      stage.ask(2, call) == [.stamp(StoreToken(1), SyncStage.ann, device: "phone")])
    let stamp = Timestamp(nanoseconds: 1_768_766_401_000_000_000)
    let stamped = SyncStage.answer(stage.done(1, .stamped(stamp)))
    #expect(stamped?.text.hasSuffix(#""user":"ann","timestamp":"2026-01-18T20:00:01Z"}"#) == true)
    #expect(stamped?.listsEncodings == true)
    let stranger = SyncStage.answer(stage.ask(3, call, user: nil))
    #expect(stranger?.status == 401)
    // A failover of the store lost changes.
    #expect(stage.server.handle(.epoch("1f"), at: .zero) == [])
    call.deviceID = nil
    #expect(SyncStage.answer(stage.ask(4, call))?.text.contains(#""epoch":"1f""#) == true)
  }

  @Test(arguments: SyncPath.allCases.filter { $0 != .dashboard })
  func `answers to phones of authenticated users name the epoch`(path: SyncPath) {
    var stage = SyncStage(epoch: "0f")
    let isOfPhones = [.sync, .refresh, .upload].contains(path)
    let call = SyncCall(path == .upload ? "HEAD" : isOfPhones ? "POST" : "GET", path)
    var effects = stage.ask(1, call)
    if SyncStage.answer(effects) == nil { effects = stage.done(1, .stored(IngestCounts())) }
    let named = SyncStage.answer(effects)?.headers.filter { $0.0 == "Sync-Epoch" }.map(\.1)
    #expect(named == (isOfPhones ? ["0f"] : []))
    let stranger = SyncStage.answer(stage.ask(2, call, user: nil))
    #expect(stranger?.headers.contains { $0.0 == "Sync-Epoch" } == false)
  }

  @Test(arguments: SyncPath.allCases)
  func `other methods are refused with the methods that the route allows`(path: SyncPath) {
    var stage = SyncStage()
    let others = ["PUT", "DELETE", "OPTIONS"].filter { !path.allow.contains($0) }
    #expect(!others.isEmpty)
    for method in others {
      let answer = SyncStage.answer(stage.ask(1, SyncCall(method, path)))
      #expect(answer?.status == 405)
      #expect(answer?.allow == path.allow)
    }
  }

  @Test(
    arguments: [
      (.refused(reason: "no dataType"), 400, "no dataType"), (.tooLong(limit: 9), 413, "9 bytes"),
      (.failed(.full(detail: "/srv/x")), 503, "Nothing was stored"),
      (.failed(.denied(detail: "/srv/x")), 503, "Nothing was stored"),
    ] as [(SyncOutcome, Int, String)])
  func `data that was not stored is refused with the reason`(
    outcome: SyncOutcome, status: Int, text: String
  ) {
    var stage = SyncStage()
    _ = stage.ask(1, Self.post)
    let answer = SyncStage.answer(stage.done(1, outcome))
    #expect(answer?.status == status)
    #expect(answer?.text.contains(text) == true)
    #expect(answer?.text.contains("/srv") == false)
    #expect(answer?.retryAfter == (status == 503 ? .seconds(30) : nil))
  }

  @Test func `a store failure shows in the health until the store works again`() {
    var stage = SyncStage()
    _ = stage.ask(1, Self.post)
    _ = stage.done(1, .failed(.full(detail: "")))
    #expect(
      stage.server.serviceHealth == .failing(reason: "the disk of the sync store is full"))
    _ = stage.ask(2, SyncCall("POST", .refresh))
    stage.now = Instant(nanoseconds: 12_000_000)
    let answer = SyncStage.answer(stage.done(2, .checked))
    #expect(answer?.text == #"{"success":true,"refreshedIn":12}"#)
    #expect(stage.server.serviceHealth == .ok)
  }

  @Test func `requests beyond the limit are refused`() {
    var stage = SyncStage { $0.maxRequests = 2 }
    #expect(SyncStage.answer(stage.ask(1, Self.post)) == nil)
    #expect(SyncStage.answer(stage.ask(2, Self.post)) == nil)
    let busy = SyncStage.answer(stage.ask(3, Self.post))
    #expect(busy?.status == 503)
    #expect(busy?.retryAfter == .seconds(2))
    // Work whose client has disconnected counts as well.
    _ = stage.feed(.abandoned(RequestID(1)))
    #expect(SyncStage.answer(stage.ask(4, Self.post))?.status == 503)
    #expect(stage.done(1, .stored(IngestCounts())) == [])
    #expect(SyncStage.answer(stage.ask(5, Self.post)) == nil)
  }

  @Test(
    arguments: [
      (nil, nil, SyncSpan()), ("2026-01-02", nil, SyncSpan(first: day(20_455))),
      (nil, "1970-01-02", SyncSpan(last: day(1))), ("2026-1-2", nil, nil), ("", nil, nil),
      ("2026-01-02T00:00", nil, nil), (nil, "2026-02-30", nil),
    ] as [(String?, String?, SyncSpan?)])
  func `the days of a report are read as dates`(from: String?, to: String?, span: SyncSpan?) {
    var stage = SyncStage()
    let effects = stage.ask(1, SyncCall("GET", .steps, from: from, to: to))
    if let span {
      #expect(
        effects == [.report(StoreToken(1), SyncStage.ann, .steps, span, wall: Stage.dawn)])
      #expect(SyncStage.answer(stage.done(1, .reported([7])))?.body == [7])
    } else {
      #expect(SyncStage.answer(effects)?.status == 400)
    }
  }

  @Test(arguments: [
    ("HKQuantityTypeIdentifierBodyMass", true), (nil, false), ("", false),
    (String(repeating: "x", count: 200), true), (String(repeating: "x", count: 201), false),
  ])
  func `the values of a type by day need its name`(type: String?, isAnswered: Bool) {
    var stage = SyncStage()
    var call = SyncCall("GET", .daily, from: "1970-01-02")
    call.type = type
    let effects = stage.ask(1, call)
    var span = SyncSpan(first: Self.day(1))
    span.type = type
    if isAnswered {
      #expect(
        effects == [.report(StoreToken(1), SyncStage.ann, .daily, span, wall: Stage.dawn)])
    } else {
      #expect(SyncStage.answer(effects)?.status == 400)
      #expect(SyncStage.answer(effects)?.text.contains("type is needed") == true)
    }
  }

  @Test func `a summary counts the unfinished uploads of its user`() {
    var stage = SyncStage()
    let uploads = ["ann", "ann", "ben"].enumerated().map { index, user in
      StoredUpload(
        id: UUID128(high: 1, low: UInt64(index)),
        record: UploadRecord(user: user, length: 9, isGzip: false), offset: 3, age: .zero)
    }
    _ = stage.feed(.restored(uploads))
    var span = SyncSpan()
    span.unfinished = 2
    #expect(
      stage.ask(1, SyncCall("GET", .summary))
        == [.report(StoreToken(1), SyncStage.ann, .summary, span, wall: Stage.dawn)])
  }

  private static func day(_ number: Int64) -> CivilTime {
    CivilTime(nanoseconds: number * 86_400_000_000_000)
  }

  @Test func `a drain refuses new requests and waits for work in progress`() {
    var stage = SyncStage()
    _ = stage.ask(1, Self.post)
    #expect(stage.feed(SyncServer.drain(within: .seconds(5))) == [])
    let late = SyncStage.answer(stage.ask(2, Self.post))
    #expect(late?.status == 503)
    #expect(late?.retryAfter == .seconds(5))
    #expect(stage.server.serviceHealth == .draining && !stage.server.isFinished)
    #expect(stage.done(1, .stored(IngestCounts())).last == .finished)
    #expect(stage.server.isFinished && stage.server.deadline == nil)
  }

  @Test func `a drain ends after 10 s even if the store does not answer`() {
    var stage = SyncStage()
    _ = stage.ask(1, Self.post)
    _ = stage.feed(SyncServer.drain(within: .seconds(5)))
    let end = Instant(nanoseconds: 10_000_000_000)
    #expect(stage.server.deadline == end)
    #expect(stage.server.tick(at: Instant(nanoseconds: 9_999_999_999)) == [])
    let effects = stage.server.tick(at: end)
    #expect(effects.count == 2 && effects.last == .finished)
    #expect(stage.server.isFinished)
  }

  @Test func `a drain without work ends at once`() {
    var stage = SyncStage()
    #expect(stage.feed(SyncServer.drain(within: .zero)) == [.finished])
  }

  @Test func `web pages of other origins and foreign hosts are refused`() {
    var stage = SyncStage {
      $0.originPolicy.isLocal = true
      $0.originPolicy.origins = ["https://app.example"]
    }
    let post = { (host: String?, origin: String?) in
      SyncCall("POST", .sync, host: host, origin: origin)
    }
    #expect(SyncStage.answer(stage.ask(1, post("evil.example", nil)))?.status == 421)
    let foreign = SyncStage.answer(stage.ask(2, post("127.0.0.1:80", "https://evil.example")))
    #expect(foreign?.status == 403 && foreign?.origin == nil)
    _ = stage.ask(3, post("127.0.0.1", "https://app.example"))
    let answer = SyncStage.answer(stage.done(1, .stored(IngestCounts())))
    #expect(
      answer?.headers.contains { $0 == ("Access-Control-Allow-Origin", "https://app.example") }
        == true)
  }

  @Test func `a preflight request receives the allowed headers`() {
    var stage = SyncStage { $0.originPolicy.origins = ["https://app.example"] }
    let call = SyncCall("OPTIONS", .sync, origin: "https://app.example")
    let answer = SyncStage.answer(stage.ask(1, call, user: nil))
    #expect(answer?.status == 204 && answer?.body == [])
    #expect(
      answer?.headers.contains { $0.0 == "Access-Control-Allow-Headers" } == true)
  }

  @Test func `reports metrics of requests, batches and failures`() {
    var stage = SyncStage()
    _ = stage.ask(1, Self.post)
    let counts = IngestCounts(records: 3, workouts: 2, skippedDuplicates: 4, refused: 6)
    _ = stage.done(1, .stored(counts))
    _ = stage.ask(2, Self.post, user: nil)
    _ = stage.ask(3, Self.post)
    _ = stage.done(2, .failed(.full(detail: "")))
    _ = stage.ask(4, Self.post)
    var page = MetricsPage()
    stage.server.report(to: &page)
    for line in [
      "holdfast_sync_waiting 1", #"holdfast_refusals_total{reason="unauthorized"} 1"#,
      #"holdfast_refusals_total{reason="store"} 1"#,
      "holdfast_sync_batches_total 1", "holdfast_sync_samples_total 5",
      "holdfast_sync_duplicates_total 4", "holdfast_sync_refused_samples_total 6",
      "holdfast_sync_auth_failures_total 1",
      "holdfast_sync_store_failures_total 1",
    ] {
      #expect(page.text.contains(line + "\n"))
    }
  }

  private static let plants: [PlantedFault<SyncServer>] = [
    ("server frame: no effect is pending between two inputs", { $0.frame.emit(.finished) }),
    ("sync: the work under way is bounded", { _ = $0.work.ask(RequestID(9)) }),
    ("sync: only requests whose work goes on wait", { $0.work.removeAll() }),
    (
      "sync: a drain ends when nothing is left to wait for",
      { server in
        _ = server.frame.drain(within: .zero, grace: .zero, limit: .zero)
        server.frame.finish()
      }
    ),
    (
      "sync: a request waits for its own work",
      { server in
        server.work.removeAll()
        _ = server.work.ask(RequestID(9))
      }
    ),
    (
      "uploads: the uploads that are kept are bounded",
      { for low in 1...257 { $0.uploads.all[UUID128(high: 2, low: UInt64(low))] = upload } }
    ),
    (
      "uploads: a request whose body comes has its upload",
      { $0.uploads.announced[RequestID(1)] = name }
    ),
    (
      "uploads: an upload waits for what is under way",
      { $0.uploads.all[name]?.busy = StoreToken(7) }
    ),
    ("uploads: no upload is longer than was announced", { $0.uploads.all[name]?.offset = 11 }),
  ]
  private static let name = UUID128(high: 1, low: 1)
  private static let upload = Uploads.Upload(
    record: UploadRecord(user: "ann", length: 10, isGzip: false),
    expires: Instant(nanoseconds: 1))

  @Test func `detects each broken invariant`() {
    var stage = SyncStage { $0.maxRequests = 2 }
    _ = stage.ask(1, Self.post)
    _ = stage.ask(2, Self.post)
    stage.server.uploads.all[Self.name] = Self.upload
    #expect(unnoticed(Self.plants, in: stage.server) == [])
  }

  @Test func `256 uploads of their announced length break no invariant`() {
    var upload = Self.upload
    upload.offset = 10
    var stage = SyncStage()
    for low in 1...256 { stage.server.uploads.all[UUID128(high: 2, low: UInt64(low))] = upload }
    #expect(stage.server.brokenInvariants(.thorough) == [])
  }
}
