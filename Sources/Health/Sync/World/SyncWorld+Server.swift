import HoldfastCore
import HoldfastHealthSync
import HoldfastLinkChecks
import HoldfastServerParts
import HoldfastSyncChecks
import HoldfastSyncData
import HoldfastSyncServer
import HoldfastUploads
import HoldfastWorldKernel

// The server: the actual rules, with an in-memory store.
extension SyncWorld {
  struct Backend {
    var server = SyncServer(epoch: "epoch-1", at: .zero)
    /// The state that is stored.
    var stored = StoredSync(epoch: "epoch-1")
    /// The state that was stored when the process started.
    var old = StoredSync(epoch: "epoch-1")
    /// The number of changes that were made to the stored state.
    var changes = 0
    /// The time at which the last pending change will be written. Changes are written one after
    /// another.
    var storeFree = Instant.zero
    /// The number of the currently valid secret.
    var secret = 1
    /// The number of epochs so far.
    var epochs = 1
    /// The files of incomplete uploads. They survive the process.
    var files: [UUID128: UploadFile] = [:]
    /// The requests whose bodies are arriving.
    var coming: [TrafficID: Coming] = [:]
  }

  mutating func bootBackend() {
    backend.server = SyncSeam.server(seam.defect, epoch: backend.stored.epoch, at: now)
    backend.storeFree = now
    backend.coming = [:]
    backend.old = backend.stored
    glances.open = [:]
    restoreUploads()
  }

  /// Restores the state that the server had when its process started, and begins a new epoch.
  mutating func putBackServer(_ index: Int) {
    stop(server, for: index)
    backend.stored = backend.old
    backend.files = [:]
    backend.changes += 1
    if seam.defect != .keepsEpoch {
      backend.epochs += 1
      backend.stored.begin(epoch: "epoch-\(backend.epochs)")
    }
    note(.putBack(.server))
  }

  mutating func drain(_ server: HostID, within time: Duration) {
    feed(.other(.drain(within: time)))
  }

  func deadline(of host: HostID) -> Instant? {
    let isServer = host.kind == .backend && kernel.hosts[host.slot].isRunning
    return isServer ? backend.server.deadline : nil
  }

  mutating func tick(_ host: HostID) {
    examine(backend.server.tick(at: now))
  }

  mutating func feed(_ event: SyncReceivedRequest.Event) {
    guard kernel.hosts[server.slot].isRunning else { return }
    examine(backend.server.handle(event.input, at: now))
  }

  private mutating func examine(_ effects: [SyncServer.Effect]) {
    kernel.examine(&backend.server)
    perform(effects)
  }

  /// Carries out effects in order. A process with a pending kill may die between two effects.
  private mutating func perform(_ effects: [SyncServer.Effect]) {
    let (spared, dies) = spared(effects, of: server)
    for effect in spared where kernel.hosts[server.slot].isRunning { perform(effect) }
    if dies { die(server) }
  }

  private mutating func perform(_ effect: SyncServer.Effect) {
    switch effect {
    case .ingest(let token, let user, let body, let isGzip):
      ingest(token, user.name, body, isGzip: isGzip)
    case .stamp(let token, let user, let device):
      // The stamp is read after the batches that arrived before the request.
      backend.storeFree = max(backend.storeFree, now)
      let wait = now.duration(to: backend.storeFree) + .milliseconds(1)
      kernel.later(.stamps(token, user: user.name, device: device), on: server, after: wait)
    case .check(let token): later(token, .checked)
    case .report(let token, let user, let path, let span, let wall):
      later(token, outcome(path, span, user, wall))
    case .answer(let id, let answer):
      if seen(id.number, answer) { return }
      self.answer(id.number, Feature.Reply(disguised(answer, to: id.number)))
    case .upload(let effect): perform(effect)
    case .finished: drained(server)
    }
  }

  private mutating func perform(_ effect: UploadEffect) {
    switch effect {
    case .write(let token, let id, let record, let offset, let bytes):
      write(token, id, record, offset, bytes, isLast: false)
    case .finish(let token, let id, let record, let offset, let bytes):
      write(token, id, record, offset, bytes, isLast: true)
    case .forget(let id): if seam.defect != .keepsUploads { backend.files[id] = nil }
    case .measure: break
    case .inform(let id, let fields): inform(id.number, fields)
    case .interrupt(let id): interrupt(id.number)
    }
  }

  mutating func later(_ token: StoreToken, _ outcome: SyncOutcome) {
    kernel.later(.done(token, outcome), on: server, after: .milliseconds(1))
  }

