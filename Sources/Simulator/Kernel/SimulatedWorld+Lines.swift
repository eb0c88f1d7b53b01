public import HoldfastCore
public import HoldfastLinkChecks

// Lines: messages arrive in order, possibly late, or not at all.
extension SimulatedWorld where Self: ~Copyable {
  // From a phone.

  /// Dials a server.
  public mutating func dial(
    _ phone: HostID, _ attempt: AttemptID, to server: HostID, hello: Feature.Hello
  ) {
    kernel.counts.attempts += 1
    let number = kernel.newNumber()
    kernel.lines.append(
      Line(
        number: number, from: phone, run: kernel.hosts[phone.slot].run, to: server,
        attempt: attempt, hello: hello, lastUsed: now))
    if let failure = blockedReason(phone, isDialed: true) {
      kernel.add(.breaks(number, failure.reason), after: failure.after)
    } else if isHole(phone) || kernel.happens(kernel.networkConditions.loss) {
      loseDial(number)
    } else {
      kernel.queue.add(
        .upgradeArrives(number), at: sendUp(kernel.lines.count - 1, bytes: 600))
    }
  }

  /// Loses the SYN of a dial and its retransmissions. The dialer reports a time-out, unless the
  /// model gives up first.
  private mutating func loseDial(_ number: TrafficID) {
    guard let index = line(number) else { return }
    kernel.lines[index].deadSince = now
    guard kernel.generator.next() % 2 == 0 else { return }
    kernel.add(
      .breaks(number, .timeout(.connect)), after: kernel.setup.policy.establish.openTimeout)
  }

  /// Returns the failure that a phone's conditions cause now, and the delay until it is reported.
  ///
  /// - Parameter isDialed: Whether a new connection is needed. If false, a pooled one is used.
  mutating func blockedReason(
    _ phone: HostID, isDialed: Bool
  ) -> (reason: LinkFailure, after: Duration)? {
    let conditions = kernel.hosts[phone.slot].conditions
    if conditions.isUnreachable {
      return (.unreachable(detail: "no route to host"), .milliseconds(5))
    }
    if conditions.portal != nil { return (.captivePortal, kernel.roundTrip()) }
    guard isDialed, let blockedReason = conditions.blockedReason else { return nil }
    return (blockedReason.failure, kernel.roundTrip())
  }

  /// Closes a socket or cancels a dial at the model's request.
  public mutating func hangUp(_ phone: HostID, _ attempt: AttemptID, code: UInt16) {
    if code == 1001 { kernel.hosts[phone.slot].network.poolIsDead = false }
    guard let index = line(of: phone, attempt) else { return }
    kernel.lines[index].phoneHolds = false
    sendHangUp(index, code: code)
    guard kernel.callbacks.next() % 2 == 0 else { return }
    let wait = kernel.callbacks.duration(below: .seconds(30))
    let failure = LinkFailure.closed(code: code, reason: "")
    kernel.add(.echoes(phone, run: kernel.hosts[phone.slot].run, attempt, failure), after: wait)
  }

  /// Reports to the server that the phone closed a socket, if the network permits.
  mutating func sendHangUp(_ index: Int, code: UInt16) {
    let line = kernel.lines[index]
    if line.isDead || kernel.hosts[line.from.slot].conditions.isUnreachable || isHole(line.from) {
      kernel.lines[index].deadSince = line.deadSince ?? now
      forget(index)
    } else {
      kernel.queue.add(.hungUp(line.number, code: code), at: sendUp(index, bytes: 100))
    }
  }

  /// Sends a packet, a ping or a pong over an open socket.
  public mutating func send(
    _ phone: HostID, _ attempt: AttemptID, _ packet: Feature.Packet? = nil, ping: UInt64? = nil,
    bytes: Int = 60
  ) {
    guard let index = line(of: phone, attempt), kernel.lines[index].isOpen,
      kernel.lines[index].phoneHolds
    else { return }
    sendUp(packet, ping: ping, bytes: bytes, index)
  }

  private mutating func sendUp(
    _ packet: Feature.Packet?, ping: UInt64?, bytes: Int, _ index: Int
  ) {
    guard !kernel.lines[index].isDead else { return }
    kernel.lines[index].lastUsed = now
    let number = kernel.lines[index].number
    kernel.queue.add(.up(number, packet, ping: ping), at: sendUp(index, bytes: bytes))
  }

  // Arrival at a server.

