import HealthSync
import LinkCore
import LinkServerCore
import LinkStorage
import LinkWire

// The server: the real rules over a store that is a value.
extension SyncWorld {
  struct Backend {
    var server = SyncServer(epoch: "epoch-1", at: .zero)
    /// The state on disk.
    var kept = StoredSync(epoch: "epoch-1")
    /// What was there when its process began.
    var old = StoredSync(epoch: "epoch-1")
    /// How often that changed.
    var changes = 0
    /// When the last of the changes under way is written: one after the other.
    var storeFree = Instant.zero
    /// The secret that counts.
    var secret = 1
    /// How many epochs there were.
    var epochs = 1
    /// The files of uploads that are not complete; they survive the process.
    var files: [UUID128: UploadFile] = [:]
    /// Requests whose bodies are coming.
    var coming: [TrafficID: Coming] = [:]
  }

  mutating func bootBackend() {
    backend.server = SyncSeam.server(seam.defect, epoch: backend.kept.epoch, at: now)
    backend.storeFree = now
    backend.coming = [:]
    backend.old = backend.kept
    glances.open = [:]
    restoreUploads()
  }

  /// Puts the server back to what it had when its process began, and begins another epoch.
  mutating func putBackServer(_ index: Int) {
    stop(server, for: index)
    backend.kept = backend.old
    backend.files = [:]
    backend.changes += 1
    if seam.defect != .keepsEpoch {
      backend.epochs += 1
      backend.kept.begin(epoch: "epoch-\(backend.epochs)")
    }
    note(.putBack(.server))
  }

  mutating func drain(_ server: HostID, within time: Duration) {
    feed(.other(.drain(within: time)))
  }

  func deadline(of host: HostID) -> Instant? {
    let isServer = host.kind == .backend && kernel.hosts[host.place].isRunning
    return isServer ? backend.server.deadline : nil
  }

  mutating func tick(_ host: HostID) {
    examine(backend.server.tick(at: now))
  }

  mutating func feed(_ event: SyncReceivedRequest.Event) {
    guard kernel.hosts[server.place].isRunning else { return }
    examine(backend.server.handle(event.input, at: now))
  }

  private mutating func examine(_ effects: [SyncServer.Effect]) {
    kernel.examine(&backend.server)
    perform(effects)
  }

  /// Carries effects out, in order; a process that is doomed to die between two of them does.
  private mutating func perform(_ effects: [SyncServer.Effect]) {
    let (spared, dies) = spared(effects, of: server)
    for effect in spared where kernel.hosts[server.place].isRunning { perform(effect) }
    if dies { die(server) }
  }

  private mutating func perform(_ effect: SyncServer.Effect) {
    switch effect {
    case .ingest(let token, let user, let body, let isGzip):
      ingest(token, user.name, body, isGzip: isGzip)
    case .stamp(let token, let user, let device):
      // Behind the batches that came before.
      backend.storeFree = max(backend.storeFree, now)
      let wait = now.duration(to: backend.storeFree) + .milliseconds(1)
      kernel.later(.stamps(token, user: user.name, device: device), on: server, after: wait)
    case .check(let token): later(token, .checked)
    case .tell(let token, let user, let path, let span, let wall):
      later(token, told(path, span, user, wall))
    case .answer(let id, let answer):
      if seen(id.number, answer) { return }
      self.answer(id.number, Feature.Reply(disguised(answer, to: id.number)))
    case .keep(let token, let id, let record, let offset, let bytes):
      write(token, id, record, offset, bytes, isLast: false)
    case .finish(let token, let id, let record, let offset, let bytes):
      write(token, id, record, offset, bytes, isLast: true)
    case .forget(let id): if seam.defect != .keepsUploads { backend.files[id] = nil }
    case .inform(let id, let fields): inform(id.number, fields)
    case .interrupt(let id): interrupt(id.number)
    case .finished: drained(server)
    }
  }

  mutating func later(_ token: StoreToken, _ outcome: SyncOutcome) {
    kernel.later(.done(token, outcome), on: server, after: .milliseconds(1))
  }

  /// - Parameter end: How many bytes of an upload it is made of; `nil` for one request.
  mutating func ingest(
    _ token: StoreToken, _ user: String, _ body: [UInt8], isGzip: Bool, upTo end: Int? = nil
  ) {
    let plain = isGzip ? SyncRequest.unpacked(body) : body
    checkWritten(plain ?? [], user)
    guard let whole = SyncDelivery(ofBody: plain ?? [], user: user, arrived: wall(server)) else {
      return later(token, .refused(reason: "it cannot be read"))
    }
    let delivery = seam.atServer(whole)
    if seam.defect == .answersEarly { later(token, .stored(SyncTally())) }
    let conditions = kernel.hosts[server.place].conditions
    var delay = max(kernel.plan.numbers.storeDelay, conditions.storeDelay)
    if conditions.disk == .slow { delay = max(delay, diskDelay(server)) }
    backend.storeFree = max(backend.storeFree, now).advanced(by: delay)
    write(
      .stores(token, delivery, upTo: end), on: server,
      after: now.duration(to: backend.storeFree))
  }