  /// Stores a batch.
  ///
  /// - Parameter end: The size in bytes of the upload in which the batch arrived; `nil` if it
  ///   arrived in one request.
  mutating func ingest(
    _ token: StoreToken, _ user: String, _ body: [UInt8], isGzip: Bool, upTo end: Int? = nil
  ) {
    let plain = isGzip ? SyncRequest.unpacked(body) : body
    checkWritten(plain ?? [], user)
    guard let whole = SyncDelivery(ofBody: plain ?? [], user: user, arrived: wall(server)) else {
      return later(token, .refused(reason: "it cannot be read"))
    }
    let delivery = seam.atServer(whole)
    if seam.defect == .answersEarly { later(token, .stored(IngestCounts())) }
    let conditions = kernel.hosts[server.slot].conditions
    var delay = max(kernel.plan.numbers.storeDelay, conditions.storeDelay)
    if conditions.disk == .slow { delay = max(delay, diskDelay(server)) }
    backend.storeFree = max(backend.storeFree, now).advanced(by: delay)
    write(
      .stores(token, delivery, upTo: end), on: server,
      after: now.duration(to: backend.storeFree))
  }

  /// Checks that a body equals a batch that a phone of its user wrote. The body may have arrived in
  /// one piece or in several.
  private mutating func checkWritten(_ body: [UInt8], _ user: String) {
    guard let phone = phones.indices.first(where: { Self.user($0) == user }),
      !phones[phone].written.contains(SyncHash.folded(body))
    else { return }
    note(.damaged(user: user, "has \(body.count) bytes that the phone did not write"))
  }

  mutating func store(_ token: StoreToken, _ delivery: SyncDelivery) -> Feature.ScheduledEvent {
    let counter = backend.stored.apply(delivery)
    backend.changes += 1
    kernel.counts[.stored] += 1
    querySoon(delivery.user)
    return .done(token, .stored(counter))
  }

  // Requests.

  mutating func requestArrived(
    _ id: TrafficID, _ question: Feature.Question, at server: HostID
  ) {
    if question.isOfUpload, kernel.happens(kernel.plan.numbers.again), !isCalm {
      let wait = kernel.generator.duration(below: .seconds(120))
      kernel.later(.repeats(question), after: wait)
    }
    arrived(id, question)
  }

  /// Handles a request that an intermediary repeats because it received no answer.
  ///
  /// The answer is discarded.
  mutating func repeated(_ question: Feature.Question) {
    guard kernel.hosts[server.slot].isRunning, !isCalm else { return }
    arrived(kernel.newNumber(), question)
  }

  private mutating func arrived(_ id: TrafficID, _ question: Feature.Question) {
    for index in kernel.active {
      let event = kernel.plan.events[index].event
      guard event.eventKind == .own(.overloads) else { continue }
      return answer(id, Feature.Reply(status: 429, retryAfter: event.time))
    }
    switch question {
    case .upload(let phone, _, let body, let secret):
      if body.count > kernel.plan.numbers.maxBody {
        return answer(id, Feature.Reply(status: 413))
      }
      feed(id, received(.sync, body), phone, secret)
    case .refresh(let phone, let secret): feed(id, received(.refresh), phone, secret)
    case .identify(let phone, let secret):
      var received = received(.sync)
      received.method = "GET"
      received.fields["authorization"] = "Bearer \(secret)"
      received.query["deviceId"] = Self.device
      feed(id, received, phone, secret)
    case .part(let phone, _, let request):
      if request.body.count > kernel.plan.numbers.maxBody {
        return answer(id, Feature.Reply(status: 413))
      }
      take(request, id, phone)
    }
  }

  private func received(_ path: SyncPath, _ body: [UInt8] = []) -> SyncReceivedRequest {
    SyncReceivedRequest(method: "POST", path: path, fields: ["host": SyncRequest.host], body: body)
  }

  private mutating func feed(
    _ id: TrafficID, _ received: SyncReceivedRequest, _ phone: Int, _ secret: Int
  ) {
    feed(.request(RequestID(id), received, user: user(phone, secret), wall: wall(server)))
  }

  /// Returns the user whose secret a request contains; `nil` if the secret is not valid.
  func user(_ phone: Int, _ secret: Int) -> SyncUser? {
    secret == backend.secret ? SyncUser(Self.user(phone)) : nil
  }

  /// The device ID of every phone.
  static let device = "phone"

