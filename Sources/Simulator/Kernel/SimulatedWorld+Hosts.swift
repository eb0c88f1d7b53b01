public import HoldfastCore
public import HoldfastLinkChecks

// Processes: launches, kills and suspension of apps, servers that start and stop, app reports.
extension SimulatedWorld where Self: ~Copyable {
  /// Starts the process of a server, unless a planned event keeps the process from running.
  mutating func start(_ server: HostID) {
    let host = kernel.hosts[server.slot]
    guard host.process == .dead, host.downs.isEmpty, !host.conditions.isKilled else { return }
    kernel.hosts[server.slot].process = .running
    kernel.hosts[server.slot].run += 1
    kernel.hosts[server.slot].calls = 0
    kernel.tell(.server(server, isRunning: true))
    boot(server)
  }

  /// Stops the process of a server immediately. It restarts when the planned event ends.
  public mutating func stop(_ server: HostID, for index: Int) {
    kernel.hosts[server.slot].downs.append(index)
    halt(server)
  }

  private mutating func halt(_ server: HostID) {
    guard kernel.hosts[server.slot].isRunning else { return }
    kernel.hosts[server.slot].process = .dead
    kernel.tell(.server(server, isRunning: false))
    (kernel.hosts[server.slot].pendingKill, kernel.hosts[server.slot].draining) = (nil, nil)
    kernel.hosts[server.slot].calls = 0
    for phone in kernel.phones { kernel.hosts[phone.slot].network.poolIsDead = true }
    writeLast(server)
    ended(server)
    for line in kernel.lines where line.to == server { serverDrops(line.number, .reset) }
    for exchange in kernel.exchanges where exchange.to == server && !exchange.isAbandoned {
      cut(exchange)
    }
  }

  /// Ends the process of a server after its drain. It restarts when the planned event ends.
  public mutating func drained(_ server: HostID) {
    guard let index = kernel.hosts[server.slot].draining else { return }
    stop(server, for: index)
  }

  // Phones.

  mutating func launch(_ phone: HostID) {
    let host = phone.slot
    kernel.hosts[host].run += 1
    kernel.hosts[host].process = .running
    kernel.hosts[host].reported = Host<Feature>.ReportedState()
    kernel.hosts[host].held = []
    kernel.hosts[host].pendingKill = nil
    kernel.hosts[host].calls = 0
    kernel.hosts[host].slept = .zero
    kernel.hosts[host].writing = []
    kernel.hosts[host].network.poolIsDead = false
    kernel.seams[phone.index].launched()
    boot(phone)
    lookAt(phone)
    note(.launched(phone, run: kernel.hosts[host].run), of: phone)
    reportState(phone)
  }

  /// Launches the app on a phone, unless it runs or stays killed.
  public mutating func launchIfPossible(_ phone: HostID) {
    guard kernel.hosts[phone.slot].process == .dead,
      !kernel.hosts[phone.slot].conditions.isKilled,
      kernel.hosts[phone.slot].downs.isEmpty, kernel.hosts[phone.slot].suspending.isEmpty
    else { return }
    launch(phone)
  }

  mutating func reportState() {
    for phone in kernel.phones { reportState(phone) }
  }

  /// Reports to the model the state that has changed since the last report.
  mutating func reportState(_ phone: HostID) {
    let host = phone.slot
    guard kernel.hosts[phone.slot].isRunning else { return }
    let isFirst = kernel.hosts[host].reported.lifecycle == nil
    let lifecycle = lifecycle(of: phone)
    if kernel.hosts[host].reported.lifecycle != lifecycle {
      kernel.hosts[host].reported.lifecycle = lifecycle
      kernel.hosts[host].network.poolIsDead = false
      inform(phone, of: .device(.lifecycle(lifecycle)))
    }
    let reachability = reachability(of: phone)
    if kernel.hosts[host].reported.reachability != reachability {
      kernel.hosts[host].reported.reachability = reachability
      kernel.hosts[host].network.poolIsDead = false
      inform(phone, of: .device(.reachability(reachability)))
    }
    reportAppState(phone, isFirst: isFirst)
  }

