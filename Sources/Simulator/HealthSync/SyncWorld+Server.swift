import LinkCore
import LinkServerCore
import LinkWire

// The server: the real rules over a store that is a value.
extension SyncWorld {
  struct Backend {
    var rules = SyncServer(at: .zero)
    /// What is durable.
    var kept = KeptSync()
    /// How often that changed.
    var changes = 0
    /// When the last of the changes under way is written: one after the other.
    var storeFree = Instant.zero
    /// The secret that counts.
    var secret = 1
    /// The files of uploads that are not complete; they survive the process.
    var files: [UUID128: UploadFile] = [:]
    /// Requests whose bodies are coming.
    var coming: [TrafficID: Coming] = [:]
  }

  mutating func bootBackend() {
    backend.rules = SyncServer(at: now)
    backend.storeFree = now
    backend.coming = [:]
    restoreUploads()
  }

  mutating func drain(_ server: HostID, within time: Duration) { feed(.drain(within: time)) }

  func deadline(of host: HostID) -> Instant? {
    host.kind == .backend && kernel.hosts[host.place].isRunning ? backend.rules.deadline : nil
  }

  mutating func tick(_ host: HostID) {
    let effects = backend.rules.tick(at: now)
    kernel.examine(&backend.rules)
    perform(effects)
  }

  mutating func feed(_ input: SyncServer.Input) {
    guard kernel.hosts[server.place].isRunning else { return }
    let effects = backend.rules.handle(input, at: now)
    kernel.examine(&backend.rules)
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
    case .check(let token): later(.done(token, .checked))
    case .tell(let token, _, _, _, _): later(.done(token, .checked))
    case .answer(let id, let answer):
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

  mutating func later(_ input: SyncServer.Input) {
    kernel.later(.server(input), on: server, after: .milliseconds(1))
  }

  /// - Parameter end: How many bytes of an upload it is made of; `nil` for one request.
  mutating func ingest(
    _ token: StoreToken, _ user: String, _ body: [UInt8], isGzip: Bool, upTo end: Int? = nil
  ) {
    let plain = isGzip ? SyncRequest.unpacked(body) : body
    guard let reading = plain.flatMap({ try? SyncReading.read($0) }) else {
      return later(.done(token, .refused(reason: "it cannot be read")))
    }
    let delivery = seam.atServer(
      SyncDelivery(of: reading, user: user, hash: SyncHash.folded))
    if seam.defect == .answersEarly { later(.done(token, .stored(SyncTally()))) }
    let conditions = kernel.hosts[server.place].conditions
    var delay = max(kernel.plan.numbers.storeDelay, conditions.storeDelay)
    if conditions.disk == .slow { delay = max(delay, diskDelay(server)) }
    backend.storeFree = max(backend.storeFree, now).advanced(by: delay)
    write(
      .stores(token, delivery, upTo: end), on: server, after: now.duration(to: backend.storeFree))
  }

  mutating func store(_ token: StoreToken, _ delivery: SyncDelivery) -> Feature.Cue {
    let tally = backend.kept.apply(delivery)
    backend.changes += 1
    kernel.counts[.stored] += 1
    return .server(.done(token, .stored(tally)))
  }

  // Requests.

  mutating func requestArrived(
    _ id: TrafficID, _ question: Feature.Question, at server: HostID
  ) {
    if !question.isRefresh, kernel.happens(kernel.plan.numbers.again), !isCalm {
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
      feed(id, SyncCall("POST", .sync, host: Self.host, body: body), phone, secret)
    case .refresh(let phone, let secret):
      feed(id, SyncCall("POST", .refresh, host: Self.host), phone, secret)
    case .part(let phone, _, let request):
      if request.body.count > kernel.plan.numbers.maxBody {
        return answer(id, Feature.Reply(status: 413))
      }
      take(request, id, phone)
    }
  }

  private mutating func feed(
    _ id: TrafficID, _ call: SyncCall, _ phone: Int, _ secret: Int
  ) {
    feed(.request(RequestID(id), call, user: user(phone, secret), wall: wall(server)))
  }

  /// Whose secret a request shows.
  func user(_ phone: Int, _ secret: Int) -> SyncUser? {
    secret == backend.secret ? SyncUser(Self.user(phone)) : nil
  }

  private static let host = SyncRequest.host

  func refusal(_ status: Int) -> Feature.Reply { Feature.Reply(status: status) }

  func bytes(of question: Feature.Question) -> Int {
    switch question {
    case .upload(_, _, let body, _): body.count + 300
    case .part(_, _, let request): request.body.count + 300
    case .refresh: 300
    }
  }

  func bytes(of reply: Feature.Reply) -> Int { 200 }

  func mayComeTwice(_ question: Feature.Question) -> Bool { false }
}

extension SyncFeature.Question {
  fileprivate var isRefresh: Bool { if case .refresh = self { true } else { false } }
}
