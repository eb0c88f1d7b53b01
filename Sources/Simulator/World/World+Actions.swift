import LinkCore
import LinkServerCore
import LinkWire
import MessageStream

// The plan: what begins, what ends, and what each action does.
extension World {
  mutating func begin(_ index: Int) {
    let action = plan.actions[index].action
    counts.actions[action.name, default: 0] += 1
    if let span = span(of: action) {
      active.append(index)
      queue.add(.ends(index), at: now.advanced(by: span))
    }
    let before = conditions
    recompute()
    happen(.began(action))
    lose(before)
    act(action, index)
    tellAll()
  }

  mutating func end(_ index: Int) {
    guard let place = active.firstIndex(of: index) else { return }
    active.remove(at: place)
    suspending.removeAll { $0 == index }
    dozing.removeAll { $0 == index }
    // Calm does not wait for a drain.
    if backend.draining == index { stopServer(for: index) }
    backend.downs.removeAll { $0 == index }
    if backend.deadlyPost == index { backend.deadlyPost = nil }
    let before = conditions
    recompute()
    happen(.ended(plan.actions[index].action))
    lose(before)
    if !before.isMember, conditions.isMember, backend.isRunning { feed(.removals([])) }
    startServer()
    resume()
    tellAll()
    launchIfPossible()
  }

  /// How long an action lasts in this run; a handover may leave a moment without any way.
  private mutating func span(of action: Action) -> Duration? {
    guard action == .handover else { return action.span }
    guard network.chance.next() % 2 == 0 else { return nil }
    return .milliseconds(200) + network.chance.duration(below: .seconds(3))
  }

  func recomputed() -> Conditions {
    var new = Conditions(weather)
    for index in active { new.add(plan.actions[index].action) }
    return new
  }

  mutating func recompute() { conditions = recomputed() }

  /// What a change of conditions does to connections.
  private mutating func lose(_ before: Conditions) {
    let isCut = conditions.isUnreachable && !before.isUnreachable
    let isCaught = conditions.portal != nil && before.portal == nil
    if isCut || isCaught { loseConnections() }
    if before.isHole, !conditions.isHole { network.holeUntil = min(network.holeUntil, now) }
  }

  /// Whatever stands or is under way leads nowhere any more.
  mutating func loseConnections() {
    for index in network.lines.indices { kill(line: index) }
    loseRequests()
    network.poolIsDead = true
  }

  private mutating func act(_ action: Action, _ index: Int) {
    switch action {
    case .others(let count): othersPost(count)
    case .send: if isInHand { send() }
    case .loadOlder: if isInHand { give(.loadOlder) }
    case .pullToRefresh: if isInHand { give(.refresh) }
    case .retryFailed: if isInHand { retryFailed() }
    case .suspend(let span):
      if span > .seconds(5) { queue.add(.suspends(index), at: now.advanced(by: .seconds(5))) }
    case .sleep: sleep(index)
    case .kill: doom()
    case .wallClock(let span): phone.wallOffset += span
    case .reset: resetAll()
    case .flap: for line in network.lines { reset(line, after: network.delay(weather)) }
    case .halfOpen: loseConnections()
    case .blackHole(let span): swallow(for: span)
    case .handover:
      network.path += 1
      loseConnections()
    case .mappingExpired: expireMappings()
    case .crash: stopServer(for: index)
    case .deploy: deploy(index)
    case .beginAnew(let count): beginAnew(keeping: count, index)
    case .trim(let count): backend.log.trim(keeping: count)
    case .dieAfterNextPost: backend.deadlyPost = index
    case .revokeTokens(let refresh):
      backend.revoked = backend.newestToken
      phone.refresh = refresh
    case .removeMember: if backend.isRunning { feed(.removed(membership)) }
    case .oversizedFrame: postLarge()
    case .malformedFrames(let count): sendMalformed(count)
    case .close(let code): closeSockets(code)
    case .serverClock(let span): backend.wallOffset += span
    case .background, .leaveScreen, .realtimeOff, .slowReader, .dialsFail, .unreachable,
      .captivePortal, .narrow,
      .restStatus, .upgradeStatus, .slowStore, .storeFull, .storeLocked, .storeSlow:
      return  // conditions say it all
    }
  }

  // People.

  /// Whether the user can touch the shop's screen now.
  var isInHand: Bool {
    phone.process == .running && !conditions.isInBackground && conditions.isOpen
  }

  private mutating func send() {
    phone.sent += 1
    give(.send(text: "own \(phone.sent)", parent: nil, at: phoneWall))
  }

  /// The user taps all that could not be sent.
  mutating func retryFailed() {
    for entry in facts.disk.outbox {
      if case .failed = entry.state { give(.retry(entry.id)) }
    }
  }

  // The phone.

  private mutating func sleep(_ index: Int) {
    if phone.chance.next() % 2 == 0 {
      dozing.append(index)
      queue.add(.suspends(index), at: now.advanced(by: .milliseconds(500)))
    } else {
      suspend(for: index)
    }
  }

  // The network.

  private mutating func swallow(for span: Duration) {
    network.holeUntil = max(network.holeUntil, now.advanced(by: span))
    // TCP outlives a short one; what was sent is sent again behind it.
    if span > .seconds(20) { for index in network.lines.indices { kill(line: index) } }
    loseRequests()
  }

  /// Routers forget what was idle for a minute.
  private mutating func expireMappings() {
    for index in network.lines.indices
    where network.lines[index].lastUsed.duration(to: now) > .seconds(60) {
      kill(line: index)
    }
    if network.lastRequest.duration(to: now) > .seconds(60) { network.poolIsDead = true }
  }

  private mutating func resetAll() {
    let wait = network.delay(weather)
    for line in network.lines { reset(line, after: wait) }
    for exchange in network.exchanges where !exchange.isAbandoned { cut(exchange) }
  }

  mutating func reset(_ line: Line, after wait: Duration) {
    guard !line.isDead else { return }
    if line.phoneHolds { queue.add(.breaks(line.number, .reset), at: now.advanced(by: wait)) }
    if line.serverHolds {
      queue.add(.hungUp(line.number, code: 1006), at: now.advanced(by: wait))
    }
  }

  // The server.

  private mutating func deploy(_ index: Int) {
    if backend.isRunning {
      backend.draining = index
      feed(.drain(within: .seconds(10)))
    } else {
      backend.downs.append(index)
    }
  }

  private mutating func beginAnew(keeping count: Int, _ index: Int) {
    stopServer(for: index)
    backend.log.beginAnew(keeping: count)
    happen(.beganAnew(epoch: backend.log.epoch, kept: backend.log.messages))
  }

  /// Others post something that is too large for the phone's sockets.
  private mutating func postLarge() {
    guard backend.isRunning else { return }
    backend.isNextOversized = true
    post(text: "large \(backend.said + 1)")
  }

  private mutating func sendMalformed(_ count: Int) {
    let texts = ["{\"type\":", "no message", "{\"id\":5,\"shop_id\":\"x\"}", "[]"]
    for number in 0..<max(0, count) {
      for line in network.lines where line.serverHolds {
        deliver(.text(Array(texts[number % 4].utf8)), bytes: 30, over: line.number)
      }
    }
  }

  private mutating func closeSockets(_ code: UInt16) {
    for line in network.lines where line.serverHolds {
      deliver(.failed(.closed(code: code, reason: "")), bytes: 60, over: line.number)
      let wait = network.delay(weather)
      queue.add(.hungUp(line.number, code: code), at: now.advanced(by: wait))
    }
  }
}
