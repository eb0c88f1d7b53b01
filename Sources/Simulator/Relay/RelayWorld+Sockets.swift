import HealthRelay
import LinkCore
import LinkServerCore
import LinkWire

// Sockets: what is sent on a line arrives in order, late, or not at all.
extension RelayWorld {
  func index(_ number: UInt64) -> Int? { lines.firstIndex { $0.number == number } }

  func line(of phone: Int, _ attempt: AttemptID) -> UInt64? {
    lines.first { $0.phone == phone && $0.attempt == attempt && $0.run == phones[phone].run }?
      .number
  }

  mutating func dial(_ phone: Int, _ attempt: AttemptID, resume: Int?) {
    counts.attempts += 1
    lastLine += 1
    lines.append(
      Line(
        number: lastLine, phone: phone, run: phones[phone].run, attempt: attempt, resume: resume))
    if phones[phone].isUnreachable {
      add(.breaks(lastLine, .unreachable(detail: "no route to host")), after: .milliseconds(5))
    } else {
      add(.upgradeArrives(lastLine), after: packet + packet)
    }
  }

  mutating func send(
    _ phone: Int, _ attempt: AttemptID, _ message: PhoneMessage?, ping: UInt64? = nil
  ) {
    guard let number = line(of: phone, attempt), let index = index(number),
      lines[index].deadSince == nil
    else { return }
    let time = max(now.advanced(by: packet), lines[index].upFree)
    lines[index].upFree = time
    queue.add(.up(number, message, ping: ping), at: time)
  }

  mutating func deliver(_ down: Down, over number: UInt64) {
    guard let index = index(number), lines[index].deadSince == nil else { return }
    let time = max(now.advanced(by: packet), lines[index].downFree)
    lines[index].downFree = time
    queue.add(.down(number, down), at: time)
  }

  /// The phone lets go of a line.
  mutating func hangUp(_ number: UInt64, _ code: UInt16) {
    guard let index = index(number), lines[index].phoneHolds else { return }
    lines[index].phoneHolds = false
    if lines[index].deadSince == nil, !phones[lines[index].phone].isUnreachable {
      let time = max(now.advanced(by: packet), lines[index].upFree)
      queue.add(.hungUp(number, code: code), at: time)
    }
    forget(number)
  }

  /// Nothing passes any more, and nobody is told.
  mutating func loseSilently(_ number: UInt64) {
    guard let index = index(number), lines[index].deadSince == nil else { return }
    lines[index].deadSince = now
  }

  /// Both ends hear of the end.
  mutating func reset(_ phone: Int) {
    for line in lines where line.phone == phone && line.deadSince == nil {
      add(.breaks(line.number, .reset), after: packet)
      add(.hungUp(line.number, code: 1006), after: packet)
    }
  }

  func isHeld(_ number: UInt64) -> Bool {
    index(number).map { lines[$0].phoneHolds || lines[$0].backendHolds } ?? false
  }

  private mutating func forget(_ number: UInt64) {
    if !isHeld(number) { lines.removeAll { $0.number == number } }
  }

  // At the backend.

  mutating func upgradeArrives(_ number: UInt64) {
    guard let index = index(number), lines[index].deadSince == nil else { return }
    guard backend.isRunning else {
      return add(.breaks(number, .refused), after: packet)
    }
    let line = lines[index]
    lines[index].backendHolds = true
    let arrival = RelayServer.Arrival(
      device: phones[line.phone].device, resume: line.resume.map { TokenHash.of($0) },
      address: "phone-\(line.phone)")
    feed(.phoneOpened(ConnectionID(number), arrival, wall: wall))
  }

  mutating func arriveUp(_ number: UInt64, _ message: PhoneMessage?, ping: UInt64?) {
    guard let index = index(number), lines[index].backendHolds, lines[index].deadSince == nil,
      backend.isRunning
    else { return }
    phones[lines[index].phone].lastHere = now
    feed(.heard(ConnectionID(number)))
    if let message { feed(.phoneSaid(ConnectionID(number), message)) }
    if let ping { deliver(.pong(ping), over: number) }
  }

  mutating func backendLoses(_ number: UInt64, code: UInt16) {
    guard let index = index(number), lines[index].backendHolds else { return }
    lines[index].backendHolds = false
    if backend.isRunning { feed(.phoneGone(ConnectionID(number), code: code, wall: wall)) }
    forget(number)
  }

  // At the phone.

  mutating func arriveDown(_ number: UInt64, _ down: Down) {
    guard let index = index(number), lines[index].deadSince == nil, lines[index].phoneHolds else {
      return
    }
    let line = lines[index]
    guard line.run == phones[line.phone].run, phones[line.phone].process == .running else { return }
    switch down {
    case .opened: give(line.phone, .opened(line.attempt))
    case .message(let message):
      give(line.phone, .message(line.attempt, RelayModel.Message(message)))
    case .ping:
      send(line.phone, line.attempt, nil)
      give(line.phone, .ping(line.attempt))
    case .pong(let id): give(line.phone, .pong(line.attempt, id))
    case .failed(let failure):
      lines[index].phoneHolds = false
      forget(number)
      give(line.phone, .lost(line.attempt, failure))
    }
  }

  mutating func breaks(_ number: UInt64, _ failure: LinkFailure) {
    guard let index = index(number), lines[index].phoneHolds else { return }
    let line = lines[index]
    lines[index].phoneHolds = false
    if lines[index].deadSince == nil { lines[index].deadSince = now }
    forget(number)
    guard line.run == phones[line.phone].run else { return }
    give(line.phone, .lost(line.attempt, failure))
  }
}

extension TokenHash {
  /// A secret is a number here; its hash is that number in 32 bytes.
  static func of(_ secret: Int) -> TokenHash {
    let bytes = (0..<32).map { $0 < 8 ? UInt8(truncatingIfNeeded: secret >> (8 * $0)) : 0 }
    guard let hash = TokenHash(bytes) else { preconditionFailure("it has 32 bytes") }
    return hash
  }
}
