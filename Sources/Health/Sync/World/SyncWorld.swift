import HoldfastCore
import HoldfastHealthSync
import HoldfastLinkChecks
import HoldfastSyncChecks
import HoldfastSyncData
import HoldfastSyncServer
import HoldfastUploads
import HoldfastWorldKernel

/// A world with phones that use HealthSync, their systems, and a backend.
struct SyncWorld: SimulatedWorld, ~Copyable {
  typealias Feature = SyncFeature

  var kernel: Kernel<SyncFeature>
  var clients: [SyncModel]
  var phones: [Phone]
  var backend = Backend()
  var seam: SyncSeam
  var glances: Glances
  private(set) var isCalm = false

  /// The state of a phone apart from its model. Most of this state survives the process.
  struct Phone {
    var source: SyncSource
    // The disk.
    private(set) var queue = StoredSyncQueue()
    var files: [String: [UInt8]] = [:]
    /// The hashes of all batches that the app has ever written.
    var written: Set<SyncHash> = []
    /// The tickets with which uploads resume, by payload file.
    var tickets: [String: [UInt8]] = [:]
    var lastFile = 0
    /// The time at which the last pending change will be written.
    var diskFree = Instant.zero
    /// The number of the secret in the secret's file, and the secrets that were used in this run.
    var secret = 1
    var secrets = UploadSecret<Int>()
    // The system.
    var tasks: [String: Upload] = [:]
    /// The types that have changed and whose observers have not been called yet.
    var due: Set<String> = []
    /// The time at which the observers will be called.
    var firesAt: Instant?
    /// The types that the app observes in this run.
    var observed: [String] = []
    var lastWake: UInt64 = 0
    var grants: Set<WakeID> = []
    /// The planned events for which the system suspended the app. Between suspensions the app may
    /// run for a moment.
    var naps: [Int] = []
    var conditions = SyncConditions()
    /// The pending request in this run that reports the sync as complete.
    var refreshing: TrafficID?
    /// The pending request in this run for the server's identity.
    var identifying: TrafficID?
    /// The content of the disk when the app was last launched.
    private(set) var backup = (queue: StoredSyncQueue(), files: [String: [UInt8]]())
    /// The support for uploads that the server has reported in this run.
    var support = UploadSupport()
    /// The versions of the source and of the store at the last comparison.
    var compared: (source: Int64, store: Int)?
    var difference = (missing: 0, extra: 0)

    /// The secret that the app sends.
    var usedSecret: Int { secrets.current ?? secret }

    mutating func apply(_ step: SyncQueueStep) { queue.apply(step) }

    /// Backs up the content of the disk.
    mutating func backUp() { backup = (queue, files) }

    /// Restores the disk from the backup, and ends the uploads that the system makes for the app.
    mutating func putBack() {
      (queue, files) = backup
      tickets = tickets.filter { files[$0.key] != nil }
      tasks = [:]
    }

    /// Ends the quarantine of all batches.
    mutating func releaseAll() {
      for batch in queue.batches where batch.quarantined != nil {
        apply(.quarantine(file: batch.file, reason: nil))
      }
    }

    /// Makes the app read a type again from the start, as `holdfast health reset` does.
    mutating func reset(_ type: String) {
      apply(.anchor(type: type, nil))
      for batch in queue.batches where batch.type == type && batch.quarantined != nil {
        apply(.quarantine(file: batch.file, reason: nil))
      }
    }
  }

  /// An upload that the model handed over.
  struct Upload {
    var body: [UInt8]?
    var secret: Int
    var exchange: TrafficID?
    var tries = 0
    /// The app's current attempt; `nil` if the system makes the upload.
    var sending: UploadTry?
    /// The URL at which the system can resume the upload.
    var url: String?
    /// The outcome, which is kept until the app is running.
    var outcome: UploadOutcome?
    /// The epoch in the answer's header fields.
    var epoch: String?
  }

