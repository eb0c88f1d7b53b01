public import HoldfastCore
public import HoldfastWire

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
    /// A request arrived. `user` is the owner of its secret, or `nil` if it has no valid secret.
    case request(RequestID, SyncCall, user: SyncUser?, wall: Timestamp)
    /// The client disconnected before it received the response.
    case abandoned(RequestID)
    /// Work that an effect requested has ended.
    case done(StoreToken, SyncOutcome)
    case drain(within: Duration)
    /// The uploads of an earlier process. If there are any, this is the first input.
    case restored([StoredUpload])
    /// The head of a request arrived, and its body follows.
    case announced(RequestID, SyncCall, user: SyncUser?)
    /// An announced request ended before its body was complete. The call contains the received
    /// part.
    case cut(RequestID, SyncCall)
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
    /// Write bytes at an offset of an upload's file. Create the file if it is missing.
    case write(StoreToken, UUID128, SyncUploadRecord, at: Int, [UInt8])
    /// Write the last bytes of an upload, and store the batch in its file.
    case finish(StoreToken, UUID128, SyncUploadRecord, at: Int, [UInt8])
    /// Remove the file of an upload.
    case forget(UUID128)
    /// Send a client the location of its upload while the body arrives.
    case inform(RequestID, [UploadField])
    /// End a request whose body is still arriving.
    case interrupt(RequestID)
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
  private let epoch: String
  var frame: ServerFrame<Effect>
  private var requests: [RequestID: Pending] = [:]
  /// The requests with work under way, including those whose clients disconnected.
  var work: [StoreToken: RequestID] = [:]
  var lastToken: UInt64 = 0
  /// The reason for the last store failure, or `nil` after a success.
  private var storeFailure: StoreFailure?
  private var metrics = SyncMetrics()
  var uploads = SyncUploads()
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
      for id in uploads.announced.keys.sorted() { frame.emit(.interrupt(id)) }
    case .restored(let uploads): restore(uploads)
    case .announced(let id, let call, let user): announce(id, call, user)
    case .cut(let id, let call): cut(id, call)
    }
    return conclude()
  }

  /// Advances the drain and expires uploads.
  public mutating func tick(at now: Instant) -> [Effect] {
    frame.begin(at: now)
    _ = frame.leave()
    if frame.givesUp {
      let late = SyncAnswer.error(503, "Stopped", retryAfter: policy.busyRetry)
      for id in requests.keys.sorted() { answer(id, late) }
      work = [:]
      uploads.stop()
    }
    expireUploads()
    return conclude()
  }

  /// The next instant at which `tick` must be called.
  public var deadline: Instant? {
    [frame.mode.deadline, uploads.deadline].compactMap(\.self).min()
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
    uploads.check(&check)
    wrongSecrets.check(&check)
    check.require(
      !frame.isFinished || (requests.isEmpty && work.isEmpty),
      "sync: a drain ends when nothing is left to wait for")
    guard check.isThorough else { return }
    check.require(
      work.keys.allSatisfy { $0.number <= lastToken }, "sync: each piece of work was numbered")
    check.require(
      Set(work.values).union(uploads.waiting).isSuperset(of: requests.keys),
      "sync: a request waits for its own work")
  }
}

