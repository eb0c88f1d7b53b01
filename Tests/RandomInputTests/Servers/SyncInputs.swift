import LinkCore
import LinkWire

@testable import LinkServerCore

/// Random inputs to a server of health samples over several processes, and what it promises.
struct SyncInputs: ServerInputs {
  /// A request without an answer.
  struct Request {
    let call: SyncCall
    let user: SyncUser?
  }

  /// What is under way for an effect.
  struct Work {
    let token: StoreToken
    let effect: SyncServer.Effect
    var upload: UUID128?
  }

  /// The file of an upload.
  struct File {
    let record: SyncUploadRecord
    var count: Int
    var touchedAt: Instant
  }

  var run: RandomRun<Restarting<SyncServer>>
  var notes = ServerNotes()
  private let policy: SyncServerPolicy
  var drainLimit: Duration { policy.drainLimit }

  private var requests: [RequestID: Request] = [:]
  /// Requests whose heads came.
  private var coming: [RequestID: SyncCall] = [:]
  private var work: [Work] = []
  private var files: [UUID128: File] = [:]
  private var names: [UUID128] = []
  private var lastToken: UInt64 = 0
  private var last: UInt64 = 0

  private static let users = ["one", "another", "a\"third"].map { SyncUser($0) }

  init(seed: UInt64) {
    var draw = PolicyDraw(chance: Chance(seed: seed))
    var policy = SyncServerPolicy()
    draw.set(&policy, \.maxRequests, [1, 2, 4])
    draw.set(&policy, \.drainLimit, [.zero, .seconds(1)])
    if draw.oneIn(3) { policy.doors.hosts = ["sync.example"] }
    self.policy = policy
    let server = Restarting<SyncServer>(
      starts: { if case .restored = $0 { true } else { false } },
      fresh: { [policy] in SyncServer(policy: policy, at: $1) })
    run = RandomRun(server, seed: seed, chance: draw.chance)
  }

  mutating func begin() { restart() }

  mutating func act() {
    passTime([.milliseconds(7), .seconds(1), .seconds(9), .seconds(3_600), .seconds(43_200)])
    switch number(0...19) {
    case 0...6: request()
    case 7...12: finishWork()
    case 13, 14: announce()
    case 15, 16: endBody()
    case 17: for _ in 0..<number(2...6) { request() }
    case 18: if let id = requests.keys.min() { give(.abandoned(id)) }
    case _:
      if oneIn(20) { give(.drain(within: .milliseconds(number(0...9_000)))) }
      if oneIn(12) || machine.isFinished { restart() }
    }
  }

  static func request(in effect: SyncServer.Effect) -> String? {
    switch effect {
    case .answer(let id, _): "an answer to \(id)"
    case .ingest, .check, .tell, .keep, .finish, .forget, .inform, .interrupt, .finished: nil
    }
  }
}

// What is given.
extension SyncInputs {
  private mutating func fresh() -> UInt64 {
    last += 1
    return last
  }

  private mutating func user() -> SyncUser? { oneIn(10) ? nil : one(Self.users + [Self.users[0]]) }

  private mutating func uploadFields(_ count: Int, _ name: UUID128?) -> UploadFields {
    var fields = UploadFields(one([.tus, .draft(3), .draft(6), .draft(8)]))
    let offset = name.flatMap { files[$0]?.count } ?? 0
    if !oneIn(12) { fields.offset = one([offset, offset, offset, offset, offset + 1, 0]) }
    let most = SyncServerPolicy.maxBodyBytes
    let end = offset + count
    if !oneIn(3) { fields.length = one([end, end, end + 1, end + 5, count, most, most + 1]) }
    if let length = name.flatMap({ files[$0]?.record.length }), oneIn(2) { fields.length = length }
    if !oneIn(9), fields.dialect != .tus { fields.isComplete = oneIn(3) }
    return fields
  }