  init(
    _ plan: WorldPlan<SyncFeature>, _ setup: RunSetup<SyncFeature>, watch: RunWatch<SyncFeature>?
  ) {
    let count = plan.numbers.phones
    kernel = Kernel(plan, setup, watch: watch)
    seam = SyncSeam(setup.defect, phones: count)
    glances = Glances(generator: RandomSource(seed: plan.seed))
    let model = SyncModel(SyncSettings(policy: kernel.policy), seed: 0)
    clients = Array(repeating: model, count: count)
    phones = (0..<count).map {
      Phone(
        source: SyncSource(
          phone: $0, isVaried: plan.numbers.variety == 1, zone: SyncZone($0, seed: plan.seed)))
    }
    kernel.checkers.views = clients.indices.map { index in
      var state = SyncFeature.State()
      (state.phone, state.depth) = (index, plan.numbers.depth)
      return PhoneView(
        PhoneState<SyncFeature>(policy: setup.policy, status: model.status, own: state))
    }
  }

  /// Whether the phones' systems own the uploads.
  var isOwnedBySystem: Bool { kernel.plan.numbers.system == 1 }

  // Processes.

  mutating func boot(_ host: HostID) {
    switch host.kind {
    case .phone:
      let depth = seam.depth(kernel.plan.numbers.depth)
      let settings = SyncSettings(policy: kernel.policy, depth: depth)
      clients[host.index] = SyncModel(settings, seed: newSeed(host))
      kernel.checkers.views[host.index].phoneState.own.restsUntil = nil
    case .backend: bootBackend()
    case .client, .peripheral, .system: return
    }
  }

  mutating func ended(_ host: HostID) {
    guard host.kind == .phone else { return }
    phones[host.index].grants = []
    phones[host.index].diskFree = .zero
    phones[host.index].observed = []
    phones[host.index].refreshing = nil
    phones[host.index].identifying = nil
    (phones[host.index].secrets, phones[host.index].support) = (UploadSecret(), UploadSupport())
    phones[host.index].conditions = SyncConditions()
    kernel.checkers.views[host.index].phoneState.own.conditions = SyncConditions()
    if !isOwnedBySystem { phones[host.index].tasks = [:] }
  }

  mutating func reportAppState(_ phone: HostID, isFirst: Bool) {
    tellConditions(phone)
    if isFirst { restore(phone) }
    if !isOwnedBySystem { reportLost(phone) }
    reportLostQuestions(phone)
    deliver(phone)
  }

  private mutating func restore(_ phone: HostID) {
    let index = phone.index
    let named = Set(phones[index].queue.batches.map(\.file))
    let missing = named.filter { phones[index].files[$0] == nil }
    for file in phones[index].files.keys where !named.contains(file) {
      phones[index].files[file] = nil
      phones[index].tickets[file] = nil
    }
    phones[index].backUp()
    phones[index].secrets = UploadSecret(phones[index].secret)
    let running = isOwnedBySystem ? Set(phones[index].tasks.keys) : []
    give(.restored(phones[index].queue, running: running, missing: missing), to: phone)
    give(.ask(phones[index].source.types), to: phone)
  }

  private mutating func tellConditions(_ phone: HostID) {
    let conditions = SyncConditions(
      isConstrained: isUnderWay(.lowData, on: phone),
      isExpensive: isUnderWay(.cellular, on: phone),
      isLowPower: isUnderWay(.lowPower, on: phone), isUnlocked: !isUnderWay(.locks, on: phone))
    guard conditions != phones[phone.index].conditions else { return }
    phones[phone.index].conditions = conditions
    kernel.checkers.views[phone.index].phoneState.own.conditions = conditions
    give(.conditions(conditions), to: phone)
  }

  func isWanted(_ phone: HostID) -> Bool {
    let client = phone.index
    if clients[client].canWork, phones[client].tasks.isEmpty { return true }
    return clients[client].sending.contains { phones[client].tasks[$0] == nil }
  }

  mutating func look(_ phone: HostID) {
    let index = phone.index
    kernel.checkers.views[index].phoneState.own.pending = clients[index].pending
    kernel.checkers.views[index].phoneState.own.quarantined = clients[index].quarantined
    let isComplete = clients[index].isComplete && phones[index].due.isEmpty
    kernel.checkers.views[index].phoneState.own.isComplete = isComplete
    if isComplete { compare(phone) }
  }

  /// Compares the samples of the backend with those of the phone.
  private mutating func compare(_ phone: HostID) {
    let index = phone.index
    let now = (source: phones[index].source.newest, store: backend.changes)
    if phones[index].compared.map({ $0 == now }) != true {
      phones[index].compared = now
      let stored = backend.stored.positions(of: Self.user(index))
      let there = phones[index].source.places
      phones[index].difference = (
        there.subtracting(stored).count, stored.subtracting(there).count
      )
    }
    kernel.checkers.views[index].phoneState.own.missing = phones[index].difference.missing
    kernel.checkers.views[index].phoneState.own.extra = phones[index].difference.extra
  }