extension SyncServer {
  /// Refuses a request, answers it, or starts the work that it needs.
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
    let refused = wrongSecrets.refusal(of: call, user, at: now)
    if user == nil { metrics.strangers += 1 }
    guard let user, refused == nil else { return answer(id, refused ?? WrongSecrets.unauthorized) }
    guard work.count < policy.maxRequests else {
      return answer(id, .error(503, "Too busy", retryAfter: policy.busyRetry))
    }
    switch call.path {
    case .dashboard: break  // answered above
    case .sync where call.method == "GET":
      guard let device = call.deviceID else { return conclude(id, .stamped(nil)) }
      frame.emit(.stamp(begin(id), user, device: device))
    case .sync:
      if !begins(id, call, of: user) { ingest(id, call, of: user) }
    case .upload: upload(id, call, of: user)
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

  /// The response to new requests during a drain, or `nil` otherwise.
  private var goingAway: SyncAnswer? {
    guard !frame.isServing else { return nil }
    return .error(503, "Draining", retryAfter: frame.mode.window ?? policy.busyRetry)
  }

  private mutating func ingest(_ id: RequestID, _ call: SyncCall, of user: SyncUser) {
    guard let isGzip = Self.isGzip(call.encoding) else {
      return answer(
        id, .error(415, "Unsupported encoding", "Bodies may be compressed with gzip only."))
    }
    frame.emit(.ingest(begin(id), user, body: call.body, isGzip: isGzip))
  }

  /// Returns whether a content coding is gzip, or `nil` if it is not supported.
  static func isGzip(_ encoding: String?) -> Bool? {
    switch encoding?.lowercased() ?? "identity" {
    case "identity", "": false
    case "gzip", "x-gzip": true
    case _: nil
    }
  }

  /// Assigns a token to the work of a request.
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

  /// Answers a request whose store access failed.
  mutating func fail(_ id: RequestID, _ failure: StoreFailure) {
    storeFailure = failure
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
    metrics.requests.answered(
      pending.path.name, status: answer.status, after: pending.since.duration(to: now))
    frame.emit(.answer(id, answer))
  }
}

/// The counters of health sync.
struct SyncMetrics: Sendable {
  var requests = RequestCounts()
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
    page.requests.add(requests)
    page.one("sync_waiting", .gauge, "Sync requests that wait for the store.", UInt64(waiting))
    page.counters(
      of: self,
      [
        ("sync_upload_bytes", "Bytes of uploads that were kept before their end.", \.storedBytes),
        ("sync_batches", "Batches stored.", \.batches),
        ("sync_samples", "Samples that were new.", \.samples),
        ("sync_duplicates", "Samples that were not new.", \.duplicates),
        ("sync_refused_samples", "Samples that a newer batch deleted or replaced.", \.refused),
        ("sync_auth_failures", "Requests without a known secret.", \.strangers),
        ("sync_store_failures", "Requests that the store failed.", \.storeFailures),
      ])
  }
}

// The results of work for uploads, and the responses about them.
extension SyncServer {
  /// Handles the end of work for an upload.
  mutating func uploaded(_ id: RequestID, _ work: SyncUploads.Work, _ outcome: SyncOutcome) {
    uploads.all[work.upload]?.busy = nil
    if work.isLast {
      finished(id, work.upload, work.dialect, outcome)
    } else {
      appended(id, work.upload, work.dialect, outcome)
    }
    resume(work.upload)
  }

  private mutating func appended(
    _ id: RequestID, _ name: UUID128, _ dialect: UploadDialect, _ outcome: SyncOutcome
  ) {
    let isCreation = requests[id]?.path == .sync
    switch outcome {
    case .written(let offset):
      storeFailure = nil
      metrics.storedBytes += UInt64(max(0, offset - (uploads.all[name]?.offset ?? offset)))
      note(name, offset)
      let fields = UploadFields(dialect, offset: offset, isComplete: false).fields
      let location = isCreation ? [Self.location(of: name), Self.limit()] : []
      answer(id, SyncAnswer(isCreation ? 201 : 204, [], fields: fields + location))
    case .failed(let failure), .unfinished(_, let failure):
      if uploads.all[name]?.isStored == false, uploads.all[name]?.waiting.isEmpty == true {
        uploads.all[name] = nil
      }
      fail(id, failure)
    case .stored, .stamped, .checked, .reported, .refused, .tooLong: break  // answers to other work
    }
  }

  private mutating func finished(
    _ id: RequestID, _ name: UUID128, _ dialect: UploadDialect, _ outcome: SyncOutcome
  ) {
    switch outcome {
    case .unfinished(let offset, let failure):
      note(name, offset)
      fail(id, failure)
    case .failed(let failure): fail(id, failure)
    case .written: break  // an answer to other work
    case .stored, .stamped, .checked, .reported, .refused, .tooLong:
      if dialect == .tus, case .stored(let counts) = outcome {
        storeFailure = nil
        metrics.count(counts)
        let offset = uploads.all[name]?.record.length
        answer(id, SyncAnswer(204, [], fields: UploadFields(.tus, offset: offset).fields))
      } else {
        requests[id]?.completes = dialect
        conclude(id, outcome)
      }
      // The file may have been created only for these bytes.
      uploads.all[name]?.isStored = true
      forget(name)
    }
  }