  /// Returns a refusal. If its status indicates success, its body reports the failure.
  func refusal(_ status: Int) -> Feature.Reply {
    Feature.Reply(
      status: status, body: 200..<300 ~= status ? Array(#"{"success":false}"#.utf8) : [])
  }

  func bytes(of question: Feature.Question) -> Int {
    switch question {
    case .upload(_, _, let body, _): body.count + 300
    case .part(_, _, let request): request.body.count + 300
    case .refresh, .identify: 300
    }
  }

  func bytes(of reply: Feature.Reply) -> Int { 200 }

  func mayComeTwice(_ question: Feature.Question) -> Bool { false }
}

extension SyncFeature.Question {
  fileprivate var isOfUpload: Bool {
    switch self {
    case .upload, .part: true
    case .refresh, .identify: false
    }
  }
}

// Uploads. Either the app makes them in the steps of `UploadTry`, or the system makes them. The
// system sends the whole payload, and resumes at the point at which the upload was cut off.
extension SyncWorld {
  var numbers: Feature.Numbers { kernel.plan.numbers }

  func resumes(_ body: [UInt8]) -> Bool {
    numbers.resumesFrom > 0 && body.count >= numbers.resumesFrom
  }

  /// Starts an attempt by the app.
  mutating func tryByApp(_ file: String, _ body: [UInt8], _ phone: HostID) {
    let index = phone.index
    let ticket = phones[index].tickets[file].flatMap { try? UploadTicket.read($0) }
    let upload = UploadTry(
      body, to: SyncRequest.endpoint, ticket: seam.defect == .losesTickets ? nil : ticket,
      resumesFrom: numbers.resumesFrom > 0 ? numbers.resumesFrom : .max, phones[index].support)
    phones[index].tasks[file]?.sending = upload
    goOn(file, phone)
  }

  /// Carries out the next step of the app's attempt.
  private mutating func goOn(_ file: String, _ phone: HostID) {
    guard let task = phones[phone.index].tasks[file], let upload = task.sending else { return }
    switch upload.step {
    case .compress: take(.compressed(task.body.map { SyncRequest.packed($0) }), of: file, phone)
    case .send(let request):
      notePiece(upload, file, phone)
      send(
        SyncRequest(
          request.method, request.url, request.fields, body: request.body,
          secret: request.showsSecret ? task.secret : 0),
        of: file, phone)
    case .ended(let outcome, let epoch):
      phones[phone.index].tasks[file]?.epoch = epoch
      ended(file, outcome, phone)
    }
  }

  mutating func send(_ request: SyncRequest, of file: String, _ phone: HostID) {
    guard numbers.resumesFrom > 0 || !request.fields.isEmpty else {
      return sendWhole(request, file, phone)
    }
    let from = isOwnedBySystem ? kernel.host(.system, phone.index) : phone
    let number = ask(
      .part(phone: phone.index, file: file, request), from: from, to: server,
      timeLimit: .seconds(30) + .seconds(request.body.count / 16_384))
    phones[phone.index].tasks[file]?.exchange = number
  }

  private mutating func notePiece(_ upload: UploadTry, _ file: String, _ phone: HostID) {
    switch upload.piece {
    case .create?:
      note(.upload(phone: phone.index, file: file, .begins(isGzip: upload.isGzip)))
    case .append(let url, let from, let count, _)?:
      note(.upload(phone: phone.index, file: file, .appends(url: url, from: from, count: count)))
    case .offset?, .whole?, .ended?, nil: return
    }
  }

  // Answers.

  /// Handles the answer to a request of the app's attempt.
  mutating func take(
    _ result: Result<Feature.Reply, LinkFailure>, of file: String, _ phone: HostID
  ) {
    guard let task = phones[phone.index].tasks[file], task.outcome == nil,
      let upload = task.sending, case .send(let request) = upload.step
    else { return }
    switch result {
    case .failure(let failure): take(.failed(failure), of: file, phone)
    case .success(var reply):
      if let dialect = upload.dialect {
        noteAnswer(
          reply.answer.reply(dialect, of: request.url), request.method, request.url,
          upload.payload.count, file, phone.index)
        if seam.defect == .resumesBlindly, request.method == "HEAD" { reply.forgetOffset() }
      }
      take(.answer(reply.answer), of: file, phone)
    }
  }

  private mutating func take(_ input: UploadTry.Input, of file: String, _ phone: HostID) {
    let index = phone.index
    guard var upload = phones[index].tasks[file]?.sending else { return }
    let change = upload.take(input, &phones[index].support)
    phones[index].tasks[file]?.sending = upload
    carryOut(change, of: file, phone)
    goOn(file, phone)
  }

  private mutating func noteAnswer(
    _ answer: UploadReply, _ method: String, _ url: String, _ size: Int, _ file: String,
    _ index: Int
  ) {
    guard let location = method == "POST" ? answer.url : url else { return }
    // In tus, no header field states whether an upload is complete.
    let isWhole = method != "POST" && answer.fields.dialect == .tus && answer.fields.offset == size
    note(
      .upload(
        phone: index, file: file,
        .answered(
          url: location, status: answer.status,
          offset: method == "POST" ? answer.fields.offset ?? 0 : answer.fields.offset,
          isComplete: answer.fields.isComplete == true || isWhole)))
  }

  private mutating func carryOut(
    _ change: UploadTry.TicketChange?, of file: String, _ phone: HostID
  ) {
    let index = phone.index
    switch change {
    case nil: return
    case .forget?: phones[index].tickets[file] = nil
    case .store(let ticket)?:
      switch kernel.hosts[phone.slot].conditions.disk {
      case .full, .locked: return  // The upload will start over and send its bytes again.
      case .works, .slow: break
      }
      phones[index].tickets[file] = ticket.bytes
      let url = ticket.url(at: SyncRequest.endpoint) ?? ticket.url
      note(.upload(phone: index, file: file, .storedURL(url: url, isGzip: ticket.isGzip)))
    }
  }

  // The system sends the whole payload. In the meantime it receives the URL at which it can resume.

  mutating func trySystem(_ file: String, _ body: [UInt8], _ phone: HostID) {
    guard let task = phones[phone.index].tasks[file] else { return }
    if let url = task.url {
      send(SyncRequest("HEAD", url, dialect.fields, secret: task.secret), of: file, phone)
    } else {
      note(.upload(phone: phone.index, file: file, .begins(isGzip: false)))
      let fields = UploadFields(dialect, isComplete: true).fields
      send(
        SyncRequest("POST", SyncRequest.endpoint, fields, body: body, secret: task.secret),
        of: file, phone)
    }
  }

  /// The plan's draft protocol, or the system's own if the plan does not specify a draft.
  var dialect: UploadDialect {
    UploadDialect.versions.contains(numbers.dialect) ? .draft(numbers.dialect) : .iOS
  }

  mutating func informed(
    _ file: String, _ number: TrafficID, _ fields: [UploadField], _ phone: HostID
  ) {
    guard isOwnedBySystem, let task = phones[phone.index].tasks[file], task.exchange == number,
      task.outcome == nil
    else { return }
    let reply = UploadReply(104, dialect, of: SyncRequest.endpoint) {
      fields.value(of: $0.lowercased())
    }
    phones[phone.index].tasks[file]?.url = reply.url
  }

  mutating func answeredSystem(
    _ request: SyncRequest, of file: String,
    _ result: Result<Feature.Reply, LinkFailure>, _ phone: HostID
  ) {
    let index = phone.index
    guard let task = phones[index].tasks[file], task.outcome == nil else { return }
    guard case .success(let reply) = result, let body = task.body else {
      return tryLater(file, result.outcome, phone)
    }
    let answer = reply.answer.reply(dialect, of: request.url)
    guard request.method != "POST" else { return ended(file, result.outcome, phone) }
    noteAnswer(answer, request.method, request.url, body.count, file, index)
    let isOpen = answer.fields.isComplete != true
    if request.method == "HEAD", 200..<300 ~= answer.status, isOpen,
      let offset = answer.fields.offset, offset <= body.count, let url = task.url
    {
      let rest = Array(body[offset...])
      note(
        .upload(phone: index, file: file, .appends(url: url, from: offset, count: rest.count)))
      let fields =
        UploadFields(dialect, offset: offset, isComplete: true).fields
        + [UploadField("Content-Type", dialect.mediaType)]
      return send(
        SyncRequest("PATCH", url, fields, body: rest, secret: task.secret), of: file, phone)
    }
    let isRefused = [400, 404, 409, 410, 415].contains(answer.status)
    guard isOpen, isRefused || request.method == "HEAD" && answer.status < 400 else {
      return ended(file, result.outcome, phone)
    }
    // The upload no longer exists or differs from the expected one. The offset is requested again,
    // or the upload starts over.
    if answer.status != 409 { phones[index].tasks[file]?.url = nil }
    tryLater(file, result.outcome, phone)
  }
}

extension SyncFeature.Reply {
  /// Sets the reported offset to 0.
  fileprivate mutating func forgetOffset() {
    for index in fields.indices where fields[index].name == "Upload-Offset" {
      fields[index].value = "0"
    }
  }
}
