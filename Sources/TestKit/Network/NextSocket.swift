/// The waits for the next socket of a client.
extension FakeNetwork {
  /// Returns the next socket that the client opens. The test accepts, rejects or fails it.
  ///
  /// - Parameter limit: The maximum real time of the wait.
  /// - Throws: An error that states what the client waits for.
  public func nextSocket(
    within limit: Duration = WaitFailure.usualLimit
  ) async throws(WaitFailure) -> FakeSocket {
    try await sockets.next(within: limit)
  }

  /// Advances the clock from deadline to deadline until the client opens a socket, and returns the
  /// socket.
  ///
  /// This passes waits whose length the test does not know, such as a back-off with jitter. The
  /// clock stops at the instant at which the client opens the socket. After each deadline, the call
  /// waits until the client waits for the clock again, but at most two seconds of real time.
  ///
  /// - Parameters:
  ///   - clock: The clock of this network and of the client.
  ///   - limit: The maximum real time of the wait.
  /// - Throws: An error that states what the client waits for. It is also thrown after 100
  ///   deadlines, for example because the client is still connected and only sends pings.
  public func nextSocket(
    advancing clock: TestClock, within limit: Duration = WaitFailure.usualLimit
  ) async throws(WaitFailure) -> FakeSocket {
    try await sockets.next(advancing: clock, activity, within: limit)
  }
}

extension FakeSocket {
  /// Advances the clock from deadline to deadline until the client acts on this socket, and returns
  /// the action.
  ///
  /// This passes waits whose length the test does not know, or whose beginning it cannot observe,
  /// such as the time for which an app in the background stays connected.
  ///
  /// - Parameters:
  ///   - clock: The clock of the network and of the client.
  ///   - limit: The maximum real time of the wait.
  /// - Throws: An error that states what the client waits for, as `nextSocket(advancing:within:)`
  ///   does, or that the socket has ended.
  public func nextAction(
    advancing clock: TestClock, within limit: Duration = WaitFailure.usualLimit
  ) async throws(WaitFailure) -> ClientAction {
    try await actions.next(advancing: clock, activity, within: limit)
  }
}

/// The limits of the waits that advance a clock.
private enum Advancing {
  /// The maximum number of deadlines to which one call advances the clock.
  static let mostDeadlines = 100
  /// The real time after which a client that has not begun a new wait counts as idle.
  ///
  /// This happens if a task that waits only once was resumed, such as a time-out.
  static let settleTime = Duration.seconds(2)
  /// The number of times that the client's tasks may run before the clock is advanced.
  static let yields = 100
}

extension Mailbox {
  /// Advances the clock from deadline to deadline until the client puts a value into this mailbox.
  fileprivate func next(
    advancing clock: TestClock, _ activity: NetworkActivity, within limit: Duration
  ) async throws(WaitFailure) -> Element {
    let end = ContinuousClock.now.advanced(by: limit)
    var reason = WaitFailure.Reason.timeLimit(limit)
    var known = activity.lastDelivery
    var passed = 0
    while true {
      let left = ContinuousClock.now.duration(to: end)
      guard left > .zero, !Task.isCancelled else { break }
      if let element = await nextBeforeWait(on: clock, since: known, within: left) {
        return element
      }
      if isClosed {
        if let element = take() { return element }
        reason = .closed
        break
      }
      // A client sets the deadlines of a new connection after it has opened the socket. They are
      // read first, so that the clock cannot pass an opening.
      guard let deadline = clock.deadlines.first else { continue }
      if let element = take() { return element }
      guard passed < Advancing.mostDeadlines else {
        reason = .deadlines(passed)
        break
      }
      known = clock.advanceFromLastTicket(to: deadline)
      passed += 1
    }
    if Task.isCancelled { reason = .cancelled }
    throw failure(reason)
  }

  /// Returns the next value, or `nil` once the client has begun a new wait or counts as idle.
  private func nextBeforeWait(
    on clock: TestClock, since ticket: UInt64, within limit: Duration
  ) async -> Element? {
    // Without a deadline, there is nothing to advance to.
    let pause = clock.deadlines.isEmpty ? limit : min(limit, Advancing.settleTime)
    let element: Element? = await firstResult(
      within: pause,
      of: { await self.next() },
      or: {
        await clock.someoneWaits(since: ticket)
        return nil
      })
    if let element { return element }
    // A client that was told something by other means, such as a change of the network, has no new
    // wait yet.
    for _ in 0..<Advancing.yields {
      if let element = take() { return element }
      await Task.yield()
    }
    return nil
  }
}
