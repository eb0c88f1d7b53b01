import LinkCore

// Exchanges: each request for itself, so that answers overtake each other, come late, twice, or
// never.
extension SimulatedWorld where Self: ~Copyable {
  /// Asks a server something.
  ///
  /// - Parameter patience: How long the asking end waits; as the weather says by default.
  @discardableResult
  mutating func ask(
    _ question: Feature.Question, from host: HostID, to server: HostID,
    patience: Duration? = nil
  ) -> TrafficID {
    kernel.counts.requests += 1
    let carrier = carrier(of: host)
    let uplink = kernel.hosts[carrier.place].network
    let exchange = Exchange<Feature>(
      number: kernel.newNumber(), from: host, run: kernel.hosts[host.place].run, to: server,
      question: question, patience: patience ?? kernel.weather.patience, began: now)
    kernel.exchanges.append(exchange)
    limit(exchange)
    let isIdle = uplink.lastRequest.duration(to: now) > .seconds(60)
    if let failure = obstacle(carrier, isDialed: uplink.poolIsDead || isIdle) {
      fail(exchange.number, failure.reason, after: failure.after)
    } else if isHole(host) || kernel.happens(kernel.weather.loss) {
      lose(exchange.number)
    } else if uplink.poolIsDead {
      sendStale(exchange)
    } else {
      send(exchange)
    }
    kernel.hosts[carrier.place].network.lastRequest = now
    return exchange.number
  }

  /// A connection that was kept for the next request died meanwhile: the other end says so, or the
  /// request is lost.
  private mutating func sendStale(_ exchange: Exchange<Feature>) {
    kernel.hosts[carrier(of: exchange.from).place].network.poolIsDead = false
    if kernel.chance.next() % 2 == 0 {
      lose(exchange.number)
    } else {
      fail(exchange.number, .reset, after: kernel.roundTrip())
    }
  }

  /// The asking end waits no longer than its patience.
  private mutating func limit(_ exchange: Exchange<Feature>) {
    kernel.queue.add(
      .requestExpires(exchange.number), at: exchange.began.advanced(by: exchange.patience))
  }

  private mutating func send(_ exchange: Exchange<Feature>) {
    var wait = kernel.delay()
    // A request may be so late that the server takes it after its author gave up.
    if kernel.happens(kernel.weather.slow) { wait += kernel.chance.duration(below: .seconds(8)) }
    let size = bytes(of: exchange.question)
    let time = kernel.carry(size, of: carrier(of: exchange.from), down: false).advanced(by: wait)
    kernel.queue.add(.requestArrives(exchange.number), at: time)
  }

  private mutating func fail(_ number: TrafficID, _ failure: LinkFailure, after wait: Duration) {
    guard let index = exchange(number) else { return }
    let arrival = arrival(kernel.exchanges[index], .failure(failure))
    kernel.add(.answerArrives(arrival, isCopy: false), after: wait)
  }

  private func arrival(
    _ exchange: Exchange<Feature>, _ result: Result<Feature.Reply, LinkFailure>
  ) -> Arrival<Feature> {
    Arrival(
      number: exchange.number, from: exchange.from, run: exchange.run,
      question: exchange.question, result: result)
  }

  /// A request or its answer is gone: the asking end notices at its limit.
  private mutating func lose(_ number: TrafficID) {
    guard let index = exchange(number) else { return }
    if kernel.exchanges[index].isAbandoned { kernel.exchanges.remove(at: index) }
  }

  mutating func expire(_ number: TrafficID) {
    guard let index = exchange(number),
      kernel.exchanges[index].began.advanced(by: kernel.exchanges[index].patience) <= now
    else { return }
    let exchange = kernel.exchanges.remove(at: index)
    if exchange.run == kernel.hosts[exchange.from.place].run, !exchange.isAbandoned {
      answered(exchange.question, .failure(.timeout(.response)), to: exchange.from)
    }
  }

  /// The asking end waits no longer for what is under way; the server may do it all the same.
  mutating func abandonRequests(of host: HostID) {
    for index in kernel.exchanges.indices where kernel.exchanges[index].from == host {
      kernel.exchanges[index].isAbandoned = true
    }
  }

  /// The way is gone that requests and answers were on.
  mutating func loseRequests(of host: HostID) {
    for exchange in kernel.exchanges where carrier(of: exchange.from) == host {
      lose(exchange.number)
    }
  }

  /// A server will not answer a request any more; on its way it will be refused.
  mutating func cut(_ exchange: Exchange<Feature>) {
    guard !isHole(exchange.from) else { return lose(exchange.number) }
    let arrival = arrival(exchange, .failure(.reset))
    kernel.add(.answerArrives(arrival, isCopy: false), after: kernel.delay())
  }

  // At a server.

  mutating func requestArrives(_ number: TrafficID) {
    guard let index = exchange(number) else { return }
    let exchange = kernel.exchanges[index]
    guard !isHole(exchange.from) else { return lose(number) }
    if !kernel.hosts[exchange.to.place].isRunning {
      fail(number, .refused, after: kernel.delay())
    } else if let status = kernel.hosts[exchange.to.place].conditions.restStatus {
      answer(number, refusal(status))
    } else {
      requestArrived(number, exchange.question, at: exchange.to)
    }
  }

  /// Sends an answer back.
  mutating func answer(_ number: TrafficID, _ reply: Feature.Reply) {
    guard let index = exchange(number) else { return }
    let exchange = kernel.exchanges[index]
    guard !exchange.isAbandoned else {
      kernel.exchanges.remove(at: index)
      return
    }
    if isHole(exchange.from) || kernel.happens(kernel.weather.loss) { return lose(number) }
    let arrival = arrival(exchange, .success(reply))
    var wait = kernel.delay()
    if kernel.happens(kernel.weather.slow) { wait += kernel.chance.duration(below: .seconds(30)) }
    let time = kernel.carry(bytes(of: reply), of: carrier(of: exchange.from), down: true)
    kernel.queue.add(.answerArrives(arrival, isCopy: false), at: time.advanced(by: wait))
    if mayComeTwice(exchange.question), kernel.happens(kernel.weather.twice) {
      let later = wait + kernel.chance.duration(below: .seconds(3))
      kernel.queue.add(.answerArrives(arrival, isCopy: true), at: time.advanced(by: later))
    }
  }

  // Back at the asking end.

  mutating func arrive(_ arrival: Arrival<Feature>, isCopy: Bool) {
    let host = arrival.from
    guard let index = exchange(arrival.number) else {
      // A copy, or an answer to a request that was lost and given up.
      if isCopy, arrival.run == kernel.hosts[host.place].run {
        answered(arrival.question, arrival.result, to: host)
      }
      return
    }
    let exchange = kernel.exchanges[index]
    if case .success(let reply) = arrival.result {
      guard !isHole(host) else { return lose(arrival.number) }
      if !exchange.isSecond, !exchange.isAbandoned,
        let question = repeated(exchange.question, after: reply, of: host)
      {
        return askAgain(index, question)
      }
    }
    kernel.exchanges.remove(at: index)
    guard exchange.run == kernel.hosts[host.place].run, !exchange.isAbandoned else { return }
    answered(arrival.question, arrival.result, to: host)
  }

  /// The refusal of older credentials says nothing about the present ones.
  private mutating func askAgain(_ index: Int, _ question: Feature.Question) {
    kernel.exchanges[index].isSecond = true
    kernel.exchanges[index].question = question
    kernel.exchanges[index].began = now
    limit(kernel.exchanges[index])
    send(kernel.exchanges[index])
  }
}