  static func user(_ phone: Int) -> String { "user-\(phone)" }

  // Defects.

  mutating func altered(_ input: SyncModel.Input, of phone: HostID) -> [SyncModel.Input] {
    seam.toPhone(input, phone.index)
  }

  mutating func altered(_ effect: SyncModel.Effect, of phone: HostID) -> [SyncModel.Effect] {
    seam.fromPhone(effect, phone.index)
  }

  // There are no sockets.

  mutating func upgradeArrived(_ line: TrafficID, _ hello: Nothing, at server: HostID) {}
  mutating func arrived(_ packet: Feature.Packet?, on line: TrafficID, at server: HostID) {}
  func opened(_ attempt: AttemptID, _ packet: Feature.Packet) -> SyncModel.Input { .again }
  mutating func received(_ attempt: AttemptID, _ packet: Feature.Packet) -> SyncModel.Input {
    .again
  }

  // Calm.

  var isComplete: Bool {
    clients.indices.allSatisfy {
      phones[$0].due.isEmpty && phones[$0].grants.isEmpty && clients[$0].isComplete
        && SyncFeature.isHealed(kernel.checkers.views[$0].phoneState)
    }
  }

  mutating func prepareCalm() {
    isCalm = true
    // A person sets a new secret on both ends, even if earlier secrets were refused.
    backend.secret += 1
    for phone in phones.indices { phones[phone].secret = backend.secret }
  }

  /// Makes every user open the app, release quarantined batches and retry.
  mutating func becomeCalm() {
    for phone in kernel.phones { useAgain(phone) }
  }

  mutating func tryAgain() { becomeCalm() }

  private mutating func useAgain(_ phone: HostID) {
    if phones[phone.index].queue.batches.contains(where: { $0.quarantined != nil }) {
      restart(phone) { phone in phone.releaseAll() }
    }
    give(.again, to: phone)
    fireSoon(phone, within: .milliseconds(200))
  }

  /// Changes the content of the disk while the app is not running.
  mutating func restart(_ phone: HostID, _ change: (inout Phone) -> Void) {
    let wasThere = kernel.hosts[phone.slot].process == .running
    if wasThere {
      kernel.hosts[phone.slot].downs.append(-1)
      die(phone)
      kernel.hosts[phone.slot].downs.removeAll { $0 == -1 }
    }
    if kernel.hosts[phone.slot].process == .dead { change(&phones[phone.index]) }
    if wasThere { launchIfPossible(phone) }
  }

  mutating func happenLast() {
    for phone in kernel.phones {
      add(2, phone)
      change(deletes: true, 1, phone)
    }
  }

  mutating func leave() {
    checkUploads()
    for phone in kernel.phones {
      compare(phone)
      give(.stop, to: phone)
    }
    checkAnswers()
    checkForeignClient()
  }
}

// A phone's system: observers, granted time, launches, and the uploads that it owns.
extension SyncWorld {
  // Observers.

  /// Schedules the calls of the observers of changed types within a time limit.
  ///
  /// Types that change before the calls are included.
  mutating func fireSoon(_ phone: HostID, within limit: Duration) {
    guard !phones[phone.index].due.isEmpty else { return }
    let longest = isCalm ? min(limit, .seconds(2)) : limit
    let wait = kernel.hosts[phone.slot].generator.duration(below: longest)
    let at = now.advanced(by: wait)
    if let sooner = phones[phone.index].firesAt, sooner <= at { return }
    phones[phone.index].firesAt = at
    kernel.later(.fires(phone: phone.index), after: wait)
  }

  mutating func fire(_ phone: HostID) {
    let index = phone.index
    // If a later call is scheduled, this call does nothing.
    if let due = phones[index].firesAt, now < due { return }
    phones[index].firesAt = nil
    // A locked device calls no observers until it is unlocked.
    guard !phones[index].due.isEmpty, !isUnderWay(.locks, on: phone) else { return }
    rouse(phone)
    guard kernel.hosts[phone.slot].isRunning, !phones[index].observed.isEmpty else { return }
    let types = phones[index].observed.filter { phones[index].due.contains($0) }
    phones[index].due = []
    // Observers of several types are called either one by one or together.
    if kernel.hosts[phone.slot].generator.next() % 2 == 0 {
      for type in types { grant(.seconds(10), [type], phone) }
    } else if !types.isEmpty {
      grant(.seconds(10), types, phone)
    }
  }

