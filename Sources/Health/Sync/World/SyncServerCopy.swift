import HoldfastCore
import HoldfastHealthSamples
import HoldfastLinkChecks
import HoldfastServerParts
import HoldfastSyncChecks
import HoldfastSyncData
import HoldfastSyncServer
import HoldfastUploads
import HoldfastWorldKernel

/// A copy of a run's backend with the same rules and samples. In the copy, no operation takes time.
struct SyncServerCopy {
  var server: SyncServer
  var stored: StoredSync
  var defect: SyncFeature.Defect?
  var zone: SyncZone
  var now: Instant
  var wall: Timestamp
  /// The stored bytes of uploads.
  private(set) var files: [UUID128: [UInt8]] = [:]
  /// By request, the header fields that reported the URL at which an upload can resume; and the
  /// interrupted requests.
  private(set) var informed: [RequestID: [UploadField]] = [:]
  private(set) var interrupted: Set<RequestID> = []
  private(set) var answers: [RequestID: SyncAnswer] = [:]
  /// Whether the server has finished draining.
  private(set) var isFinished = false
  /// Whether work that begins is held until `release()` completes it.
  var holds = false
  /// The failure that every store operation returns; `nil` while the store works.
  var failure: StoreFailure?
  private var held: [SyncServer.Effect] = []
  /// The first invariant that the server broke.
  private(set) var brokenInvariant: String?
  private var fed = 0
  private var lastRequest: UInt64 = 1 << 50

  init(
    _ server: SyncServer, _ stored: StoredSync, _ defect: SyncFeature.Defect?, _ zone: SyncZone,
    at now: Instant, _ wall: Timestamp
  ) {
    (self.server, self.stored, self.defect, self.zone) = (server, stored, defect, zone)
    (self.now, self.wall) = (now, wall)
  }

  mutating func newRequest() -> RequestID {
    lastRequest += 1
    return RequestID(lastRequest)
  }

  /// Makes a request. Returns its answer if there is one immediately.
  @discardableResult
  mutating func ask(
    _ received: SyncReceivedRequest, of user: SyncUser?, as id: RequestID? = nil
  ) -> SyncAnswer? {
    let id = id ?? newRequest()
    feed(.request(id, received, user: user, wall: wall))
    return answers[id]
  }

  mutating func feed(_ event: SyncReceivedRequest.Event) {
    perform(server.handle(event.input, at: now))
    fed += 1
    guard fed % 8 == 0 else { return }
    brokenInvariant = brokenInvariant ?? server.brokenInvariants(.thorough).first
  }

  mutating func tick() { perform(server.tick(at: now)) }

  /// Completes the work that was held.
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
        effects += server.handle(.done(token, outcome), at: now)
      }
    }
  }

  private mutating func carryOut(_ effect: SyncServer.Effect) -> (StoreToken, SyncOutcome)? {
    switch effect {
    case .answer(let id, var answer):
      if defect == .hidesRetryAfter { answer.retryAfter = nil }
      answers[id] = answer
    case .report(let token, let user, let path, let span, let wall):
      return (token, outcome(path, span, user, wall))
    case .stamp(let token, let user, let device):
      let stamp = stored.newestStamp(of: user.name, device: device)
      return (token, failure.map { .failed($0) } ?? .stamped(stamp))
    case .check(let token): return (token, failure.map { .failed($0) } ?? .checked)
    case .ingest(let token, let user, let body, let isGzip):
      return (token, store(body, isGzip, of: user.name) { .failed($0) })
    case .upload(let effect): return carryOut(effect)
    case .finished: isFinished = true
    }
    return nil
  }

  private mutating func carryOut(_ effect: UploadEffect) -> (StoreToken, SyncOutcome)? {
    switch effect {
    case .write(let token, let id, _, let offset, let bytes):
      if let failure { return (token, .failed(failure)) }
      files[id] = (files[id] ?? []).prefix(offset) + bytes
      return (token, .written(offset + bytes.count))
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
    case .measure: break
    }
    return nil
  }

  private mutating func store(
    _ body: [UInt8], _ isGzip: Bool, of user: String, _ failed: (StoreFailure) -> SyncOutcome
  ) -> SyncOutcome {
    if let failure { return failed(failure) }
    let plain = isGzip ? SyncRequest.unpacked(body) : body
    let read = plain.flatMap { SyncDelivery(ofBody: $0, user: user, arrived: wall) }
    guard let delivery = read else {
      return .refused(reason: "it cannot be read")
    }
    return .stored(stored.apply(delivery))
  }

  private func outcome(
    _ path: SyncPath, _ span: SyncSpan, _ user: SyncUser, _ wall: Timestamp
  ) -> SyncOutcome {
    Self.outcome(path, span, user, wall, from: stored, zone, defect)
  }

  /// Computes an answer from the stored samples.
  static func outcome(
    _ path: SyncPath, _ span: SyncSpan, _ user: SyncUser, _ wall: Timestamp,
    from stored: StoredSync, _ zone: SyncZone, _ defect: SyncFeature.Defect?
  ) -> SyncOutcome {
    var report = SyncReport(
      path, span, zone: zone.rules, now: wall, stored: stored.summary(of: user.name))
    while var query = report.wanted {
      query.limit = min(query.limit, 100)
      var page = stored.samples(query, of: user.name)
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
  /// Whether the server waits until the effect is completed.
  fileprivate var isWork: Bool {
    switch self {
    case .ingest, .stamp, .check, .report, .upload(.write), .upload(.finish): true
    case .upload, .answer, .finished: false
    }
  }
}

extension SyncDelivery {
  /// Decodes a body. Returns `nil` if it is not a batch.
  init?(ofBody body: [UInt8], user: String, arrived: Timestamp? = nil) {
    guard let reading = try? SyncReading.read(body) else { return nil }
    self.init(of: reading, user: user, arrived: arrived, hash: SyncHash.folded)
  }
}
