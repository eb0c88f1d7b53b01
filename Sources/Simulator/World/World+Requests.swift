import LinkCore
import LinkServerCore
import LinkWire
import MessageStream

// Requests: each for itself, so that answers overtake each other, come late, twice or never.
extension World {
  mutating func ask(_ what: Request) {
    counts.requests += 1
    defer { network.lastRequest = now }
    let exchange = Exchange(
      number: network.newNumber(), run: phone.run, what: what, token: phone.token, began: now)
    network.exchanges.append(exchange)
    limit(exchange)
    let isDialed = network.poolIsDead || network.lastRequest.duration(to: now) > .seconds(60)
    if let failure = obstacle(isDialed: isDialed) {
      fail(exchange.number, failure.reason, after: failure.after)
    } else if isHole || network.happens(weather.loss) {
      lose(exchange.number)
    } else if network.poolIsDead {
      sendStale(exchange.number)
    } else {
      send(exchange)
    }
  }

  /// A connection that was kept for the next request died meanwhile: the other side says so, or
  /// nobody does.
  private mutating func sendStale(_ number: Number) {
    network.poolIsDead = false
    if network.chance.next() % 2 == 0 {
      lose(number)
    } else {
      fail(number, .reset, after: network.delay(weather) + network.delay(weather))
    }
  }

  /// The phone's HTTP client waits so long and no longer.
  private mutating func limit(_ exchange: Exchange) {
    queue.add(
      .requestExpires(exchange.number), at: exchange.began.advanced(by: weather.patience))
  }

  private mutating func send(_ exchange: Exchange) {
    var wait = network.delay(weather)
    // A plain server knows no keys: what comes after its author looked whether it came is new.
    if network.happens(weather.slow) { wait += network.chance.duration(below: .seconds(8)) }
    let time = carry(bytes(of: exchange.what), down: false).advanced(by: wait)
    queue.add(.requestArrives(exchange.number), at: time)
  }

  private func bytes(of what: Request) -> Int {
    switch what {
    case .fetch: 500
    case .post(let entry): 600 + entry.text.utf8.count
    }
  }

  private mutating func fail(_ number: Number, _ failure: LinkFailure, after wait: Duration) {
    guard let index = network.exchange(number) else { return }
    let exchange = network.exchanges[index]
    let reply = Reply(
      number: number, run: exchange.run, what: exchange.what, result: .failure(failure))
    queue.add(.answerArrives(reply, isCopy: false), at: now.advanced(by: wait))
  }

  /// A request or its answer is gone: the phone's HTTP client notices at its limit.
  mutating func lose(_ number: Number) {
    guard let index = network.exchange(number) else { return }
    if network.exchanges[index].isAbandoned { network.exchanges.remove(at: index) }
  }

  mutating func expire(_ number: Number) {
    guard let index = network.exchange(number),
      network.exchanges[index].began.advanced(by: weather.patience) <= now
    else { return }
    let exchange = network.exchanges.remove(at: index)
    if exchange.run == phone.run, !exchange.isAbandoned {
      give(failed(exchange.what, .timeout(.response)))
    }
  }

  /// Nobody waits for what is under way; the server may do it all the same.
  mutating func abandonRequests() {
    for index in network.exchanges.indices { network.exchanges[index].isAbandoned = true }
  }

  /// The way is gone that requests and answers were on.
  mutating func loseRequests() {
    for number in network.exchanges.map(\.number) { lose(number) }
  }

  // At the server.

  mutating func requestArrives(_ number: Number) {
    guard let index = network.exchange(number) else { return }
    if isHole {
      lose(number)
      return
    }
    let exchange = network.exchanges[index]
    if !backend.isRunning {
      fail(number, .refused, after: network.delay(weather))
    } else if let status = conditions.restStatus {
      let retryAfter: Duration? = status == 429 || status == 503 ? .seconds(2) : nil
      answer(number, .error(status, "not now", retryAfter: retryAfter))
    } else {
      let call = call(exchange.what)
      feed(
        .request(RequestID(number), call, credential(of: exchange.token), wall: serverWall))
    }
  }

