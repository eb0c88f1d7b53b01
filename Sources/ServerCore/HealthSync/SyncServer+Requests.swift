import LinkCore
import LinkWire

extension SyncServer {
  /// Refuses a request, answers it, or asks for the work that it needs.
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
    // The page holds no data: it asks for them with the secret of the person in front of it.
    if call.path == .dashboard { return answer(id, .dashboard) }
    if let goingAway { return answer(id, goingAway) }
    guard let user else {
      metrics.strangers += 1
      return answer(id, .error(401, "Unauthorized"))
    }
    guard work.count < policy.maxRequests else {
      return answer(id, .error(503, "Too busy", retryAfter: policy.busyRetry))
    }
    switch call.path {
    case .dashboard: break  // answered above
    case .sync where call.method == "GET":
      guard let device = call.deviceID else { return conclude(id, .stamped(nil)) }
      effects.append(.stamp(begin(id), user, device: device))
    case .sync:
      if !begins(id, call, of: user) { ingest(id, call, of: user) }
    case .upload: upload(id, call, of: user)
    case .refresh: effects.append(.check(begin(id)))
    case .steps, .heartRate, .sleep, .workouts, .periods:
      guard let span = SyncSpan(from: call.from, to: call.to) else {
        let reason = "from and to are dates such as 2026-01-31."
        return answer(id, .error(400, Self.badRequest, reason))
      }
      effects.append(.tell(begin(id), user, call.path, span, wall: wall))
    }
  }

  static let badRequest = "Bad request"

  /// The refusal of a request that no user may make; `nil` if there is none.
  func refusal(of call: SyncCall) -> SyncAnswer? {
    guard policy.doors.admit(host: call.host) else {
      return .error(
        421, "Misdirected", "This server is reached by the names of this machine alone.")
    }
    guard policy.doors.admit(origin: call.origin) else {
      return .error(403, "Forbidden", WebDoors.foreignOrigin)
    }
    let methods = call.path.allow
    let isAsked = call.method == "OPTIONS" && call.origin != nil
    guard isAsked || methods.split(separator: ", ").contains(call.method[...]) else {
      return .error(
        405, "Method not allowed", "This route takes \(methods).", allow: methods)
    }
    guard !call.speaksOtherTus || call.method == "OPTIONS" else {
      var refusal = SyncAnswer.error(412, "Unknown version", "This server speaks tus 1.0.0.")
      refusal.fields = [UploadField("Tus-Version", UploadDialect.tusVersion)]
      return refusal
    }
    return nil
  }

  private var preflight: SyncAnswer {
    var answer = SyncAnswer(204, [])
    answer.isPreflight = true
    return answer
  }

  /// What is said while the server goes away.
  private var goingAway: SyncAnswer? {
    guard mode != .serving else { return nil }
    return .error(503, "Draining", retryAfter: mode.window ?? policy.busyRetry)
  }

  private mutating func ingest(_ id: RequestID, _ call: SyncCall, of user: SyncUser) {
    guard let isGzip = Self.isGzip(call.encoding) else {
      return answer(
        id, .error(415, "Unsupported encoding", "Bodies may be compressed with gzip only."))
    }
    effects.append(.ingest(begin(id), user, body: call.body, isGzip: isGzip))
  }

  /// Whether a content coding is gzip; `nil` for one that is not taken.
  static func isGzip(_ encoding: String?) -> Bool? {
    switch encoding?.lowercased() ?? "identity" {
    case "identity", "": false
    case "gzip", "x-gzip": true
    case _: nil
    }
  }

  /// Numbers the work of a request.
  mutating func begin(_ id: RequestID) -> StoreToken {
    lastToken += 1
    let token = StoreToken(lastToken)
    work[token] = id
    return token
  }

  /// Answers the request whose work has ended.
  mutating func done(_ token: StoreToken, _ outcome: SyncOutcome) {
    guard let id = work.removeValue(forKey: token) else { return }
    if let purpose = uploads.work.removeValue(forKey: token) {
      return uploaded(id, purpose, outcome)
    }
    conclude(id, outcome)
  }

  /// Answers a request with what became of its work.
  mutating func conclude(_ id: RequestID, _ outcome: SyncOutcome) {
    switch outcome {
    case .stored(let tally):
      storeFailure = nil
      metrics.count(tally)
      answer(id, SyncAnswer(200, tally.bytes))
    case .stamped(let stamp):
      let user = requests[id]?.user ?? ""
      answer(id, SyncAnswer(200, SyncIdentity.ready(epoch: epoch, user: user, stamp: stamp)))
    case .checked:
      storeFailure = nil
      let took = requests[id].map { $0.since.duration(to: now) } ?? .zero
      answer(id, SyncAnswer(200, SyncReply.refreshed(in: took)))
    case .told(let object): answer(id, SyncAnswer(200, object))
    case .refused(let reason): answer(id, .error(400, Self.badRequest, reason))
    case .tooLong(let limit):
      answer(id, .error(413, "Too large", "A body has at most \(limit) bytes. Split the batch."))
    case .failed(let failure), .unfinished(_, let failure): fail(id, failure)
    case .kept: break  // of uploads alone
    }
  }

  /// Answers a request that the store failed.
  mutating func fail(_ id: RequestID, _ failure: StoreFailure) {
    storeFailure = failure
    metrics.storeFailures += 1
    answer(
      id,
      .error(503, "The store failed", "Nothing was stored.", retryAfter: policy.storeRetry))
  }

  /// Answers a request unless its client is gone.
  mutating func answer(_ id: RequestID, _ answer: SyncAnswer) {
    guard let pending = requests.removeValue(forKey: id) else { return }
    var answer = answer
    if pending.path == .sync { answer.tellsEncodings = true }
    if pending.user != nil, !epoch.isEmpty, pending.path.isOfPhones {
      answer.fields.append(UploadField(SyncIdentity.epochField, epoch))
    }
    if let dialect = pending.completes {
      answer.fields += UploadFields(dialect, isComplete: true).fields
    }
    let tus = UploadDialect.tus.fields
    if pending.isTus, !answer.fields.contains(tus[0]) { answer.fields += tus }
    if answer.status != 403, answer.status != 421 { answer.origin = pending.origin }
    metrics.requests.answered(
      pending.path.word, status: answer.status, after: pending.since.duration(to: now))
    effects.append(.answer(id, answer))
  }
}

