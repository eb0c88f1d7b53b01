import HoldfastCore
import HoldfastIdentity
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastMessageStream
import HoldfastWorldKernel

// Edits, deletions and replies of the server's users.
extension StreamWorld {
  /// Posts, edits, deletes and replies, in succession.
  mutating func othersChange(_ left: Int) {
    guard left > 0, now < Instant.zero.advanced(by: kernel.plan.length) else { return }
    if !fillsLogUp { changeSomething() }
    let wait = kernel.hosts[server.slot].generator.duration(below: .milliseconds(400))
    kernel.later(.othersChange(left: left - 1), after: .milliseconds(30) + wait)
  }

  private mutating func changeSomething() {
    let chance = kernel.hosts[server.slot].generator.unit()
    guard chance >= 0.35, let message = someMessage() else {
      return post(text: "other \(backend.othersCount + 1)")
    }
    switch chance {
    case ..<0.45: post(text: "other \(backend.othersCount + 1)", parent: message.id)
    case ..<0.75: requestEdit(of: message)
    case _: requestDeletion(of: message)
    }
  }

  /// Edits the newest messages of others.
  ///
  /// Some plain servers send an edited message like a new one. This one does.
  mutating func edit(_ count: Int) {
    guard isServerRunning else { return }
    for message in backend.log.messages.suffix(max(0, count)) where message.user != "me" {
      switch kernel.plan.server {
      case .positions: if !fillsLogUp { requestEdit(of: message) }
      case .plain: announceEdit(of: message)
      }
    }
  }

  /// Deletes some messages, of which most are new.
  mutating func delete(_ count: Int) {
    for _ in 0..<max(0, count) {
      guard !fillsLogUp, let message = someMessage() else { return }
      requestDeletion(of: message)
    }
  }

  /// Edits or deletes one of the user's newest messages on the phone.
  mutating func change(isEdit: Bool) {
    let own = disk.ordered.suffix(40).compactMap { disk.messages[$0.id] }.filter { message in
      message.user == "me" && !disk.outbox.contains { $0.text == message.words }
    }
    guard !own.isEmpty else { return }
    let index = Int.random(in: own.indices, using: &kernel.hosts[phoneID.slot].generator)
    let id = UUID128.random(using: &kernel.hosts[phoneID.slot].generator)
    if isEdit {
      backend.edits += 1
      let text = "\(own[index].words.prefix { $0 != "(" })(edit \(backend.edits))"
      let keeps = keepsImage(of: own[index], on: phoneID)
      give(
        .edit(id: id, own[index].id, text: text, at: phoneWall, keepsImages: keeps ? true : nil),
        to: phoneID)
    } else {
      give(.delete(id: id, own[index].id, at: phoneWall), to: phoneID)
    }
  }

  /// Whether the plan has edits and deletions.
  var hasChanges: Bool {
    let kinds: Set<EventKind<StreamEventKind>> = [.own(.chat), .own(.delete)]
    return kernel.plan.events.contains { kinds.contains($0.event.eventKind) }
  }

  /// Edits and deletes some messages when all faults have ended, if the plan has such events.
  mutating func changeLast() {
    guard hasChanges, !isAheadOfLog else { return }
    for _ in 0..<3 {
      if let message = someMessage() { requestEdit(of: message) }
    }
    if let message = someMessage() { requestDeletion(of: message) }
  }

  /// Returns a random message, which is one of the newest in four of five cases.
  private mutating func someMessage() -> ShopMessage? {
    let messages = backend.log.messages
    guard !messages.isEmpty else { return nil }
    let isNew = kernel.hosts[server.slot].generator.unit() < 0.8
    let range = isNew ? messages.suffix(12) : messages[...]
    let index = Int.random(in: range.indices, using: &kernel.hosts[server.slot].generator)
    // A plain server has no keys. A phone can recognize its own message only by its text.
    let isOpen =
      kernel.plan.server == .plain && messages[index].user == "me"
      && disk.outbox.contains { $0.text == messages[index].words }
    return isOpen ? nil : messages[index]
  }

  private mutating func requestEdit(of message: ShopMessage) {
    backend.edits += 1
    let earlier = keepsImage(of: message, on: server) ? message.text : message.words
    let text = "\(earlier.prefix { $0 != "(" })(edit \(backend.edits))"
    request(.edit(Revision(id: message.id, text: text)), by: message.user)
  }

  /// Returns whether an edit keeps the image of a message. Half of them remove it.
  private mutating func keepsImage(of message: ShopMessage, on host: HostID) -> Bool {
    message.words != message.text && kernel.hosts[host.slot].generator.next() % 2 == 0
  }

  private mutating func requestDeletion(of message: ShopMessage) {
    let byAdmin = kernel.hosts[server.slot].generator.unit() < 0.5
    request(.delete(message.id), by: byAdmin ? "admin" : message.user)
  }

  private mutating func request(_ call: Call, by user: String) {
    if isElsewhere() { return changeElsewhere(call, by: user) }
    guard isServerRunning else { return }
    backend.posting += 1
    backend.lastRequest += 1
    let claims = Claims(
      user: user, name: user, shops: [shop], admin: user == "admin" ? [shop] : [],
      expiresAt: serverWall.advanced(by: .seconds(60)))
    feed(.request(RequestID(backend.lastRequest), call, .valid(claims), wall: serverWall))
  }

  private mutating func changeElsewhere(_ call: Call, by user: String) {
    let actor = LogActor(user: user, isAdmin: user == "admin")
    switch call {
    case .edit(let revision):
      storeElsewhere(
        .edit(
          LogEdit(id: revision.id, shop: shop, text: revision.text, at: serverWall, by: actor)))
    case .delete(let id, _): storeElsewhere(.delete(LogDeletion(id: id, shop: shop, by: actor)))
    case .send, .all, .page, .streamHealth, .refused: return
    }
  }

  /// Edits a message, and sends it to all sockets like a new one.
  private mutating func announceEdit(of message: ShopMessage) {
    guard serverWall > message.updatedAt ?? message.createdAt else { return }
    backend.edits += 1
    let edit = LogEdit(
      id: message.id, shop: shop, text: "\(message.text) (edited)", at: serverWall,
      by: LogActor(user: message.user))
    guard case .success(.edited(var edited, isNew: true)) = backend.log.append(.edit(edit)) else {
      return
    }
    note(.changed(.edited(edited)))
    (edited.position, edited.changed) = (nil, nil)
    let listeners = kernel.lines.filter { $0.serverHolds }.map { ConnectionID($0.number) }
    send(.message(edited), to: listeners)
  }
}

extension LogRequest {
  /// Whether the request is not one of the phone's user.
  var isOfOthers: Bool {
    switch self {
    case .post(let entry): entry.message.user != "me"
    case .edit(let edit): edit.by.user != "me"
    case .delete(let deletion): deletion.by.user != "me"
    }
  }
}

extension ShopServer.StoreAnswer {
  /// Whether the log could not say what happened after a position.
  var isUnrecovered: Bool { if case .page(let page, _) = self { !page.recovered } else { false } }
}