  /// Starts a scheduled task of the app.
  mutating func startTask(_ budget: Duration, _ phone: HostID) {
    rouse(phone)
    guard kernel.hosts[phone.slot].isRunning else { return }
    grant(budget, phone) { .woken($0, budget: budget, reads: true) }
  }

  private mutating func grant(_ budget: Duration, _ types: [String], _ phone: HostID) {
    guard !types.isEmpty else { return }
    grant(budget, phone) { .fired(types, $0, budget: budget) }
  }

  private mutating func grant(
    _ budget: Duration, _ phone: HostID, _ input: (WakeID) -> SyncModel.Input
  ) {
    phones[phone.index].lastWake += 1
    let id = WakeID(phones[phone.index].lastWake)
    phones[phone.index].grants.insert(id)
    kernel.counts[.wakes] += 1
    note(.granted(phone: phone.index, id, until: now.advanced(by: budget)))
    // The time starts when the system makes the grant. The app receives the grant a moment later.
    let wait = kernel.hosts[phone.slot].generator.duration(below: .milliseconds(200))
    kernel.answerLater(.input(input(id)), to: phone, after: wait)
  }

  // Launches and suspension.

  /// Makes the app run, unless the user has force-quit it.
  private mutating func rouse(_ phone: HostID) {
    let hostIndex = phone.slot
    switch kernel.hosts[hostIndex].process {
    case .running: return
    case .suspended:
      phones[phone.index].naps += kernel.hosts[hostIndex].suspending
      kernel.hosts[hostIndex].suspending = []
      resume(phone)
      napSoon(phone)
    case .dead:
      guard kernel.hosts[hostIndex].downs.allSatisfy({ isJettison($0) }) else { return }
      kernel.hosts[hostIndex].downs = []
      launchIfPossible(phone)
      napSoon(phone)
    }
  }

  private func isJettison(_ event: Int) -> Bool {
    kernel.plan.events[event].event.eventKind == .own(.evicts)
  }

  /// Suspends a background app again once it has no granted time left.
  mutating func napSoon(_ phone: HostID) {
    guard phones[phone.index].grants.isEmpty, !phones[phone.index].naps.isEmpty else { return }
    kernel.later(.naps(phone: phone.index), after: .seconds(5))
  }

  mutating func nap(_ phone: HostID) {
    guard phones[phone.index].grants.isEmpty, kernel.hosts[phone.slot].isRunning else { return }
    let naps = phones[phone.index].naps
    phones[phone.index].naps = []
    for index in naps { suspend(phone, for: index) }
  }

  mutating func evict(_ phone: HostID, _ index: Int) {
    kernel.hosts[phone.slot].downs.append(index)
    // Until the planned event ends, the app runs in the background when it is launched.
    kernel.hosts[phone.slot].dozing.append(index)
    phones[phone.index].naps.append(index)
    die(phone)
  }

  mutating func forceQuit(_ phone: HostID, _ index: Int) {
    kernel.hosts[phone.slot].downs.append(index)
    // The system cancels the uploads of an app that the user force-quits.
    phones[phone.index].tasks = [:]
    let system = kernel.host(.system, phone.index)
    for exchange in kernel.exchanges.indices where kernel.exchanges[exchange].from == system {
      kernel.exchanges[exchange].isAbandoned = true
    }
    die(phone)
  }

  // Uploads.

  mutating func begin(_ file: String, _ phone: HostID) {
    let index = phone.index
    guard phones[index].tasks[file] == nil else {
      return note(.handedTwice(phone: index, file: file))
    }
    let task = Upload(body: phones[index].files[file], secret: phones[index].usedSecret)
    phones[index].tasks[file] = task
    tryUpload(file, phone)
  }

  mutating func tryUpload(_ file: String, _ phone: HostID) {
    guard let task = phones[phone.index].tasks[file], task.outcome == nil else { return }
    guard let body = task.body else {
      return ended(file, .unreadable(detail: "the file is not there"), phone)
    }
    guard isOwnedBySystem else { return tryByApp(file, body, phone) }
    if resumes(body), numbers.dialect > 1 { return trySystem(file, body, phone) }
    sendWhole(
      SyncRequest("POST", SyncRequest.endpoint, body: body, secret: task.secret), file, phone)
  }