  /// Returns the lifecycle state of the app on a phone.
  public func lifecycle(of phone: HostID) -> AppLifecycle {
    let host = kernel.hosts[phone.slot]
    return host.conditions.isInBackground || !host.dozing.isEmpty ? .background : .foreground
  }

  func reachability(of phone: HostID) -> Reachability {
    let conditions = kernel.hosts[phone.slot].conditions
    if conditions.isUnreachable { return .unreachable }
    if conditions.portal == .known { return .captivePortal }
    return .reachable(path: PathID("path-\(kernel.hosts[phone.slot].network.path)"))
  }

  // Kills.

  /// Returns the effects of a step to carry out: all of them, or only the first ones if the process
  /// is to die between two. The caller must then call `die` if `dies` is true.
  public mutating func spared<Effect>(
    _ effects: [Effect], of host: HostID
  ) -> (effects: ArraySlice<Effect>, dies: Bool) {
    guard kernel.hosts[host.slot].pendingKill == .step, !effects.isEmpty else {
      return (effects[...], false)
    }
    let count = Int.random(in: 0...effects.count, using: &kernel.hosts[host.slot].generator)
    return (effects.prefix(count), true)
  }

  /// Kills the process immediately, between two effects, or right after a change becomes durable.
  public mutating func killSoon(_ phone: HostID) {
    guard kernel.hosts[phone.slot].process != .dead, kernel.hosts[phone.slot].pendingKill == nil
    else { return }
    let kind = kernel.hosts[phone.slot].generator.next() % 4
    if kind == 0 || kernel.hosts[phone.slot].process == .suspended {
      die(phone)
    } else {
      kernel.hosts[phone.slot].pendingKill = kind == 1 ? .durable : .step
      kernel.add(.dies(phone, run: kernel.hosts[phone.slot].run), after: .seconds(1))
    }
  }

  /// Ends a process and discards its memory. Changes that the disk was writing may become durable.
  public mutating func die(_ phone: HostID) {
    guard phone.kind == .phone else { return halt(phone) }
    let host = phone.slot
    guard kernel.hosts[phone.slot].process != .dead else { return }
    writeLast(phone)
    kernel.hosts[host].process = .dead
    kernel.hosts[host].pendingKill = nil
    kernel.hosts[host].held = []
    kernel.hosts[host].calls = 0
    abandonRequests(of: phone)
    kernel.counts.kills += 1
    kernel.checkers.views[phone.index].phoneState.deadline = nil
    ended(phone)
    // The loop runs in reverse, because a line that neither end holds is removed from the list.
    for index in kernel.lines.indices.reversed()
    where kernel.lines[index].from == phone && kernel.lines[index].phoneHolds {
      kernel.lines[index].phoneHolds = false
      sendHangUp(index, code: 1006)
    }
    note(.killed(phone), of: phone)
    // The process restarts immediately, unless a planned event keeps it from running.
    launchIfPossible(phone)
  }

  // Suspension.

  public mutating func suspend(_ phone: HostID, for index: Int) {
    let host = phone.slot
    guard kernel.active.contains(index), !kernel.hosts[host].suspending.contains(index) else {
      return
    }
    kernel.hosts[host].suspending.append(index)
    guard kernel.hosts[phone.slot].isRunning else { return }
    kernel.hosts[host].process = .suspended
    kernel.hosts[host].suspendedAt = now
    for index in kernel.lines.indices where kernel.lines[index].from == phone { kill(index) }
    abandonRequests(of: phone)
    kernel.hosts[host].network.poolIsDead = true
    note(.suspended(phone), of: phone)
  }

  /// Suspends a process once the time that the system granted it has passed.
  mutating func suspendLater(_ phone: HostID, for index: Int) {
    let until = kernel.hosts[phone.slot].runsUntil
    if now < until {
      kernel.queue.add(.suspends(index, phone), at: until)
    } else {
      suspend(phone, for: index)
    }
  }

