import LinkCore
import LinkServerCore
import LinkWire

// The server: the real rules, a log that is a value, and a process that dies.
extension World {
  mutating func feed(_ input: ShopServer.Input) {
    perform(backend.server.handle(input, at: now))
  }

  mutating func perform(_ effects: [ShopServer.Effect]) {
    for effect in effects where backend.isRunning { perform(effect) }
  }

  private mutating func perform(_ effect: ShopServer.Effect) {
    switch effect {
    case .append(let appends):
      for append in appends { ask(append.token, .append(append.message, key: append.key)) }
    case .page(let token, _, let query): ask(token, .page(query))
    case .head(let token, _): ask(token, .head)
    case .answer(let id, let said): answer(id.number, said)
    case .accept(let id, let head, let after): accept(id.number, head: head, after: after)
    case .refuse(let id, let said): refuse(id.number, said)
    case .send(let frame, let listeners): send(frame, to: listeners)
    case .ping(let id): deliver(.ping, bytes: 60, over: id.number)
    case .close(let id, let closure):
      let failure = LinkFailure.closed(code: closure.code, reason: closure.reason)
      deliver(.failed(failure), bytes: 100, over: id.number)
      if let index = network.line(id.number), !network.lines[index].isDead {
        let wait = network.delay(weather) + network.delay(weather)
        queue.add(.hungUp(id.number, code: closure.code), at: now.advanced(by: wait))
      }
    case .drop(let id): serverDrops(id.number, .ended)
    case .finished: drained()
    }
  }

  private mutating func send(_ frame: Frame, to listeners: [ConnectionID]) {
    let payload = frame.payload
    let isOversized = backend.isNextOversized
    backend.isNextOversized = false
    for id in listeners {
      let down: Down = isOversized ? .oversized(bytes: 20_000) : .text(payload)
      deliver(down, bytes: payload.count, over: id.number)
    }
  }

  // The log.

  private mutating func ask(_ token: StoreToken, _ question: LogQuestion) {
    queue.add(
      .logAnswers(generation: backend.generation, token, question),
      at: now.advanced(by: conditions.logDelay))
  }

  mutating func answer(_ token: StoreToken, _ question: LogQuestion) {
    switch question {
    case .head: feed(.stored(token, .head(backend.log.head, newest: backend.log.newest)))
    case .page(let query): feed(.stored(token, backend.log.page(query)))
    case .append(let draft, let key):
      let (message, isNew) = backend.log.append(restamped(draft), key: key)
      if isNew { counts.accepted += 1 }
      happen(.accepted(message, isNew: isNew))
      if let index = backend.deadlyPost, message.user == "me" {
        backend.deadlyPost = nil
        stopServer(for: index)
        queue.add(.ends(index), at: now.advanced(by: deadlySpan(index)))
      } else {
        feed(.stored(token, .appended(message, isNew: isNew)))
      }
    }
  }

  private func deadlySpan(_ index: Int) -> Duration {
    guard case .dieAfterNextPost(let span) = plan.actions[index].action else { return .zero }
    return span
  }

  /// A plain server may stamp messages out of order, and several alike.
  private mutating func restamped(_ draft: Message) -> Message {
    var message = draft
    guard plan.server == .plain else { return message }
    if weather.lateStamps > 0, backend.chance.unit() < weather.lateStamps {
      let late = backend.chance.duration(below: .seconds(100))
      message.createdAt = message.createdAt.advanced(by: .zero - late)
    } else if weather.equalStamps > 0, backend.chance.unit() < weather.equalStamps,
      let last = backend.log.messages.last?.createdAt,
      last.duration(to: message.createdAt) < .seconds(60)
    {
      message.createdAt = last
    }
    return message
  }

  // Its process.

  /// The server's process dies at once, and stays away until the action ends.
  mutating func stopServer(for index: Int) {
    backend.downs.append(index)
    guard backend.isRunning else { return }
    backend.isRunning = false
    backend.generation += 1
    backend.draining = nil
    network.poolIsDead = true
    for number in network.lines.map(\.number) { serverDrops(number, .reset) }
    for exchange in network.exchanges where !exchange.isAbandoned { cut(exchange) }
  }

  /// A request that the server will not answer any more; on its way it will be refused.
  mutating func cut(_ exchange: Exchange) {
    guard !isHole else {
      lose(exchange.number)
      return
    }
    let reply = Reply(
      number: exchange.number, run: exchange.run, what: exchange.what, result: .failure(.reset))
    queue.add(
      .answerArrives(reply, isCopy: false), at: now.advanced(by: network.delay(weather)))
  }

  mutating func startServer() {
    guard !backend.isRunning, backend.downs.isEmpty else { return }
    backend.isRunning = true
    backend.server = ShopServer(
      policy: Backend.policy(plan.server, plan.weather), seed: backend.chance.next(), at: now)
    if !conditions.isMember { feed(.removals([membership])) }
  }

  private mutating func drained() {
    guard let index = backend.draining else { return }
    stopServer(for: index)
  }

  var membership: Membership { Membership(shop: shop, user: "me") }

  func credential(of token: Token) -> Credential {
    if token.number <= backend.revoked { return .invalid(reason: "revoked") }
    return .valid(
      Claims(user: "me", name: "Me", shops: [shop], expiresAt: token.expiresAt))
  }

  // Its other users.

  mutating func othersPost(_ left: Int) {
    // In calm nobody talks but who says the last word.
    guard left > 0, now < Instant.zero.advanced(by: plan.length) else { return }
    post(text: "other \(backend.said + 1)")
    let wait = Duration.milliseconds(30) + backend.chance.duration(below: .milliseconds(200))
    queue.add(.othersPost(left: left - 1), at: now.advanced(by: wait))
  }

  /// Somebody else posts, if the server is there.
  mutating func post(text: String) {
    backend.said += 1
    guard backend.isRunning else { return }
    backend.lastRequest += 1
    let user = "other-\(backend.said % 5)"
    let claims = Claims(
      user: user, name: user, shops: [shop], expiresAt: serverWall.advanced(by: .seconds(60)))
    feed(
      .request(
        RequestID(backend.lastRequest), .send(Draft(shop: shop, text: text)), .valid(claims),
        wall: serverWall))
  }

  /// Fills the log with what was said before the run.
  mutating func makeHistory() {
    var time = Timestamp(nanoseconds: Self.wallBase.nanoseconds)
      .advanced(by: .seconds(-60 * (weather.history + 2)))
    for number in 0..<weather.history {
      time = time.advanced(by: .seconds(30) + backend.chance.duration(below: .seconds(30)))
      let stamp = Timestamp(nanoseconds: time.nanoseconds - time.nanoseconds % 1_000)
      let message = Message(
        id: .random(using: &backend.chance), shop: shop, user: "other-\(number % 5)",
        username: "other-\(number % 5)", text: "old \(number)", createdAt: stamp)
      let (kept, isNew) = backend.log.append(message, key: nil)
      counts.accepted += 1
      happen(.accepted(kept, isNew: isNew))
    }
  }
}