  private mutating func note(_ name: UUID128, _ offset: Int) {
    uploads.all[name]?.offset = offset
    uploads.all[name]?.isStored = true
    uploads.all[name]?.expires = frame.now.advanced(by: SyncUploads.age)
  }

  // MARK: Answers

  static let unknown = SyncAnswer.error(
    404, "Unknown upload", "It is complete, has expired or belongs to another user. Start again.")

  static let inconsistent = SyncAnswer.error(
    400, badRequest, "The upload's length differs from the announced one. Start again.")

  static func tooLarge(_ dialect: UploadDialect) -> SyncAnswer {
    let most = SyncServerPolicy.maxBodyBytes
    var answer = SyncAnswer.error(
      413, "Too large", "A body has at most \(most) bytes. Split the batch.")
    answer.fields = dialect.fields + [limit()]
    return answer
  }

  static func conflict(
    _ dialect: UploadDialect, expected: Int, provided: Int
  ) -> SyncAnswer {
    var answer = SyncAnswer.error(
      409, "Conflict", "The upload has \(expected) bytes, not \(provided).")
    answer.fields = UploadFields(dialect, offset: expected, isComplete: false).fields
    return answer
  }

  static func state(
    of upload: SyncUploads.Upload, _ dialect: UploadDialect, at now: Instant
  ) -> SyncAnswer {
    let fields = UploadFields(
      dialect, offset: upload.offset, length: upload.record.length, isComplete: false)
    let left = max(.zero, now.duration(to: upload.expires))
    return SyncAnswer(
      dialect == .tus ? 200 : 204, [], fields: fields.fields + [limit(for: left)])
  }

  static func limit(for left: Duration = SyncUploads.age) -> UploadField {
    UploadOffer.limit(
      maxSize: SyncServerPolicy.maxBodyBytes, seconds: left.components.seconds)
  }

  static func location(of name: UUID128) -> UploadField {
    UploadField("Location", "\(SyncPath.upload.rawValue)?id=\(name)")
  }

  /// Returns the methods of a route and the supported upload protocols.
  static func options(of path: SyncPath) -> SyncAnswer {
    SyncAnswer(
      204, [], allow: path.allow,
      fields: UploadOffer.options(maxSize: SyncServerPolicy.maxBodyBytes))
  }
}

// Uploads that resume after an interruption.
extension SyncServer {
  /// Restores the uploads of an earlier process.
  mutating func restore(_ stored: [StoredUpload]) {
    for upload in stored.sorted(by: { ($0.age, $0.id) < ($1.age, $1.id) }) {
      guard upload.age < SyncUploads.age, uploads.all.count < SyncUploads.most else {
        frame.emit(.forget(upload.id))
        continue
      }
      uploads.all[upload.id] = SyncUploads.Upload(
        record: upload.record, offset: upload.offset,
        expires: now.advanced(by: SyncUploads.age - upload.age), isStored: true)
    }
  }

  /// Removes the uploads that have expired.
  mutating func expireUploads() {
    for (id, upload) in uploads.all.sorted(by: { $0.key < $1.key })
    where upload.expires <= now && upload.busy == nil && upload.open == nil { forget(id) }
  }

  /// Removes an upload and its file.
  mutating func forget(_ id: UUID128) {
    guard let upload = uploads.all.removeValue(forKey: id) else { return }
    if upload.isStored { frame.emit(.forget(id)) }
    for waiting in upload.waiting { answer(waiting.id, Self.unknown) }
  }

  // MARK: Announced requests

  /// Assigns an upload to a request before its body is complete, so that a partial body can be
  /// stored.
  mutating func announce(
    _ id: RequestID, _ call: SyncCall, _ user: SyncUser?
  ) {
    guard refusal(of: call) == nil, frame.isServing else { return }
    // The answer while the body arrives shows whether the secret is right.
    guard wrongSecrets.refusal(of: call, user, at: now) == nil else { return }
    guard let user, let fields = call.upload else { return }
    if call.path == .sync, call.method == "POST" {
      guard let candidate = call.candidate, fields.dialect != .tus, fields.isComplete != nil,
        creationFault(fields) == nil, Self.isGzip(call.encoding) != nil, makeRoom(for: user)
      else { return }
      open(id, candidate, call, user)
      let fields = fields.dialect.fields + [Self.location(of: candidate), Self.limit()]
      frame.emit(.inform(id, fields))
    } else if call.method == "PATCH" {
      guard let (name, upload) = uploads.find(call.uploadID, of: user), upload.busy == nil,
        upload.open == nil
      else { return }
      uploads.all[name]?.open = id
      uploads.announced[id] = name
    }
  }

