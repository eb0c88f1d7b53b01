import LinkCore
import LinkStorage
import LinkWire

// The link and the device: what its effects mean for a session.
extension SessionModel {
  /// Takes what any link can be told. Control frames say nothing about the server's program, and
  /// count only while our own pings wait behind a large prompt.
  mutating func hear(_ event: LinkEvent, _ step: inout Step) {
    switch event {
    case .ping(let attempt), .pong(let attempt, _):
      guard let large = talk?.large, step.now < large.until else { return }
      drive(.heard(attempt), &step)
    case .device(.again):
      // Asks for another attempt; what was told to stop stays stopped.
      if stopsAt == nil, link.isWanted { begin(&step) }
    case .device(let change):
      note(change)
      if change == .lifecycle(.foreground) { leavePortal(&step) }
      drive(HeldLink.Input(event), &step)
    case .oversized(let attempt, let bytes):
      guard talk?.attempt == attempt else { return }
      payload.noteLoss()
      step.show(.notice(.oversized(bytes: bytes)))
      drive(HeldLink.Input(event), &step)
    case .lost(let attempt, let failure):
      guard talk?.attempt == attempt else { return }
      lose(attempt, failure, &step)
    }
  }

  private mutating func note(_ change: DeviceChange) {
    if case .reachability(let reachability) = change { portal.note(reachability) }
    switch change {
    case .reachability(.reachable(let path, _)): network = path.name
    case .reachability(.unreachable), .reachability(.captivePortal): network = nil
    case .lifecycle(let lifecycle): isInBackground = lifecycle == .background
    case .woke, .again: return
    }
  }

  /// The connection is gone, or ends because of what the server said.
  mutating func lose(
    _ attempt: AttemptID, _ failure: LinkFailure, isOpen: Bool = false, _ step: inout Step
  ) {
    hangUp(.failure(failure), &step)
    drive(isOpen ? .reject(attempt, failure) : .lost(attempt, failure), &step)
  }

  /// Translates what the link asks for.
  mutating func follow(_ effects: [HeldLink.Effect], _ step: inout Step) {
    for effect in effects {
      switch effect {
      case .prepare(let attempt): drive(.prepared(attempt), &step)
      case .open(let attempt):
        talk = Talk(attempt, at: wall(at: step.now), step.now)
        metrics.noteTry(at: wall(at: step.now))
        writer.waiting.change.days += metrics.takePast()
        step.effects.append(.open(attempt))
      case .close(let attempt, let reason): close(attempt, reason, &step)
      // One that leaves needs no sign of life.
      case .ping where stopsAt != nil: continue
      case .ping(let attempt, let id):
        talk?.pings.append(Talk.Ping(id: id, sentAt: step.now))
        step.effects.append(.send(attempt, .ping))
      case .refreshCredentials: step.effects.append(.refreshCredentials)
      case .status(let status): show(status, &step)
      // There is no other way to the data of a session, and no queued connect.
      case .poll, .arm, .disarm: continue
      }
    }
  }

  private mutating func close(
    _ attempt: AttemptID, _ reason: HeldLink.CloseReason, _ step: inout Step
  ) {
    if talk?.stage == .connected, reason == .background || reason == .leaving {
      step.effects.append(.send(attempt, .disconnect(reason: reason.rawValue)))
    }
    hangUp(.closed(reason), &step)
    step.effects.append(.close(attempt, code: reason.closeCode))
  }

  /// Notes the end of a connection; what was under way on it becomes unsure.
  private mutating func hangUp(_ reason: SessionRecord.Reason, _ step: inout Step) {
    guard let ended = talk else { return }
    (talk, leaving) = (nil, nil)
    queue.abandon()
    for conversation in Array(evidence.keys) { evidence[conversation]?.lose() }
    if ended.stage != .connected, let time = portal.tryEnded(by: reason.failure, at: step.now) {
      step.effects.append(.probe(within: time))
    }
    if ended.awaitsMuch, reason.isLoss { payload.noteLoss() }
    let wall = wall(at: step.now)
    if ended.stage == .connected { metrics.noteLoss(at: step.now) }
    step.show(
      .record(
        SessionRecord(
          attempt: ended.attempt, startedAt: ended.startedAt, endedAt: wall,
          connecting: ended.connectedAt.map { ended.begin.duration(to: $0) },
          connected: ended.connectedAt.map { $0.duration(to: step.now) }, network: network,
          roundTrip: ended.roundTrip, reason: reason)))
    if ended.stage == .connected { writer.waiting.change.days += metrics.take() }
  }

  private mutating func show(_ status: LinkStatus, _ step: inout Step) {
    let before = shown.status
    shown.status = status
    var known = before
    known.quality = status.quality
    if known != status { step.show(.status(status)) }
    if before.phase != status.phase, !status.phase.isTrying {
      writer.waiting.change.days += metrics.take()
    }
    if let next = status.quality, next != shown.quality {
      shown.quality = next
      step.show(.quality(next, roundTrip: talk?.roundTrip))
    }
  }

  // MARK: Login pages

  /// Takes the outcome of a check: a login page holds the link, also one that failed because of it.
  mutating func probed(_ isPortal: Bool, _ step: inout Step) {
    guard portal.checked(isPortal: isPortal, at: step.now) else { return }
    guard link.isWanted, !isConnected else {
      _ = portal.release()
      return
    }
    drive(.reachability(.captivePortal), &step)
    if case .failure(.tls) = link.status.reason { drive(.want(.live), &step) }
  }

  /// Believes in no login page any more: one try shows whether it is gone.
  mutating func leavePortal(_ step: inout Step) {
    if let way = portal.release() { drive(.reachability(way), &step) }
  }

  mutating func pong(_ attempt: AttemptID, _ step: inout Step) {
    guard var current = talk, let ping = current.pings.first else { return }
    current.pings.removeFirst()
    let isFirst = current.roundTrip == nil
    let sample = ping.sentAt.duration(to: step.now)
    current.roundTrip = sample
    talk = current
    metrics.noteRoundTrip(sample, at: wall(at: step.now))
    let quality = shown.quality
    drive(.pong(attempt, ping.id), &step)
    if isFirst, quality == shown.quality { step.show(.quality(quality, roundTrip: sample)) }
  }

  /// Whether nothing is left that background time is for.
  var isFlushed: Bool {
    guard writer.isDone, owed.isEmpty, talk?.upload == nil else { return false }
    return !queue.items.contains { prompt in
      if case .queued = prompt.state { !prompt.isAccepted } else { false }
    }
  }
}

extension LinkStatus.Phase {
  /// Whether tries are made or the link stands.
  fileprivate var isTrying: Bool {
    switch self {
    case .connecting, .connected, .reconnecting: true
    case .disconnected, .held, .standby, .failed: false
    }
  }
}

extension SessionRecord.Reason {
  /// The failure that it is or stands for.
  fileprivate var failure: LinkFailure {
    switch self {
    case .failure(let failure): failure
    case .closed(.timeout): .timeout(.establish)
    case .closed(let reason): .local(detail: reason.rawValue)
    }
  }

  /// Whether the connection broke, rather than being closed by this client.
  fileprivate var isLoss: Bool {
    switch self {
    case .failure(let failure):
      failure.failureClass == .silent || failure.failureClass == .reset
        || failure.failureClass == .ended
    case .closed(let reason): reason == .silent
    }
  }
}
