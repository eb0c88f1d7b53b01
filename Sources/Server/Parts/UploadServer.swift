public import HoldfastCore
public import HoldfastUploads

/// An HTTP request about an upload, reduced to the parts that the rules of uploads use.
package struct UploadCall: Sendable, Hashable {
  /// The method, in upper case.
  package var method: String
  /// Whether the request may create an upload. Otherwise it is about an existing one.
  package var isCreation: Bool
  /// The header fields about the upload, or `nil` if the request does not name an upload protocol.
  package var fields: UploadFields?
  /// The id of the upload that the request is about.
  package var id: UUID128?
  /// The id of the upload that the request may create. It must be random.
  package var candidate: UUID128?
  /// The value of `Content-Type`, without parameters.
  package var mediaType: String?
  /// Whether the content is compressed with gzip, or `nil` if its coding is not supported.
  package var isGzip: Bool?
  /// The name of that to which the content belongs.
  package var target: String?
  /// The received body.
  package var body: [UInt8]

  package init(
    method: String, isCreation: Bool, fields: UploadFields?, id: UUID128?, candidate: UUID128?,
    mediaType: String?, isGzip: Bool?, target: String? = nil, body: [UInt8]
  ) {
    (self.method, self.isCreation, self.fields) = (method, isCreation, fields)
    (self.id, self.candidate, self.target) = (id, candidate, target)
    (self.mediaType, self.isGzip, self.body) = (mediaType, isGzip, body)
  }
}

/// The bounds and texts of a service's uploads.
package struct UploadTerms: Sendable, Hashable {
  /// The path of requests about existing uploads.
  package var path: String
  /// The maximum size of an upload, in bytes.
  package var maxBytes: Int
  /// The human-readable reason for the refusal of a larger upload.
  package var tooLarge: String
  /// The human-readable reason for the refusal of an unsupported content coding.
  package var otherCoding: String
  /// The retry time of a request that is refused because too many requests wait.
  package var busyRetry: Duration

  package init(
    path: String, maxBytes: Int, tooLarge: String, otherCoding: String, busyRetry: Duration
  ) {
    (self.path, self.maxBytes, self.busyRetry) = (path, maxBytes, busyRetry)
    (self.tooLarge, self.otherCoding) = (tooLarge, otherCoding)
  }
}

/// The response to a request about an upload.
package struct UploadResponse: Sendable, Hashable {
  package var status: Int
  /// The constant short text of an error; `nil` for a success, which has no body.
  package var error: String?
  /// The details of this error, in one human-readable sentence.
  package var details: String?
  package var retryAfter: Duration?
  package var fields: [UploadField]

  package init(_ status: Int, fields: [UploadField]) {
    (self.status, self.fields) = (status, fields)
  }

  package init(
    error status: Int, _ text: String, _ details: String? = nil, retryAfter: Duration? = nil,
    fields: [UploadField] = []
  ) {
    (self.status, error, self.details) = (status, text, details)
    (self.retryAfter, self.fields) = (retryAfter, fields)
  }

  package static let badRequest = "Bad request"

  package static let unknown = UploadResponse(
    error: 404, "Unknown upload",
    "It is complete, has expired or belongs to another user. Start again.")

  package static let inconsistent = UploadResponse(
    error: 400, badRequest, "The upload's length differs from the announced one. Start again.")

  package static let unnamed = UploadResponse(
    error: 400, badRequest, "Upload-Draft-Interop-Version or Tus-Resumable is needed.")

  /// The response to an unsupported version of tus.
  package static let otherTus = UploadResponse(
    error: 412, "Unknown version", "This server speaks tus 1.0.0.",
    fields: [UploadField("Tus-Version", UploadDialect.tusVersion)])
}

/// An effect on the files of uploads or on the requests whose bodies arrive.
public enum UploadEffect: Sendable, Hashable, Codable {
  /// Write bytes at an offset of an upload's file. Create the file if it is missing.
  case write(StoreToken, UUID128, UploadRecord, at: Int, [UInt8])
  /// Write the last bytes of an upload, and store what its file then contains.
  case finish(StoreToken, UUID128, UploadRecord, at: Int, [UInt8])
  /// Remove the file of an upload.
  case forget(UUID128)
  /// Measure the space of the file system of the uploads.
  case measure
  /// Send a client the location of its upload while the body arrives.
  case inform(RequestID, [UploadField])
  /// End a request whose body is still arriving.
  case interrupt(RequestID)
}

