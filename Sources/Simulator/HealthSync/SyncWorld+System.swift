import HealthSync
import LinkCore
import LinkWire

// The system of a phone: observers, granted time, launches, uploads that it owns.
extension SyncWorld {
  // Observers.

  /// Calls the observers of what changed within a time; what changes meanwhile goes with it.
  mutating func fireSoon(_ phone: HostID, within limit: Duration) {
    guard !phones[phone.index].due.isEmpty else { return }
    let longest = isCalm ? min(limit, .seconds(2)) : limit
    let wait = kernel.hosts[phone.place].chance.duration(below: longest)
    let at = now.advanced(by: wait)
    if let sooner = phones[phone.index].firesAt, sooner <= at { return }
    phones[phone.index].firesAt = at
    kernel.later(.fires(phone: phone.index), after: wait)
  }

  mutating func fire(_ phone: HostID) {
    let index = phone.index
    // One that was overtaken finds nothing to do.
    if let due = phones[index].firesAt, now < due { return }
    phones[index].firesAt = nil
    // A locked device delivers nothing; it is told at its unlocking.
    guard !phones[index].due.isEmpty, !isUnderWay(.locks, on: phone) else { return }
    rouse(phone)
    guard kernel.hosts[phone.place].isRunning, !phones[index].observed.isEmpty else { return }
    let types = phones[index].observed.filter { phones[index].due.contains($0) }
    phones[index].due = []
    // Observers of several types are called one by one, or close together.
    if kernel.hosts[phone.place].chance.next() % 2 == 0 {
      for type in types { grant(.seconds(10), [type], phone) }
    } else if !types.isEmpty {
      grant(.seconds(10), types, phone)
    }
  }

  /// Grants time for all types.
  mutating func grant(_ budget: Duration, _ phone: HostID) {
    rouse(phone)
    guard kernel.hosts[phone.place].isRunning else { return }
    grant(budget, phones[phone.index].observed, phone)
  }

  private mutating func grant(_ budget: Duration, _ types: [String], _ phone: HostID) {
    guard !types.isEmpty else { return }
    phones[phone.index].lastWake += 1
    let id = WakeID(phones[phone.index].lastWake)
    phones[phone.index].grants.insert(id)
    kernel.counts[.wakes] += 1
    note(.granted(phone: phone.index, id, until: now.advanced(by: budget)))
    // What counts is when the system granted it; the app hears of it a moment later.
    let wait = kernel.hosts[phone.place].chance.duration(below: .milliseconds(200))
    kernel.answerLater(.input(.fired(types, id, budget: budget)), to: phone, after: wait)
  }

  // Launches and suspension.

  /// Lets the app run, unless it was closed by force.
  private mutating func rouse(_ phone: HostID) {
    let place = phone.place
    switch kernel.hosts[place].process {
    case .running: return
    case .suspended:
      phones[phone.index].naps += kernel.hosts[place].suspending
      kernel.hosts[place].suspending = []
      resume(phone)
      napSoon(phone)
    case .dead:
      guard kernel.hosts[place].downs.allSatisfy({ isJettison($0) }) else { return }
      kernel.hosts[place].downs = []
      launchIfPossible(phone)
      napSoon(phone)
    }
  }

  private func isJettison(_ act: Int) -> Bool {
    kernel.plan.acts[act].act.verb == .own(.jettisons)
  }

  /// Suspends an app in background again once it has no granted time left.
  mutating func napSoon(_ phone: HostID) {
    guard phones[phone.index].grants.isEmpty, !phones[phone.index].naps.isEmpty else { return }
    kernel.later(.naps(phone: phone.index), after: .seconds(5))
  }

  mutating func nap(_ phone: HostID) {
    guard phones[phone.index].grants.isEmpty, kernel.hosts[phone.place].isRunning else { return }
    let naps = phones[phone.index].naps
    phones[phone.index].naps = []
    for index in naps { suspend(phone, for: index) }
  }

  mutating func jettison(_ phone: HostID, _ index: Int) {
    kernel.hosts[phone.place].downs.append(index)
    // Until the act ends the app is launched in background.
    kernel.hosts[phone.place].dozing.append(index)
    phones[phone.index].naps.append(index)
    die(phone)
  }

