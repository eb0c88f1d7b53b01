import LinkCore
import LinkStorage
import LinkWire

// The link and the device: what its effects mean for a stream.
extension StreamModel {
  /// Translates what the link asks for.
  mutating func follow(_ effects: [HeldLink.Effect], _ step: inout Step) {
    for effect in effects {
      switch effect {
      case .prepare(let attempt): prepare(attempt, &step)
      case .open(let attempt):
        // What comes while nothing is taken would only be dropped.
        let after = takesNoMore ? nil : recovery.cursor.position
        recovery.fetchesFirst = false
        recovery.opening = recovery.cursor.position
        if recovery.unprepared != nil { recovery.unprepared = attempt }
        step.effects.append(.open(attempt, after: after))
      case .close(let attempt, let reason):
        if reason == .networkChanged || reason == .silent { abandonRequests(&step) }
        step.effects.append(.close(attempt, code: reason.closeCode))
        if reason == .timeout, attempt == recovery.unprepared {
          fetchInstead(after: .timeout(.connect), &step)
        }
      case .ping(let attempt, let id): step.effects.append(.ping(attempt, id))
      case .refreshCredentials: step.effects.append(.refreshCredentials)
      case .poll(let id): poll(id, &step)
      case .status(let status): show(status, &step)
      case .arm, .disarm: continue  // a stream's standby polls; there is no queued connect
      }
    }
  }

  private mutating func poll(_ id: UInt64, _ step: inout Step) {
    // A stream that only sends takes the way for open until a post fails.
    if settings.sendsOnly, outbox.oldestUnsure == nil {
      drive(.polled(id, nil), &step)
    } else {
      catchUp(.poll(id), &step)
    }
  }

  /// Requests on a way that is gone would only be answered by their time limit.
  private mutating func abandonRequests(_ step: inout Step) {
    recovery.abandon()
    stopHistory(&step)
    outbox.queue.abandon()
  }

  private mutating func show(_ status: LinkStatus, _ step: inout Step) {
    step.show(.status(StreamStatus(status)))
    // A server that ends its sockets may go on with other messages at these positions.
    if status.phase != .connected { recovery.ahead = [] }
    // Whatever is under way may never be answered: the process can be suspended any moment.
    // A link that ended is nobody's reason to fetch.
    if status.reason == .obstacle(.background) || status.phase == .disconnected {
      stopFetching(&step)
    }
    guard status.isTerminal else { return }
    stopCatchUp()
    switch status.reason {
    case .signIn: step.show(.notice(.signIn))
    case .failure(let failure):
      switch failure.failureClass {
      case .forbidden, .closedForbidden: step.show(.notice(.forbidden))
      case .tls: step.show(.notice(.security(failure)))
      case .unreachable, .dns, .refused, .timeout, .silent, .reset, .ended, .proxy, .captivePortal,
        .local, .badRequest, .unauthorized, .notFound, .tooManyRequests, .serverError, .unavailable,
        .otherStatus, .protocolError, .closedNormally, .closedRestart, .closedPolicy,
        .closedUnauthorized, .closedReplaced, .closedOther:
        return  // the status says it all
      }
    case .obstacle, .exhausted, .ended, .settling, .limited, nil: return
    }
  }

  mutating func open(at wall: Timestamp, _ step: inout Step) {
    note(wall: wall, at: step.now)
    switch phase {
    case .closed, .broken: load(&step)
    case .open: drive(.want(wish), &step)
    case .loading: return
    }
  }

  mutating func close(_ step: inout Step) {
    noteWhole(at: step.now)
    stopFetching(&step)
    outbox.queue.abandon()
    switch phase {
    case .loading, .broken: phase = .closed
    case .closed, .open: break
    }
    drive(.want(.none), &step)
  }

  mutating func refresh(_ step: inout Step) {
    if case .broken = phase {
      open(at: wall(at: step.now), &step)
      return
    }
    guard link.isWanted else { return }
    outbox.queue.hurry()
    catchUp(.refresh, &step)
    drive(.trigger(.userRefresh), &step)
  }

  mutating func turn(_ lifecycle: Lifecycle, _ step: inout Step) {
    switch lifecycle {
    case .background:
      noteWhole(at: step.now)
      recovery.fetchesFirst = true
      drive(.lifecycle(.background), &step)
    case .foreground:
      outbox.queue.hurry()
      if case .broken = phase { load(&step) }
      drive(.lifecycle(.foreground), &step)
    }
  }

  mutating func credentials(_ event: HeldLink.CredentialsEvent, _ step: inout Step) {
    switch event {
    case .available:
      credentialsCount += 1
      outbox.queue.credentialsRenewed()
      if recovery.retryAt != nil { recovery.retryAt = step.now }
    case .cleared: author = settings.user
    case .rejected, .refreshFailed: break
    }
    drive(.credentials(event), &step)
    // What is still accepted is still sent; only the end of the link ends the sending.
    if link.status.reason == .signIn { failSends("sign in to send", &step) }
  }

  /// A refusal of credentials that are not the present ones says nothing about these: ask again.
  func isStale(_ failure: LinkFailure, asked: UInt64) -> Bool {
    failure.failureClass == .unauthorized && asked < credentialsCount
  }

  mutating func opened(
    _ attempt: AttemptID, _ head: Position?, after start: Position?, _ step: inout Step
  ) {
    drive(.opened(attempt), &step)
    guard link.currentAttempt == attempt, link.status.phase == .connected else { return }
    outbox.queue.hurry()
    recovery.unprepared = nil
    recovery.arrears = nil
    if let head {
      recovery.hasPositions = true
      if recovery.isWhole(at: head) {  // nothing was missed
        recovery.isCurrent = true
        return
      }
      if let start, recovery.isSettled, recovery.goesOn(from: start, to: head) {
        recovery.awaitArrears(to: head, until: step.now.advanced(by: settings.fetchTimeout))
        return
      }
    }
    catchUp(.live, &step)
  }
}

extension LinkStatus {
  /// Ended by an answer that no retry changes.
  var isTerminal: Bool { phase == .failed }
}
