import LinkCore
import LinkServerCore
import LinkWire

/// A client of another make, which knows the protocols and not this server: it makes odd requests
/// and right ones, and notes the answers that the protocols do not allow.
struct SyncStranger {
  var desk: SyncDesk
  var chance: Chance
  /// What was answered wrongly.
  private(set) var wrong: [String] = []
  /// Whose secret it shows.
  let user = SyncUser("stranger")
  private var lastName: UInt64 = 0
  private let first: SyncDesk

  init(_ desk: SyncDesk, _ chance: Chance) {
    // The server of the run may be at its end, and its uploads are not the stranger's.
    var desk = desk
    desk.server = SyncSeam.server(desk.defect, epoch: desk.kept.epoch, at: desk.now)
    (self.desk, first, self.chance) = (desk, desk, chance)
  }

  mutating func expect(_ holds: Bool, _ what: @autoclosure () -> String) {
    if !holds, wrong.count < 5 { wrong.append(what()) }
  }

  mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &chance) }

  mutating func happens() -> Bool { chance.next() % 2 == 0 }

  /// Makes one visit.
  mutating func visit() {
    desk = first
    switch number(0...8) {
    case 0: tryDoors()
    case 1: tryMethods()
    case 2: tryBatches()
    case 3, 4: tryUpload()
    case 5: tryLimits()
    case 6: tryCuts()
    case 7: tryWords()
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

  // Doors.

  /// What each path takes, and whether it asks for a secret.
  static let takes: [SyncPath: [String]] = [
    .sync: ["GET", "POST", "OPTIONS"], .refresh: ["POST"],
    .upload: ["HEAD", "PATCH", "DELETE", "OPTIONS"], .steps: ["GET"], .heartRate: ["GET"],
    .sleep: ["GET"], .workouts: ["GET"], .periods: ["GET"], .dashboard: ["GET"],
  ]

  private mutating func tryMethods() {
    for path in SyncPath.allCases {
      let takes = Self.takes[path] ?? []
      for method in ["GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "PUT"] {
        let answer = desk.ask(call(method, path), of: nil)
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
    let ready = desk.ask(call("GET", .sync), of: nil)
    expect(
      ready?.body == Array(#"{"status":"ok","endpoint":"sync"}"#.utf8), "GET says another thing")
    tryIdentity()
    let refreshed = desk.ask(call("POST", .refresh), of: user)
    expect(refreshed, 200, ["content-type": "application/json"], "refresh")
    expect(
      refreshed?.body == Array(#"{"success":true,"refreshedIn":0}"#.utf8), "refresh says more")
  }

  /// Who shows a secret is told who they are, and nobody whose secret is not known.
  private mutating func tryIdentity() {
    let secret = ["authorization": "Bearer x"]
    expect(desk.ask(call("GET", .sync, secret), of: nil), 401, "GET with an unknown secret")
    let epoch = desk.kept.epoch
    let known = desk.ask(call("GET", .sync, secret), of: user)
    expect(known, 200, ["sync-epoch": epoch, "accept-encoding": "gzip"], "GET of a known user")
    let words = #"{"status":"ok","endpoint":"sync","epoch":"\#(epoch)","user":"stranger"}"#
    expect(known?.body == Array(words.utf8), "GET of a known user says another thing")
  }

  private mutating func tryDoors() {
    for path in SyncPath.allCases {
      let method = Self.takes[path]?.first ?? "GET"
      func ask(_ fields: [String: String], _ other: String? = nil) -> SyncReceivedRequest {
        call(other ?? method, path, fields)
      }
      expect(
        desk.ask(ask(["host": "elsewhere.example"]), of: user), 421,
        ["access-control-allow-origin": nil], "a foreign host")
      let foreign = desk.ask(ask(["origin": Self.foreign]), of: user)
      expect(foreign, 403, ["access-control-allow-origin": nil], "a foreign origin")
      let own = "http://localhost:3000"
      let page = desk.ask(ask(["origin": own]), of: nil)
      expect(
        page, page?.status ?? 0,
        [
          "access-control-allow-origin": path == .dashboard ? nil : own,
          "access-control-max-age": nil,
        ], "a page of this machine at \(path.rawValue)")
      let asked = desk.ask(ask(["origin": own], "OPTIONS"), of: nil)
      expect(
        asked, 204,
        [
          "access-control-allow-origin": own, "access-control-allow-methods": "GET, POST",
          "access-control-max-age": "600", "vary": "Origin",
        ], "a page asks what it may do at \(path.rawValue)")
      let other = desk.ask(ask(["tus-resumable": "0.2.2"]), of: user)
      expect(other, 412, ["tus-version": "1.0.0"], "another tus")
    }
    let named = ["upload-draft-interop-version": "9"]
    expect(desk.ask(call("HEAD", .upload, named), of: user), 400, "an unknown interop version")
    expect(desk.ask(call("HEAD", .upload), of: user), 400, "no protocol")
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
    let refused = desk.ask(call("POST", .sync, body: Array(text.utf8)), of: user)
    expect(refused, 400, ["accept-encoding": "gzip", "retry-after": nil], "the batch \(text)")
    expect(refused.flatMap { SyncReply.reason(of: $0.body) } != nil, "a refusal has no reason")
    for (name, status) in [("zstd", 415), ("gzip", 400), ("identity", 200), ("GZIP", 400)] {
      let body = Array(#"{"dataType":"x"}"#.utf8)
      let answer = desk.ask(call("POST", .sync, body: body, ["content-encoding": name]), of: user)
      expect(answer, status, ["accept-encoding": "gzip"], "a body in \(name)")
    }
    let batch = SyncStrangeBatch(number(0...5), number(0...3), at: number(0...1 << 30))
    tryBatch(batch)
  }

  private mutating func tryBatch(_ batch: SyncStrangeBatch) {
    let isGzip = happens()
    let body = isGzip ? SyncRequest.packed(batch.body) : batch.body
    let fields = isGzip ? ["content-encoding": "x-gzip"] : [:]
    for (records, workouts, known) in [
      (batch.records, batch.workouts, 0), (0, 0, batch.records + batch.workouts),
    ] {
      let answer = desk.ask(call("POST", .sync, body: body, fields), of: user)
      expect(answer, 200, "a batch")
      let tally = SyncTally(records: records, workouts: workouts, skippedDuplicates: known)
      expect(
        answer.flatMap { try? SyncTally.read($0.body) } == tally,
        "\(tally) is told as \(String(decoding: answer?.body ?? [], as: UTF8.self))")
    }
    expect(
      desk.kept.places(of: user.name).count == batch.records + batch.workouts, "samples are missing"
    )
    desk.ask(call("POST", .sync, body: batch.deletion), of: user)
    expect(desk.kept.places(of: user.name).isEmpty, "deleted samples are there")
    desk.ask(call("POST", .sync, body: body, fields), of: user)
    expect(desk.kept.places(of: user.name).isEmpty, "an old batch brings samples back")
  }
}

/// A batch as another phone writes it.
struct SyncStrangeBatch {
  let records: Int
  let workouts: Int
  let body: [UInt8]
  /// Deletes all that it holds.
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
    let gone = (0..<records).map { uuid($0) } + (0..<workouts).map { uuid(100 + $0) }
    let names = gone.map { #""\#($0)""# }.joined(separator: ",")
    deletion = Array(
      #"{"dataType":"x","deletedUUIDs":[\#(names)],"timestamp":"\#(time(1))"}"#.utf8)
  }
}