  /// Lets a process run in the background for a while, as the system does after an event of its
  /// radio. A suspended process resumes, and an ended process is launched.
  ///
  /// - Parameter events: The planned events for which the system suspends the process again.
  public mutating func runInBackground(_ phone: HostID, for time: Duration, then events: [Int]) {
    let host = phone.slot
    kernel.hosts[host].runsUntil = now.advanced(by: time)
    guard kernel.hosts[host].process != .running else { return }
    let again = kernel.hosts[host].suspending + events
    kernel.hosts[host].suspending = []
    for index in Set(again).sorted() {
      kernel.queue.add(.suspends(index, phone), at: kernel.hosts[host].runsUntil)
    }
    if kernel.hosts[host].process == .suspended { goOn(phone) } else { launch(phone) }
  }

  public mutating func resume(_ phone: HostID) {
    guard kernel.hosts[phone.slot].process == .suspended,
      kernel.hosts[phone.slot].suspending.isEmpty
    else { return }
    goOn(phone)
    inform(phone, of: .device(.woke))
    // The system reports the end of some sockets. The others stay silent.
    let run = kernel.hosts[phone.slot].run
    for line in kernel.lines where line.phoneHolds && line.from == phone && line.run == run {
      if kernel.hosts[phone.slot].generator.next() % 2 == 0 {
        kernel.add(.breaks(line.number, .reset), after: .milliseconds(20))
      }
    }
  }

  /// Resumes the timers of a suspended process, and delivers the events that it missed.
  private mutating func goOn(_ phone: HostID) {
    let host = phone.slot
    kernel.hosts[host].process = .running
    if kernel.seams[phone.index].defect == .timersStopAsleep {
      kernel.hosts[host].slept += kernel.hosts[host].suspendedAt.duration(to: now)
      lookAt(phone)
    }
    note(.resumed(phone), of: phone)
    let held = kernel.hosts[host].held
    kernel.hosts[host].held = []
    for scheduled in held { take(scheduled, on: phone) }
    reportState(phone)
    kernel.hosts[host].network.poolIsDead = false
  }

  // Disks: a change becomes durable and is then reported, so that a kill may come in between.

  /// Writes a change, unless the disk refuses it.
  ///
  /// `makeDurable` is called when the change becomes durable. The process receives the result a
  /// moment later.
  public mutating func write(
    _ change: Feature.ScheduledEvent, on host: HostID, after delay: Duration? = nil
  ) {
    switch kernel.hosts[host.slot].conditions.disk {
    case .full, .locked:
      let isFull = kernel.hosts[host.slot].conditions.disk == .full
      if isFull { tear(change, on: host) }
      let scheduled = refusedChange(change, isFull: isFull)
      kernel.answerLater(scheduled, to: host, after: .milliseconds(2))
    case .works, .slow:
      let time = diskDelay(host)
      kernel.lastWrite += 1
      let number = kernel.lastWrite
      kernel.hosts[host.slot].calls += 1
      kernel.hosts[host.slot].writing.append((number, change))
      kernel.add(.durable(host, number), after: delay ?? time)
    }
  }

  /// Returns how long a disk call takes.
  public mutating func diskDelay(_ host: HostID) -> Duration {
    switch kernel.hosts[host.slot].conditions.disk {
    case .works, .full, .locked: .milliseconds(2)
    case .slow: .seconds(1) + kernel.hosts[host.slot].generator.duration(below: .seconds(4))
    }
  }

  /// Makes a change durable if the write is still in progress. If the process has ended,
  /// `writeLast` has already handled the write.
  mutating func becomeDurable(_ number: UInt64, on host: HostID) {
    let writing = kernel.hosts[host.slot].writing
    guard let index = writing.firstIndex(where: { $0.number == number }) else { return }
    let change = kernel.hosts[host.slot].writing.remove(at: index).scheduled
    kernel.hosts[host.slot].calls -= 1
    let answer = makeDurable(change, on: host)
    if kernel.hosts[host.slot].pendingKill == .durable {
      die(host)
    } else if let answer {
      kernel.answerLater(answer, to: host, after: .milliseconds(1))
    }
  }