  /// Sends a payload in one request. This is done by the system, and in worlds in which uploads do
  /// not resume.
  mutating func sendWhole(_ request: SyncRequest, _ file: String, _ phone: HostID) {
    let from = isOwnedBySystem ? kernel.host(.system, phone.index) : phone
    let question = Feature.Question.upload(
      phone: phone.index, file: file, body: request.body, secret: request.secret)
    let number = ask(
      question, from: from, to: server,
      timeLimit: .seconds(30) + .seconds(request.body.count / 16_384))
    phones[phone.index].tasks[file]?.exchange = number
  }

  mutating func answered(
    _ question: Feature.Question, _ result: Result<Feature.Reply, LinkFailure>, to host: HostID
  ) {
    switch question {
    case .refresh(let phone, _):
      phones[phone].refreshing = nil
      give(.refreshed(result.failure), to: kernel.phones[phone])
    case .identify(let phone, let secret):
      phones[phone].identifying = nil
      give(identity(result, secret, phone), to: kernel.phones[phone])
    case .part(let phone, let file, let request) where isOwnedBySystem:
      answeredSystem(request, of: file, result, kernel.phones[phone])
    case .upload(let phone, let file, _, _) where isOwnedBySystem:
      phones[phone].tasks[file]?.epoch = result.epoch
      if let failure = result.failure, failure.isOfTransport {
        tryLater(file, result.outcome, kernel.phones[phone])
      } else {
        ended(file, result.outcome, kernel.phones[phone])
      }
    case .part(let phone, let file, _), .upload(let phone, let file, _, _):
      take(result, of: file, kernel.phones[phone])
    }
  }

  /// Returns the model's input for the response to a request for the server's identity.
  private mutating func identity(
    _ result: Result<Feature.Reply, LinkFailure>, _ secret: Int, _ phone: Int
  ) -> SyncModel.Input {
    let identity = result.flatMap { reply in
      phones[phone].support.identified(reply.answer, server: SyncRequest.endpoint)
    }
    switch identity {
    case .failure(let failure):
      heed(failure, secret, phone)
      return .notIdentified(failure)
    case .success(let identity): return .identified(identity)
    }
  }

  /// Schedules the system's retry after a network failure. After five retries, the system reports
  /// the outcome instead.
  mutating func tryLater(_ file: String, _ outcome: UploadOutcome, _ phone: HostID) {
    guard let task = phones[phone.index].tasks[file], task.outcome == nil else { return }
    guard task.tries < 5 else { return ended(file, outcome, phone) }
    phones[phone.index].tasks[file]?.tries += 1
    phones[phone.index].tasks[file]?.exchange = nil
    let wait = Duration.seconds(isCalm ? 1 : min(60, 5 << task.tries))
    kernel.later(.tries(phone: phone.index, file: file), after: wait)
  }

  mutating func ended(_ file: String, _ outcome: UploadOutcome, _ phone: HostID) {
    guard phones[phone.index].tasks[file] != nil else { return }
    phones[phone.index].tasks[file]?.outcome = outcome
    guard isOwnedBySystem else { return deliver(phone) }
    let wasRunning = kernel.hosts[phone.slot].isRunning
    rouse(phone)
    deliver(phone)
    // The system launches or resumes an app for the uploads that have ended.
    guard !wasRunning, kernel.hosts[phone.slot].isRunning else { return }
    grant(.seconds(30), phone) { .woken($0, budget: .seconds(30), reads: false) }
  }

  /// Reports uploads that have ended to the app, if it is running.
  mutating func deliver(_ phone: HostID) {
    let index = phone.index
    let ended = phones[index].tasks.filter { $0.value.outcome != nil }.keys.sorted()
    for file in ended where kernel.hosts[phone.slot].isRunning {
      guard let task = phones[index].tasks.removeValue(forKey: file), let outcome = task.outcome
      else { continue }
      if case .failed(let failure) = outcome { heed(failure, task.secret, index) }
      if let epoch = task.epoch { give(.epoch(epoch), to: phone) }
      give(.uploaded(file, outcome, at: wall(phone)), to: phone)
    }
  }

