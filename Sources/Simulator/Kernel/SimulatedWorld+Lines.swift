import LinkCore

// Lines: what is sent on one arrives in order, late, or not at all.
extension SimulatedWorld where Self: ~Copyable {
  // From a phone.

  /// Dials a server.
  mutating func dial(
    _ phone: HostID, _ attempt: AttemptID, to server: HostID, hello: Feature.Hello
  ) {
    kernel.counts.attempts += 1
    let number = kernel.newNumber()
    kernel.lines.append(
      Line(
        number: number, from: phone, run: kernel.hosts[phone.place].run, to: server,
        attempt: attempt,
        hello: hello, lastUsed: now))
    if let failure = obstacle(phone, isDialed: true) {
      kernel.add(.breaks(number, failure.reason), after: failure.after)
    } else if isHole(phone) || kernel.happens(kernel.weather.loss) {
      loseDial(number)
    } else {
      kernel.queue.add(
        .upgradeArrives(number), at: sendUp(kernel.lines.count - 1, bytes: 600))
    }
  }

  /// Its SYN is lost, and so are the repeated ones: the dialer reports it at its limit, unless the
  /// model gives up first.
  private mutating func loseDial(_ number: TrafficID) {
    guard let index = line(number) else { return }
    kernel.lines[index].deadSince = now
    guard kernel.chance.next() % 2 == 0 else { return }
    kernel.add(
      .breaks(number, .timeout(.connect)), after: kernel.setup.policy.establish.openTimeout)
  }

  /// What is in the way of a phone now, and how soon that is known.
  ///
  /// - Parameter isDialed: Whether a new connection is needed, rather than one that was kept.
  mutating func obstacle(
    _ phone: HostID, isDialed: Bool
  ) -> (reason: LinkFailure, after: Duration)? {
    let conditions = kernel.hosts[phone.place].conditions
    if conditions.isUnreachable {
      return (.unreachable(detail: "no route to host"), .milliseconds(5))
    }
    if conditions.portal != nil { return (.captivePortal, kernel.roundTrip()) }
    guard isDialed, let obstacle = conditions.obstacle else { return nil }
    return (obstacle.failure, kernel.roundTrip())
  }

  /// The model closes a socket or gives up a dial.
  mutating func hangUp(_ phone: HostID, _ attempt: AttemptID, code: UInt16) {
    if code == 1001 { kernel.hosts[phone.place].network.poolIsDead = false }
    guard let index = line(of: phone, attempt) else { return }
    kernel.lines[index].phoneHolds = false
    sendHangUp(index, code: code)
    guard kernel.callbacks.next() % 2 == 0 else { return }
    let wait = kernel.callbacks.duration(below: .seconds(30))
    let failure = LinkFailure.closed(code: code, reason: "")
    kernel.add(.echoes(phone, run: kernel.hosts[phone.place].run, attempt, failure), after: wait)
  }

  /// Tells the server that the phone is gone, if anything can.
  mutating func sendHangUp(_ index: Int, code: UInt16) {
    let line = kernel.lines[index]
    if line.isDead || kernel.hosts[line.from.place].conditions.isUnreachable || isHole(line.from) {
      kernel.lines[index].deadSince = line.deadSince ?? now
      forget(index)
    } else {
      kernel.queue.add(.hungUp(line.number, code: code), at: sendUp(index, bytes: 100))
    }
  }

