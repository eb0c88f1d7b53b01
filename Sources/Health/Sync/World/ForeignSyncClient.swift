import HoldfastCore
import HoldfastLinkChecks
import HoldfastServerParts
import HoldfastSyncData
import HoldfastSyncServer
import HoldfastUploads
import HoldfastWorldKernel

/// A foreign client that supports the protocols but was not written for this server.
///
/// It makes valid and invalid requests, and records answers that the protocols do not allow.
struct ForeignSyncClient {
  var backend: SyncServerCopy
  var generator: RandomSource
  /// Descriptions of the wrong answers; at most five.
  private(set) var wrong: [String] = []
  /// The user whose secret the client sends.
  let user = SyncUser("stranger")
  private var lastName: UInt64 = 0
  private let first: SyncServerCopy

  init(_ backend: SyncServerCopy, _ generator: RandomSource) {
    // The server of the run may be draining, and its uploads do not belong to this client. The
    // client therefore uses a new server.
    var backend = backend
    backend.server = SyncSeam.server(backend.defect, epoch: backend.stored.epoch, at: backend.now)
    (self.backend, first, self.generator) = (backend, backend, generator)
  }

  mutating func expect(_ holds: Bool, _ what: @autoclosure () -> String) {
    if !holds, wrong.count < 5 { wrong.append(what()) }
  }

  mutating func number(_ range: ClosedRange<Int>) -> Int {
    Int.random(in: range, using: &generator)
  }

  mutating func happens() -> Bool { generator.next() % 2 == 0 }

  /// Makes a visit that tests one part of the protocols.
  mutating func visit() {
    backend = first
    switch number(0...8) {
    case 0: tryOrigins()
    case 1: tryMethods()
    case 2: tryBatches()
    case 3, 4: tryUpload()
    case 5: tryLimits()
    case 6: tryCuts()
    case 7: tryFormats()
    case _: tryEnd()
    }
  }

  // Requests.

  static let foreign = "http://elsewhere.example"

  func call(
    _ method: String, _ path: SyncPath, body: [UInt8] = [], _ fields: [String: String] = [:],
    id: UUID128? = nil, candidate: UUID128 = UUID128(high: 0, low: 0)
  ) -> SyncReceivedRequest {
    SyncReceivedRequest(
      method: method, path: path, fields: ["host": "localhost:8443"].merging(fields) { $1 },
      query: id.map { ["id": $0.description] } ?? [:], candidate: candidate, body: body)
  }

  mutating func newName() -> UUID128 {
    lastName += 1
    return UUID128(high: 77, low: lastName)
  }

  static func value(_ name: String, of answer: SyncAnswer?) -> String? {
    answer?.headers.first { $0.0.lowercased() == name }?.1
  }