/// An effect of a server with uploads.
package protocol UploadingEffect: Sendable {
  static func upload(_ effect: UploadEffect) -> Self
}

/// A server with uploads that resume after an interruption.
///
/// The server checks who sends a request, and stores what a complete upload contains. The rules of
/// uploads are the same for every server.
package protocol UploadServer {
  associatedtype Effect: UploadingEffect
  var frame: ServerFrame<Effect> { get set }
  var uploads: Uploads { get set }
  var uploadTerms: UploadTerms { get }
  /// Whether another request may wait for the store.
  var hasRoomForWork: Bool { get }
  /// Assigns a token to the work of a request.
  mutating func begin(_ id: RequestID) -> StoreToken
  /// Answers a request unless its client has disconnected.
  mutating func answer(_ id: RequestID, _ response: UploadResponse)
  /// Returns the refusal of a request about an upload of its user, or `nil` if there is none.
  func refusal(of id: RequestID, about record: UploadRecord) -> UploadResponse?
  /// Counts an upload of a user. Returns false if there were too many lately.
  mutating func isWithinRate(_ user: String) -> Bool
}

extension UploadServer {
  package func refusal(of id: RequestID, about record: UploadRecord) -> UploadResponse? { nil }
  package func isWithinRate(_ user: String) -> Bool { true }
}

/// The result of checking whether a request creates an upload.
package enum UploadBeginning: Sendable, Hashable {
  /// The request is about an upload, and is answered or waits for the store.
  case taken
  /// The body is complete. The response completes an upload of this protocol, if there is one.
  case whole(UploadDialect?)
}

// The state of uploads.
extension UploadServer {
  private var now: Instant { frame.now }

  private mutating func emit(_ effect: UploadEffect) { frame.emit(.upload(effect)) }

  /// Restores the uploads of an earlier process.
  package mutating func restore(_ stored: [StoredUpload]) {
    for upload in stored.sorted(by: { ($0.age, $0.id) < ($1.age, $1.id) }) {
      guard upload.age < Uploads.age,
        uploads.hasRoom(for: upload.record.user, upload.offset, in: nil)
      else {
        emit(.forget(upload.id))
        continue
      }
      uploads.all[upload.id] = Uploads.Upload(
        record: upload.record, offset: upload.offset,
        expires: now.advanced(by: Uploads.age - upload.age), isStored: true)
    }
    if !uploads.all.isEmpty { emit(.measure) }
  }

  /// Removes the uploads that have expired, and measures the space if that is due.
  package mutating func expireUploads() {
    for (id, upload) in uploads.all.sorted(by: { $0.key < $1.key })
    where upload.expires <= now && upload.busy == nil && upload.open == nil { forget(id) }
    guard let due = uploads.measuresAt, due <= now, !uploads.all.isEmpty else { return }
    uploads.measuresAt = nil
    emit(.measure)
  }

  /// Records the space, and removes the oldest uploads while too little is left.
  package mutating func measured(_ space: DiskSpace) {
    uploads.disk = space
    uploads.measuresAt = now.advanced(by: Uploads.measuringInterval)
    _ = hasSpace(for: 0)
  }

  /// Ends all requests whose bodies are arriving. The received parts are then stored.
  package mutating func interruptUploads() {
    for id in uploads.announced.keys.sorted() { emit(.interrupt(id)) }
  }

  /// Removes an upload and its file.
  package mutating func forget(_ id: UUID128) {
    guard let upload = uploads.all.removeValue(forKey: id) else { return }
    if upload.isStored { emit(.forget(id)) }
    uploads.disk?.free += upload.offset
    for waiting in upload.waiting { answer(waiting.id, .unknown) }
  }

  /// Removes the oldest uploads until `count` further bytes leave enough space free. Returns false if
  /// they cannot.
  package mutating func hasSpace(for count: Int, in name: UUID128? = nil) -> Bool {
    for obstacle in uploads.obstacles(to: count, in: name) { forget(obstacle) }
    return uploads.spare.map { $0 >= count } ?? true
  }