  /// Handles the writes in progress when a process ends. The first of the changes become durable;
  /// the next one may be written in part.
  private mutating func writeLast(_ host: HostID) {
    let writing = kernel.hosts[host.slot].writing
    kernel.hosts[host.slot].writing = []
    guard keepsLastWrites(host) else { return }
    for (_, change) in writing {
      guard kernel.hosts[host.slot].generator.next() % 2 == 0 else {
        return tear(change, on: host)
      }
      _ = makeDurable(change, on: host)
    }
  }

  /// Delivers the answer of a call to a process. The disk keeps working while the process is
  /// suspended, and its answers are delivered later.
  public mutating func answer(_ scheduled: Feature.ScheduledEvent, to host: HostID) {
    guard kernel.hosts[host.slot].process != .dead else { return }
    kernel.hosts[host.slot].calls -= 1
    if kernel.hosts[host.slot].process == .suspended {
      kernel.hosts[host.slot].held.append(scheduled)
    } else {
      take(scheduled, on: host)
    }
  }
}

// Exchanges: requests are independent of each other. A response may overtake another, arrive late
// or twice, or never arrive.
extension SimulatedWorld where Self: ~Copyable {
  /// Sends a request to a server.
  ///
  /// - Parameter timeLimit: The caller's time-out. The default is that of the network conditions.
  @discardableResult
  public mutating func ask(
    _ question: Feature.Question, from host: HostID, to server: HostID,
    timeLimit: Duration? = nil
  ) -> TrafficID {
    kernel.counts.requests += 1
    let carrier = carrier(of: host)
    let uplink = kernel.hosts[carrier.slot].network
    let exchange = Exchange<Feature>(
      number: kernel.newNumber(), from: host, run: kernel.hosts[host.slot].run, to: server,
      question: question, timeLimit: timeLimit ?? kernel.networkConditions.timeLimit, began: now)
    kernel.exchanges.append(exchange)
    limit(exchange)
    let isIdle = uplink.lastRequest.duration(to: now) > .seconds(60)
    if let failure = blockedReason(carrier, isDialed: uplink.poolIsDead || isIdle) {
      fail(exchange.number, failure.reason, after: failure.after)
    } else if isHole(host) || kernel.happens(kernel.networkConditions.loss) {
      lose(exchange.number)
    } else if uplink.poolIsDead {
      sendStale(exchange)
    } else {
      send(exchange)
    }
    kernel.hosts[carrier.slot].network.lastRequest = now
    return exchange.number
  }

  /// Sends a request over a pooled connection that has died. The request fails with a reset or is
  /// lost.
  private mutating func sendStale(_ exchange: Exchange<Feature>) {
    kernel.hosts[carrier(of: exchange.from).slot].network.poolIsDead = false
    if kernel.generator.next() % 2 == 0 {
      lose(exchange.number)
    } else {
      fail(exchange.number, .reset, after: kernel.roundTrip())
    }
  }

  /// Schedules the time-out of a request.
  private mutating func limit(_ exchange: Exchange<Feature>) {
    kernel.queue.add(
      .requestExpires(exchange.number), at: exchange.began.advanced(by: exchange.timeLimit))
  }