/// What the backend counts of health sync.
struct SyncMetrics: Sendable {
  var requests = RequestCounts()
  var batches: UInt64 = 0
  var samples: UInt64 = 0
  var duplicates: UInt64 = 0
  var refused: UInt64 = 0
  var strangers: UInt64 = 0
  var storeFailures: UInt64 = 0
  var keptBytes: UInt64 = 0

  mutating func count(_ tally: SyncTally) {
    batches += 1
    samples += UInt64(tally.records + tally.workouts)
    duplicates += UInt64(tally.skippedDuplicates)
    refused += UInt64(tally.refused)
  }

  func report(waiting: Int, to page: inout MetricsPage) {
    page.requests.add(requests)
    page.one("sync_waiting", .gauge, "Sync requests that wait for the store.", UInt64(waiting))
    page.one(
      "sync_upload_bytes_total", .counter, "Bytes of uploads that were kept before their end.",
      keptBytes)
    page.one("sync_batches_total", .counter, "Batches stored.", batches)
    page.one("sync_samples_total", .counter, "Samples that were new.", samples)
    page.one("sync_duplicates_total", .counter, "Samples that were not new.", duplicates)
    page.one(
      "sync_refused_samples_total", .counter, "Samples that a newer batch deleted or replaced.",
      refused)
    page.one("sync_auth_failures_total", .counter, "Requests without a known secret.", strangers)
    page.one(
      "sync_store_failures_total", .counter, "Requests that the store failed.", storeFailures)
  }
}
