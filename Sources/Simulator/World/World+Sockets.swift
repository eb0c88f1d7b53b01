import LinkCore
import LinkServerCore
import LinkWire
import MessageStream

// Sockets: what is sent on a line arrives in order, late, or not at all.
extension World {
  // From the phone.

  mutating func dial(_ attempt: AttemptID, after: Position?) {
    counts.attempts += 1
    let number = network.newNumber()
    let line = Line(
      number: number, run: phone.run, attempt: attempt, after: after, token: phone.token,
      lastUsed: now)
    network.lines.append(line)
    if let failure = obstacle(isDialed: true) {
      queue.add(.breaks(number, failure.reason), at: now.advanced(by: failure.after))
    } else if isHole || network.happens(weather.loss) {
      loseDial(number)
    } else {
      queue.add(.upgradeArrives(number), at: sendUp(on: network.lines.count - 1, bytes: 600))
    }
  }

  /// Its SYN is lost, and so are those that repeat it: the dialer says so at its limit, or the
  /// client is first.
  private mutating func loseDial(_ number: Number) {
    guard let index = network.line(number) else { return }
    network.lines[index].isDead = true
    guard network.chance.next() % 2 == 0 else { return }
    let limit = settings.policy.establish.openTimeout
    queue.add(.breaks(number, .timeout(.connect)), at: now.advanced(by: limit))
  }

  /// What is in the way now, and how soon that is known.
  ///
  /// - Parameter isDialed: Whether a new connection is needed, rather than one that was kept.
  mutating func obstacle(isDialed: Bool) -> (reason: LinkFailure, after: Duration)? {
    if conditions.isUnreachable {
      return (.unreachable(detail: "no route to host"), .milliseconds(5))
    }
    if conditions.portal != nil {
      return (.captivePortal, network.delay(weather) + network.delay(weather))
    }
    guard isDialed, let obstacle = conditions.obstacle else { return nil }
    return (obstacle.failure, network.delay(weather) + network.delay(weather))
  }

  mutating func hangUp(_ attempt: AttemptID, code: UInt16) {
    if code == 1001 { network.poolIsDead = false }
    guard let index = network.line(of: attempt, run: phone.run) else { return }
    network.lines[index].phoneHolds = false
    sendHangUp(index, code: code)
    guard callbacks.next() % 2 == 0 else { return }
    let time = now.advanced(by: callbacks.duration(below: .seconds(30)))
    let failure = LinkFailure.closed(code: code, reason: "")
    queue.add(.echoes(run: phone.run, attempt, failure), at: time)
  }

  /// Tells the server that the phone is gone, if anything can.
  mutating func sendHangUp(_ index: Int, code: UInt16) {
    let line = network.lines[index]
    if line.isDead || conditions.isUnreachable || isHole {
      network.lines[index].isDead = true
      forget(index)
    } else {
      queue.add(.hungUp(line.number, code: code), at: sendUp(on: index, bytes: 100))
    }
  }

  mutating func ping(_ attempt: AttemptID, _ id: UInt64) {
    guard let index = network.line(of: attempt, run: phone.run),
      network.lines[index].isOpen, network.lines[index].phoneHolds
    else { return }
    sendHeard(index, ping: id)
  }

  private mutating func sendHeard(_ index: Int, ping: UInt64?) {
    guard !network.lines[index].isDead else { return }
    network.lines[index].lastUsed = now
    queue.add(
      .heard(network.lines[index].number, ping: ping), at: sendUp(on: index, bytes: 60))
  }

  // At the server.

  mutating func upgradeArrives(_ number: Number) {
    guard let index = network.line(number), !network.lines[index].isDead else { return }
    let line = network.lines[index]
    if !backend.isRunning {
      queue.add(.breaks(number, .refused), at: now.advanced(by: network.delay(weather)))
    } else if let status = conditions.upgradeStatus {
      refuse(number, Answer.error(status, "not now"))
    } else {
      network.lines[index].serverHolds = true
      let id = ConnectionID(number)
      feed(.upgrade(id, shop, after: line.after, credential(of: line.token), wall: serverWall))
    }
  }

  mutating func refuse(_ number: Number, _ answer: Answer) {
    guard let index = network.line(number) else { return }
    let line = network.lines[index]
    network.lines[index].serverHolds = false
    if line.run == phone.run { happen(.upgraded(line.attempt, status: answer.status)) }
    let said = Envelope.decodeNote(answer.bytes) ?? ""
    let failure = LinkFailure.http(
      status: answer.status, retryAfter: answer.retryAfter, detail: said)
    deliver(.failed(failure), bytes: 300, over: number)
  }

  mutating func accept(_ number: Number, head: Position?, after: Position?) {
    guard let index = network.line(number) else { return }
    let line = network.lines[index]
    if line.run == phone.run { happen(.upgraded(line.attempt, status: 101)) }
    deliver(.opened(head: head, after: after), bytes: 200, over: number)
    if conditions.isFlapping {
      reset(line, after: .seconds(1) + callbacks.duration(below: .seconds(5)))
    }
    if !line.phoneHolds, !line.isDead {
      queue.add(.hungUp(number, code: 1006), at: now.advanced(by: network.delay(weather)))
    }
  }

  mutating func heard(_ number: Number, ping: UInt64?) {
    guard let index = network.line(number), !network.lines[index].isDead,
      network.lines[index].serverHolds
    else { return }
    network.lines[index].lastUsed = now
    feed(.heard(ConnectionID(number)))
    if let ping { deliver(.pong(ping), bytes: 60, over: number) }
  }