  mutating func forceQuit(_ phone: HostID, _ index: Int) {
    kernel.hosts[phone.place].downs.append(index)
    // The system cancels what it uploads for an app that is closed by force.
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
    if resumes(body), isOwnedBySystem ? numbers.dialect > 1 : true {
      if isOwnedBySystem { trySystem(file, body, phone) } else { tryPieces(file, body, phone) }
      return
    }
    let from = isOwnedBySystem ? kernel.host(.system, phone.index) : phone
    let question = Feature.Question.upload(
      phone: phone.index, file: file, body: body, secret: task.secret)
    let number = ask(
      question, from: from, to: server, patience: .seconds(30) + .seconds(body.count / 16_384))
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
    case .part(let phone, let file, let request):
      answered(request, of: file, result, kernel.phones[phone])
    case .upload(let phone, let file, _, _):
      phones[phone].tasks[file]?.epoch = result.epoch
      let failure = result.failure
      let outcome = failure.map { UploadOutcome.failed($0) } ?? .accepted
      if host.kind == .system, let failure, failure.isOfTransport {
        tryLater(file, outcome, kernel.phones[phone])
      } else {
        ended(file, outcome, kernel.phones[phone])
      }
    }
  }

  /// What the app reads in the answer to its question who the server is.
  private mutating func identity(
    _ result: Result<Feature.Reply, LinkFailure>, _ secret: Int, _ phone: Int
  ) -> SyncModel.Input {
    switch result {
    case .failure(let failure): return .notIdentified(failure)
    case .success(let reply):
      let failure = LinkFailure.http(
        status: reply.status, retryAfter: reply.retryAfter, detail: reply.detail)
      if ResumableUpload.isPassing(reply.status) || SyncReply.isDenied(reply.body) {
        heed(failure, secret, phone)
        return .notIdentified(failure)
      }
      guard 200..<300 ~= reply.status else {
        return .identified(SyncIdentity(SyncOwner(server: SyncRequest.endpoint)))
      }
      return .identified(SyncIdentity(reply.body, server: SyncRequest.endpoint))
    }
  }

  /// The system tries again by itself after a failure of the network, and gives up after a while.
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
    if isOwnedBySystem { rouse(phone) }
    deliver(phone)
  }

  /// Tells the app how uploads ended, if it runs.
  mutating func deliver(_ phone: HostID) {
    let index = phone.index
    let ended = phones[index].tasks.filter { $0.value.outcome != nil }.keys.sorted()
    for file in ended where kernel.hosts[phone.place].isRunning {
      guard let task = phones[index].tasks.removeValue(forKey: file), let outcome = task.outcome
      else { continue }
      if case .failed(let failure) = outcome { heed(failure, task.secret, index) }
      if let epoch = task.epoch { give(.epoch(epoch), to: phone) }
      give(.uploaded(file, outcome, at: wall(phone)), to: phone)
    }
  }

  private mutating func heed(_ failure: LinkFailure, _ secret: Int, _ phone: Int) {
    if case .http(401, _, _) = failure { phones[phone].refused = secret }
    guard let wish = kernel.setup.policy.retry.obeyed(failure.serverWish) else { return }
    let until = now.advanced(by: wish)
    let before = kernel.bench.views[phone].standing.own.restsUntil
    kernel.bench.views[phone].standing.own.restsUntil = max(before ?? until, until)
  }

  /// Requests of the app that its suspension ended.
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
  /// How an upload ended with it.
  var outcome: UploadOutcome { failure.map { .failed($0) } ?? .accepted }

  /// The epoch that the answer names.
  var epoch: String? { if case .success(let reply) = self { reply.epoch } else { nil } }

  /// Why the answer is not one of success.
  fileprivate var failure: LinkFailure? {
    switch self {
    case .success(let reply)
    where 200..<300 ~= reply.status && SyncReply.isSuccess(reply.body):
      nil
    case .success(let reply):
      .http(status: reply.status, retryAfter: reply.retryAfter, detail: reply.detail)
    case .failure(let failure): failure
    }
  }
}

extension LinkFailure {
  /// Whether no answer came.
  fileprivate var isOfTransport: Bool {
    if case .http = self { false } else { true }
  }
}