  private mutating func open(
    _ id: RequestID, _ name: UUID128, _ call: SyncCall, _ user: SyncUser
  ) {
    let record = SyncUploadRecord(
      user: user.name, length: call.upload?.length, isGzip: Self.isGzip(call.encoding) == true)
    uploads.all[name] = SyncUploads.Upload(
      record: record, expires: now.advanced(by: SyncUploads.age), open: id)
    uploads.announced[id] = name
  }

  /// Removes uploads until a user may start another one. Returns false if all uploads are in use.
  private mutating func makeRoom(for user: SyncUser) -> Bool {
    while let surplus = uploads.surplus(of: user.name) { forget(surplus) }
    return uploads.all.count < SyncUploads.most
  }

  /// Stores the received part of an announced request that was cut off.
  mutating func cut(_ id: RequestID, _ call: SyncCall) {
    let body = call.body
    guard let name = uploads.announced.removeValue(forKey: id), let upload = uploads.all[name],
      let dialect = call.upload?.dialect
    else { return }
    uploads.all[name]?.open = nil
    let isCreation = call.path == .sync
    let isExpected = isCreation || call.upload?.offset == upload.offset
    guard isExpected, !body.isEmpty, work.count < policy.maxRequests,
      fault(upload, appending: body.count, dialect) == nil
    else {
      if isCreation, upload.waiting.isEmpty { uploads.all[name] = nil }
      return resume(name)
    }
    write(id, name, body, dialect)
  }

  // MARK: Complete requests

  /// Handles a request that may create an upload. Returns false if its body is a complete batch.
  mutating func begins(_ id: RequestID, _ call: SyncCall, of user: SyncUser) -> Bool {
    guard let fields = call.upload else { return false }
    let announced = requests[id]?.announced
    if fields.dialect != .tus {
      guard let isComplete = fields.isComplete else { return false }
      if isComplete {
        // The body is complete, so there is nothing to resume, and no part of it has been stored.
        if let announced { forget(announced) }
        requests[id]?.completes = fields.dialect
        return false
      }
    }
    let unknownCoding = SyncAnswer.error(
      415, "Unsupported encoding", "Bodies may be compressed with gzip only.")
    let tooMuch = fields.length.map { call.body.count > $0 } ?? false
    let fault =
      creationFault(fields) ?? (Self.isGzip(call.encoding) == nil ? unknownCoding : nil)
      ?? (tooMuch ? Self.inconsistent : nil)
    if let fault {
      if let announced { forget(announced) }
      answer(id, fault)
      return true
    }
    guard announced != nil || makeRoom(for: user), let name = announced ?? call.candidate else {
      answer(id, .error(503, "Too busy", retryAfter: policy.busyRetry))
      return true
    }
    if announced == nil {
      open(id, name, call, user)
      endAnnouncement(of: id)
    }
    write(id, name, call.body, fields.dialect)
    return true
  }

  /// Records that the body of a request is complete, and returns the upload announced for it.
  @discardableResult
  mutating func endAnnouncement(of id: RequestID) -> UUID128? {
    guard let name = uploads.announced.removeValue(forKey: id) else { return nil }
    uploads.all[name]?.open = nil
    return name
  }

  /// Returns the refusal of an upload that cannot be created, or `nil` if it can.
  private func creationFault(_ fields: UploadFields) -> SyncAnswer? {
    if fields.dialect == .tus, fields.length == nil {
      return .error(400, Self.badRequest, "Upload-Length is needed.")
    }
    let most = SyncServerPolicy.maxBodyBytes
    guard let length = fields.length, length > most else { return nil }
    return Self.tooLarge(fields.dialect)
  }