  /// The server learns that a connection ended.
  mutating func serverLoses(_ number: Number, code: UInt16) {
    guard let index = network.line(number) else { return }
    let line = network.lines[index]
    network.lines[index].serverHolds = false
    if line.serverHolds {
      if backend.isRunning { feed(.gone(ConnectionID(number), code: code)) }
      if line.run == phone.run { happen(.serverLost(line.attempt)) }
    }
    if let index = network.line(number) { forget(index) }
  }

  /// The server has forgotten a connection; the phone may hear of it.
  mutating func serverDrops(_ number: Number, _ failure: LinkFailure) {
    guard let index = network.line(number), network.lines[index].serverHolds else { return }
    let line = network.lines[index]
    network.lines[index].serverHolds = false
    if line.run == phone.run { happen(.serverLost(line.attempt)) }
    deliver(.failed(failure), bytes: 60, over: number)
  }

  // Down to the phone.

  /// Sends something down a line, behind what is on its way.
  mutating func deliver(_ down: Down, bytes: Int, over number: Number) {
    guard let index = network.line(number), !network.lines[index].isDead else { return }
    var wait = network.delay(weather)
    // What TCP loses it sends again: late, and all behind it too.
    if network.happens(weather.loss) {
      wait += .milliseconds(200) + network.chance.duration(below: .seconds(3))
    }
    let start = carry(bytes, down: true)
    var time = max(start.advanced(by: wait), network.lines[index].downFree)
    if isHole { time = max(time, network.holeUntil) }
    network.lines[index].downFree = time
    queue.add(.down(number, down), at: time)
  }

  mutating func arrive(_ down: Down, over number: Number) {
    guard let index = network.line(number), !network.lines[index].isDead else { return }
    if isHole {
      network.lines[index].downFree = max(network.lines[index].downFree, network.holeUntil)
      queue.add(.down(number, down), at: network.holeUntil)
      return
    }
    let line = network.lines[index]
    guard line.run == phone.run, phone.process == .running else { return }
    // What stood in line before a close may still be handed over.
    if !line.phoneHolds, network.chance.next() % 2 == 0 { return }
    network.lines[index].lastUsed = now
    if case .failed = down { network.lines[index].phoneHolds = false }
    if case .opened = down { network.lines[index].isOpen = true }
    if case .ping = down, line.phoneHolds { sendHeard(index, ping: nil) }
    let input = input(line.attempt, down)
    if case .failed = down { forgetEnded(number) }
    give(input)
  }

  /// The system tells of a socket's end.
  mutating func breaks(_ number: Number, _ failure: LinkFailure) {
    guard let index = network.line(number), network.lines[index].run == phone.run,
      network.lines[index].phoneHolds, phone.process == .running
    else { return }
    let attempt = network.lines[index].attempt
    network.lines[index].phoneHolds = false
    network.lines[index].isDead = true
    forgetEnded(number)
    give(.lost(attempt, failure))
  }

  private func input(_ attempt: AttemptID, _ down: Down) -> StreamModel.Input {
    switch down {
    case .opened(let head, let after):
      .opened(
        attempt, head: head.flatMap { Position($0.description) },
        after: after.flatMap { Position($0.description) })
    case .text(let bytes): .frame(attempt, frame(bytes))
    case .ping: .ping(attempt)
    case .pong(let id): .pong(attempt, id)
    case .oversized(let bytes): .oversized(attempt, bytes: bytes)
    case .failed(let failure): .lost(attempt, failure)
    }
  }

  private func frame(_ bytes: [UInt8]) -> StreamModel.Frame {
    do throws(MessageError) {
      switch try StreamCodec.decode(bytes, shop: shop) {
      case .message(let message): return .message(message)
      case .draining(let window): return .draining(within: window)
      case .unknown(let type): return .unknown(type: type)
      }
    } catch {
      return .malformed(error)
    }
  }

  // What becomes of lines.

  /// Nothing passes on a line any more, and nobody is told.
  mutating func kill(line index: Int) {
    guard !network.lines[index].isDead else { return }
    network.lines[index].isDead = true
    let line = network.lines[index]
    if line.phoneHolds, line.isOpen, line.run == phone.run, phone.process != .dead {
      happen(.wentDead(line.attempt))
    }
  }

  /// Lets go of a line that neither side holds.
  mutating func forget(_ index: Int) {
    if !network.lines[index].phoneHolds, !network.lines[index].serverHolds {
      network.lines.remove(at: index)
    }
  }

  private mutating func forgetEnded(_ number: Number) {
    if let index = network.line(number) { forget(index) }
  }

  /// Whether nothing passes now.
  var isHole: Bool { conditions.isHole || now < network.holeUntil }

  /// When something that is sent up a line now arrives, behind what is on its way.
  private mutating func sendUp(on index: Int, bytes: Int) -> Instant {
    let start = carry(bytes, down: false)
    let time = max(start.advanced(by: network.delay(weather)), network.lines[index].upFree)
    network.lines[index].upFree = time
    return time
  }

  /// When the last of these bytes is on the way, given what else has to be carried.
  mutating func carry(_ bytes: Int, down: Bool) -> Instant {
    guard conditions.bandwidth > 0 else { return now }
    let time = Duration.nanoseconds(Int64(bytes) * 1_000_000_000 / conditions.bandwidth)
    if down {
      network.downFree = max(network.downFree, now).advanced(by: time)
      return network.downFree
    } else {
      network.upFree = max(network.upFree, now).advanced(by: time)
      return network.upFree
    }
  }
}

extension Action.Obstacle {
  /// What a dial and a request are told.
  var failure: LinkFailure {
    switch self {
    case .dns: .dns(detail: "the name does not resolve")
    case .proxy: .proxy(detail: "the proxy answered 407")
    case .certificate: .tls(.unknownAuthority, detail: "nobody known vouches for it")
    case .local: .local(detail: "no descriptor is left")
    }
  }
}