  private mutating func send(_ exchange: Exchange<Feature>) {
    var wait = kernel.delay()
    // A request may be so late that the server handles it after the caller has given up.
    if kernel.happens(kernel.networkConditions.slow) {
      wait += kernel.generator.duration(below: .seconds(8))
    }
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

  /// Loses a request or its response. The caller then reaches its time-out.
  private mutating func lose(_ number: TrafficID) {
    guard let index = exchange(number) else { return }
    if kernel.exchanges[index].isAbandoned { kernel.exchanges.remove(at: index) }
  }

  mutating func expire(_ number: TrafficID) {
    guard let index = exchange(number),
      kernel.exchanges[index].began.advanced(by: kernel.exchanges[index].timeLimit) <= now
    else { return }
    let exchange = kernel.exchanges.remove(at: index)
    if exchange.run == kernel.hosts[exchange.from.slot].run, !exchange.isAbandoned {
      answered(exchange.question, .failure(.timeout(.response)), to: exchange.from)
    }
  }

  /// Stops waiting for the requests in progress. The server may still carry them out.
  public mutating func abandonRequests(of host: HostID) {
    for index in kernel.exchanges.indices where kernel.exchanges[index].from == host {
      kernel.exchanges[index].isAbandoned = true
    }
  }

  /// Loses the requests and responses in transit.
  mutating func loseRequests(of host: HostID) {
    for exchange in kernel.exchanges where carrier(of: exchange.from) == host {
      lose(exchange.number)
    }
  }

  /// Fails a request that the server will never answer.
  public mutating func cut(_ exchange: Exchange<Feature>) {
    guard !isHole(exchange.from) else { return lose(exchange.number) }
    let arrival = arrival(exchange, .failure(.reset))
    kernel.add(.answerArrives(arrival, isCopy: false), after: kernel.delay())
  }

  // Arrival at a server.

  mutating func requestArrives(_ number: TrafficID) {
    guard let index = exchange(number) else { return }
    let exchange = kernel.exchanges[index]
    guard !isHole(exchange.from) else { return lose(number) }
    if !kernel.hosts[exchange.to.slot].isRunning {
      fail(number, .refused, after: kernel.delay())
    } else if let status = kernel.hosts[exchange.to.slot].conditions.restStatus {
      answer(number, refusal(status))
    } else {
      requestArrived(number, exchange.question, at: exchange.to)
    }
  }

  /// Sends a response.
  public mutating func answer(_ number: TrafficID, _ reply: Feature.Reply) {
    guard let index = exchange(number) else { return }
    let exchange = kernel.exchanges[index]
    guard !exchange.isAbandoned else {
      kernel.exchanges.remove(at: index)
      return
    }
    if isHole(exchange.from) || kernel.happens(kernel.networkConditions.loss) {
      return lose(number)
    }
    let arrival = arrival(exchange, .success(reply))
    var wait = kernel.delay()
    if kernel.happens(kernel.networkConditions.slow) {
      wait += kernel.generator.duration(below: .seconds(30))
    }
    let time = kernel.carry(bytes(of: reply), of: carrier(of: exchange.from), down: true)
    kernel.queue.add(.answerArrives(arrival, isCopy: false), at: time.advanced(by: wait))
    if mayComeTwice(exchange.question), kernel.happens(kernel.networkConditions.twice) {
      let later = wait + kernel.generator.duration(below: .seconds(3))
      kernel.queue.add(.answerArrives(arrival, isCopy: true), at: time.advanced(by: later))
    }
  }

  // Return to the caller.

  mutating func arrive(_ arrival: Arrival<Feature>, isCopy: Bool) {
    let host = arrival.from
    guard let index = exchange(arrival.number) else {
      // This is a copy, or the response to a request that was lost and has timed out.
      if isCopy, arrival.run == kernel.hosts[host.slot].run {
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
        return repeatRequest(index, question)
      }
    }
    kernel.exchanges.remove(at: index)
    guard exchange.run == kernel.hosts[host.slot].run, !exchange.isAbandoned else { return }
    answered(arrival.question, arrival.result, to: host)
  }

  /// Repeats a request with newer credentials, because the server refused only the older ones.
  private mutating func repeatRequest(_ index: Int, _ question: Feature.Question) {
    kernel.exchanges[index].isSecond = true
    kernel.exchanges[index].question = question
    kernel.exchanges[index].began = now
    limit(kernel.exchanges[index])
    send(kernel.exchanges[index])
  }
}