  mutating func expect(
    _ answer: SyncAnswer?, _ status: Int, _ fields: [String: String?], _ what: String
  ) {
    expect(answer?.status == status, "\(what): \(answer?.status ?? 0), and not \(status)")
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
      let found = Self.value(name, of: answer)
      expect(found == value, "\(what): \(name) is \(found ?? "absent"), not \(value ?? "absent")")
    }
  }

  mutating func expect(_ answer: SyncAnswer?, _ status: Int, _ what: String) {
    expect(answer, status, [:], what)
  }

  // Access.

  /// The methods that each path accepts.
  static let takes: [SyncPath: [String]] = [
    .sync: ["GET", "POST", "OPTIONS"], .refresh: ["POST"],
    .upload: ["HEAD", "PATCH", "DELETE", "OPTIONS"], .steps: ["GET"], .heartRate: ["GET"],
    .sleep: ["GET"], .workouts: ["GET"], .periods: ["GET"], .daily: ["GET"],
    .summary: ["GET"], .types: ["GET"], .dashboard: ["GET"],
  ]

  private mutating func tryMethods() {
    for path in SyncPath.allCases {
      let takes = Self.takes[path] ?? []
      for method in ["GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "PUT"] {
        let answer = backend.ask(call(method, path), of: nil)
        let what = "\(method) \(path.rawValue) of nobody"
        if !takes.contains(method) {
          expect(
            answer, 405, ["allow": takes.joined(separator: ", "), "www-authenticate": nil], what)
        } else if method == "OPTIONS" {
          expect(answer, 204, ["tus-version": "1.0.0", "access-control-max-age": nil], what)
        } else if path == .dashboard || (path == .sync && method == "GET") {
          let isSync = path == .sync
          expect(
            answer, 200,
            [
              "accept-encoding": isSync ? "gzip" : nil,
              "x-content-type-options": isSync ? nil : "nosniff",
            ], what)
          expect(answer?.body.isEmpty == false, what + " says nothing")
        } else {
          let coding = path == .sync ? "gzip" : nil
          expect(
            answer, 401,
            ["www-authenticate": "Bearer", "accept-encoding": coding, "retry-after": nil], what)
        }
      }
    }
    let ready = backend.ask(call("GET", .sync), of: nil)
    expect(
      ready?.body == Array(#"{"status":"ok","endpoint":"sync"}"#.utf8), "GET says another thing")
    tryIdentity()
    let refreshed = backend.ask(call("POST", .refresh), of: user)
    expect(refreshed, 200, ["content-type": "application/json"], "refresh")
    expect(
      refreshed?.body == Array(#"{"success":true,"refreshedIn":0}"#.utf8), "refresh says more")
  }

  /// Checks that a request with a known secret returns the user's identity, and that an unknown
  /// secret is refused.
  private mutating func tryIdentity() {
    let secret = ["authorization": "Bearer x"]
    expect(backend.ask(call("GET", .sync, secret), of: nil), 401, "GET with an unknown secret")
    let epoch = backend.stored.epoch
    let known = backend.ask(call("GET", .sync, secret), of: user)
    expect(known, 200, ["sync-epoch": epoch, "accept-encoding": "gzip"], "GET of a known user")
    let dialect = #"{"status":"ok","endpoint":"sync","epoch":"\#(epoch)","user":"stranger"}"#
    expect(known?.body == Array(dialect.utf8), "GET of a known user says another thing")
  }

  private mutating func tryOrigins() {
    for path in SyncPath.allCases {
      let method = Self.takes[path]?.first ?? "GET"
      func ask(_ fields: [String: String], _ other: String? = nil) -> SyncReceivedRequest {
        call(other ?? method, path, fields)
      }
      expect(
        backend.ask(ask(["host": "elsewhere.example"]), of: user), 421,
        ["access-control-allow-origin": nil], "a foreign host")
      let foreign = backend.ask(ask(["origin": Self.foreign]), of: user)
      expect(foreign, 403, ["access-control-allow-origin": nil], "a foreign origin")
      let own = "http://localhost:3000"
      let page = backend.ask(ask(["origin": own]), of: nil)
      expect(
        page, page?.status ?? 0,
        [
          "access-control-allow-origin": path == .dashboard ? nil : own,
          "access-control-max-age": nil,
        ], "a page of this machine at \(path.rawValue)")
      let asked = backend.ask(ask(["origin": own], "OPTIONS"), of: nil)
      expect(
        asked, 204,
        [
          "access-control-allow-origin": own, "access-control-allow-methods": "GET, POST",
          "access-control-max-age": "600", "vary": "Origin",
        ], "a page asks what it may do at \(path.rawValue)")
      let other = backend.ask(ask(["tus-resumable": "0.2.2"]), of: user)
      expect(other, 412, ["tus-version": "1.0.0"], "another tus")
    }
    let named = ["upload-draft-interop-version": "9"]
    expect(backend.ask(call("HEAD", .upload, named), of: user), 400, "an unknown interop version")
    expect(backend.ask(call("HEAD", .upload), of: user), 400, "no protocol")
  }

  // Batches.

  private mutating func tryBatches() {
    let bad = [
      "", "[]", "17", "{", "{}", #"{"dataType":""}"#, #"{"dataType":null}"#,
      #"{"dataType":"x","records":{}}"#, #"{"dataType":"x","deletedUUIDs":[null]}"#,
      #"{"dataType":"x","deletedUUIDs":["1"]}"#, #"{"dataType":"x","timestamp":"2026-01-01"}"#,
      #"{"dataType":"x"} 1"#, #"{"dataType":"x","records":[{"recordType":"a"}]}"#,
      #"{"dataType":"x","workouts":[{"workoutType":"a","sourceName":"b"}]}"#,
      #"{"dataType":"x","records":[{"value":"1"}]}"#,
    ]
    let text = bad[number(0...bad.count - 1)]
    let refused = backend.ask(call("POST", .sync, body: Array(text.utf8)), of: user)
    expect(refused, 400, ["accept-encoding": "gzip", "retry-after": nil], "the batch \(text)")
    expect(refused.flatMap { SyncReply.reason(of: $0.body) } != nil, "a refusal has no reason")
    for (name, status) in [("zstd", 415), ("gzip", 400), ("identity", 200), ("GZIP", 400)] {
      let body = Array(#"{"dataType":"x"}"#.utf8)
      let answer = backend.ask(
        call("POST", .sync, body: body, ["content-encoding": name]), of: user)
      expect(answer, status, ["accept-encoding": "gzip"], "a body in \(name)")
    }
    let batch = ForeignSyncBatch(number(0...5), number(0...3), at: number(0...1 << 30))
    tryBatch(batch)
  }

  private mutating func tryBatch(_ batch: ForeignSyncBatch) {
    let isGzip = happens()
    let body = isGzip ? SyncRequest.packed(batch.body) : batch.body
    let fields = isGzip ? ["content-encoding": "x-gzip"] : [:]
    for (records, workouts, known) in [
      (batch.records, batch.workouts, 0), (0, 0, batch.records + batch.workouts),
    ] {
      let answer = backend.ask(call("POST", .sync, body: body, fields), of: user)
      expect(answer, 200, "a batch")
      let counter = IngestCounts(records: records, workouts: workouts, skippedDuplicates: known)
      expect(
        answer.flatMap { try? IngestCounts.read($0.body) } == counter,
        "\(counter) is told as \(String(decoding: answer?.body ?? [], as: UTF8.self))")
    }
    expect(
      backend.stored.positions(of: user.name).count == batch.records + batch.workouts,
      "samples are missing"
    )
    backend.ask(call("POST", .sync, body: batch.deletion), of: user)
    expect(backend.stored.positions(of: user.name).isEmpty, "deleted samples are there")
    backend.ask(call("POST", .sync, body: body, fields), of: user)
    expect(backend.stored.positions(of: user.name).isEmpty, "an old batch brings samples back")
  }
}

/// A batch in the form in which a foreign client writes it.
struct ForeignSyncBatch {
  let records: Int
  let workouts: Int
  let body: [UInt8]
  /// A batch that deletes all samples of `body`.
  let deletion: [UInt8]

  init(_ records: Int, _ workouts: Int, at second: Int) {
    (self.records, self.workouts) = (records, workouts)
    func uuid(_ number: Int) -> String { UUID128(high: 9, low: UInt64(number)).description }
    func time(_ number: Int) -> String {
      RFC3339.format(Timestamp(nanoseconds: Int64(second + number) * 1_000_000_000))
    }
    let all = (0..<records).map {
      #"{"uuid":"\#(uuid($0))","recordType":"HKQuantityTypeIdentifierStepCount", "value":\#($0),"#
        + #""more":[1,{"a":null}],"sourceName":"x\n","unit":null,"startTime":"\#(time($0))","#
        + #""endTime":"\#(time($0))","metadata":{"a":"b","c":1}}"#
    }
    let runs = (0..<workouts).map {
      #"{"workoutType":"HKWorkoutActivityTypeRunning","sourceName":"x","durationSeconds":1e1,"#
        + #""statistics":{"heartRateAvg":1},"startTime":"\#(time($0))","endTime":"\#(time(60))","#
        + #""uuid":"\#(uuid(100 + $0))","totalDistance":null}"#
    }
    body = Array(
      (#" {"deviceId":null,"dataType":"x","workouts":[\#(runs.joined(separator: ","))],"#
        + #""records":[\#(all.joined(separator: " , "))],"timestamp":"\#(time(0))"}"#).utf8)
    let deleted = (0..<records).map { uuid($0) } + (0..<workouts).map { uuid(100 + $0) }
    let names = deleted.map { #""\#($0)""# }.joined(separator: ",")
    deletion = Array(
      #"{"dataType":"x","deletedUUIDs":[\#(names)],"timestamp":"\#(time(1))"}"#.utf8)
  }
}

// Uploads by a foreign client, with every protocol.
extension ForeignSyncClient {
  /// The header fields of a protocol: an interop version of the draft, or 0 for tus.
  private struct Dialect {
    let version: Int

    /// Returns the header fields of a request.
    ///
    /// Draft 3 states whether an upload is incomplete. Later drafts state whether it is complete.
    func fields(offset: Int? = nil, length: Int? = nil, ends: Bool? = nil) -> [String: String] {
      var fields =
        version == 0
        ? ["tus-resumable": "1.0.0", "content-type": "application/offset+octet-stream"]
        : [
          "upload-draft-interop-version": "\(version)",
          "content-type": "Application/Partial-Upload ; x=1",
        ]
      fields["upload-offset"] = offset.map { "\($0)" }
      fields["upload-length"] = length.map { "\($0)" }
      if let ends, version > 0 { fields[name] = completeness(ends) }
      return fields
    }

    var name: String { version == 3 ? "upload-incomplete" : "upload-complete" }

    func completeness(_ ends: Bool) -> String { ends == (version == 3) ? "?0" : "?1" }

    /// Returns the header fields of an answer about an upload with `offset` bytes.
    func expected(_ offset: Int) -> [String: String?] {
      var fields: [String: String?] = ["upload-offset": "\(offset)"]
      fields["tus-resumable"] = .some(version == 0 ? "1.0.0" : nil)
      fields["upload-draft-interop-version"] = .some(version == 0 ? nil : "\(version)")
      if version > 0 { fields[name] = .some(completeness(false)) }
      return fields
    }
  }

  private static let most = 4_194_304

  private mutating func dialect() -> Dialect {
    Dialect(version: [0, 3, 4, 5, 6, 7, 8][number(0...6)])
  }

  private mutating func create(
    _ dialect: Dialect, _ body: [UInt8], length: Int?, _ more: [String: String] = [:]
  ) -> (id: UUID128, answer: SyncAnswer?) {
    let id = newName()
    let fields = dialect.fields(length: length, ends: false).merging(more) { $1 }
    return (
      id, backend.ask(call("POST", .sync, body: body, fields, candidate: id), of: user)
    )
  }

  private mutating func head(_ dialect: Dialect, _ id: UUID128, _ offset: Int?, _ what: String) {
    let answer = backend.ask(call("HEAD", .upload, dialect.fields(), id: id), of: user)
    if let offset {
      expect(answer, dialect.version == 0 ? 200 : 204, dialect.expected(offset), what)
    } else {
      expect(answer, 404, what)
    }
  }

  mutating func tryUpload() {
    let dialect = dialect()
    let batch = ForeignSyncBatch(number(1...4), number(0...2), at: number(0...1 << 30))
    let isGzip = happens()
    let body = isGzip ? SyncRequest.packed(batch.body) : batch.body
    let length = dialect.version == 0 || happens() ? body.count : nil
    let first = number(0...body.count - 1)
    let coding = isGzip ? ["content-encoding": "gzip"] : [:]
    let (id, created) = create(dialect, Array(body[..<first]), length: length, coding)
    var expected = dialect.expected(first)
    expected["location"] = "/api/sync/upload?id=\(id)"
    expected["upload-limit"] = "max-size=4194304, max-age=86400"
    expect(created, 201, expected, "a creation in \(dialect.version)")
    let seconds = number(1...80_000)
    backend.now = backend.now.advanced(by: .seconds(seconds))
    let state = backend.ask(call("HEAD", .upload, dialect.fields(), id: id), of: user)
    expect(
      state, dialect.version == 0 ? 200 : 204,
      [
        "upload-limit": "max-size=4194304, max-age=\(86_400 - seconds)",
        "upload-length": length.map { "\($0)" }, "cache-control": "no-store",
      ], "the state of an upload")
    refuse(dialect, id, first, length, body.count)
    let middle = number(first...body.count)
    let more = backend.ask(
      call(
        "PATCH", .upload, body: Array(body[first..<middle]),
        dialect.fields(offset: first, ends: false), id: id), of: user)
    if dialect.version > 0 || middle < body.count {
      expect(more, 204, dialect.expected(middle), "a piece")
      finish(dialect, id, Array(body[middle...]), from: middle)
    } else {
      expect(more, 204, ["upload-offset": "\(body.count)"], "the last piece of tus")
    }
    expect(backend.files[id] == nil, "the bytes of a complete upload are there")
    expect(
      backend.stored.positions(of: user.name).count == batch.records + batch.workouts,
      "an upload is not stored")
    head(dialect, id, nil, "a complete upload")
  }

  private mutating func finish(
    _ dialect: Dialect, _ id: UUID128, _ rest: [UInt8], from offset: Int
  ) {
    if happens() {
      backend.failure = .full(detail: "")
      let failed = backend.ask(
        call("PATCH", .upload, body: rest, dialect.fields(offset: offset, ends: true), id: id),
        of: user)
      expect(failed, 503, ["retry-after": "30"], "a full store")
      backend.failure = nil
      let end = offset + rest.count
      head(dialect, id, end, "an upload that could not be stored")
      backend.ask(call("PATCH", .upload, dialect.fields(offset: end, ends: true), id: id), of: user)
      return
    }
    let answer = backend.ask(
      call("PATCH", .upload, body: rest, dialect.fields(offset: offset, ends: true), id: id),
      of: user)
    if dialect.version == 0 {
      expect(answer, 204, ["upload-offset": "\(offset + rest.count)"], "the end of tus")
    } else {
      expect(answer, 200, [dialect.name: dialect.completeness(true)], "the end of an upload")
    }
  }

  /// Makes requests that must be refused without changing anything.
  private mutating func refuse(
    _ dialect: Dialect, _ id: UUID128, _ offset: Int, _ length: Int?, _ size: Int
  ) {
    func patch(_ fields: [String: String], of id: UUID128) -> SyncReceivedRequest {
      call("PATCH", .upload, body: [1], fields, id: id)
    }
    let other = offset + (happens() || offset == 0 ? 1 : -1)
    expect(
      backend.ask(patch(dialect.fields(offset: other, ends: false), of: id), of: user), 409,
      dialect.expected(offset), "another offset")
    expect(backend.ask(patch(dialect.fields(ends: false), of: id), of: user), 400, "no offset")
    for ends in ["?1", "?0"] where dialect.version > 0 {
      var odd = dialect.fields(offset: offset)
      odd["content-type"] = "text/plain"
      odd[dialect.name] = ends
      guard dialect.version >= 6 else { continue }
      expect(backend.ask(patch(odd, of: id), of: user), 415, "another media type")
    }
    let others = SyncUser("another")
    expect(
      backend.ask(patch(dialect.fields(offset: offset, ends: false), of: id), of: others), 404,
      "an upload of another user")
    expect(
      backend.ask(patch(dialect.fields(offset: 0, ends: false), of: newName()), of: user), 404,
      "an unknown upload")
    head(dialect, id, offset, "an upload after refusals")
  }

  // Limits.

  mutating func tryLimits() {
    let dialect = dialect()
    expect(create(dialect, [], length: Self.most + 1).answer, 413, "an upload that is too large")
    let (large, answer) = create(dialect, [], length: Self.most)
    expect(answer, 201, "the largest upload")
    expect(
      backend.ask(call("DELETE", .upload, dialect.fields(), id: large), of: user), 204, "a deletion"
    )
    head(dialect, large, nil, "a deleted upload")
    if dialect.version == 0 {
      expect(create(dialect, [], length: nil).answer, 400, "tus without a length")
    }
    let size = number(2...9)
    expect(
      create(dialect, Array(repeating: 1, count: size + 1), length: size).answer, 400, "too much")
    let (id, _) = create(dialect, [1], length: size)
    let over = call(
      "PATCH", .upload, body: Array(repeating: 1, count: size),
      dialect.fields(offset: 1, ends: happens()), id: id)
    expect(backend.ask(over, of: user), 400, "more bytes than were announced")
    head(dialect, id, nil, "an upload that was too long")
    if dialect.version > 0 {
      let (short, _) = create(dialect, [1], length: size + 2)
      let end = call(
        "PATCH", .upload, body: [1], dialect.fields(offset: 1, ends: true), id: short)
      expect(backend.ask(end, of: user), 400, "fewer bytes than were announced")
    }
    tryRoom(dialect)
    tryOverload(dialect)
  }

  /// Checks that a user has at most 16 uploads, and that a new upload replaces the oldest.
  private mutating func tryRoom(_ dialect: Dialect) {
    var ids: [UUID128] = []
    for _ in 0..<16 {
      backend.now = backend.now.advanced(by: .seconds(1))
      ids.append(create(dialect, [1], length: 5).id)
    }
    head(dialect, ids[0], 1, "the first of 16 uploads")
    backend.now = backend.now.advanced(by: .seconds(1))
    let last = create(dialect, [1], length: 5).id
    head(dialect, ids[0], nil, "the first of 17 uploads")
    head(dialect, ids[1], 1, "the second of 17 uploads")
    head(dialect, last, 1, "the last of 17 uploads")
    let age = Duration.seconds(86_400)
    backend.now = backend.now.advanced(by: age - .nanoseconds(1))
    backend.tick()
    head(dialect, last, 1, "an upload of almost a day")
    head(dialect, ids[15], nil, "an upload of more than a day")
    expect(backend.server.deadline == backend.now.advanced(by: .nanoseconds(1)), "no deadline")
    backend.now = backend.now.advanced(by: .nanoseconds(1))
    backend.tick()
    head(dialect, last, nil, "an upload of a day")
    expect(backend.files.isEmpty, "old uploads are there")
  }

  /// Checks that 64 requests can wait for the store, and 4 of them for the same upload.
  private mutating func tryOverload(_ dialect: Dialect) {
    let (id, _) = create(dialect, [1], length: 9)
    backend.holds = true
    let piece = call(
      "PATCH", .upload, body: [2], dialect.fields(offset: 1, ends: false), id: id)
    expect(backend.ask(piece, of: user) == nil, "an answer before the bytes are stored")
    let waiting = (0..<5).map { _ in backend.newRequest() }
    for request in waiting {
      backend.ask(call("HEAD", .upload, dialect.fields(), id: id), of: user, as: request)
    }
    expect(backend.answers[waiting[3]] == nil, "the fourth does not wait")
    expect(backend.answers[waiting[4]], 503, ["retry-after": "2"], "the fifth that waits")
    for _ in 0..<62 { backend.ask(call("POST", .refresh), of: user) }
    expect(backend.ask(call("POST", .refresh), of: user) == nil, "the last of 64 is refused")
    expect(
      backend.ask(call("POST", .refresh), of: user), 503, ["retry-after": "2"], "too many wait")
    backend.release()
    for request in waiting.prefix(4) {
      let status = dialect.version == 0 ? 200 : 204
      expect(backend.answers[request], status, dialect.expected(2), "one that waited")
    }
    expect(backend.ask(call("POST", .refresh), of: user), 200, "a request after the crowd")
  }

  // Interrupted bodies, and the drain.

  mutating func tryCuts() {
    let dialect = Dialect(version: number(3...8))
    let (id, request) = (newName(), backend.newRequest())
    let size = number(2...40)
    let whole = Array(repeating: UInt8(7), count: size)
    var fields = dialect.fields(length: size, ends: happens())
    let head = call("POST", .sync, fields, candidate: id)
    backend.feed(.announced(request, head, user: nil))
    expect(backend.informed.isEmpty, "nobody is told of an upload")
    backend.feed(.announced(request, head, user: user))
    expect(
      backend.informed[request]?.value(of: "location") == "/api/sync/upload?id=\(id)",
      "a client is not told where its upload goes on")
    let came = number(1...size - 1)
    var cut = head
    cut.body = Array(whole[..<came])
    backend.feed(.cut(request, cut))
    self.head(dialect, id, came, "an upload that was cut")
    fields = dialect.fields(offset: came, ends: true)
    let second = backend.newRequest()
    backend.feed(.announced(second, call("PATCH", .upload, fields, id: id), user: user))
    let asked = backend.newRequest()
    backend.ask(call("HEAD", .upload, dialect.fields(), id: id), of: user, as: asked)
    expect(backend.answers[asked] == nil, "the offset is told while bytes come")
    expect(backend.interrupted == [second], "the body that comes is not ended")
    let isRight = happens()
    var rest = call(
      "PATCH", .upload, dialect.fields(offset: isRight ? came : came + 1, ends: true), id: id)
    rest.body = [1]
    backend.feed(.cut(second, rest))
    let end = isRight ? came + 1 : came
    expect(backend.answers[asked], 204, dialect.expected(end), "the offset behind a cut")
    // If no bytes of a body arrived, there is no upload.
    let (empty, third) = (newName(), backend.newRequest())
    let none = call("POST", .sync, dialect.fields(length: 5, ends: true), candidate: empty)
    backend.feed(.announced(third, none, user: user))
    backend.feed(.cut(third, none))
    self.head(dialect, empty, nil, "an upload without bytes")
    tryRestore(dialect)
  }

  /// Checks that uploads of an earlier process resume, based on the record lines of their files.
  private mutating func tryRestore(_ dialect: Dialect) {
    let record = UploadRecord(
      user: "a\"\n", length: happens() ? number(9...Self.most) : nil, isGzip: happens())
    let found = UploadRecord.read(record.line + [1, 2])
    expect(found?.record == record, "\(record) is read as \(found.map { "\($0)" } ?? "nothing")")
    expect(found?.bytes == record.line.count, "the line of an upload has another length")
    let owner = SyncUser(record.user)
    let (young, old) = (newName(), newName())
    let age = Duration.seconds(86_400)
    backend.feed(
      .other(
        .restored([
          StoredUpload(id: old, record: record, offset: 9, age: age),
          StoredUpload(id: young, record: record, offset: 9, age: age - .seconds(5)),
        ])))
    let state = backend.ask(call("HEAD", .upload, dialect.fields(), id: young), of: owner)
    expect(state, 204, ["upload-limit": "max-size=4194304, max-age=5"], "a restored upload")
    let expired = backend.ask(call("HEAD", .upload, dialect.fields(), id: old), of: owner)
    expect(expired, 404, "a restored upload of a day")
  }

  mutating func tryEnd() {
    let window = Duration.seconds(number(1...9))
    let dialect = dialect()
    let (id, _) = create(dialect, [1], length: 9)
    let request = backend.newRequest()
    backend.feed(
      .announced(
        request, call("PATCH", .upload, dialect.fields(offset: 1, ends: false), id: id), user: user)
    )
    backend.holds = true
    let late = backend.newRequest()
    backend.ask(call("POST", .refresh), of: user, as: late)
    backend.feed(.other(.drain(within: window)))
    expect(backend.interrupted == [request], "a body is waited for at the end")
    let seconds = "\(window.components.seconds)"
    expect(
      backend.ask(call("POST", .refresh), of: user), 503, ["retry-after": seconds], "at the end")
    expect(!backend.isFinished, "the end comes before the last answer")
    var cut = call("PATCH", .upload, dialect.fields(offset: 1, ends: false), id: id)
    cut.body = [2, 3]
    backend.feed(.cut(request, cut))
    backend.release()
    expect(backend.answers[late], 200, "a request from before the end")
    expect(backend.files[id] == [1, 2, 3], "what came at the end is lost")
    expect(backend.isFinished, "the end does not come")
  }
}

// The syntax of the protocols: offers, tickets, locations and dates.
extension ForeignSyncClient {
  mutating func tryFormats() {
    tryOffers()
    tryTickets()
    tryLocations()
    let odd = ["2026-1-31", "2026-02-30", "2026-01-31T00:00", "", "today", "2026-01-31Z"]
    for path in [SyncPath.steps, .heartRate, .sleep, .workouts, .periods, .daily, .summary, .types]
    {
      var call = call("GET", path)
      let date = odd[number(0...odd.count - 1)]
      call.query[happens() ? "from" : "to"] = date
      expect(backend.ask(call, of: user), 400, "the date \(date)")
    }
  }

  private mutating func expectOffer(_ fields: [String: String], _ offer: UploadOffer?) {
    let found = UploadOffer { fields[$0.lowercased()] }
    expect(found == offer, "\(fields) offers \(found.map { "\($0)" } ?? "nothing")")
  }

  private mutating func tryOffers() {
    let (size, append, version) = (number(0...1 << 30), number(1...1 << 20), number(0...12))
    let limits = ["max-append-size=\(append);x", "max-age=5", "odd", "max-size= \(size)"]
    let limit = (happens() ? limits : limits.reversed()).joined(separator: " ,")
    let tus = [
      "tus-version": "0.2.1 , 1.0.0", "tus-extension": "termination,\tcreation",
      "tus-max-size": "\(size)",
    ]
    let named = ["upload-draft-interop-version": "\(version)", "upload-limit": limit]
    let draft = UploadOffer(.draft(version), maxSize: size, maxAppend: append)
    let isKnown = 3...8 ~= version
    expectOffer(named, isKnown ? draft : nil)
    expectOffer(
      named.merging(tus) { $1 }, isKnown ? draft : UploadOffer(.tus, maxSize: size))
    expectOffer(
      ["accept-patch": "text/plain, Application/Partial-Upload;q=1"], UploadOffer(.draft(8)))
    expectOffer(["accept-patch": "text/plain"], nil)
    expectOffer(tus.filter { $0.key != "tus-extension" }, nil)
    expectOffer(tus.merging(["tus-version": "2.0.0"]) { $1 }, nil)
    expectOffer(
      tus.merging(["tus-max-size": "-\(size)"]) { $1 }, UploadOffer(.tus))
    let digits = String(of: "9", count: number(14...16))
    expectOffer(
      tus.merging(["tus-max-size": digits]) { $1 },
      UploadOffer(.tus, maxSize: digits.utf8.count < 16 ? Int(digits) : nil))
  }

  private mutating func tryTickets() {
    let bytes = (0...number(1...60)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    let isGzip = happens()
    let all = [UploadDialect.tus] + UploadDialect.versions.map { .draft($0) }
    let dialect = all[number(0...all.count - 1)]
    let ticket = UploadTicket(
      dialect, url: "http://a/\"\(number(0...9))", of: bytes, isGzip: isGzip)
    let read = try? UploadTicket.read(ticket.bytes)
    expect(read == ticket, "a ticket is read as \(read.map { "\($0)" } ?? "nothing")")
    expect(ticket.isFor(bytes, isGzip: isGzip), "a ticket is not for its own bytes")
    expect(!ticket.isFor(bytes, isGzip: !isGzip), "a ticket is for another coding")
    expect(!ticket.isFor(bytes + [0], isGzip: isGzip), "a ticket is for more bytes")
    var other = bytes
    other[number(0...bytes.count - 1)] ^= UInt8(1 << number(0...7))
    expect(!ticket.isFor(other, isGzip: isGzip), "a ticket is for other bytes")
    for odd in ["", "{}", #"{"protocol":"9","url":"a","size":1,"gzip":true,"sum":"1"}"#] {
      expect((try? UploadTicket.read(Array(odd.utf8))) == nil, "\(odd) is a ticket")
    }
  }

  private mutating func tryLocations() {
    let path = "/u?\(number(0...99))"
    let url = "https://a.example:8443/api/sync"
    let most = String(of: "a", count: 2_047)
    let places: [(String, String?)] = [
      (path, "https://a.example:8443" + path),
      ("https://a.example:8443" + path, "https://a.example:8443" + path),
      ("https://a.example" + path, nil), ("//a.example:8443" + path, nil), ("u", nil), ("", nil),
      ("/a b", nil), ("/\\b", nil), ("/\u{7F}", nil),
      ("/" + most, "https://a.example:8443/" + most),
      ("/a" + most, nil), ("http://a.example:8443" + path, nil),
    ]
    for (location, place) in places {
      let reply = UploadReply(201, .tus, of: url) { $0 == "Location" ? location : nil }
      expect(reply.url == place, "the place \(location.prefix(40)) is \(reply.url ?? "none")")
    }
  }
}
