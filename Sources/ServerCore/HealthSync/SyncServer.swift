public import LinkCore
public import LinkWire

/// The backend of health sync as a value: who may ask, how much at once, and the end.
///
/// What needs the store waits for it, and for nothing else:
///
///     request ──► refused
///        └──► waiting ──done──► answered
///
/// A batch that was given to the store is finished there also when its phone has left: the phone
/// sends it again, and its hashes make the second time do nothing.
public struct SyncServer: ServerRules {
  /// Everything that can happen to it.
  public enum Input: Sendable, Hashable, Codable {
    /// - user: Whose secret the request shows; `nil` if it shows none that is known.
    case request(RequestID, SyncCall, user: SyncUser?, wall: Timestamp)
    /// The client left before its answer.
    case abandoned(RequestID)
    /// The work that an effect asked for has ended.
    case done(StoreToken, SyncOutcome)
    case drain(within: Duration)
    /// The uploads of an earlier process; first, if there are any.
    case restored([KeptUpload])
    /// The head of a request came, and its body follows.
    case announced(RequestID, SyncCall, user: SyncUser?)
    /// A request that was announced ended before its body was whole; the call has what came of it.
    case cut(RequestID, SyncCall)
  }

  /// Everything it can ask for.
  public enum Effect: Sendable, Hashable, Codable {
    /// Read a batch and store it, all or none.
    case ingest(StoreToken, SyncUser, body: [UInt8], isGzip: Bool)
    /// Find the newest stamp of a batch of a phone.
    case stamp(StoreToken, SyncUser, device: String)
    /// Check that the store can serve.
    case check(StoreToken)
    /// Compute an answer from what is stored.
    case tell(StoreToken, SyncUser, SyncPath, SyncSpan, wall: Timestamp)
    /// Write bytes of an upload at an offset of its file, which is created if it is missing.
    case keep(StoreToken, UUID128, SyncUploadRecord, at: Int, [UInt8])
    /// Write the last bytes of an upload, and store the batch that the file holds.
    case finish(StoreToken, UUID128, SyncUploadRecord, at: Int, [UInt8])
    /// Remove the file of an upload.
    case forget(UUID128)
    /// Tell a client where its upload goes on, while its body comes.
    case inform(RequestID, [UploadField])
    /// End a request whose body is coming.
    case interrupt(RequestID)
    case answer(RequestID, SyncAnswer)
    case finished
  }

  /// A request that has no answer yet.
  struct Pending: Sendable {
    var path: SyncPath
    var since: Instant
    var origin: String?
    /// Whose secret it shows.
    var user: String?
    /// The upload that it was announced for.
    var announced: UUID128?
    /// Whether the request names a version of tus: then its answer does as well (tus 1.0.0).
    var isTus: Bool
    /// The protocol of the upload that its answer concludes.
    var completes: UploadDialect?
  }

  let policy: SyncServerPolicy
  /// The epoch of the store, which is told with each answer to a known user.
  let epoch: String
  /// The moment of the input that is being handled.
  var now: Instant
  /// What it asks for so far; empty between inputs.
  var effects: [Effect] = []
  var mode = ServerMode.serving
  var requests: [RequestID: Pending] = [:]
  /// The requests whose work is under way, also those whose client has left.
  var work: [StoreToken: RequestID] = [:]
  var lastToken: UInt64 = 0
  /// Why the store failed last; `nil` once it did not.
  var storeFailure: StoreFailure?
  var metrics = SyncMetrics()
  var uploads = SyncUploads()

  /// A server that begins at `now`.
  public init(
    policy: SyncServerPolicy = SyncServerPolicy(), epoch: String = "", at now: Instant
  ) {
    (self.policy, self.epoch, self.now) = (policy, epoch, now)
  }

  /// Takes one input; answers what to do, in order.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    self.now = now
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
      _ = mode.drain(
        within: window, at: now, grace: policy.drainLimit, limit: policy.drainLimit)
      // What came of them is kept.
      for id in uploads.announced.keys.sorted() { effects.append(.interrupt(id)) }
    case .restored(let kept): restore(kept)
    case .announced(let id, let call, let user): announce(id, call, user)
    case .cut(let id, let call): cut(id, call)
    }
    return conclude()
  }

  /// Lets the drain come to its end.
  public mutating func tick(at now: Instant) -> [Effect] {
    self.now = now
    _ = mode.leave(at: now)
    if mode.givesUp(at: now) {
      let late = SyncAnswer.error(503, "Stopped", retryAfter: policy.busyRetry)
      for id in requests.keys.sorted() { answer(id, late) }
      work = [:]
      uploads.stop()
    }
    expireUploads()
    return conclude()
  }

  /// The next instant at which something is due.
  public var deadline: Instant? {
    [mode.deadline, uploads.deadline].compactMap(\.self).min()
  }

  /// Ends a drain once nothing is left to wait for, and returns what is asked for.
  private mutating func conclude() -> [Effect] {
    if requests.isEmpty, work.isEmpty, uploads.announced.isEmpty, mode.finish() {
      effects.append(.finished)
    }
    defer { effects = [] }
    return effects
  }

  public static func drain(within window: Duration) -> Input { .drain(within: window) }

  public var isFinished: Bool { mode == .finished }

  public static var storeName: String { "the sync store" }

  public var serviceHealth: ServiceHealth {
    ServiceHealth(
      isServing: mode == .serving, storeFailure: storeFailure, of: Self.storeName)
  }

  /// Adds its metrics to the backend's.
  public func report(to page: inout MetricsPage) {
    metrics.report(waiting: work.count, to: &page)
  }
}

extension SyncServer {
  /// Notes each invariant that does not hold now.
  public func check(_ check: inout InvariantCheck) {
    check.require(effects.isEmpty, "sync: nothing is asked for between two inputs")
    check.require(work.count <= policy.maxRequests, "sync: the work under way is bounded")
    let waiting = uploads.all.values.reduce(0) { $0 + $1.waiting.count }
    check.require(
      requests.count <= work.count + waiting, "sync: only requests whose work goes on wait")
    uploads.check(&check)
    check.require(
      mode != .finished || (requests.isEmpty && work.isEmpty),
      "sync: a drain ends when nothing is left to wait for")
    guard check.isThorough else { return }
    check.require(
      work.keys.allSatisfy { $0.number <= lastToken }, "sync: each piece of work was numbered")
    check.require(
      Set(work.values).union(uploads.waiting).isSuperset(of: requests.keys),
      "sync: a request waits for its own work")
  }
}