  /// Handles a request about an existing upload.
  mutating func upload(_ id: RequestID, _ call: SyncCall, of user: SyncUser) {
    guard let fields = call.upload else {
      return answer(
        id, .error(400, Self.badRequest, "Upload-Draft-Interop-Version or Tus-Resumable is needed.")
      )
    }
    guard let (name, upload) = uploads.find(call.uploadID, of: user) else {
      return answer(id, Self.unknown)
    }
    guard upload.busy == nil, upload.open == nil else {
      guard upload.waiting.count < SyncUploads.mostWaiting else {
        return answer(id, .error(503, "Too busy", retryAfter: policy.busyRetry))
      }
      uploads.all[name]?.waiting.append(SyncUploads.Waiting(id: id, call: call, user: user))
      // A new request implies that the client has abandoned the open one.
      if let open = upload.open { frame.emit(.interrupt(open)) }
      return
    }
    switch call.method {
    case "HEAD": answer(id, Self.state(of: upload, fields.dialect, at: now))
    case "DELETE": remove(id, name, fields.dialect)
    case _: append(id, name, upload, call, fields)
    }
    resume(name)
  }

  /// Handles the next request that waits for an upload.
  mutating func resume(_ name: UUID128) {
    guard let upload = uploads.all[name], upload.busy == nil, upload.open == nil,
      !upload.waiting.isEmpty
    else { return }
    let next = upload.waiting[0]
    uploads.all[name]?.waiting.removeFirst()
    self.upload(next.id, next.call, of: next.user)
  }

  private mutating func remove(_ id: RequestID, _ name: UUID128, _ dialect: UploadDialect) {
    forget(name)
    answer(id, SyncAnswer(204, [], fields: dialect.fields))
  }

  private mutating func append(
    _ id: RequestID, _ name: UUID128, _ upload: SyncUploads.Upload, _ call: SyncCall,
    _ fields: UploadFields
  ) {
    let dialect = fields.dialect
    guard work.count < policy.maxRequests else {
      return answer(id, .error(503, "Too busy", retryAfter: policy.busyRetry))
    }
    if dialect.demandsMediaType, call.mediaType != dialect.mediaType {
      return answer(
        id, .error(415, "Unsupported media type", "Appended data must be \(dialect.mediaType)."))
    }
    guard let offset = fields.offset else {
      return answer(id, .error(400, Self.badRequest, "Upload-Offset is needed."))
    }
    guard offset == upload.offset else {
      return answer(id, Self.conflict(dialect, expected: upload.offset, provided: offset))
    }
    if let fault = fault(upload, appending: call.body.count, dialect) {
      forget(name)
      return answer(id, fault)
    }
    let end = offset + call.body.count
    let isLast = dialect == .tus ? end == upload.record.length : fields.isComplete == true
    // All stated lengths must be equal. If this is the last part, they must also equal the total.
    let lengths = [upload.record.length, fields.length, isLast ? end : nil].compactMap(\.self)
    if Set(lengths).count > 1 {
      forget(name)
      return answer(id, Self.inconsistent)
    }
    write(id, name, call.body, dialect, isLast: isLast)
  }

  /// Returns the refusal of bytes that do not fit into an upload, or `nil` if they fit.
  private func fault(
    _ upload: SyncUploads.Upload, appending count: Int, _ dialect: UploadDialect
  ) -> SyncAnswer? {
    let end = upload.offset + count
    if end > SyncServerPolicy.maxBodyBytes { return Self.tooLarge(dialect) }
    if let length = upload.record.length, end > length { return Self.inconsistent }
    return nil
  }

  /// Stores the bytes of a request. If `isLast` is true, also stores the batch that they complete.
  private mutating func write(
    _ id: RequestID, _ name: UUID128, _ bytes: [UInt8], _ dialect: UploadDialect,
    isLast: Bool = false
  ) {
    guard let upload = uploads.all[name] else { return }
    let token = begin(id)
    uploads.all[name]?.busy = token
    uploads.work[token] = SyncUploads.Work(upload: name, dialect: dialect, isLast: isLast)
    let (record, offset) = (upload.record, upload.offset)
    frame.emit(
      isLast
        ? .finish(token, name, record, at: offset, bytes)
        : .write(token, name, record, at: offset, bytes))
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