  /// Checks that a body is one that a phone of its user has written, in one piece or in several.
  private mutating func checkWritten(_ body: [UInt8], _ user: String) {
    guard let phone = phones.indices.first(where: { Self.user($0) == user }),
      !phones[phone].written.contains(SyncHash.folded(body))
    else { return }
    note(.damaged(user: user, "has \(body.count) bytes that the phone did not write"))
  }

  mutating func store(_ token: StoreToken, _ delivery: SyncDelivery) -> Feature.Cue {
    let tally = backend.kept.apply(delivery)
    backend.changes += 1
    kernel.counts[.stored] += 1
    lookSoon(delivery.user)
    return .done(token, .stored(tally))
  }

  // Requests.

  mutating func requestArrived(
    _ id: TrafficID, _ question: Feature.Question, at server: HostID
  ) {
    if question.isOfUpload, kernel.happens(kernel.plan.numbers.again), !isCalm {
      let wait = kernel.chance.duration(below: .seconds(120))
      kernel.later(.repeats(question), after: wait)
    }
    arrived(id, question)
  }

  /// An intermediary that had no answer sends a request again; its answer goes nowhere.
  mutating func repeated(_ question: Feature.Question) {
    guard kernel.hosts[server.place].isRunning, !isCalm else { return }
    arrived(kernel.newNumber(), question)
  }

