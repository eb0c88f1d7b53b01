public import HoldfastCore
public import HoldfastServerParts
import HoldfastSyncData
import HoldfastUploads

/// The rules of the health sync server: access, limits, uploads and the drain.
///
/// A request that needs the store waits only for the store:
///
///     request ──► refused
///        └──► waiting ──done──► answered
///
/// A batch that was passed to the store is completed even if its phone disconnects. The phone then
/// sends the batch again. The hashes of its samples prevent duplicates.
public struct SyncServer: ServerRules {
  /// An input of the server.
  public enum Input: Sendable, Hashable, Codable {
    /// A request arrived. `user` is the owner of its secret or of its token, or `nil` if it has none
    /// that is valid.
    case request(RequestID, SyncCall, user: SyncUser?, wall: Timestamp)
    /// The client disconnected before it received the response.
    case abandoned(RequestID)
    /// Work that an effect requested has ended.
    case done(StoreToken, SyncOutcome)
    case drain(within: Duration)
    /// The uploads of an earlier process. If there are any, this is the first input.
    case restored([StoredUpload])
    /// The store has a new epoch, since a failover of its database lost changes.
    case epoch(String)
    /// The head of a request arrived, and its body follows.
    case announced(RequestID, SyncCall, user: SyncUser?)
    /// An announced request ended before its body was complete. The call contains the received
    /// part.
    case cut(RequestID, SyncCall)
    /// The space of the file system of the uploads was measured.
    case disk(DiskSpace)
  }

  /// An effect of the server.
  public enum Effect: Sendable, Hashable, Codable {
    /// Read a batch and store it completely or not at all.
    case ingest(StoreToken, SyncUser, body: [UInt8], isGzip: Bool)
    /// Find the newest timestamp of a phone's batches.
    case stamp(StoreToken, SyncUser, device: String)
    /// Check that the store works.
    case check(StoreToken)
    /// Compute a report from stored samples.
    case report(StoreToken, SyncUser, SyncPath, SyncSpan, wall: Timestamp)
    /// Carry out an effect of the uploads. A finished upload is a batch.
    case upload(UploadEffect)
    case answer(RequestID, SyncAnswer)
    case finished
  }

  /// A request that has not been answered.
  struct Pending: Sendable {
    var path: SyncPath
    var since: Instant
    var origin: String?
    /// The owner of the secret in the request.
    var user: String?
    /// The upload that was announced for the request.
    var announced: UUID128?
    /// Whether the request names a version of tus. The response must then name one too (tus 1.0.0).
    var isTus: Bool
    /// The protocol of the upload that the response completes.
    var completes: UploadDialect?
  }

  let policy: SyncServerPolicy
  /// The epoch of the store. It is sent with each response to a known user.
  private var epoch: String
  package var frame: ServerFrame<Effect>
  var requests: [RequestID: Pending] = [:]
  /// The requests with work under way, including those whose clients disconnected.
  var work = StoreQuestions<RequestID>()
  /// The reason for the last store failure, or `nil` after a success.
  var storeFailure: StoreFailure?
  /// The time of the next check of a store that failed.
  private var checksAt: Instant?
  /// The check of a store that failed, if one is under way.
  private var checking: StoreToken?
  var metrics = SyncMetrics()
  package var uploads = Uploads()
  var wrongSecrets: WrongSecrets

  /// Creates a server that starts at `now`.
  public init(
    policy: SyncServerPolicy = SyncServerPolicy(), epoch: String = "", at now: Instant
  ) {
    (self.policy, self.epoch) = (policy, epoch)
    frame = ServerFrame(at: now)
    wrongSecrets = WrongSecrets(at: now)
  }