  private mutating func heed(_ failure: LinkFailure, _ secret: Int, _ phone: Int) {
    phones[phone].secrets.note(failure, of: secret)
    guard let retryAfter = kernel.setup.policy.retry.honored(failure.retryAfter) else { return }
    let until = now.advanced(by: retryAfter)
    let before = kernel.checkers.views[phone].phoneState.own.restsUntil
    kernel.checkers.views[phone].phoneState.own.restsUntil = max(before ?? until, until)
  }

  /// Reports to the app its requests that were lost because of its suspension.
  mutating func reportLost(_ phone: HostID) {
    let index = phone.index
    for file in phones[index].tasks.keys.sorted() {
      if let number = phones[index].tasks[file]?.exchange, isLost(number) {
        ended(file, .failed(.reset), phone)
      }
    }
  }

  mutating func reportLostQuestions(_ phone: HostID) {
    if let number = phones[phone.index].identifying, isLost(number) {
      phones[phone.index].identifying = nil
      give(.notIdentified(.reset), to: phone)
    }
    guard let number = phones[phone.index].refreshing, isLost(number) else { return }
    phones[phone.index].refreshing = nil
    give(.refreshed(.reset), to: phone)
  }

  private func isLost(_ number: TrafficID) -> Bool {
    exchange(number).map { kernel.exchanges[$0].isAbandoned } ?? true
  }
}

extension Result<SyncFeature.Reply, LinkFailure> {
  /// The outcome of an upload that ended with this result.
  var outcome: UploadOutcome { failure.map { .failed($0) } ?? .accepted }

  /// The epoch in the answer's header fields.
  var epoch: String? { if case .success(let reply) = self { reply.epoch } else { nil } }

  /// The reason why the result is not a success; `nil` if it is a success.
  fileprivate var failure: LinkFailure? {
    switch self {
    case .success(let reply): reply.answer.refusal
    case .failure(let failure): failure
    }
  }
}

extension LinkFailure {
  /// Whether the failure occurred without an answer from the server.
  fileprivate var isOfTransport: Bool {
    if case .http = self { false } else { true }
  }
}

// People who look at their health data. The server's answers are compared with the phones' data.
extension SyncWorld {
  func copy(of phone: Int) -> SyncServerCopy {
    SyncServerCopy(
      backend.server, backend.stored, seam.defect, phones[phone].source.zone, at: now, wall(server))
  }

  /// Compares the data that is shown to each person with the phone's data.
  mutating func checkAnswers() {
    guard kernel.hosts[server.slot].isRunning else { return }
    for phone in phones.indices {
      let own = kernel.checkers.views[phone].phoneState.own
      guard own.missing == 0, own.extra == 0,
        let there = phones[phone].source.samples(where: { $0.deleted == nil })
      else { continue }
      var copy = copy(of: phone)
      // People also look at the data up to 39 days later.
      copy.wall = copy.wall.advanced(by: .seconds(86_400 * Int64(kernel.plan.seed % 40)))
      let expected = SyncExpectation(there, phones[phone].source.zone, at: copy.wall)
      for path in [SyncPath.steps, .heartRate, .sleep, .workouts, .periods] {
        check(path, expected, &copy, phone)
      }
    }
  }

  /// Makes a foreign client visit the server, and reports answers that the protocols do not allow.
  mutating func checkForeignClient() {
    guard kernel.hosts[server.slot].isRunning else { return }
    let generator = RandomSource(seed: kernel.hosts[server.slot].generator.next())
    var foreignClient = ForeignSyncClient(copy(of: 0), generator)
    foreignClient.visit()
    for wrong in foreignClient.wrong { note(.invalidResponse(wrong)) }
    if let name = foreignClient.backend.brokenInvariant { kernel.report([name]) }
  }

  private mutating func check(
    _ path: SyncPath, _ expected: SyncExpectation, _ copy: inout SyncServerCopy, _ phone: Int
  ) {
    let word = kernel.hosts[server.slot].generator.next()
    let (received, glance) = question(path, expected, phone, word)
    let answer = copy.ask(received, of: SyncUser(Self.user(phone)))
    if let name = copy.brokenInvariant { kernel.report([name]) }
    check(glance, answer)
  }