  /// Sends a packet, a ping or nothing but a sign of life up an open socket.
  mutating func send(
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

  // At a server.

  mutating func upgradeArrives(_ number: TrafficID) {
    guard let index = line(number), !kernel.lines[index].isDead else { return }
    let line = kernel.lines[index]
    if kernel.hosts[line.from.place].conditions.isWavering, !line.isHeldUp {
      kernel.lines[index].isHeldUp = true
      let wait = Duration.seconds(2) + kernel.callbacks.duration(below: .seconds(2))
      return kernel.add(.upgradeArrives(number), after: wait)
    }
    if !kernel.hosts[line.to.place].isRunning {
      kernel.add(.breaks(number, .refused), after: kernel.delay())
    } else if let status = kernel.hosts[line.to.place].conditions.upgradeStatus {
      refuse(number, status: status, detail: "not now")
    } else if let wish = kernel.hosts[line.to.place].conditions.wish {
      refuse(number, status: 503, retryAfter: wish, detail: "busy")
    } else {
      kernel.lines[index].serverHolds = true
      upgradeArrived(number, line.hello, at: line.to)
    }
  }

  /// A server refuses an upgrade.
  mutating func refuse(
    _ number: TrafficID, status: Int, retryAfter: Duration? = nil, detail: String
  ) {
    guard let index = line(number) else { return }
    let line = kernel.lines[index]
    kernel.lines[index].serverHolds = false
    if line.run == kernel.hosts[line.from.place].run {
      note(.upgraded(line.from, line.attempt, status: status), of: line.from)
    }
    let failure = LinkFailure.http(status: status, retryAfter: retryAfter, detail: detail)
    send(.failed(failure), bytes: 300, over: number)
  }

  /// A server accepts an upgrade; the packet comes with the response.
  mutating func accept(_ number: TrafficID, _ packet: Feature.Packet) {
    guard let index = line(number) else { return }
    let line = kernel.lines[index]
    if line.run == kernel.hosts[line.from.place].run {
      note(.upgraded(line.from, line.attempt, status: 101), of: line.from)
    }
    send(.opened(packet), bytes: 200, over: number)
    if kernel.hosts[line.from.place].conditions.isFlapping {
      reset(line, after: .seconds(1) + kernel.callbacks.duration(below: .seconds(5)))
    }
    if kernel.hosts[line.from.place].conditions.isWavering {
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

  /// A server learns that a connection ended.
  mutating func serverLoses(_ number: TrafficID, code: UInt16) {
    guard let index = line(number) else { return }
    let line = kernel.lines[index]
    kernel.lines[index].serverHolds = false
    if line.serverHolds {
      if kernel.hosts[line.to.place].isRunning { ended(number, code: code, at: line.to) }
      noteLost(line)
    }
    if let index = self.line(number) { forget(index) }
  }

  /// A server has forgotten a connection; the phone may hear of it.
  mutating func serverDrops(_ number: TrafficID, _ failure: LinkFailure) {
    guard let index = line(number), kernel.lines[index].serverHolds else { return }
    let line = kernel.lines[index]
    kernel.lines[index].serverHolds = false
    noteLost(line)
    send(.failed(failure), bytes: 60, over: number)
  }

  /// A server closes a connection with a close frame.
  mutating func serverCloses(_ number: TrafficID, code: UInt16, reason: String) {
    send(.failed(.closed(code: code, reason: reason)), bytes: 100, over: number)
    if let index = line(number), !kernel.lines[index].isDead {
      kernel.add(.hungUp(number, code: code), after: kernel.roundTrip())
    }
  }

  private mutating func noteLost(_ line: Line<Feature>) {
    if line.run == kernel.hosts[line.from.place].run {
      note(.serverLost(line.from, line.attempt), of: line.from)
    }
  }

  // Down to a phone.

  /// Sends something down a line, behind what is on its way.
  mutating func send(_ down: Down<Feature.Packet>, bytes: Int, over number: TrafficID) {
    guard let index = line(number), !kernel.lines[index].isDead else { return }
    let phone = kernel.lines[index].from
    var wait = kernel.delay()
    // What TCP loses it sends again: late, and all behind it too.
    if kernel.happens(kernel.weather.loss) {
      wait += .milliseconds(200) + kernel.chance.duration(below: .seconds(3))
    }
    let start = kernel.carry(bytes, of: phone, down: true)
    var time = max(start.advanced(by: wait), kernel.lines[index].downFree)
    if isHole(phone) {
      // Behind what was on its way when the hole began, which arrives when the hole ends.
      let end = kernel.hosts[phone.place].network.holeUntil
      time = max(time, end.advanced(by: .nanoseconds(1)))
    }
    kernel.lines[index].downFree = time
    kernel.queue.add(.down(number, down), at: time)
  }

  mutating func arriveDown(_ down: Down<Feature.Packet>, over number: TrafficID) {
    guard let index = line(number), !kernel.lines[index].isDead else { return }
    let line = kernel.lines[index]
    if isHole(line.from) {
      let until = kernel.hosts[line.from.place].network.holeUntil
      kernel.lines[index].downFree = max(line.downFree, until)
      kernel.queue.add(.down(number, down), at: until)
      return
    }
    guard line.run == kernel.hosts[line.from.place].run, kernel.hosts[line.from.place].isRunning
    else { return }
    // What waited before a close may still be handed over.
    if !line.phoneHolds, kernel.chance.next() % 2 == 0 { return }
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

  /// The phone's system reports the end of a socket.
  mutating func breaks(_ number: TrafficID, _ failure: LinkFailure) {
    guard let index = line(number), kernel.lines[index].phoneHolds else { return }
    let line = kernel.lines[index]
    guard line.run == kernel.hosts[line.from.place].run, kernel.hosts[line.from.place].isRunning
    else { return }
    kernel.lines[index].phoneHolds = false
    kernel.lines[index].deadSince = line.deadSince ?? now
    forget(index)
    inform(line.from, of: .lost(line.attempt, failure))
  }

  // The life of lines.

  /// Both ends learn that a line ended.
  mutating func reset(_ line: Line<Feature>, after wait: Duration) {
    guard !line.isDead else { return }
    if line.phoneHolds { kernel.add(.breaks(line.number, .reset), after: wait) }
    if line.serverHolds { kernel.add(.hungUp(line.number, code: 1006), after: wait) }
  }

  /// Whatever stands or is under way leads nowhere any more.
  mutating func loseConnections(of phone: HostID) {
    for index in kernel.lines.indices where kernel.lines[index].from == phone { kill(index) }
    loseRequests(of: phone)
    kernel.hosts[phone.place].network.poolIsDead = true
  }

  /// Nothing passes on a line any more, and neither end is told.
  mutating func kill(_ index: Int) {
    guard !kernel.lines[index].isDead else { return }
    kernel.lines[index].deadSince = now
    let line = kernel.lines[index]
    let phone = kernel.hosts[line.from.place]
    if line.phoneHolds, line.isOpen, line.run == phone.run, phone.process != .dead {
      note(.wentDead(line.from, line.attempt), of: line.from)
    }
  }

  /// Removes a line that neither end holds.
  func isHeld(_ index: Int) -> Bool {
    kernel.lines[index].phoneHolds || kernel.lines[index].serverHolds
  }

  private mutating func forget(_ index: Int) {
    if !isHeld(index) { kernel.lines.remove(at: index) }
  }

  /// When something that is sent up a line now arrives, behind what is on its way.
  private mutating func sendUp(_ index: Int, bytes: Int) -> Instant {
    let start = kernel.carry(bytes, of: kernel.lines[index].from, down: false)
    let time = max(start.advanced(by: kernel.delay()), kernel.lines[index].upFree)
    kernel.lines[index].upFree = time
    return time
  }
}
