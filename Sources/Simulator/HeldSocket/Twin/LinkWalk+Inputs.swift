import LinkCore

// What happens to a link that walks.
extension LinkWalk {
  static let ways: [Reachability] = [
    .reachable(path: PathID("wifi")), .reachable(path: PathID("cell"), traits: .cellular),
    .reachable(path: PathID("wifi"), traits: .expensive), .unreachable, .captivePortal,
  ]

  var attempt: AttemptID { twin.attempt ?? twin.side.queued ?? AttemptID(1) }

  /// The attempt that counts, or another one.
  mutating func name() -> AttemptID {
    if let queued = twin.side.queued, happens(3) { return queued }
    if happens(12) { return AttemptID(UInt64(number(0...Int(twin.lastAttempt) + 1))) }
    return attempt
  }

  mutating func life() -> Duration? {
    let life: Duration? = one([
      nil, nil, .seconds(-1), .zero, .nanoseconds(1), .seconds(1), .seconds(3), .seconds(4),
      .seconds(20), .seconds(900),
    ])
    return life
  }

  /// What is expected where the link is.
  mutating func goOn() {
    switch twin.place {
    case .idle, .failed:
      if happens(4) { return happens(2) ? rest() : keys() }
      give(one([.trigger(.userRefresh), .want(.live), .want(.live), .want(twin.wish)]))
    case .held:
      give(
        twin.hold == .background ? .lifecycle(.foreground) : .reachability(one(Self.ways)))
    case .settling, .waiting: give(happens(5) ? .trigger(trigger()) : nil)
    case .refreshing:
      give(.credentials(happens(3) ? .refreshFailed : .available(expiresIn: life())))
    case .preparing: give(.prepared(name()))
    case .opening: give(.opened(name()))
    case .establishing: give(happens(4) ? .opened(name()) : .established(name()))
    case .ready: happenOnLine()
    case .resting:
      if let queued = twin.side.queued { give(.opened(queued)) } else { rest() }
    }
  }

  mutating func trigger() -> HeldLink.Trigger { one(HeldLink.Trigger.allCases) }

  /// Something comes on a connection.
  mutating func happenOnLine() {
    switch number(0...9) {
    case 0, 1: give(.heard(name()))
    case 2: give(.validData(name()))
    case 3...6:
      let late: [Duration] = [.zero, .milliseconds(200), .milliseconds(800), .seconds(1)]
      let end = now.advanced(by: one(late))
      if let due = link.deadline, due > end { skip(to: end) }
      give(.pong(name(), happens(9) ? one([ping + 1, ping &- 1]) : ping))
    case 7:
      give(.draining(name(), within: one([.seconds(-1), .zero, .seconds(1), .seconds(90)])))
    case 8: give(.trigger(trigger()))
    case _: give(.established(name()))
    }
  }

  /// A try fails, or a connection is lost.
  mutating func fail() {
    let failure = failure()
    give(happens(3) ? .reject(name(), failure) : .lost(name(), failure))
  }

  private static let codes: [UInt16] = [
    999, 1000, 1001, 1002, 1003, 1005, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 4401, 4403, 4409,
  ]

  private static let states = [
    302, 400, 401, 401, 403, 404, 410, 429, 499, 500, 503, 503, 599, 600,
  ]

  mutating func failure() -> LinkFailure {
    switch number(0...14) {
    case 0: return .unreachable(detail: "a")
    case 1: return .dns(detail: "b")
    case 2: return .refused
    case 3: return .timeout(one(LinkFailure.Phase.allCases))
    case 4: return .tls(.other, detail: "c")
    case 5: return .reset
    case 6: return .ended
    case 7, 8: return .closed(code: one(Self.codes), reason: "d")
    case 9: return .protocolError(detail: "e")
    case 10: return .proxy(detail: "f")
    case 11: return happens(2) ? .captivePortal : .local(detail: "g")
    case _:
      let wishes: [Duration?] = [nil, nil, nil, .seconds(-1), .zero, .seconds(1), .seconds(60)]
      return .http(status: one(Self.states), retryAfter: one(wishes), detail: "h")
    }
  }

  /// The user or the device changes something.
  mutating func change() {
    switch number(0...9) {
    case 0...2: give(.reachability(one(Self.ways)))
    case 3: give(.lifecycle(.background))
    case 4: give(.lifecycle(.foreground))
    case 5: give(twin.leavesAt != nil || happens(4) ? .flushed : .lifecycle(.background))
    case 6: give(.trigger(trigger()))
    case 7: give(.want(happens(4) ? .none : .standbyOnly))
    case 8: give(.want(.live))
    case _:
      // The number of the next attempt, or of one that began since.
      let number = happens(3) ? AttemptID(twin.lastAttempt) : link.nextAttempt
      give(.found(number, established: happens(2)))
    }
  }

  /// A poll or a request is answered.
  mutating func rest() {
    let failure = happens(2) ? failure() : nil
    if happens(3) { return give(.requested(failure)) }
    give(.polled(happens(9) ? poll - min(poll, 1) : poll, failure))
  }

  mutating func keys() {
    switch number(0...5) {
    case 0, 1: give(.credentials(.available(expiresIn: life())))
    case 2: give(.credentials(.refreshFailed))
    case 3: give(.credentials(.rejected))
    case 4: give(.credentials(.cleared))
    case _: give(.requested(.http(status: 401, retryAfter: nil, detail: "i")))
    }
  }
}
