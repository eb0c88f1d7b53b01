import HoldfastBottleData
import HoldfastCore

/// The app's unanswered requests, including refreshes.
struct Requests: Sendable, Hashable {
  var entries: [Entry] = []
  /// The maximum number of open requests. Further requests are refused. A person makes the
  /// requests.
  static let limit = 32

  struct Entry: Sendable, Hashable {
    let id: UInt64
    /// The request; `nil` for a refresh.
    let request: BottleRequest?
    /// The instant at which the request stops scanning for the bottle.
    let scanUntil: Instant
    /// The instant at which the request fails.
    var until: Instant
    var stage = Stage.waits
    /// Whether the bottle was found since the request was made.
    var wasFound = false
    /// Whether the bottle was connected since the request was made.
    var wasConnected = false
    /// Whether a state arrived since the request was passed to the radio.
    var sawState = false
    /// The number of new drinks counted for a refresh. It includes drinks that a running
    /// synchronization had added before the refresh.
    var added = 0
  }

  enum Stage: Sendable, Hashable {
    /// The request waits for a connection or for drinks.
    case waits
    /// The request was passed to the radio.
    case sent
    /// The request waits for the bottle's state, which confirms a deletion.
    case confirms
  }

  var deadline: Instant? { entries.map(\.until).min() }
}

// Refreshes and commands. They look for the bottle at once and end within a bounded time.
extension BottleModel {
  mutating func refresh(_ id: UInt64, _ step: inout Step) { ask(id, nil, &step) }

  mutating func perform(_ id: UInt64, _ request: BottleRequest, _ step: inout Step) {
    if let problem = request.problem {
      step.show(.performed(id, .invalid(problem)))
      return
    }
    ask(id, request, &step)
  }

  private mutating func ask(_ id: UInt64, _ request: BottleRequest?, _ step: inout Step) {
    guard requests.entries.count < Requests.limit else {
      end(
        Requests.Entry(id: id, request: request, scanUntil: step.now, until: step.now),
        .connectionFailed, &step)
      return
    }
    requests.entries.append(
      Requests.Entry(
        id: id, request: request, scanUntil: step.now.advanced(by: settings.scanTime),
        until: step.now.advanced(by: settings.requestTime),
        added: sync.isRunning ? sync.added : 0))
    if isConnected, let attempt = link.currentAttempt {
      drive(.validData(attempt), &step)
      connection?.failures = 0
      connection?.vainCount = nil
      connection?.syncAt = nil
      sendRequests(&step)
      startSyncIfNeeded(&step)
    } else {
      drive(.setIntent(.live), &step)
    }
  }

  /// Ends the requests that this step completed, and continues scanning while a request looks for
  /// the bottle.
  mutating func updateRequests(_ step: inout Step) {
    for index in requests.entries.indices {
      if search.burst?.found != nil || connection != nil { requests.entries[index].wasFound = true }
      if isConnected { requests.entries[index].wasConnected = true }
    }
    endWaiting(&step) { entry, model in model.blockedReason(for: entry) }
    // A connection with drinks left to fetch is either fetching them or waiting to retry.
    if connection?.takesWrites == true, !sync.isRunning, connection?.syncAt == nil {
      let waiting = state?.unsynced ?? 0
      endRefreshes(&step) { entry in
        guard waiting == 0 else { return .nothingCame(waiting) }
        // Drinks were stored, but the connection was lost before the response to the last
        // acknowledgement arrived.
        return entry.added > 0 ? .synced(entry.added) : .alreadySynced
      }
    }
    // A single burst is shorter than the required manual scan.
    let looks = requests.entries.contains { $0.scanUntil > step.now }
    if looks, connection == nil { drive(.trigger(.userRefresh), &step) }
  }

  /// The reason why a request cannot succeed now; `nil` if it can.
  private func blockedReason(for entry: Requests.Entry) -> BottleRefreshResult? {
    switch adapter {
    case .off: .bluetoothOff
    case .unauthorised, .unsupported: .bluetoothUnavailable
    case .on, .resetting, .unknown: nil
    }
  }

  /// The result of a request that timed out.
  private func lateResult(of entry: Requests.Entry) -> BottleRefreshResult {
    if entry.wasConnected { return .syncFailed }
    return entry.wasFound ? .connectionFailed : .bottleAsleep
  }