  mutating func upgradeArrives(_ number: TrafficID) {
    guard let index = line(number), !kernel.lines[index].isDead else { return }
    let line = kernel.lines[index]
    if kernel.hosts[line.from.slot].conditions.isWavering, !line.isHeldUp {
      kernel.lines[index].isHeldUp = true
      let wait = Duration.seconds(2) + kernel.callbacks.duration(below: .seconds(2))
      return kernel.add(.upgradeArrives(number), after: wait)
    }
    if !kernel.hosts[line.to.slot].isRunning {
      kernel.add(.breaks(number, .refused), after: kernel.delay())
    } else if let status = kernel.hosts[line.to.slot].conditions.upgradeStatus {
      refuse(number, status: status, detail: "not now")
    } else if let retryAfter = kernel.hosts[line.to.slot].conditions.retryAfter {
      refuse(number, status: 503, retryAfter: retryAfter, detail: "busy")
    } else {
      kernel.lines[index].serverHolds = true
      upgradeArrived(number, line.hello, at: line.to)
    }
  }

  /// Refuses an upgrade on behalf of a server.
  public mutating func refuse(
    _ number: TrafficID, status: Int, retryAfter: Duration? = nil, detail: String
  ) {
    guard let index = line(number) else { return }
    let line = kernel.lines[index]
    kernel.lines[index].serverHolds = false
    if line.run == kernel.hosts[line.from.slot].run {
      note(.upgraded(line.from, line.attempt, status: status), of: line.from)
    }
    let failure = LinkFailure.http(status: status, retryAfter: retryAfter, detail: detail)
    send(.failed(failure), bytes: 300, over: number)
  }

  /// Accepts an upgrade on behalf of a server. The response contains the packet.
  public mutating func accept(_ number: TrafficID, _ packet: Feature.Packet) {
    guard let index = line(number) else { return }
    let line = kernel.lines[index]
    if line.run == kernel.hosts[line.from.slot].run {
      note(.upgraded(line.from, line.attempt, status: 101), of: line.from)
    }
    send(.opened(packet), bytes: 200, over: number)
    if kernel.hosts[line.from.slot].conditions.isFlapping {
      reset(line, after: .seconds(1) + kernel.callbacks.duration(below: .seconds(5)))
    }
    if kernel.hosts[line.from.slot].conditions.isWavering {
      let early = kernel.callbacks.duration(below: .milliseconds(1500))
      let stable = kernel.setup.policy.retry.stability.after
      reset(line, after: max(stable - early, .seconds(1)))
    }
    if !line.phoneHolds, !line.isDead {
      kernel.add(.hungUp(number, code: 1006), after: kernel.delay())
    }
  }

  mutating func arriveUp(_ packet: Feature.Packet?, ping: UInt64?, over number: TrafficID) {
    guard let index = line(number), !kernel.lines[index].isDead,
      kernel.lines[index].serverHolds
    else { return }
    kernel.lines[index].lastUsed = now
    arrived(packet, on: number, at: kernel.lines[index].to)
    if let ping { send(.pong(ping), bytes: 60, over: number) }
  }

  /// Reports the end of a connection to a server.
  mutating func serverLoses(_ number: TrafficID, code: UInt16) {
    guard let index = line(number) else { return }
    let line = kernel.lines[index]
    kernel.lines[index].serverHolds = false
    if line.serverHolds {
      if kernel.hosts[line.to.slot].isRunning { ended(number, code: code, at: line.to) }
      noteLost(line)
    }
    if let index = self.line(number) { forget(index) }
  }

  /// Drops a connection at the server. The phone may be notified of the failure.
  public mutating func serverDrops(_ number: TrafficID, _ failure: LinkFailure) {
    guard let index = line(number), kernel.lines[index].serverHolds else { return }
    let line = kernel.lines[index]
    kernel.lines[index].serverHolds = false
    noteLost(line)
    send(.failed(failure), bytes: 60, over: number)
  }

  /// Closes a connection from the server with a close frame.
  public mutating func serverCloses(_ number: TrafficID, code: UInt16, reason: String) {
    send(.failed(.closed(code: code, reason: reason)), bytes: 100, over: number)
    if let index = line(number), !kernel.lines[index].isDead {
      kernel.add(.hungUp(number, code: code), after: kernel.roundTrip())
    }
  }

  private mutating func noteLost(_ line: Line<Feature>) {
    if line.run == kernel.hosts[line.from.slot].run {
      note(.serverLost(line.from, line.attempt), of: line.from)
    }
  }

  // From a server to a phone.