  private mutating func arrived(_ id: TrafficID, _ question: Feature.Question) {
    for index in kernel.active {
      let act = kernel.plan.acts[index].act
      guard act.verb == .own(.overloads) else { continue }
      return answer(id, Feature.Reply(status: 429, retryAfter: act.time))
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

  /// Whose secret a request shows.
  func user(_ phone: Int, _ secret: Int) -> SyncUser? {
    secret == backend.secret ? SyncUser(Self.user(phone)) : nil
  }

  /// How the phones name themselves.
  static let device = "phone"

  /// A success that is none says so.
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

// Uploads that resume in the middle: by the app in pieces, as its shell sends them, or by the
// system, which sends the whole and goes on where that was cut.
extension SyncWorld {
  /// How the server lets uploads resume, as the app or the system knows it.
  enum Offer {
    case absent
    case made(UploadOffer)
  }

  /// An upload that is sent in pieces.
  struct Course {
    var payload: [UInt8]
    var isGzip: Bool
    var dialect: UploadDialect
    var upload: ResumableUpload
    /// What the last answer means if it ends the try.
    var refusal = LinkFailure.protocolError(detail: "no answer")
  }

  var numbers: Feature.Numbers { kernel.plan.numbers }

  func resumes(_ body: [UInt8]) -> Bool {
    numbers.resumesFrom > 0 && body.count >= numbers.resumesFrom
  }

  /// Begins a try of the app's: asks what is not known of the server, then sends.
  mutating func tryPieces(_ file: String, _ body: [UInt8], _ phone: HostID) {
    let index = phone.index
    guard let task = phones[index].tasks[file] else { return }
    if !task.asked.contains("OPTIONS"), phones[index].offer == nil {
      return askFirst("OPTIONS", file, phone)
    }
    let kept = seam.defect == .losesTickets ? nil : kept(file, index)
    let offer = offer(kept, index)
    let isTus = offer?.dialect == .tus
    if numbers.coded == 1, !isTus, !task.asked.contains("GET"), phones[index].takesGzip == nil {
      return askFirst("GET", file, phone)
    }
    let takesGzip = phones[index].takesGzip ?? kept?.isGzip ?? false
    let isGzip = !isTus && numbers.coded == 1 && takesGzip
    let payload = isGzip ? SyncRequest.packed(body) : body
    guard let offer else { return sendWhole(file, payload, isGzip: isGzip, phone) }
    let ticket = ticket(of: file, offer, payload, isGzip: isGzip, index)
    phones[index].tasks[file]?.course = Course(
      payload: payload, isGzip: isGzip, dialect: offer.dialect,
      upload: ResumableUpload(size: payload.count, offer, url: ticket?.url))
    goOn(file, phone)
  }

  private func kept(_ file: String, _ index: Int) -> UploadTicket? {
    phones[index].tickets[file].flatMap { try? UploadTicket.read($0) }
  }

  /// What the server offers; if it did not answer, what it offered when an upload was begun.
  private func offer(_ kept: UploadTicket?, _ index: Int) -> UploadOffer? {
    switch phones[index].offer {
    case .made(let offer)?: offer
    case .absent?: nil
    case nil: kept.map { UploadOffer($0.dialect) }
    }
  }

  private mutating func askFirst(_ method: String, _ file: String, _ phone: HostID) {
    guard let secret = phones[phone.index].tasks[file]?.secret else { return }
    phones[phone.index].tasks[file]?.asked.insert(method)
    send(SyncRequest(method, SyncRequest.endpoint, secret: secret), of: file, phone)
  }

  private mutating func ticket(
    of file: String, _ offer: UploadOffer, _ payload: [UInt8], isGzip: Bool, _ index: Int
  ) -> UploadTicket? {
    let kept = kept(file, index)
    if seam.defect != .losesTickets, let kept, kept.dialect == offer.dialect,
      kept.isFor(payload, isGzip: isGzip)
    {
      return kept
    }
    phones[index].tickets[file] = nil
    return nil
  }

  private mutating func sendWhole(
    _ file: String, _ payload: [UInt8], isGzip: Bool, _ phone: HostID
  ) {
    guard let secret = phones[phone.index].tasks[file]?.secret else { return }
    phones[phone.index].tasks[file]?.course = nil
    let coding = isGzip ? [UploadField("Content-Encoding", "gzip")] : []
    send(
      SyncRequest("POST", SyncRequest.endpoint, coding, body: payload, secret: secret), of: file,
      phone)
  }

  mutating func send(_ request: SyncRequest, of file: String, _ phone: HostID) {
    let from = isOwnedBySystem ? kernel.host(.system, phone.index) : phone
    let number = ask(
      .part(phone: phone.index, file: file, request), from: from, to: server,
      patience: .seconds(30) + .seconds(request.body.count / 16_384))
    phones[phone.index].tasks[file]?.exchange = number
  }

  /// Makes the request of the next step.
  private mutating func goOn(_ file: String, _ phone: HostID) {
    guard let task = phones[phone.index].tasks[file], let course = task.course else { return }
    var fields = course.upload.fields
    switch course.upload.step {
    case .create:
      note(.upload(phone: phone.index, file: file, .begins(isGzip: course.isGzip)))
      if course.isGzip { fields.append(UploadField("Content-Encoding", "gzip")) }
      send(SyncRequest("POST", SyncRequest.endpoint, fields, secret: task.secret), of: file, phone)
    case .offset(let url):
      send(SyncRequest("HEAD", url, fields, secret: task.secret), of: file, phone)
    case .append(let url, let from, let count, _):
      let bytes = Array(course.payload[from..<(from + count)])
      note(.upload(phone: phone.index, file: file, .appends(place: url, from: from, count: count)))
      send(
        SyncRequest("PATCH", url, fields, body: bytes, secret: task.secret), of: file, phone)
    case .whole:
      if !course.upload.isUnderstood { phones[phone.index].offer = .absent }
      sendWhole(file, course.payload, isGzip: course.isGzip, phone)
    case .ended(let status):
      ended(file, 200..<300 ~= status ? .accepted : .failed(course.refusal), phone)
    }
  }

  // Answers.

  mutating func answered(
    _ request: SyncRequest, of file: String,
    _ result: Result<Feature.Reply, LinkFailure>, _ phone: HostID
  ) {
    guard let task = phones[phone.index].tasks[file], task.outcome == nil else { return }
    if isOwnedBySystem { return answeredSystem(request, of: file, result, phone) }
    switch request.method {
    case "OPTIONS": learn(result, of: file, phone)
    case "GET":
      if case .success(let reply) = result, !ResumableUpload.isPassing(reply.status) {
        phones[phone.index].takesGzip = reply.fields.value(of: "accept-encoding") == "gzip"
      }
      tryUpload(file, phone)
    case _: take(result, request, of: file, phone)
    }
  }

  private mutating func learn(
    _ result: Result<Feature.Reply, LinkFailure>, of file: String, _ phone: HostID
  ) {
    if case .success(let reply) = result, !ResumableUpload.isPassing(reply.status) {
      let offer = UploadOffer { reply.fields.value(of: $0.lowercased()) }
      phones[phone.index].offer =
        200..<300 ~= reply.status ? offer.map { .made($0) } ?? .absent : .absent
    }
    tryUpload(file, phone)
  }

  private mutating func take(
    _ result: Result<Feature.Reply, LinkFailure>, _ request: SyncRequest, of file: String,
    _ phone: HostID
  ) {
    let index = phone.index
    guard var course = phones[index].tasks[file]?.course else {
      return ended(file, result.outcome, phone)
    }
    switch result {
    case .failure(let failure): ended(file, .failed(failure), phone)
    case .success(var reply):
      course.refusal = .http(
        status: reply.status, retryAfter: reply.retryAfter, detail: reply.detail)
      noteTold(reply.read(course.dialect, of: request.url), request, file, index)
      if seam.defect == .resumesBlindly, request.method == "HEAD" { reply.forgetOffset() }
      let keep = course.upload.take(reply.read(course.dialect, of: request.url))
      phones[index].tasks[file]?.course = course
      carryOut(keep, of: file, course, phone)
      goOn(file, phone)
    }
  }

  private mutating func noteTold(
    _ answer: UploadReply, _ request: SyncRequest, _ file: String, _ index: Int
  ) {
    let place = request.method == "POST" ? answer.url : request.url
    guard let place else { return }
    note(
      .upload(
        phone: index, file: file,
        .told(
          place: place, status: answer.status,
          offset: request.method == "POST" ? answer.fields.offset ?? 0 : answer.fields.offset,
          isComplete: answer.fields.isComplete == true || isWhole(answer, request, file, index))))
  }

  /// Whether all is there, which tus has no word for.
  private func isWhole(
    _ answer: UploadReply, _ request: SyncRequest, _ file: String, _ index: Int
  ) -> Bool {
    guard request.method != "POST", answer.fields.dialect == .tus else { return false }
    return answer.fields.offset == phones[index].tasks[file]?.course?.payload.count
  }

  private mutating func carryOut(
    _ keep: ResumableUpload.Keep, of file: String, _ course: Course, _ phone: HostID
  ) {
    let index = phone.index
    switch keep {
    case .nothing: return
    case .forget: phones[index].tickets[file] = nil
    case .ticket(let url):
      switch kernel.hosts[phone.place].conditions.disk {
      case .full, .locked: return  // It begins anew, which costs its bytes.
      case .works, .slow: break
      }
      phones[index].tickets[file] =
        UploadTicket(course.dialect, url: url, of: course.payload, isGzip: course.isGzip).bytes
      note(.upload(phone: index, file: file, .kept(place: url, isGzip: course.isGzip)))
    }
  }

  // The system: it sends all, and is told on the way where that goes on.

  mutating func trySystem(_ file: String, _ body: [UInt8], _ phone: HostID) {
    guard let task = phones[phone.index].tasks[file] else { return }
    if let place = task.place {
      send(SyncRequest("HEAD", place, dialect.fields, secret: task.secret), of: file, phone)
    } else {
      note(.upload(phone: phone.index, file: file, .begins(isGzip: false)))
      let fields = UploadFields(dialect, isComplete: true).fields
      send(
        SyncRequest("POST", SyncRequest.endpoint, fields, body: body, secret: task.secret),
        of: file, phone)
    }
  }

  /// The protocol of the plan; the one of systems where it has another.
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
    phones[phone.index].tasks[file]?.place = reply.url
  }

  private mutating func answeredSystem(
    _ request: SyncRequest, of file: String,
    _ result: Result<Feature.Reply, LinkFailure>, _ phone: HostID
  ) {
    let index = phone.index
    guard case .success(let reply) = result, let body = phones[index].tasks[file]?.body else {
      return tryLater(file, result.outcome, phone)
    }
    let answer = reply.read(dialect, of: request.url)
    guard request.method != "POST" else { return ended(file, result.outcome, phone) }
    noteTold(answer, request, file, index)
    let isOpen = answer.fields.isComplete != true
    if request.method == "HEAD", 200..<300 ~= answer.status, isOpen,
      let offset = answer.fields.offset, offset <= body.count,
      let task = phones[index].tasks[file], let place = task.place
    {
      let rest = Array(body[offset...])
      note(
        .upload(phone: index, file: file, .appends(place: place, from: offset, count: rest.count)))
      let fields =
        UploadFields(dialect, offset: offset, isComplete: true).fields
        + [UploadField("Content-Type", dialect.mediaType)]
      return send(
        SyncRequest("PATCH", place, fields, body: rest, secret: task.secret), of: file, phone)
    }
    let isRefused = [400, 404, 409, 410, 415].contains(answer.status)
    guard isOpen, isRefused || request.method == "HEAD" && answer.status < 400 else {
      return ended(file, result.outcome, phone)
    }
    // The upload is gone, or is another one than was thought: it is asked again, or begins anew.
    if answer.status != 409 { phones[index].tasks[file]?.place = nil }
    tryLater(file, result.outcome, phone)
  }
}

extension SyncFeature.Reply {
  /// Says that nothing is there.
  fileprivate mutating func forgetOffset() {
    for index in fields.indices where fields[index].name == "Upload-Offset" {
      fields[index].value = "0"
    }
  }
}