  /// Handles one input and returns the resulting effects, in order.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    frame.begin(at: now)
    switch input {
    case .request(let id, let call, let user, let wall):
      let announced = endAnnouncement(of: id)
      requests[id] = Pending(
        path: call.path, since: now, origin: call.origin, user: user?.name, announced: announced,
        isTus: call.isTus)
      take(id, call, user, wall: wall)
      if let announced { resume(announced) }
    case .abandoned(let id): requests[id] = nil
    case .done(let token, let outcome): done(token, outcome)
    case .drain(let window):
      _ = frame.drain(within: window, grace: policy.drainLimit, limit: policy.drainLimit)
      // Interrupting a request stores the bytes that have arrived.
      interruptUploads()
    case .restored(let uploads): restore(uploads)
    case .epoch(let epoch): self.epoch = epoch
    case .announced(let id, let call, let user): announce(id, call, user)
    case .cut(let id, let call): cut(id, call.uploadCall)
    case .disk(let space): measured(space)
    }
    return conclude()
  }

  /// Advances the drain, expires uploads and checks a store that failed.
  public mutating func tick(at now: Instant) -> [Effect] {
    frame.begin(at: now)
    _ = frame.leave()
    if frame.givesUp {
      let late = SyncAnswer.error(503, "Stopped", retryAfter: policy.busyRetry)
      for id in requests.keys.sorted() { answer(id, late) }
      work.removeAll()
      uploads.stop()
    }
    expireUploads()
    if frame.isServing, let due = checksAt, due <= now {
      checksAt = nil
      let token = work.number()
      checking = token
      frame.emit(.check(token))
    }
    return conclude()
  }

  /// The next instant at which `tick` must be called.
  public var deadline: Instant? {
    [frame.mode.deadline, uploads.deadline, frame.isServing ? checksAt : nil]
      .compactMap(\.self).min()
  }

  /// Ends a drain once no request and no work is pending, and returns the effects.
  private mutating func conclude() -> [Effect] {
    if requests.isEmpty, work.isEmpty, uploads.announced.isEmpty { frame.finish(with: .finished) }
    return frame.takeEffects()
  }

  public static func drain(within window: Duration) -> Input { .drain(within: window) }

  public var isFinished: Bool { frame.isFinished }

  var now: Instant { frame.now }

  public static var storeName: String { "the sync store" }

  public var serviceHealth: ServiceHealth {
    ServiceHealth(
      isServing: frame.isServing, storeFailure: storeFailure, of: Self.storeName)
  }

  /// Adds the server's metrics to the backend's page.
  public func report(to page: inout MetricsPage) {
    metrics.report(waiting: work.count, to: &page)
  }
}

extension SyncServer {
  /// Records each invariant that does not hold.
  public func check(_ check: inout InvariantCheck) {
    frame.check(&check)
    check.require(work.count <= policy.maxRequests, "sync: the work under way is bounded")
    let waiting = uploads.all.values.reduce(0) { $0 + $1.waiting.count }
    check.require(
      requests.count <= work.count + waiting, "sync: only requests whose work goes on wait")
    uploads.check(&check, maxBytes: SyncServerPolicy.maxBodyBytes)
    wrongSecrets.check(&check)
    check.require(
      !frame.isFinished || (requests.isEmpty && work.isEmpty),
      "sync: a drain ends when nothing is left to wait for")
    guard check.isThorough else { return }
    check.require(
      Set(work.all).union(uploads.waiting).isSuperset(of: requests.keys),
      "sync: a request waits for its own work")
  }
}

extension SyncServer {
  /// Refuses a request, answers it, or starts its work.
  mutating func take(
    _ id: RequestID, _ call: SyncCall, _ user: SyncUser?, wall: Timestamp
  ) {
    if let refusal = refusal(of: call) { return answer(id, refusal) }
    if call.method == "OPTIONS" {
      return answer(id, call.origin == nil ? Self.options(of: call.path) : preflight)
    }
    if call.path == .sync, call.method == "GET", user == nil, !call.showsSecret {
      return answer(id, SyncAnswer(200, SyncReply.ready))
    }
    // The page contains no data. It requests data with the secret of the person who uses it.
    if call.path == .dashboard { return answer(id, .dashboard) }
    if let goingAway { return answer(id, goingAway) }
    if let fault = call.refusedToken {
      metrics.strangers += 1
      return answer(id, .refusal(fault))
    }
    let refused = wrongSecrets.refusal(of: call, user, at: now)
    if user == nil { metrics.strangers += 1 }
    guard let user, refused == nil else { return answer(id, refused ?? WrongSecrets.unauthorized) }
    guard work.count < policy.maxRequests else {
      return answer(id, .error(503, "Too busy", retryAfter: policy.busyRetry))
    }
    start(id, call, of: user, wall: wall)
  }