  /// Returns a request for a range of days, derived from a number, and its expected answer.
  private func question(
    _ path: SyncPath, _ expected: SyncExpectation, _ phone: Int, _ word: UInt64
  ) -> (SyncReceivedRequest, Glance) {
    let first = word % 3 == 0 ? nil : expected.today - Int64(word >> 8 % 60) + 2
    let last = word % 5 == 0 ? nil : (first ?? expected.today) + Int64(word >> 16 % 40) - 3
    var received = SyncReceivedRequest(
      method: "GET", path: path, fields: ["host": SyncRequest.host])
    received.query["from"] = first.map { SyncZone.date($0) }
    received.query["to"] = last.map { SyncZone.date($0) }
    let glance = Glance(
      phone: phone, path: path, must: expected.shown(path, first, last),
      isAnyLatest: path == .heartRate && expected.hasManyLatest)
    return (received, glance)
  }

  /// Compares an answer with the expected one.
  private mutating func check(_ glance: Glance, _ answer: SyncAnswer?) {
    let (path, phone) = (glance.path.rawValue, glance.phone)
    guard var must = glance.must else {
      if answer?.status != 400 { displayMismatch(phone, "\(path) answers days of no sense") }
      return
    }
    guard let answer, answer.status == 200, let values = SyncAnswerValues(answer.body) else {
      return displayMismatch(phone, "\(path) is answered with \(answer?.status ?? 0)")
    }
    if glance.isAnyLatest { must["latest"] = values.shown["latest"] }
    if let difference = values.difference(from: must) {
      displayMismatch(phone, "\(path): \(difference)")
    }
  }

  // Requests during a run.

  /// The requests that people make during a run.
  struct Glances {
    /// A separate random source. With it, the requests do not influence other random draws.
    var generator: RandomSource
    /// The number of requests that may still be made.
    var left = 6
    /// The requests that have not been answered.
    var open: [TrafficID: Glance] = [:]
    /// The number of the last request. The numbers are in a range that other requests do not use.
    var last: TrafficID = 1 << 48
  }

  /// A request from a person.
  struct Glance {
    var phone: Int
    var path: SyncPath
    /// The expected values; `nil` if the days are not valid.
    var must: [String: SyncExpectation.Shown]?
    /// Whether there are several latest rates with different values. In that case any of them may
    /// be shown.
    var isAnyLatest: Bool
  }

  /// In a third of the cases, makes the person whose batch was stored look at the data.
  mutating func querySoon(_ user: String) {
    guard glances.left > 0, glances.generator.next() % 3 == 0,
      let phone = phones.indices.first(where: { Self.user($0) == user })
    else { return }
    glances.left -= 1
    kernel.later(
      .queries(phone: phone), after: glances.generator.duration(below: .milliseconds(500)))
  }

  /// Makes a request to the server. The answer must reflect the samples that are stored now.
  mutating func query(from phone: Int) {
    let held = backend.stored.positions(of: Self.user(phone))
    guard kernel.hosts[server.slot].isRunning,
      let there = phones[phone].source.samples(where: { held.contains($0.place) })
    else { return }
    let paths = [SyncPath.steps, .heartRate, .sleep, .workouts, .periods]
    let path = paths[Int(glances.generator.next() % 5)]
    let wall = wall(server)
    let expected = SyncExpectation(there, phones[phone].source.zone, at: wall)
    let (received, glance) = question(path, expected, phone, glances.generator.next())
    glances.last += 1
    glances.open[glances.last] = glance
    feed(.request(RequestID(glances.last), received, user: SyncUser(Self.user(phone)), wall: wall))
  }

  /// Returns the server's answer, computed from the samples that are stored now.
  func outcome(
    _ path: SyncPath, _ span: SyncSpan, _ user: SyncUser, _ wall: Timestamp
  ) -> SyncOutcome {
    let phone = phones.indices.first { Self.user($0) == user.name } ?? 0
    let stored = seam.defect == .readsStale ? backend.old : backend.stored
    return SyncServerCopy.outcome(
      path, span, user, wall, from: stored, phones[phone].source.zone, seam.defect)
  }

  /// Checks an answer to a person. Returns false if the answer is addressed to a phone.
  mutating func seen(_ id: TrafficID, _ answer: SyncAnswer) -> Bool {
    guard let glance = glances.open.removeValue(forKey: id) else { return false }
    // A server that is draining or overloaded shows no data.
    if answer.status != 503 { check(glance, answer) }
    return true
  }

  private mutating func displayMismatch(_ phone: Int, _ detail: String) {
    note(.displayMismatch(phone: phone, detail))
  }
}
