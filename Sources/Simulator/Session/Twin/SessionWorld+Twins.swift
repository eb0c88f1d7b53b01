import LinkCore
import LinkServerCore
import LinkWire
import Session

// What phones and the server say and do, beside their second accounts.
extension SessionWorld {
  mutating func noteStray(_ what: String) { note(.broken(.strayed, detail: what)) }

  mutating func stepped(
    _ input: SessionModel.Input?, _ effects: [SessionModel.Effect], at time: Instant,
    of phone: HostID
  ) {
    guard var twin = twins[phone.index].take() else { return }
    let effects = seam.defect == nil ? effects : effects.map { seam.twisted($0) }
    let stray = twin.stray(of: clients[phone.index], after: input, effects, at: time)
    twins[phone.index] = stray == nil ? twin : nil
    if let stray { noteStray(stray) }
  }

  /// Compares what the server asked for with what it must.
  mutating func checkServer(_ input: SessionServer.Input?, _ effects: [SessionServer.Effect]) {
    guard var twin = backend.twin.take() else { return }
    let effects = seam.defect == nil ? effects : effects.map { seam.twisted($0) }
    let stray = twin.stray(of: backend.rules, after: input, effects, at: now)
    backend.twin = stray == nil ? twin : nil
    if let stray { noteStray(stray) }
  }

  /// Compares what the server counts.
  mutating func checkCounts(_ page: String) {
    guard let twin = backend.twin else { return }
    let (found, must) = (SessionHouse.numbers(on: page), twin.page)
    for name in Set(found.keys).union(must.keys).sorted() where found[name] != must[name] {
      return noteStray("\(name) is \(found[name] ?? 0), not \(must[name] ?? 0)")
    }
  }

  /// Compares what the server wrote, and how a client reads it.
  mutating func checkBytes(_ bytes: [UInt8], _ message: SessionServerMessage) {
    if let stray = SessionWire.stray(bytes, of: message) { noteStray(stray) }
    if let stray = SessionWire.strayOfClient(reading: bytes) { noteStray(stray) }
  }

  /// Lets both ends say what they say seldom, and anything happen to a phone and to a server.
  mutating func checkWords() {
    var walk = SessionWireWalk(Chance(seed: kernel.plan.seed))
    if let stray = walk.walk(12) { noteStray(stray) }
    var phone = SessionPhoneWalk(kernel.policy, Chance(seed: kernel.plan.seed))
    if let stray = phone.walk(300) { noteStray(stray) }
    var server = SessionServerWalk(Chance(seed: kernel.plan.seed))
    if let stray = server.walk(400) { noteStray(stray) }
  }
}

extension SessionPhoneTwin {
  /// Takes a step, and returns what a model did otherwise in it.
  mutating func stray(
    of model: SessionModel, after input: SessionModel.Input?, _ effects: [Effect],
    at time: Instant
  ) -> String? {
    let must = step(input, at: time)
    if effects != must {
      let place = zip(effects, must).prefix { $0 == $1 }.count
      let (one, two) = (effects.dropFirst(place).first, must.dropFirst(place).first)
      return "the phone asks for \(short(one)), and must for \(short(two))"
    }
    if model.deadline != deadline {
      return "the phone waits until \(short(model.deadline)), not \(short(deadline))"
    }
    let (stands, mustStand) = (SessionGlance(model), glance)
    return stands == mustStand ? nil : "the phone says that it is \(stands), not \(mustStand)"
  }

  /// How a phone must say that it stands.
  var glance: SessionGlance {
    let open = outbox.all.count { !$0.isFailed }
    return SessionGlance(
      prompts: outbox.all, home: home, client: client, isConnected: isConnected,
      isStopped: !link.isWanted && stopsAt == nil && (paper.isDone || paper.failures > 0),
      isShown: confirmed >= handed, isCaughtUp: isCaughtUp, unanswered: open,
      isSettled: open == 0 && paper.isDone)
  }
}

extension SessionHouse {
  /// Takes a step, and returns what a server did otherwise in it.
  mutating func stray(
    of server: SessionServer, after input: SessionServer.Input?, _ effects: [Effect],
    at time: Instant
  ) -> String? {
    let must = step(input, at: time)
    if effects != must {
      let place = zip(effects, must).prefix { $0 == $1 }.count
      let (one, two) = (effects.dropFirst(place).first, must.dropFirst(place).first)
      return "the server asks for \(short(one)), and must for \(short(two))"
    }
    if server.deadline != deadline {
      return "the server waits until \(short(server.deadline)), not \(short(deadline))"
    }
    if server.isFinished != (mode == .ended) || server.serviceHealth != health {
      return "the server says that it is \(server.serviceHealth), not \(health)"
    }
    guard case .opened(let id, _, _) = input else { return nil }
    let challenge = sockets[id].flatMap { $0.peer == nil ? $0.challenge : nil }
    return server.challenge(of: id) == challenge ? nil : "the server has another challenge"
  }
}

private func short(_ value: (some Any)?) -> String {
  value.map { String("\($0)".prefix(700)) } ?? "nothing"
}

/// How a session says that it stands.
struct SessionGlance: Equatable {
  var prompts: [KeptPrompt]
  var home: String
  var client: UUID128?
  var isConnected: Bool
  var isStopped: Bool
  var isShown: Bool
  var isCaughtUp: Bool
  var unanswered: Int
  var isSettled: Bool
}

extension SessionGlance {
  init(_ model: SessionModel) {
    self.init(
      prompts: model.queue.items, home: model.conversation, client: model.client,
      isConnected: model.isConnected, isStopped: model.isStopped, isShown: model.isShown,
      isCaughtUp: model.isCaughtUp, unanswered: model.unanswered, isSettled: model.isSettled)
  }
}
