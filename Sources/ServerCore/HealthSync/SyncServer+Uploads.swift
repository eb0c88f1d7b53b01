import LinkCore
import LinkWire

// Uploads that go on where they were cut.
extension SyncServer {
  /// Knows the uploads of an earlier process.
  mutating func restore(_ kept: [KeptUpload]) {
    for upload in kept.sorted(by: { ($0.age, $0.id) < ($1.age, $1.id) }) {
      guard upload.age < SyncUploads.age, uploads.all.count < SyncUploads.most else {
        effects.append(.forget(upload.id))
        continue
      }
      uploads.all[upload.id] = SyncUploads.Upload(
        record: upload.record, offset: upload.offset,
        expires: now.advanced(by: SyncUploads.age - upload.age), isStored: true)
    }
  }

  /// Forgets uploads that nothing came for.
  mutating func expireUploads() {
    for (id, upload) in uploads.all.sorted(by: { $0.key < $1.key })
    where upload.expires <= now && upload.busy == nil && upload.open == nil { forget(id) }
  }

  /// Lets go of an upload and its file.
  mutating func forget(_ id: UUID128) {
    guard let upload = uploads.all.removeValue(forKey: id) else { return }
    if upload.isStored { effects.append(.forget(id)) }
    for waiting in upload.waiting { answer(waiting.id, Self.unknown) }
  }

  // MARK: Requests whose bodies come

  /// Names the upload of a request before its body is whole, so that what comes of it is kept.
  mutating func announce(
    _ id: RequestID, _ call: SyncCall, _ user: SyncUser?
  ) {
    guard refusal(of: call) == nil, mode == .serving, let user, let fields = call.upload else {
      return
    }
    if call.path == .sync, call.method == "POST" {
      guard let candidate = call.candidate, fields.dialect != .tus, fields.isComplete != nil,
        creationFault(fields) == nil, Self.isGzip(call.encoding) != nil, makeRoom(for: user)
      else { return }
      open(id, candidate, call, user)
      let fields = fields.dialect.fields + [Self.place(of: candidate), Self.limit()]
      effects.append(.inform(id, fields))
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

  /// Forgets uploads until a user may begin another one; returns false if all are under way.
  private mutating func makeRoom(for user: SyncUser) -> Bool {
    while let surplus = uploads.surplus(of: user.name) { forget(surplus) }
    return uploads.all.count < SyncUploads.most
  }

  /// Keeps what came of a request that was announced.
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
    keep(id, name, body, dialect)
  }

  // MARK: Whole requests

  /// Takes a request to begin an upload; returns false if it is a batch of its own.
  mutating func begins(_ id: RequestID, _ call: SyncCall, of user: SyncUser) -> Bool {
    guard let fields = call.upload else { return false }
    let announced = requests[id]?.announced
    if fields.dialect != .tus {
      guard let isComplete = fields.isComplete else { return false }
      if isComplete {
        // Nothing is left to resume, and nothing was stored.
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
    keep(id, name, call.body, fields.dialect)
    return true
  }

  /// Notes that the body of a request is whole; returns the upload that it was announced for.
  @discardableResult
  mutating func endAnnouncement(of id: RequestID) -> UUID128? {
    guard let name = uploads.announced.removeValue(forKey: id) else { return nil }
    uploads.all[name]?.open = nil
    return name
  }

  /// The refusal of an upload that cannot be begun.
  private func creationFault(_ fields: UploadFields) -> SyncAnswer? {
    if fields.dialect == .tus, fields.length == nil {
      return .error(400, Self.badRequest, "Upload-Length is needed.")
    }
    let most = SyncServerPolicy.maxBodyBytes
    guard let length = fields.length, length > most else { return nil }
    return Self.tooLarge(fields.dialect)
  }

  /// Takes a request about an upload.
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
      // Its client has given it up, since it asks anew.
      if let open = upload.open { effects.append(.interrupt(open)) }
      return
    }
    switch call.method {
    case "HEAD": answer(id, Self.state(of: upload, fields.dialect, at: now))
    case "DELETE": remove(id, name, fields.dialect)
    case _: append(id, name, upload, call, fields)
    }
    resume(name)
  }

  /// Takes the next request that waited for an upload.
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
        id, .error(415, "Unsupported media type", "What is appended is \(dialect.mediaType)."))
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
    // Each length that was named is the same one, and that of what is whole.
    let lengths = [upload.record.length, fields.length, isLast ? end : nil].compactMap(\.self)
    if Set(lengths).count > 1 {
      forget(name)
      return answer(id, Self.inconsistent)
    }
    keep(id, name, call.body, dialect, isLast: isLast)
  }

  /// The refusal of bytes that an upload has no room for.
  private func fault(
    _ upload: SyncUploads.Upload, appending count: Int, _ dialect: UploadDialect
  ) -> SyncAnswer? {
    let end = upload.offset + count
    if end > SyncServerPolicy.maxBodyBytes { return Self.tooLarge(dialect) }
    if let length = upload.record.length, end > length { return Self.inconsistent }
    return nil
  }

  /// Has the bytes of a request kept; `isLast`: has the upload, which they complete, stored.
  private mutating func keep(
    _ id: RequestID, _ name: UUID128, _ bytes: [UInt8], _ dialect: UploadDialect,
    isLast: Bool = false
  ) {
    guard let upload = uploads.all[name] else { return }
    let token = begin(id)
    uploads.all[name]?.busy = token
    uploads.work[token] = SyncUploads.Work(upload: name, dialect: dialect, isLast: isLast)
    let (record, offset) = (upload.record, upload.offset)
    effects.append(
      isLast
        ? .finish(token, name, record, at: offset, bytes)
        : .keep(token, name, record, at: offset, bytes))
  }
}
