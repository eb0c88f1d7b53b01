import HoldfastCore

// Grants of background time, and the work for which they are kept.
extension SyncModel {
  /// Reads the types that changed, and keeps the time until their pages are stored.
  mutating func fired(
    _ types: [String], _ wake: WakeID, _ budget: Duration, at now: Instant,
    _ effects: inout [Effect]
  ) {
    guard accepts(wake, &effects) else { return }
    var needs: [String: UInt64] = [:]
    var isPostponed = false
    for type in types {
      guard let index = queue(of: type), queues[index].readsSource else { continue }
      if let run = queues[index].fire(at: now) {
        needs[type] = run
      } else {
        // The change is read once the queue has room, which takes longer than the granted time.
        isPostponed = true
      }
    }
    let result = isPostponed ? WakeResult.later : .done
    guard !needs.isEmpty else { return effects.append(.giveBack(wake, result)) }
    wakes.add(wake, needs: needs, until: Self.end(of: budget, from: now), result)
  }

  /// Keeps the time until nothing is under way.
  ///
  /// - Parameter reads: Whether all types are read. The waits for the server and for the source
  ///   then end, and a type that is being read is not read a second time.
  mutating func woken(
    _ wake: WakeID, _ budget: Duration, reads: Bool, at now: Instant, _ effects: inout [Effect]
  ) {
    guard accepts(wake, &effects) else { return }
    if reads {
      tryNow(at: now)
      for index in queues.indices { queues[index].readIfIdle(at: now) }
    }
    wakes.add(wake, until: Self.end(of: budget, from: now))
  }

  /// Returns whether a grant can be used. If not, it is given back.
  private func accepts(_ wake: WakeID, _ effects: inout [Effect]) -> Bool {
    guard stage == .running, !wakes.ids.contains(wake) else {
      effects.append(.giveBack(wake, .later))
      return false
    }
    return true
  }

  private static func end(of budget: Duration, from now: Instant) -> Instant {
    now.advanced(by: budget - SyncSettings.margin(of: budget))
  }

  /// Whether work is under way that ends when the process is suspended.
  ///
  /// Uploads count only if this process makes them. The system is given several at once, and makes
  /// them without the process.
  var isBusy: Bool {
    let isUnlocked = gate.conditions.isUnlocked && ownership.allowsReading
    return !commits.underWay.isEmpty || ownership.isAsking || gate.isReadingSecret
      || server.isReporting
      || queues.contains { queue in
        queue.isReading(isUnlocked: isUnlocked) || queue.isSplitting
          || (settings.depth == 1 && !queue.sending.isEmpty)
      }
  }

  /// Whether something is left that a later wake has to do.
  var hasPostponed: Bool {
    commits.hasUnsaved || ownership.isChanging || needsServer
      || queues.contains { !$0.isRead }
  }
}
