import HoldfastBottleData
import HoldfastCore

// The discovery of services: once for each connection, and again when the bottle changes them.
extension BottleModel {
  mutating func discovered(
    _ attempt: AttemptID, _ longest: Int, _ state: BottleState, at time: Timestamp,
    _ step: inout Step
  ) {
    guard var connection, connection.attempt == attempt, connection.discovery != .done,
      !discoversAgain(&step)
    else { return }
    let isFirst = !connection.isReady
    connection.discovery = .done
    connection.longestValue = max(longest, 20)
    connection.chunkBytes = connection.longestValue
    let ping = connection.ping.take()
    self.connection = connection
    if isFirst { drive(.established(attempt), &step) }
    if let ping { drive(.pong(attempt, ping), &step) }
    // The state was read, which proves that the link works. From now on, its end is an unexpected
    // loss, not a failed attempt.
    drive(.validData(attempt), &step)
    clock.set(time, at: step.now)
    setTime(&step)
    if isFirst, settings.syncs, let bottle {
      var change = DrinkChange(at: time)
      change.bottle = bottle
      _ = commit(change, &step)
    }
    keepAwake(&step)
    // The state also covers the notifications that were lost while the services changed.
    handle(.state(state), at: time, &step)
    sendRequests(&step)
  }

  mutating func undiscovered(_ attempt: AttemptID, _ failure: LinkFailure, _ step: inout Step) {
    // Without this check, the link would treat the failure as the end of a queued connect with the
    // same number.
    guard connection?.attempt == attempt, !discoversAgain(&step) else { return }
    drive(.reject(attempt, failure), &step)
  }

  /// Begins another discovery if the services changed during the one that ended.
  private mutating func discoversAgain(_ step: inout Step) -> Bool {
    guard let connection, connection.discovery == .outdated else { return false }
    self.connection?.discovery = .running
    step.effects.append(.discover(connection.attempt))
    return true
  }

  /// Discovers the services again, since the bottle changed them.
  ///
  /// The synchronization stops, and its stored records are kept. The next one begins once the
  /// services are discovered. The bottle still has all records that were not acknowledged.
  mutating func changed(_ attempt: AttemptID, _ step: inout Step) {
    guard var connection, connection.attempt == attempt else { return }
    guard connection.discovery == .done else {
      self.connection?.discovery = .outdated
      return
    }
    sync.stop()
    connection.discovery = .running
    connection.hasNewState = false
    for (id, purpose) in connection.writes {
      switch purpose {
      case .request(let request), .interrupted(let request):
        connection.writes[id] = .interrupted(request)
      case .ping(let ping):
        connection.ping = ping
        connection.writes[id] = nil
      case .time, .wake, .start, .acknowledgement: connection.writes[id] = nil
      }
    }
    self.connection = connection
    step.effects.append(.discover(attempt))
  }
}