  /// Removes the oldest uploads until a user may store further bytes. Returns the refusal if that is
  /// not possible.
  ///
  /// - Parameters:
  ///   - space: The space that the request takes if it is more than its bytes.
  ///   - name: The upload of the bytes, or `nil` if they begin a new one.
  private mutating func makeRoom(
    for user: String, _ count: Int = 0, taking space: Int = 0, in name: UUID128? = nil
  ) -> UploadResponse? {
    while let surplus = uploads.surplus(of: user, count, in: name) { forget(surplus) }
    guard uploads.hasRoom(for: user, count, in: name) else { return tooBusy }
    return hasSpace(for: max(count, space), in: name) ? nil : noSpace
  }

  private mutating func open(
    _ id: RequestID, _ name: UUID128, _ call: UploadCall, _ user: String
  ) {
    let record = UploadRecord(
      user: user, length: call.fields?.length, isGzip: call.isGzip == true, target: call.target)
    uploads.all[name] = Uploads.Upload(
      record: record, expires: now.advanced(by: Uploads.age), open: id)
    uploads.announced[id] = name
  }

  // MARK: Work

  /// Starts to store the bytes of a request. If `isLast` is true, what they complete is stored, too.
  private mutating func write(
    _ id: RequestID, _ name: UUID128, _ call: UploadCall, _ dialect: UploadDialect,
    isLast: Bool = false
  ) {
    guard let upload = uploads.all[name] else { return }
    let (record, offset) = (upload.record, upload.offset)
    let end = offset + call.body.count
    let token = begin(id, taking: call.body.count + (isLast ? end : 0))
    uploads.all[name]?.busy = token
    uploads.work[token] = Uploads.Work(
      upload: name, dialect: dialect, isCreation: call.isCreation, isLast: isLast, end: end)
    emit(
      isLast
        ? .finish(token, name, record, at: offset, call.body)
        : .write(token, name, record, at: offset, call.body))
  }

  /// Assigns a token to work that takes space.
  package mutating func begin(_ id: RequestID, taking space: Int) -> StoreToken {
    let token = begin(id)
    uploads.taken[token] = space
    return token
  }

  /// Answers a request whose bytes are stored. The upload now has `offset` bytes.
  package mutating func wrote(_ id: RequestID, _ work: Uploads.Work, upTo offset: Int) {
    note(work.upload, offset)
    let fields = UploadFields(work.dialect, offset: offset, isComplete: false).fields
    let location = work.isCreation ? [location(of: work.upload), limit()] : []
    answer(id, UploadResponse(work.isCreation ? 201 : 204, fields: fields + location))
  }

  /// Removes an upload of which nothing could be stored.
  package mutating func failedToWrite(_ work: Uploads.Work) {
    if uploads.all[work.upload]?.isStored == false,
      uploads.all[work.upload]?.waiting.isEmpty == true
    {
      uploads.all[work.upload] = nil
    }
  }

  /// Records the size of a stored upload.
  package mutating func note(_ name: UUID128, _ offset: Int) {
    let expiry = now.advanced(by: Uploads.age)
    uploads.all[name]?.offset = offset
    uploads.all[name]?.isStored = true
    uploads.all[name]?.expires = expiry
  }

  /// Removes an upload that is complete and was stored or refused.
  package mutating func complete(_ work: Uploads.Work) {
    // The file may have been created only for these bytes.
    uploads.all[work.upload]?.isStored = true
    forget(work.upload)
  }

  /// Returns the response to the last bytes of an upload by tus.
  package func tusEnd(of work: Uploads.Work) -> UploadResponse {
    let offset = uploads.all[work.upload]?.record.length
    return UploadResponse(204, fields: UploadFields(.tus, offset: offset).fields)
  }
}