  private mutating func call(withBody: Bool = true) -> SyncCall {
    let body = (0..<(withBody ? number(0...6) : 0)).map { UInt8($0) }
    let methods = ["GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "PUT", "post"]
    let name = oneIn(16) ? UUID128(high: 78, low: 1) : names.suffix(4).randomElement(using: &chance)
    var call: SyncCall
    switch number(0...9) {
    case 0:
      call = SyncCall(one(methods), one(SyncPath.allCases), body: body)
      let dates = ["2026-01-31", "2024-02-29", "2026-02-29", "2026-1-31", "today", ""]
      (call.from, call.to) = (maybe(one(dates)), maybe(one(dates)))
    case 1: call = SyncCall("POST", .refresh)
    case 2...5: call = SyncCall("POST", .sync, body: body)
    case _:
      let method = one(["HEAD", "PATCH", "PATCH", "PATCH", "DELETE"])
      call = SyncCall(method, .upload, body: body)
      call.uploadID = name
    }
    if call.path == .upload || !oneIn(3) {
      call.upload = uploadFields(body.count, call.uploadID)
      call.candidate = UUID128(high: 77, low: fresh())
      call.mediaType = oneIn(12) ? "text/plain" : call.upload?.dialect.mediaType
    }
    call.host = policy.doors.hosts.first ?? (oneIn(25) ? "elsewhere.example" : "localhost:1")
    if oneIn(12) { call.origin = one(["http://localhost:3000", "http://elsewhere.example"]) }
    if oneIn(6) { call.encoding = one(["gzip", "x-GZIP", "identity", "", "br"]) }
    call.speaksOtherTus = oneIn(25)
    return call
  }

  private mutating func request() {
    let wall = Timestamp(nanoseconds: Self.wallAtZero + now.nanoseconds)
    give(.request(RequestID(fresh()), call(), user: user(), wall: wall))
  }

  private mutating func announce() {
    give(.announced(RequestID(fresh()), call(withBody: false), user: user()))
  }

  /// The body of a request is whole, or is cut.
  private mutating func endBody() {
    guard let id = coming.keys.min(), var call = coming[id] else { return }
    call.body = (0..<number(0...4)).map { UInt8($0) }
    if oneIn(2) { return give(.cut(id, call)) }
    let wall = Timestamp(nanoseconds: Self.wallAtZero + now.nanoseconds)
    give(.request(id, call, user: Self.users[0], wall: wall))
  }

  /// Work ends, and not always well.
  private mutating func finishWork() {
    guard let done = work.randomElement(using: &chance) else { return }
    let failure = one(Self.storeFailures)
    let tally = SyncTally(records: number(0...3), workouts: 1, skippedDuplicates: 2)
    let outcome: SyncOutcome
    switch done.effect {
    case .ingest:
      outcome = one([
        .stored(tally), .stored(tally), .refused(reason: "no"), .tooLong(limit: 9),
        .failed(failure),
      ])
    case .tell: outcome = oneIn(6) ? .failed(failure) : .told([0x7B, 0x7D])
    case .keep(_, _, _, let offset, let bytes):
      outcome = oneIn(6) ? .failed(failure) : .kept(offset + bytes.count)
    case .finish(_, _, _, let offset, let bytes):
      outcome = one([
        .stored(tally), .refused(reason: "no"), .failed(failure),
        .unfinished(offset + bytes.count, failure),
      ])
    case .check, .forget, .inform, .interrupt, .answer, .finished:
      outcome = oneIn(6) ? .failed(failure) : .checked
    }
    give(.done(done.token, outcome))
    if oneIn(20) { give(.done(done.token, outcome)) }
  }

  /// Another process begins over the files of this one, and sometimes over those of many users.
  private mutating func restart() {
    var kept = files.map { id, file in
      KeptUpload(
        id: id, record: file.record, offset: file.count, age: file.touchedAt.duration(to: now))
    }
    for index in 0..<(oneIn(6) ? 256 - number(0...9) : number(0...2)) {
      let most = SyncServerPolicy.maxBodyBytes
      let offset = oneIn(2) ? most - number(0...5) : number(0...9)
      let user = index < 3 ? one(Self.users).name : "owner \(index)"
      let record = SyncUploadRecord(
        user: user, length: one([nil, most, offset + number(0...6)]), isGzip: oneIn(3))
      guard record.length.map({ $0 <= most }) ?? true else { continue }
      kept.append(
        KeptUpload(
          id: UUID128(high: 76, low: fresh()), record: record, offset: offset,
          age: .seconds(one([86_400, 86_399, 86_401, 5, 0]))))
    }
    give(.restored(kept.sorted { $0.id < $1.id }))
  }
}

// What is promised.
extension SyncInputs {
  mutating func note(_ step: MachineStep<Restarting<SyncServer>>) {
    let concluded = concluded(by: step.input)
    if let input = step.input { note(input) }
    for effect in step.effects { note(effect, after: step.input) }
    if let concluded {
      require(files[concluded] == nil, "the file of an upload is removed with its end")
    }
    if step.input == nil {
      require(
        step.after.server.uploads.all.values.allSatisfy {
          $0.busy != nil || $0.open != nil || $0.expires > now
        }, "no upload outlives its time")
    }
    checkServer(step)
  }