  /// Sends a message to the phone, after the messages in transit.
  public mutating func send(_ down: Down<Feature.Packet>, bytes: Int, over number: TrafficID) {
    guard let index = line(number), !kernel.lines[index].isDead else { return }
    let phone = kernel.lines[index].from
    var wait = kernel.delay()
    // TCP retransmits lost segments, so that these segments and all later ones are delayed.
    if kernel.happens(kernel.networkConditions.loss) {
      wait += .milliseconds(200) + kernel.generator.duration(below: .seconds(3))
    }
    let start = kernel.carry(bytes, of: phone, down: true)
    var time = max(start.advanced(by: wait), kernel.lines[index].downFree)
    if isHole(phone) {
      // Messages that were in transit when the hole began arrive first, when the hole ends.
      let end = kernel.hosts[phone.slot].network.holeUntil
      time = max(time, end.advanced(by: .nanoseconds(1)))
    }
    kernel.lines[index].downFree = time
    kernel.queue.add(.down(number, down), at: time)
  }

  mutating func arriveDown(_ down: Down<Feature.Packet>, over number: TrafficID) {
    guard let index = line(number), !kernel.lines[index].isDead else { return }
    let line = kernel.lines[index]
    if isHole(line.from) {
      let until = kernel.hosts[line.from.slot].network.holeUntil
      kernel.lines[index].downFree = max(line.downFree, until)
      kernel.queue.add(.down(number, down), at: until)
      return
    }
    guard line.run == kernel.hosts[line.from.slot].run, kernel.hosts[line.from.slot].isRunning
    else { return }
    // Messages that were buffered before a close may still be delivered.
    if !line.phoneHolds, kernel.generator.next() % 2 == 0 { return }
    kernel.lines[index].lastUsed = now
    switch down {
    case .opened: kernel.lines[index].isOpen = true
    case .ping: if line.phoneHolds { sendUp(nil, ping: nil, bytes: 60, index) }
    case .failed:
      kernel.lines[index].phoneHolds = false
      forget(index)
    case .packet, .pong, .oversized: break
    }
    let (phone, attempt) = (line.from, line.attempt)
    switch down {
    case .opened(let packet): give(opened(attempt, packet), to: phone)
    case .packet(let packet): give(received(attempt, packet), to: phone)
    case .ping: inform(phone, of: .ping(attempt))
    case .pong(let id): inform(phone, of: .pong(attempt, id))
    case .oversized(let bytes): inform(phone, of: .oversized(attempt, bytes: bytes))
    case .failed(let failure): inform(phone, of: .lost(attempt, failure))
    }
  }

  /// Reports the end of a socket from the phone's system.
  mutating func breaks(_ number: TrafficID, _ failure: LinkFailure) {
    guard let index = line(number), kernel.lines[index].phoneHolds else { return }
    let line = kernel.lines[index]
    guard line.run == kernel.hosts[line.from.slot].run, kernel.hosts[line.from.slot].isRunning
    else { return }
    kernel.lines[index].phoneHolds = false
    kernel.lines[index].deadSince = line.deadSince ?? now
    forget(index)
    inform(line.from, of: .lost(line.attempt, failure))
  }

  // The lifetime of lines.

  /// Reports the end of a line to both ends.
  mutating func reset(_ line: Line<Feature>, after wait: Duration) {
    guard !line.isDead else { return }
    if line.phoneHolds { kernel.add(.breaks(line.number, .reset), after: wait) }
    if line.serverHolds { kernel.add(.hungUp(line.number, code: 1006), after: wait) }
  }

  /// Silently ends every connection, and every request in progress.
  mutating func loseConnections(of phone: HostID) {
    for index in kernel.lines.indices where kernel.lines[index].from == phone { kill(index) }
    loseRequests(of: phone)
    kernel.hosts[phone.slot].network.poolIsDead = true
  }

  /// Marks a line as dead. Nothing passes from now on, and neither end is notified.
  public mutating func kill(_ index: Int) {
    guard !kernel.lines[index].isDead else { return }
    kernel.lines[index].deadSince = now
    let line = kernel.lines[index]
    let phone = kernel.hosts[line.from.slot]
    if line.phoneHolds, line.isOpen, line.run == phone.run, phone.process != .dead {
      note(.wentDead(line.from, line.attempt), of: line.from)
    }
  }

  /// Returns whether either end holds a line.
  func isHeld(_ index: Int) -> Bool {
    kernel.lines[index].phoneHolds || kernel.lines[index].serverHolds
  }

  /// Removes a line that neither end holds.
  private mutating func forget(_ index: Int) {
    if !isHeld(index) { kernel.lines.remove(at: index) }
  }

  /// Returns the arrival time of bytes that are sent to the server now, after those in transit.
  private mutating func sendUp(_ index: Int, bytes: Int) -> Instant {
    let start = kernel.carry(bytes, of: kernel.lines[index].from, down: false)
    let time = max(start.advanced(by: kernel.delay()), kernel.lines[index].upFree)
    kernel.lines[index].upFree = time
    return time
  }
}