// Requests about uploads.
extension UploadServer {
  /// Assigns an upload to a request before its body is complete, so that a partial body can be
  /// stored.
  package mutating func announce(_ id: RequestID, _ call: UploadCall, of user: String) {
    guard let fields = call.fields else { return }
    if call.isCreation, call.method == "POST" {
      guard let candidate = call.candidate, fields.dialect != .tus, fields.isComplete != nil,
        creationFault(fields) == nil, call.isGzip != nil, makeRoom(for: user) == nil,
        isWithinRate(user)
      else { return }
      open(id, candidate, call, user)
      let fields = fields.dialect.fields + [location(of: candidate), limit()]
      emit(.inform(id, fields))
    } else if call.method == "PATCH" {
      guard let (name, upload) = uploads.find(call.id, of: user), upload.busy == nil,
        upload.open == nil
      else { return }
      uploads.all[name]?.open = id
      uploads.announced[id] = name
    }
  }

  /// Stores the received part of an announced request that was cut off.
  package mutating func cut(_ id: RequestID, _ call: UploadCall) {
    guard let name = uploads.announced.removeValue(forKey: id), let upload = uploads.all[name],
      let dialect = call.fields?.dialect
    else { return }
    uploads.all[name]?.open = nil
    let isExpected = call.isCreation || call.fields?.offset == upload.offset
    let (user, count) = (upload.record.user, call.body.count)
    guard isExpected, count > 0, hasRoomForWork, fault(upload, appending: count, dialect) == nil,
      call.isCreation || isWithinRate(user), makeRoom(for: user, count, in: name) == nil
    else {
      if call.isCreation, upload.waiting.isEmpty { uploads.all[name] = nil }
      return resume(name)
    }
    write(id, name, call, dialect)
  }

  /// Records that the body of a request is complete, and returns the upload announced for it.
  @discardableResult
  package mutating func endAnnouncement(of id: RequestID) -> UUID128? {
    guard let name = uploads.announced.removeValue(forKey: id) else { return nil }
    uploads.all[name]?.open = nil
    return name
  }

  /// Handles a request that may create an upload. `announced` is the upload that was announced for
  /// it.
  package mutating func beginUpload(
    _ id: RequestID, _ call: UploadCall, of user: String, announced: UUID128?
  ) -> UploadBeginning {
    guard let fields = call.fields else { return .whole(nil) }
    if fields.dialect != .tus {
      guard let isComplete = fields.isComplete else { return .whole(nil) }
      if isComplete {
        // The body is complete, so there is nothing to resume, and no part of it has been stored.
        if let announced { forget(announced) }
        return .whole(fields.dialect)
      }
    }
    let tooMuch = fields.length.map { call.body.count > $0 } ?? false
    let fault =
      creationFault(fields) ?? (call.isGzip == nil ? otherCoding : nil)
      ?? (tooMuch ? .inconsistent : nil)
    if let fault {
      if let announced { forget(announced) }
      answer(id, fault)
      return .taken
    }
    let count = call.body.count
    let refusal = makeRoom(for: user, count, taking: fields.length ?? 0, in: announced)
    guard refusal == nil, let name = announced ?? call.candidate else {
      if let announced { forget(announced) }
      answer(id, refusal ?? tooBusy)
      return .taken
    }
    if announced == nil {
      open(id, name, call, user)
      endAnnouncement(of: id)
    }
    write(id, name, call, fields.dialect)
    return .taken
  }

  /// Handles a request about an existing upload.
  package mutating func upload(_ id: RequestID, _ call: UploadCall, of user: String) {
    guard let fields = call.fields else { return answer(id, .unnamed) }
    guard let (name, upload) = uploads.find(call.id, of: user) else {
      return answer(id, .unknown)
    }
    guard upload.busy == nil, upload.open == nil else {
      guard upload.waiting.count < Uploads.mostWaiting else { return answer(id, tooBusy) }
      uploads.all[name]?.waiting.append(Uploads.Waiting(id: id, call: call, user: user))
      // A new request implies that the client has abandoned the open one.
      if let open = upload.open { emit(.interrupt(open)) }
      return
    }
    let refusal = refusal(of: id, about: upload.record)
    switch call.method {
    case _ where refusal != nil: refusal.map { answer(id, $0) }
    case "HEAD": answer(id, state(of: upload, fields.dialect))
    case "DELETE":
      forget(name)
      answer(id, UploadResponse(204, fields: fields.dialect.fields))
    case _: append(id, name, upload, call, fields)
    }
    resume(name)
  }

