import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

/// The backend of a run beside that run: the same rules and samples, and nothing takes time.
struct SyncDesk {
  var server: WatchedServer
  var kept: KeptSync
  var stock: SyncStock
  var defect: SyncFeature.Defect?
  var zone: SyncZone
  var now: Instant
  var wall: Timestamp
  /// What is stored of uploads.
  private(set) var files: [UUID128: [UInt8]] = [:]
  /// Requests whose clients were told where their uploads go on, and those that were ended.
  private(set) var informed: [RequestID: [UploadField]] = [:]
  private(set) var interrupted: Set<RequestID> = []
  private(set) var answers: [RequestID: SyncAnswer] = [:]
  /// Whether the server has come to its end.
  private(set) var isFinished = false
  /// While true, work is begun and does not end.
  var holds = false
  /// Why the store does not take anything.
  var failure: StoreFailure?
  /// What becomes of the next work, whatever it was.
  var odd: SyncOutcome?
  private var held: [SyncServer.Effect] = []
  private var stray: String?
  private var fed = 0
  private var wasOdd = false
  private var lastRequest: UInt64 = 1 << 50

  init(
    _ server: WatchedServer, _ stored: (KeptSync, SyncStock), _ defect: SyncFeature.Defect?,
    _ zone: SyncZone, at now: Instant, _ wall: Timestamp
  ) {
    (self.server, self.defect, self.zone) = (server, defect, zone)
    (kept, stock) = stored
    (self.now, self.wall) = (now, wall)
  }

  mutating func newRequest() -> RequestID {
    lastRequest += 1
    return RequestID(lastRequest)
  }

  /// Makes a request; returns its answer, if it has one now.
  @discardableResult
  mutating func ask(
    _ letter: SyncLetter, of user: SyncUser?, as id: RequestID? = nil
  ) -> SyncAnswer? {
    let id = id ?? newRequest()
    feed(.request(id, letter, user: user, wall: wall))
    return answers[id]
  }

  mutating func feed(_ event: SyncLetter.Event) {
    perform(server.handle(event, at: now))
    fed += 1
    guard fed % 8 == 0, !wasOdd else { return }
    let broken = server.rules.brokenInvariants(.thorough).first
    stray = stray ?? broken.map { "the invariant \($0) does not hold" }
  }

  mutating func tick() { perform(server.tick(at: now)) }

  /// What was done other than by the rules since the last call.
  mutating func newStray() -> String? {
    defer { stray = nil }
    return server.newStray() ?? stray
  }

  /// Lets the work end that was held.
  mutating func release() {
    holds = false
    let work = held
    held = []
    perform(work)
  }

  private mutating func perform(_ all: [SyncServer.Effect]) {
    var effects = all[...]
    while let effect = effects.popFirst() {
      if holds, effect.isWork {
        held.append(effect)
      } else if let (token, outcome) = carryOut(effect) {
        effects += server.handle(.other(.done(token, odd ?? outcome)), at: now)
        // What no store says to such work leaves requests without an answer.
        wasOdd = wasOdd || odd != nil
        odd = nil
      }
    }
  }

  private mutating func carryOut(_ effect: SyncServer.Effect) -> (StoreToken, SyncOutcome)? {
    switch effect {
    case .answer(let id, var answer):
      if defect == .hidesWish { answer.retryAfter = nil }
      answers[id] = answer
    case .tell(let token, let user, let path, let span, let wall):
      return (token, tell(path, span, user, wall))
    case .check(let token): return (token, failure.map { .failed($0) } ?? .checked)
    case .ingest(let token, let user, let body, let isGzip):
      return (token, store(body, isGzip, of: user.name) { .failed($0) })
    case .keep(let token, let id, _, let offset, let bytes):
      if let failure { return (token, .failed(failure)) }
      files[id] = (files[id] ?? []).prefix(offset) + bytes
      return (token, .kept(offset + bytes.count))
    case .finish(let token, let id, let record, let offset, let bytes):
      let whole = Array((files[id] ?? []).prefix(offset) + bytes)
      files[id] = whole
      return (
        token,
        store(whole, record.isGzip, of: record.user) { .unfinished(offset + bytes.count, $0) }
      )
    case .forget(let id): files[id] = nil
    case .inform(let id, let fields): informed[id] = fields
    case .interrupt(let id): interrupted.insert(id)
    case .finished: isFinished = true
    }
    return nil
  }

  private mutating func store(
    _ body: [UInt8], _ isGzip: Bool, of user: String, _ failed: (StoreFailure) -> SyncOutcome
  ) -> SyncOutcome {
    if let failure { return failed(failure) }
    let plain = isGzip ? SyncRequest.unpacked(body) : body
    let reading = plain.flatMap { try? SyncReading.read($0) }
    let delivery = reading.map { SyncDelivery(of: $0, user: user, hash: SyncHash.folded) }
    let parcel = plain.flatMap { SyncParcel($0) }
    stray = stray ?? SyncParcel.difference(parcel, reading, delivery)
    guard let delivery, let parcel else {
      return .refused(reason: "it cannot be read")
    }
    let (tally, must) = (kept.apply(delivery), stock.apply(parcel, of: user))
    if tally != must { stray = stray ?? "a batch is counted as \(tally), not \(must)" }
    return .stored(tally)
  }

  private func tell(
    _ path: SyncPath, _ span: SyncSpan, _ user: SyncUser, _ wall: Timestamp
  ) -> SyncOutcome {
    Self.tell(path, span, user, wall, from: kept, zone, defect)
  }

  /// Computes an answer from what is stored.
  static func tell(
    _ path: SyncPath, _ span: SyncSpan, _ user: SyncUser, _ wall: Timestamp,
    from kept: KeptSync, _ zone: SyncZone, _ defect: SyncFeature.Defect?
  ) -> SyncOutcome {
    var report = SyncReport(
      path, span, zone: zone.rules, now: wall, stored: kept.summary(of: user.name))
    while var query = report.wanted {
      query.limit = min(query.limit, 100)
      var page = kept.samples(query, of: user.name)
      if defect == .countsTwice {
        for index in page.samples.indices where page.samples[index].type.contains("Quantity") {
          page.samples[index].source = "Watch"
        }
      }
      report.take(page)
    }
    return report.outcome
  }
}

extension SyncServer.Effect {
  /// Whether the server waits for its end.
  fileprivate var isWork: Bool {
    switch self {
    case .ingest, .check, .tell, .keep, .finish: true
    case .forget, .inform, .interrupt, .answer, .finished: false
    }
  }
}