  private func call(_ what: Request) -> Call {
    switch what {
    case .fetch(_, let query):
      Call.read(
        method: "GET", path: ShopRoute.paginated(shop).path, query: query.parameters, key: nil,
        body: [], limits: MessageLimits())
    case .post(let entry):
      Call.read(
        method: "POST", path: ShopRoute.send.path, query: [], key: entry.id.description,
        body: NewMessage(shop: entry.shop, text: entry.text, parent: entry.parent).encode(),
        limits: MessageLimits())
    }
  }

  /// Sends an answer down.
  mutating func answer(_ number: Number, _ answer: Answer) {
    guard let index = network.exchange(number) else { return }
    let exchange = network.exchanges[index]
    guard !exchange.isAbandoned else {
      network.exchanges.remove(at: index)
      return
    }
    if isHole || network.happens(weather.loss) {
      lose(number)
      return
    }
    let bytes = answer.bytes
    let reply = Reply(
      number: number, run: exchange.run, what: exchange.what,
      result: .success(
        Answered(status: answer.status, retryAfter: answer.retryAfter, bytes: bytes)))
    var wait = network.delay(weather)
    if network.happens(weather.slow) { wait += network.chance.duration(below: .seconds(30)) }
    let time = carry(bytes.count + 300, down: true)
    queue.add(.answerArrives(reply, isCopy: false), at: time.advanced(by: wait))
    // A client completes a post once. Pages are asked for by number, so a copy tells itself.
    if case .fetch = exchange.what, network.happens(weather.twice) {
      let later = wait + network.chance.duration(below: .seconds(3))
      queue.add(.answerArrives(reply, isCopy: true), at: time.advanced(by: later))
    }
  }

  // Back on the phone.

  mutating func arrive(_ reply: Reply, isCopy: Bool) {
    guard let index = network.exchange(reply.number) else {
      // A copy, or an answer to what was lost and given up.
      if isCopy, reply.run == phone.run { give(input(reply)) }
      return
    }
    let exchange = network.exchanges[index]
    if case .success = reply.result, isHole {
      lose(reply.number)
      return
    }
    if case .success(let answered) = reply.result, answered.status == 401, !exchange.isSecond,
      phone.token.number > exchange.token.number, !exchange.isAbandoned
    {
      // The refusal of an older token says nothing about the present one.
      network.exchanges[index].isSecond = true
      network.exchanges[index].token = phone.token
      network.exchanges[index].began = now
      limit(network.exchanges[index])
      send(network.exchanges[index])
      return
    }
    network.exchanges.remove(at: index)
    guard exchange.run == phone.run, !exchange.isAbandoned else { return }
    give(input(reply))
  }

  private func input(_ reply: Reply) -> StreamModel.Input {
    switch reply.result {
    case .failure(let failure): return failed(reply.what, failure)
    case .success(let answered):
      guard answered.status == 200 || answered.status == 201 else {
        let failure = LinkFailure.http(
          status: answered.status, retryAfter: answered.retryAfter,
          detail: Envelope.decodeNote(answered.bytes) ?? "")
        return failed(reply.what, failure)
      }
      return read(reply.what, answered.bytes)
    }
  }

  private func read(_ what: Request, _ bytes: [UInt8]) -> StreamModel.Input {
    do throws(MessageError) {
      switch what {
      case .fetch(let id, _): return .fetched(id, try PageCodec.decode(bytes, shop: shop))
      case .post(let entry):
        return .posted(entry.id, try Envelope.decodeMessage(bytes, shop: shop))
      }
    } catch {
      return failed(what, .protocolError(detail: "the answer could not be read: \(error)"))
    }
  }

  private func failed(_ what: Request, _ failure: LinkFailure) -> StreamModel.Input {
    switch what {
    case .fetch(let id, _): .fetchFailed(id, failure)
    case .post(let entry): .postFailed(entry.id, failure)
    }
  }
}