  /// Handles the next request that waits for an upload.
  package mutating func resume(_ name: UUID128) {
    guard let upload = uploads.all[name], upload.busy == nil, upload.open == nil,
      !upload.waiting.isEmpty
    else { return }
    let next = upload.waiting[0]
    uploads.all[name]?.waiting.removeFirst()
    self.upload(next.id, next.call, of: next.user)
  }

  private mutating func append(
    _ id: RequestID, _ name: UUID128, _ upload: Uploads.Upload, _ call: UploadCall,
    _ fields: UploadFields
  ) {
    let dialect = fields.dialect
    guard hasRoomForWork else { return answer(id, tooBusy) }
    if dialect.demandsMediaType, call.mediaType != dialect.mediaType {
      return answer(
        id,
        UploadResponse(
          error: 415, "Unsupported media type", "Appended data must be \(dialect.mediaType)."))
    }
    guard let offset = fields.offset else {
      return answer(
        id, UploadResponse(error: 400, UploadResponse.badRequest, "Upload-Offset is needed."))
    }
    guard offset == upload.offset else {
      return answer(id, conflict(dialect, expected: upload.offset, provided: offset))
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
      return answer(id, .inconsistent)
    }
    let (user, count) = (upload.record.user, call.body.count)
    if let refusal = makeRoom(for: user, count, taking: isLast ? count + end : 0, in: name) {
      return answer(id, refusal)
    }
    write(id, name, call, dialect, isLast: isLast)
  }
}

// Responses about uploads.
extension UploadServer {
  /// Returns the refusal of an upload that cannot be created, or `nil` if it can.
  private func creationFault(_ fields: UploadFields) -> UploadResponse? {
    if fields.dialect == .tus, fields.length == nil {
      return UploadResponse(error: 400, UploadResponse.badRequest, "Upload-Length is needed.")
    }
    guard let length = fields.length, length > uploadTerms.maxBytes else { return nil }
    return tooLarge(fields.dialect)
  }

  /// Returns the refusal of bytes that do not fit into an upload, or `nil` if they fit.
  private func fault(
    _ upload: Uploads.Upload, appending count: Int, _ dialect: UploadDialect
  ) -> UploadResponse? {
    let end = upload.offset + count
    if end > uploadTerms.maxBytes { return tooLarge(dialect) }
    if let length = upload.record.length, end > length { return .inconsistent }
    return nil
  }

  private var tooBusy: UploadResponse {
    UploadResponse(error: 503, "Too busy", retryAfter: uploadTerms.busyRetry)
  }

  /// The refusal of bytes that would leave too little space on the disk.
  package var noSpace: UploadResponse {
    UploadResponse(
      error: 503, "The server's disk is almost full",
      "Nothing was stored. Try again when its operator has freed space.",
      retryAfter: Uploads.spaceRetry)
  }

  /// The refusal of an unsupported content coding.
  package var otherCoding: UploadResponse {
    UploadResponse(error: 415, "Unsupported encoding", uploadTerms.otherCoding)
  }

  private func tooLarge(_ dialect: UploadDialect) -> UploadResponse {
    UploadResponse(
      error: 413, "Too large", uploadTerms.tooLarge, fields: dialect.fields + [limit()])
  }

  private func conflict(
    _ dialect: UploadDialect, expected: Int, provided: Int
  ) -> UploadResponse {
    UploadResponse(
      error: 409, "Conflict", "The upload has \(expected) bytes, not \(provided).",
      fields: UploadFields(dialect, offset: expected, isComplete: false).fields)
  }

  private func state(of upload: Uploads.Upload, _ dialect: UploadDialect) -> UploadResponse {
    let fields = UploadFields(
      dialect, offset: upload.offset, length: upload.record.length, isComplete: false)
    let left = max(.zero, now.duration(to: upload.expires))
    return UploadResponse(
      dialect == .tus ? 200 : 204, fields: fields.fields + [limit(for: left)])
  }

  private func limit(for left: Duration = Uploads.age) -> UploadField {
    UploadOffer.limit(maxSize: uploadTerms.maxBytes, seconds: left.components.seconds)
  }

  private func location(of name: UUID128) -> UploadField {
    UploadField("Location", "\(uploadTerms.path)?id=\(name)")
  }
}
