import HoldfastCore
import HoldfastSyncData
import HoldfastUploads

@testable import HoldfastServerParts
@testable import HoldfastSyncServer

/// Random inputs for a server of health samples that runs in several processes in turn, and its
/// promises.
struct SyncInputs: UploadInputs {
  var run: RandomRun<SyncServer>
  var notes = ServerNotes()
  var uploads = RandomUploads()
  private let policy: SyncServerPolicy
  var drainLimit: Duration { policy.drainLimit }

  /// The requests that have not been answered.
  private var requests: [RequestID: (call: SyncCall, user: SyncUser?)] = [:]
  /// The requests whose bodies have not arrived completely.
  private var coming: [RequestID: SyncCall] = [:]
  /// The pending effects.
  private var work: [(token: StoreToken, effect: SyncServer.Effect)] = []

  private static let users = ["one", "another", "a\"third"].map { SyncUser($0) }

  init(seed: UInt64) {
    var draw = PolicyDraw(generator: RandomSource(seed: seed))
    var policy = SyncServerPolicy()
    if draw.oneIn(3) { policy.maxRequests = draw.one([1, 2, 4]) }
    if draw.oneIn(3) { policy.drainLimit = draw.one([.zero, .seconds(1)]) }
    if draw.oneIn(3) { policy.originPolicy.hosts = ["sync.example"] }
    self.policy = policy
    run = RandomRun(SyncServer(policy: policy, at: .zero), seed: seed, generator: draw.generator)
  }

  mutating func begin() { give(.restored([])) }

  mutating func act() {
    passTime([.milliseconds(7), .seconds(1), .seconds(9), .seconds(3_600), .seconds(43_200)])
    switch number(0...19) {
    case 0...6: request()
    case 7...12: finishWork()
    case 13, 14:
      give(.announced(RequestID(notes.fresh()), call(withBody: false), user: user()))
    case 15, 16: endBody()
    case 17: for _ in 0..<number(2...6) { request() }
    case 18: if let id = requests.keys.min() { give(.abandoned(id)) }
    case _:
      give(.disk(disk()))
      if oneIn(20) { give(.drain(within: .milliseconds(number(0...9_000)))) }
      if oneIn(12) || machine.isFinished { beginAnew() }
    }
  }

  mutating func noteRestart() {
    notes.restart()
    (requests, coming, work) = ([:], [:], [])
    (uploads.busy, uploads.coming) = ([], [])
  }

  static func request(in effect: SyncServer.Effect) -> String? {
    switch effect {
    case .answer(let id, _): "an answer to \(id)"
    case .finished: "the end of a drain"
    case .ingest, .stamp, .check, .report, .upload: nil
    }
  }
}

// MARK: Inputs
extension SyncInputs {
  private mutating func user() -> SyncUser? { oneIn(10) ? nil : one(Self.users + [Self.users[0]]) }

  private mutating func call(withBody: Bool = true) -> SyncCall {
    let body = (0..<(withBody ? number(0...6) : 0)).map { UInt8($0) }
    let methods = ["GET", "GET", "POST", "OPTIONS", "PUT"]
    let name = anyUpload()
    var call: SyncCall
    switch number(0...9) {
    case 0:
      call = SyncCall(one(methods), one(SyncPath.allCases), body: body)
      (call.from, call.to) = (maybe("2026-01-31"), maybe(one(["2026-02-01", "today"])))
    case 1:
      call = oneIn(2) ? SyncCall("POST", .refresh) : SyncCall("GET", .sync)
      (call.showsSecret, call.deviceID) = (oneIn(2), maybe("phone"))
    case 2...5: call = SyncCall("POST", .sync, body: body)
    case _:
      let method = one(["HEAD", "PATCH", "PATCH", "PATCH", "DELETE"])
      call = SyncCall(method, .upload, body: body)
      call.uploadID = name
    }
    if call.path == .upload || !oneIn(3) {
      call.upload = uploadFields(body.count, call.uploadID, most: SyncServerPolicy.maxBodyBytes)
      call.candidate = UUID128(high: 77, low: notes.fresh())
      call.mediaType = oneIn(12) ? "text/plain" : call.upload?.dialect.mediaType
    }
    call.host = policy.originPolicy.hosts.first ?? (oneIn(25) ? "elsewhere.example" : "localhost:1")
    if oneIn(6) { call.encoding = one(["gzip", "identity", "br"]) }
    return call
  }

