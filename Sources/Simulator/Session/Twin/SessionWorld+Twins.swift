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
    let effects = seam.defect == nil ? effects : effects.map { seam.twisted($0) }
    let model = clients[phone.index]
    if let stray = twins[phone.index].stray(of: model, after: input, effects, at: time) {
      noteStray(stray)
    }
  }

  /// Compares what the server asked for with what it must.
  mutating func checkServer(_ input: SessionServer.Input?, _ effects: [SessionServer.Effect]) {
    let effects = seam.defect == nil ? effects : effects.map { seam.twisted($0) }
    let server = backend.rules
    if let stray = backend.twin.stray(of: server, after: input, effects, at: now) {
      noteStray(stray)
    }
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

  static var walks: [Walk] {
    [SessionWireWalk.steps(12), SessionPhoneWalk.steps(300), SessionServerWalk.steps(400)]
  }
}

extension SessionPhoneTwin: Twin {
  static var name: String { "the phone" }

  func difference(from model: SessionModel, after input: SessionModel.Input?) -> String? {
    let (stands, mustStand) = (SessionGlance(model), glance)
    return stands == mustStand ? nil : "says that it is \(stands), not \(mustStand)"
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

extension SessionHouse: Twin {
  static var name: String { "the server" }

  func difference(from server: SessionServer, after input: SessionServer.Input?) -> String? {
    if server.isFinished != (mode == .ended) || server.serviceHealth != health {
      return "says that it is \(server.serviceHealth), not \(health)"
    }
    guard case .opened(let id, _, _) = input else { return nil }
    let challenge = sockets[id].flatMap { $0.peer == nil ? $0.challenge : nil }
    return server.challenge(of: id) == challenge ? nil : "has another challenge"
  }
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