  private mutating func note(_ input: SyncServer.Input) {
    switch input {
    case .request(let id, let call, let user, _):
      coming[id] = nil
      requests[id] = Request(call: call, user: user)
    case .abandoned(let id): requests[id] = nil
    case .done(let token, let outcome): end(token, outcome)
    case .drain: notes.drain(at: now)
    case .restored(let kept):
      notes.restart()
      (requests, coming, work, files, lastToken) = ([:], [:], [], [:], 0)
      for upload in kept {
        files[upload.id] = File(
          record: upload.record, count: upload.offset,
          touchedAt: now.advanced(by: .zero - upload.age))
      }
      names = kept.suffix(4).map(\.id)
    case .announced(let id, let call, _): coming[id] = call
    case .cut(let id, _): coming[id] = nil
    }
  }

  /// The upload of which all bytes came, and whose batch is stored now or refused.
  private func concluded(by input: SyncServer.Input?) -> UUID128? {
    guard case .done(let token, let outcome) = input,
      case .finish(_, let id, _, _, _) = work.first(where: { $0.token == token })?.effect
    else { return nil }
    switch outcome {
    case .stored, .refused, .tooLong: return id
    case .checked, .told, .failed, .kept, .unfinished: return nil
    }
  }

  /// Notes what came of work in the files.
  private mutating func end(_ token: StoreToken, _ outcome: SyncOutcome) {
    guard let place = work.firstIndex(where: { $0.token == token }) else { return }
    let done = work.remove(at: place)
    if case .failed = outcome { return }
    switch done.effect {
    case .keep(_, let id, let record, let offset, let bytes),
      .finish(_, let id, let record, let offset, let bytes):
      files[id] = File(record: record, count: offset + bytes.count, touchedAt: now)
    case .ingest, .check, .tell, .forget, .inform, .interrupt, .answer, .finished: return
    }
  }

  private mutating func note(_ effect: SyncServer.Effect, after input: SyncServer.Input?) {
    switch effect {
    case .ingest(let token, _, _, _), .check(let token), .tell(let token, _, _, _, _):
      begin(token, effect)
    case .keep(let token, let id, _, let offset, _), .finish(let token, let id, _, let offset, _):
      require(!work.contains { $0.upload == id }, "an upload is written by one request at a time")
      require(offset == files[id]?.count ?? 0, "bytes are written behind the last")
      if !names.contains(id) { names.append(id) }
      begin(token, effect, of: id)
    case .forget(let id):
      require(files[id] != nil, "only the file of an upload is removed")
      files[id] = nil
    case .inform(let id, _), .interrupt(let id):
      require(coming[id] != nil, "only a request whose body comes is told or ended")
    case .answer(let id, let answer): note(answer, to: id, after: input)
    case .finished:
      require(notes.finish(), "a drain ends once")
      require(requests.isEmpty, "each request is answered before a drain ends")
    }
  }

  private mutating func begin(
    _ token: StoreToken, _ effect: SyncServer.Effect, of upload: UUID128? = nil
  ) {
    require(token.number == lastToken + 1, "each piece of work has a number of its own")
    lastToken = token.number
    work.append(Work(token: token, effect: effect, upload: upload))
    require(work.count <= policy.maxRequests, "the work under way is bounded")
  }

  private mutating func note(
    _ answer: SyncAnswer, to id: RequestID, after input: SyncServer.Input?
  ) {
    guard let request = requests.removeValue(forKey: id) else {
      return run.fail("only a request that waits is answered")
    }
    let isDone = 200..<300 ~= answer.status && !["GET", "OPTIONS"].contains(request.call.method)
    guard isDone else { return }
    require(request.user != nil, "only a known user is served")
    if request.call.path == .sync, answer.status == 200 {
      guard case .done(_, let outcome) = input else {
        return run.fail("a batch is answered once it is stored")
      }
      var isStored = false
      if case .stored = outcome { isStored = true }
      require(isStored, "a batch is answered once it is stored")
    }
    let told = answer.fields.first { $0.name == "Upload-Offset" }.flatMap { Int($0.value) }
    guard let name = request.call.uploadID, request.call.path == .upload else { return }
    require(
      files[name].map { $0.record.user == request.user?.name } ?? true,
      "an upload is of one user")
    let count = files[name]?.count ?? 0
    require(told ?? count == count, "the offset that is told is that of the file")
  }
}