  private mutating func request() {
    give(.request(RequestID(notes.fresh()), call(), user: user(), wall: wall))
  }

  /// Completes the body of a request or cuts it off.
  private mutating func endBody() {
    guard let id = coming.keys.min(), var call = coming[id] else { return }
    call.body = (0..<number(0...4)).map { UInt8($0) }
    if oneIn(2) { return give(.cut(id, call)) }
    give(.request(id, call, user: Self.users[0], wall: wall))
  }

  /// Ends a pending effect, sometimes with a failure.
  private mutating func finishWork() {
    guard let done = work.randomElement(using: &generator) else { return }
    let failure = storeFailure()
    let counts = IngestCounts(
      records: number(0...3), workouts: 1, skippedDuplicates: 2, refused: number(0...1))
    let outcome: SyncOutcome
    switch done.effect {
    case .ingest:
      outcome = one([
        .stored(counts), .stored(counts), .refused(reason: "no"), .tooLong(limit: 9),
        .failed(failure),
      ])
    case .stamp: outcome = oneIn(6) ? .failed(failure) : .stamped(maybe(wall))
    case .report: outcome = oneIn(6) ? .failed(failure) : .reported([0x7B, 0x7D])
    case .upload(.write(_, _, _, let offset, let bytes)):
      outcome = oneIn(6) ? .failed(failure) : .written(offset + bytes.count)
    case .upload(.finish(_, _, _, let offset, let bytes)):
      outcome = one([
        .stored(counts), .refused(reason: "no"), .failed(failure),
        .unfinished(offset + bytes.count, failure),
      ])
    case .check, .upload, .answer, .finished:
      outcome = oneIn(6) ? .failed(failure) : .checked
    }
    give(.done(done.token, outcome))
    if oneIn(20) { give(.done(done.token, outcome)) }
  }

  /// Restarts the process, which finds the files of the previous process.
  private mutating func beginAnew() {
    let stored = storedUploads()
    restart(SyncServer(policy: policy, at: now))
    give(.restored(stored))
  }
}

// MARK: Promises
extension SyncInputs {
  mutating func note(_ step: MachineStep<SyncServer>) {
    if let input = step.input { note(input) }
    for effect in step.effects { note(effect, after: step.input) }
    checkDrain(step)
  }

  private mutating func note(_ input: SyncServer.Input) {
    switch input {
    case .request(let id, let call, let user, _):
      coming[id] = nil
      requests[id] = (call, user)
    case .abandoned(let id): requests[id] = nil
    case .done(let token, let outcome): end(token, outcome)
    case .drain: noteDrain()
    case .restored, .disk, .epoch: break
    case .announced(let id, let call, _): coming[id] = call
    case .cut(let id, _): coming[id] = nil
    }
  }

  /// Applies the outcome of an effect to the files.
  private mutating func end(_ token: StoreToken, _ outcome: SyncOutcome) {
    guard let index = work.firstIndex(where: { $0.token == token }) else { return }
    let effect = work.remove(at: index).effect
    guard case .upload(let effect) = effect, let work = effect.work else { return }
    uploads.busy.remove(work.upload)
    if case .failed = outcome { return }
    uploads.apply(effect)
  }

  private mutating func note(_ effect: SyncServer.Effect, after input: SyncServer.Input?) {
    switch effect {
    case .ingest(let token, _, _, _), .stamp(let token, _, _), .check(let token),
      .report(let token, _, _, _, _):
      work.append((token, effect))
    case .upload(let part):
      uploads.coming = Set(coming.keys)
      note(part)
      if let token = part.work?.token { work.append((token, effect)) }
    case .answer(let id, let answer): note(answer, to: id, after: input)
    case .finished: require(requests.isEmpty, "each request is answered before a drain ends")
    }
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
      guard case .done(_, .stored) = input else {
        return run.fail("a batch is answered once it is stored")
      }
    }
    let reported = answer.fields.first { $0.name == "Upload-Offset" }.flatMap { Int($0.value) }
    guard let name = request.call.uploadID, request.call.path == .upload else { return }
    require(
      uploads.files[name].map { $0.record.user == request.user?.name } ?? true,
      "an upload belongs to one user")
    let count = uploads.files[name]?.count ?? 0
    require(reported ?? count == count, "the reported offset is that of the file")
  }
}
