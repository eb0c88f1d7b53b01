import LinkCore
import LinkWire
import Session

// The link of a phone's twin, and what it means for what is said.
extension SessionPhoneTwin {
  mutating func drive(_ input: HeldLink.Input) { follow(link.handle(input, at: now)) }

  mutating func begin() {
    guard client != nil else { return }
    stopsAt = nil
    leavePortal()
    drive(.want(.live))
    drive(.trigger(.userRefresh))
  }

  mutating func follow(_ effects: [HeldLink.Effect]) {
    for effect in effects {
      switch effect {
      case .prepare(let attempt): drive(.prepared(attempt))
      case .open(let attempt):
        line = Line(attempt: attempt, startedAt: wall, begin: now)
        counts.change(at: wall) { $0.tries += 1 }
        paper.waiting.change.days += counts.takePast()
        out.append(.open(attempt))
      case .close(let attempt, let reason): close(attempt, reason)
      case .ping(let attempt, let id):
        if stopsAt != nil { continue }
        line?.pings.append((id, now))
        out.append(.send(attempt, .ping))
      case .refreshCredentials: out.append(.refreshCredentials)
      case .status(let status): show(status)
      case .poll, .arm, .disarm: continue
      }
    }
  }

  private mutating func close(_ attempt: AttemptID, _ reason: HeldLink.CloseReason) {
    if let line, line.attempt == attempt {
      if line.isConnected, reason == .background || reason == .leaving {
        out.append(.send(attempt, .disconnect(reason: reason.rawValue)))
      }
      hangUp(.closed(reason))
    }
    out.append(.close(attempt, code: reason.closeCode))
  }

  mutating func lose(_ attempt: AttemptID, _ failure: LinkFailure, isOurs: Bool) {
    hangUp(.failure(failure))
    drive(isOurs ? .reject(attempt, failure) : .lost(attempt, failure))
  }

  private mutating func hangUp(_ reason: Session.SessionRecord.Reason) {
    guard let old = line else { return }
    line = nil
    outbox.hangUp()
    for prompt in outbox.all where old.repeated[prompt.id] == true {
      if prompt.isAccepted, !prompt.isFailed { end(prompt, .answered, nil) }
    }
    var failure: LinkFailure
    var isBroken = false
    switch reason {
    case .failure(let why):
      failure = why
      isBroken = [.silent, .reset, .ended].contains(why.failureClass)
    case .closed(let why):
      failure = why == .timeout ? .timeout(.establish) : .local(detail: why.rawValue)
      isBroken = why == .silent
    }
    if let begin = old.connectedAt {
      if isBroken, !old.asking.isEmpty || !old.sent.isEmpty { size.broke() }
      counts.lostAt = now
      record(old, reason, after: old.begin.duration(to: begin), for: begin.duration(to: now))
      paper.waiting.change.days += counts.takeAll()
    } else {
      if let time = portal.tryEnded(by: failure, at: now) { out.append(.probe(within: time)) }
      record(old, reason, after: nil, for: nil)
    }
  }

  private mutating func record(
    _ old: Line, _ reason: Session.SessionRecord.Reason, after wait: Duration?, for time: Duration?
  ) {
    show(
      .record(
        Session.SessionRecord(
          attempt: old.attempt, startedAt: old.startedAt, endedAt: wall, connecting: wait,
          connected: time, network: way, roundTrip: old.roundTrip, reason: reason)))
  }

  private mutating func show(_ next: LinkStatus) {
    let before = status
    status = next
    var alike = before
    alike.quality = next.quality
    if alike != next { show(.status(next)) }
    if before.phase != next.phase {
      switch next.phase {
      case .disconnected, .held, .standby, .failed:
        paper.waiting.change.days += counts.takeAll()
      case .connecting, .connected, .reconnecting: break
      }
    }
    if let found = next.quality, found != quality {
      quality = found
      show(.quality(found, roundTrip: line?.roundTrip))
    }
  }

  // The device.

  mutating func hear(_ event: LinkEvent) {
    switch event {
    case .ping(let of), .pong(let of, _):
      if let line, line.attempt == of, let large = line.large, now < large.until {
        drive(.heard(of))
      }
    case .device(.again):
      if stopsAt == nil, link.isWanted || link.status.phase == .failed { begin() }
    case .device(let change):
      note(change)
      drive(HeldLink.Input(event))
    case .oversized(let of, let bytes):
      guard line?.attempt == of else { return }
      size.broke()
      show(.notice(.oversized(bytes: bytes)))
      drive(HeldLink.Input(event))
    case .lost(let of, let failure):
      if line?.attempt == of { lose(of, failure, isOurs: false) }
    }
  }

  private mutating func note(_ change: DeviceChange) {
    switch change {
    case .reachability(let found):
      portal.note(found)
      way = nil
      if case .reachable(let path, _) = found { way = path.name }
    case .lifecycle(let phase):
      isBehind = phase == .background
      if phase == .foreground { leavePortal() }
    case .woke, .again: return
    }
  }

  mutating func leavePortal() { if let found = portal.release() { drive(.reachability(found)) } }

  mutating func probed(_ isPortal: Bool) {
    guard portal.checked(isPortal: isPortal, at: now) else { return }
    guard link.isWanted, !isConnected else {
      _ = portal.release()
      return
    }
    drive(.reachability(.captivePortal))
    if case .failure(.tls) = link.status.reason { drive(.want(.live)) }
  }
}