  /// Starts the work that a user's request needs.
  private mutating func start(
    _ id: RequestID, _ call: SyncCall, of user: SyncUser, wall: Timestamp
  ) {
    switch call.path {
    case .dashboard: break  // answered above
    case .sync where call.method == "GET":
      guard let device = call.deviceID else { return conclude(id, .stamped(nil)) }
      frame.emit(.stamp(begin(id), user, device: device))
    case .sync:
      let announced = requests[id]?.announced
      guard
        case .whole(let dialect) = beginUpload(
          id, call.uploadCall, of: user.name, announced: announced)
      else { return }
      if dialect != nil { requests[id]?.completes = dialect }
      ingest(id, call, of: user)
    case .upload: upload(id, call.uploadCall, of: user.name)
    case .refresh: frame.emit(.check(begin(id)))
    case .steps, .heartRate, .sleep, .workouts, .periods, .daily, .summary, .types:
      report(id, call, user, wall: wall)
    }
  }

  private mutating func report(
    _ id: RequestID, _ call: SyncCall, _ user: SyncUser, wall: Timestamp
  ) {
    guard var span = SyncSpan(from: call.from, to: call.to) else {
      let reason = "from and to are dates such as 2026-01-31."
      return answer(id, .error(400, Self.badRequest, reason))
    }
    if call.path == .daily {
      guard let type = call.type, (1...SyncSpan.maxTypeBytes).contains(type.utf8.count) else {
        let reason = "type is needed: an identifier such as HKQuantityTypeIdentifierStepCount."
        return answer(id, .error(400, Self.badRequest, reason))
      }
      span.type = type
    }
    if call.path == .summary { span.unfinished = uploads.count(of: user.name) }
    frame.emit(.report(begin(id), user, call.path, span, wall: wall))
  }

  static let badRequest = "Bad request"

  /// Returns the refusal of a request that is invalid for every user, or `nil` if there is none.
  func refusal(of call: SyncCall) -> SyncAnswer? {
    guard policy.originPolicy.admit(host: call.host) else {
      return .error(
        421, "Misdirected", "This server accepts only the host names of this machine.")
    }
    guard policy.originPolicy.admit(origin: call.origin) else {
      return .error(403, "Forbidden", OriginPolicy.foreignOrigin)
    }
    let methods = call.path.allow
    let isAsked = call.method == "OPTIONS" && call.origin != nil
    guard isAsked || methods.split(separator: ", ").contains(call.method[...]) else {
      return .error(
        405, "Method not allowed", "This route takes \(methods).", allow: methods)
    }
    guard !call.speaksOtherTus || call.method == "OPTIONS" else {
      return SyncAnswer(.otherTus)
    }
    return nil
  }

  private var preflight: SyncAnswer {
    var answer = SyncAnswer(204, [])
    answer.isPreflight = true
    return answer
  }

  /// The response to new requests during a drain, or `nil` otherwise.
  private var goingAway: SyncAnswer? {
    guard !frame.isServing else { return nil }
    return .error(503, "Draining", retryAfter: frame.mode.window ?? policy.busyRetry)
  }

  private mutating func ingest(_ id: RequestID, _ call: SyncCall, of user: SyncUser) {
    guard let isGzip = call.isGzip else { return answer(id, otherCoding) }
    frame.emit(.ingest(begin(id), user, body: call.body, isGzip: isGzip))
  }

  /// Assigns a token to the work of a request.
  package mutating func begin(_ id: RequestID) -> StoreToken { work.ask(id) }

  /// Answers the request whose work has ended.
  mutating func done(_ token: StoreToken, _ outcome: SyncOutcome) {
    if token == checking {
      checking = nil
      return checked(outcome)
    }
    guard let id = work.take(token) else { return }
    if let purpose = uploads.end(token) { return uploaded(id, purpose, outcome) }
    conclude(id, outcome)
  }

  /// Answers a request with the outcome of its work.
  mutating func conclude(_ id: RequestID, _ outcome: SyncOutcome) {
    switch outcome {
    case .stored(let counts):
      storeFailure = nil
      metrics.count(counts)
      answer(id, SyncAnswer(200, counts.bytes))
    case .stamped(let stamp):
      let user = requests[id]?.user ?? ""
      answer(id, SyncAnswer(200, SyncIdentity.ready(epoch: epoch, user: user, stamp: stamp)))
    case .checked:
      storeFailure = nil
      let elapsed = requests[id].map { $0.since.duration(to: now) } ?? .zero
      answer(id, SyncAnswer(200, SyncReply.refreshed(in: elapsed)))
    case .reported(let object): answer(id, SyncAnswer(200, object))
    case .refused(let reason): answer(id, .error(400, Self.badRequest, reason))
    case .tooLong(let limit):
      answer(id, .error(413, "Too large", "A body has at most \(limit) bytes. Split the batch."))
    case .failed(let failure), .unfinished(_, let failure): fail(id, failure)
    case .written: break  // of uploads alone
    }
  }