  mutating func requestsAreDue(_ step: inout Step) {
    for entry in requests.entries.takeAll(where: { $0.until <= step.now }) {
      end(entry, lateResult(of: entry), &step)
    }
  }

  /// Ends the requests for which `reason` returns a result.
  private mutating func endWaiting(
    _ step: inout Step, _ reason: (Requests.Entry, Self) -> BottleRefreshResult?
  ) {
    var remaining: [Requests.Entry] = []
    var ended: [(Requests.Entry, BottleRefreshResult)] = []
    for entry in requests.entries {
      if let result = reason(entry, self) {
        ended.append((entry, result))
      } else {
        remaining.append(entry)
      }
    }
    requests.entries = remaining
    for (entry, result) in ended { end(entry, result, &step) }
  }

  private func end(
    _ entry: Requests.Entry, _ result: BottleRefreshResult, _ step: inout Step
  ) {
    guard entry.request != nil else {
      step.show(.refreshed(entry.id, result))
      return
    }
    step.show(.performed(entry.id, entry.stage == .waits ? .notSent(result) : .unconfirmed))
  }

  /// Ends the refreshes. Commands continue.
  mutating func endRefreshes(
    _ step: inout Step, with result: (Requests.Entry) -> BottleRefreshResult
  ) {
    for entry in requests.entries where entry.request == nil { end(entry, result(entry), &step) }
    requests.entries.removeAll { $0.request == nil }
  }

  /// Adds new drinks to all refreshes, including drinks received over a connection that was lost.
  mutating func countForRefreshes(_ added: Int) {
    for index in requests.entries.indices { requests.entries[index].added += added }
  }

  mutating func endAllRequests(_ step: inout Step) {
    let all = requests.entries
    requests.entries = []
    for entry in all { end(entry, lateResult(of: entry), &step) }
  }

  /// Sends the waiting commands over the ready connection.
  mutating func sendRequests(_ step: inout Step) {
    guard connection?.takesWrites == true else { return }
    for index in requests.entries.indices {
      guard requests.entries[index].stage == .waits, let request = requests.entries[index].request
      else { continue }
      requests.entries[index].stage = .sent
      requests.entries[index].sawState = false
      write(request.bytes, to: request.attribute, for: .request(requests.entries[index].id), &step)
    }
  }

  mutating func requestWritten(_ id: UInt64, _ failure: LinkFailure?, _ step: inout Step) {
    let time = wallTime(step)
    guard let index = requests.entries.firstIndex(where: { $0.id == id }) else { return }
    if let connection { drive(.validData(connection.attempt), &step) }
    if failure == nil, let record = requests.entries[index].request?.deleted {
      guard requests.entries[index].sawState else {
        requests.entries[index].stage = .confirms
        requests.entries[index].until = step.now.advanced(by: settings.confirmation)
        return
      }
      noteDeleted(record, at: time, &step)
    }
    requests.entries.remove(at: index)
    step.show(.performed(id, failure == nil ? .done : .refused))
  }

  /// Completes the deletions, since the bottle sends its state after each one.
  mutating func confirmRequests(at time: Timestamp, _ step: inout Step) {
    for index in requests.entries.indices { requests.entries[index].sawState = true }
    for entry in requests.entries where entry.stage == .confirms {
      if let id = entry.request?.deleted { noteDeleted(id, at: time, &step) }
      step.show(.performed(entry.id, .done))
    }
    requests.entries.removeAll { $0.stage == .confirms }
  }

  private mutating func noteDeleted(_ id: UInt32, at time: Timestamp, _ step: inout Step) {
    guard settings.syncs else { return }
    var change = DrinkChange(at: time)
    change.deleted = id
    _ = commit(change, &step)
  }

  /// Ends the requests that were unanswered when the connection was lost. They may have arrived, so
  /// they are not resent.
  mutating func interruptRequests(_ ids: [UInt64], _ step: inout Step) {
    for entry in requests.entries where ids.contains(entry.id) || entry.stage == .confirms {
      step.show(.performed(entry.id, .unconfirmed))
    }
    requests.entries.removeAll { ids.contains($0.id) || $0.stage == .confirms }
  }
}
