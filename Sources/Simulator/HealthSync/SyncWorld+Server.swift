import LinkCore
import LinkServerCore
import LinkWire

// The server: the real rules over a store that is a value.
extension SyncWorld {
  struct Backend {
    var server = SyncServer(epoch: "epoch-1", at: .zero)
    /// The state on disk.
    var kept = KeptSync(epoch: "epoch-1")
    /// What was there when its process began.
    var old = KeptSync(epoch: "epoch-1")
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