  /// Handles the check of a store that failed.
  private mutating func checked(_ outcome: SyncOutcome) {
    if case .failed(let failure) = outcome { return failed(failure) }
    // The check does not read all of the store.
    if case .corrupt? = storeFailure { return }
    storeFailure = nil
  }

  /// Records a failure of the store. The store is checked later, because a backend that reports a
  /// failure may receive no more requests.
  private mutating func failed(_ failure: StoreFailure) {
    storeFailure = failure
    checksAt = now.advanced(by: policy.storeRetry)
  }

  /// Answers a request whose store access failed.
  mutating func fail(_ id: RequestID, _ failure: StoreFailure) {
    failed(failure)
    metrics.storeFailures += 1
    answer(
      id,
      .error(503, "The store failed", "Nothing was stored.", retryAfter: policy.storeRetry))
  }

  /// Answers a request unless its client has disconnected.
  mutating func answer(_ id: RequestID, _ answer: SyncAnswer) {
    guard let pending = requests.removeValue(forKey: id) else { return }
    var answer = answer
    if pending.path == .sync { answer.listsEncodings = true }
    if pending.user != nil, !epoch.isEmpty, pending.path.isOfPhones {
      answer.fields.append(UploadField(SyncIdentity.epochField, epoch))
    }
    if let dialect = pending.completes {
      answer.fields += UploadFields(dialect, isComplete: true).fields
    }
    let tus = UploadDialect.tus.fields
    if pending.isTus, !answer.fields.contains(tus[0]) { answer.fields += tus }
    if answer.status != 403, answer.status != 421 { answer.origin = pending.origin }
    frame.emit(.answer(id, answer))
  }
}

/// The counters of health sync.
struct SyncMetrics: Sendable {
  var batches: UInt64 = 0
  var samples: UInt64 = 0
  var duplicates: UInt64 = 0
  var refused: UInt64 = 0
  var strangers: UInt64 = 0
  var storeFailures: UInt64 = 0
  var storedBytes: UInt64 = 0

  mutating func count(_ counts: IngestCounts) {
    batches += 1
    samples += UInt64(counts.records + counts.workouts)
    duplicates += UInt64(counts.skippedDuplicates)
    refused += UInt64(counts.refused)
  }

  func report(waiting: Int, to page: inout MetricsPage) {
    page.refusals.add(.unauthorized, strangers)
    page.refusals.add(.store, storeFailures)
    page.one("sync_waiting", .gauge, "Sync requests that wait for the store.", UInt64(waiting))
    page.counters(
      of: self,
      [
        ("sync_upload_bytes", "Bytes of uploads that were kept before their end.", \.storedBytes),
        ("sync_batches", "Batches stored.", \.batches),
        ("sync_samples", "Samples that were new.", \.samples),
        ("sync_duplicates", "Samples that were not new.", \.duplicates),
        ("sync_refused_samples", "Samples that a newer batch deleted or replaced.", \.refused),
        ("sync_auth_failures", "Requests without a known secret or a valid token.", \.strangers),
        ("sync_store_failures", "Requests that the store failed.", \.storeFailures),
      ])
  }
}

/// The configuration of the health sync server.
public struct SyncServerPolicy: Sendable, Hashable {
  /// The maximum number of requests that wait for the store. Further requests are refused with 503.
  public var maxRequests = 64
  /// The retry time of a request that is refused because too many requests wait.
  public var busyRetry = Duration.seconds(2)
  /// The retry time after a store failure. It leaves time to free disk space.
  public var storeRetry = Duration.seconds(30)
  /// The time limit of a drain.
  public var drainLimit = Duration.seconds(10)
  /// The host names of this server, and the origins of web pages that may use it.
  public var originPolicy = OriginPolicy()

  /// The maximum size of a body in bytes, compressed or not: 4 MiB, about 10,000 records.
  public static let maxBodyBytes = 4 << 20

  /// Creates a policy with the default values.
  public init() {}
}
