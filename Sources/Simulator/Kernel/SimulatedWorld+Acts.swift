import LinkCore

// The plan: what begins, what ends, and what each verb of the kernel does.
extension SimulatedWorld where Self: ~Copyable {
  mutating func begin(_ index: Int) {
    let act = kernel.plan.acts[index].act
    kernel.counts.acts[act.name, default: 0] += 1
    if let span = lasting(act) {
      kernel.active.append(index)
      kernel.add(.ends(index), after: span)
    }
    let before = kernel.hosts.map(\.conditions)
    recompute()
    note(.began(act))
    cut(before)
    switch act.verb {
    case .common(let verb): begin(verb, act, index)
    case .own(let verb): begin(verb, act, index)
    }
    tellAll()
  }

  mutating func end(_ index: Int) {
    guard let place = kernel.active.firstIndex(of: index) else { return }
    kernel.active.remove(at: place)
    for host in kernel.hosts.indices {
      kernel.hosts[host].suspending.removeAll { $0 == index }
      kernel.hosts[host].dozing.removeAll { $0 == index }
      // Calm does not wait for a drain.
      if kernel.hosts[host].draining == index { stop(kernel.hosts[host].id, for: index) }
      kernel.hosts[host].downs.removeAll { $0 == index }
    }
    let before = kernel.hosts.map(\.conditions)
    recompute()
    let act = kernel.plan.acts[index].act
    note(.ended(act))
    cut(before)
    end(act, index)
    for host in kernel.hosts where host.id.kind != .phone { start(host.id) }
    for phone in kernel.phones { resume(phone) }
    tellAll()
    for phone in kernel.phones { launchIfPossible(phone) }
  }

  /// How long an act lasts in this run; a handover may leave a moment without any way.
  private mutating func lasting(_ act: Act<Feature.Verb>) -> Duration? {
    guard act.verb == .common(.handover) else { return act.lasting }
    guard kernel.chance.next() % 2 == 0 else { return nil }
    return .milliseconds(200) + kernel.chance.duration(below: .seconds(3))
  }

  /// Projects the acts under way onto the conditions of each host.
  mutating func recompute() {
    for host in kernel.hosts.indices {
      kernel.hosts[host].conditions = Conditions(kernel.weather)
    }
    for index in kernel.active {
      let act = kernel.plan.acts[index].act
      for host in targets(of: act) {
        switch act.verb {
        case .common(let verb): kernel.hosts[host.place].conditions.add(verb, of: act)
        case .own: Self.impose(act, on: &kernel.hosts[host.place].conditions)
        }
      }
    }
  }

  /// What a change of conditions does to connections.
  private mutating func cut(_ before: [Conditions]) {
    for phone in kernel.phones {
      let (old, new) = (before[phone.place], kernel.hosts[phone.place].conditions)
      let isCut = new.isUnreachable && !old.isUnreachable
      let isCaught = new.portal != nil && old.portal == nil
      if isCut || isCaught { loseConnections(of: phone) }
      if old.isHole, !new.isHole {
        let until = kernel.hosts[phone.place].network.holeUntil
        kernel.hosts[phone.place].network.holeUntil = min(until, now)
      }
    }
  }

  private mutating func begin(_ verb: CommonVerb, _ act: Act<Feature.Verb>, _ index: Int) {
    for host in targets(of: act) { begin(verb, act, index, on: host) }
  }

  private mutating func begin(
    _ verb: CommonVerb, _ act: Act<Feature.Verb>, _ index: Int, on host: HostID
  ) {
    switch verb {
    case .suspend:
      if act.span > .seconds(5) { kernel.add(.suspends(index, host), after: .seconds(5)) }
    case .sleep: sleep(host, index)
    case .kill: doom(host)
    case .wallClock, .serverClock: kernel.hosts[host.place].wallOffset += act.time
    case .reset: resetAll(of: host)
    case .flap:
      for line in kernel.lines where line.from == host { reset(line, after: kernel.delay()) }
    case .halfOpen: loseConnections(of: host)
    case .blackHole: swallow(host, for: act.span)
    case .handover:
      kernel.hosts[host.place].network.path += 1
      loseConnections(of: host)
    case .mappingExpired: expireMappings(of: host)
    case .crash: stop(host, for: index)
    case .deploy: deploy(host, index)
    case .close: closeSockets(of: host, act.number)
    case .background, .dialsFail, .unreachable, .captivePortal, .narrow, .waver, .restStatus,
      .upgradeStatus, .busy, .slowStore, .storeFull, .storeLocked, .storeSlow:
      return  // conditions say it all
    }
  }

  private mutating func sleep(_ host: HostID, _ index: Int) {
    if kernel.hosts[host.place].chance.next() % 2 == 0 {
      kernel.hosts[host.place].dozing.append(index)
      kernel.add(.suspends(index, host), after: .milliseconds(500))
    } else {
      suspend(host, for: index)
    }
  }

  private mutating func swallow(_ host: HostID, for span: Duration) {
    let until = max(kernel.hosts[host.place].network.holeUntil, now.advanced(by: span))
    kernel.hosts[host.place].network.holeUntil = until
    // TCP outlives a short hole; what was sent is sent again behind it.
    if span > .seconds(20) {
      for index in kernel.lines.indices where kernel.lines[index].from == host { kill(index) }
    }
    loseRequests(of: host)
  }

  /// Routers forget what was idle for a minute.
  private mutating func expireMappings(of host: HostID) {
    for index in kernel.lines.indices
    where kernel.lines[index].from == host
      && kernel.lines[index].lastUsed.duration(to: now) > .seconds(60)
    {
      kill(index)
    }
    if kernel.hosts[host.place].network.lastRequest.duration(to: now) > .seconds(60) {
      kernel.hosts[host.place].network.poolIsDead = true
    }
  }

  private mutating func resetAll(of host: HostID) {
    let wait = kernel.delay()
    for line in kernel.lines where line.from == host { reset(line, after: wait) }
    for exchange in kernel.exchanges
    where carrier(of: exchange.from) == host && !exchange.isAbandoned {
      cut(exchange)
    }
  }

  private mutating func deploy(_ server: HostID, _ index: Int) {
    if kernel.hosts[server.place].isRunning {
      kernel.hosts[server.place].draining = index
      drain(server, within: .seconds(10))
    } else {
      kernel.hosts[server.place].downs.append(index)
    }
  }

  private mutating func closeSockets(of server: HostID, _ number: Int) {
    let code = UInt16(clamping: number)
    for line in kernel.lines where line.to == server && line.serverHolds {
      send(.failed(.closed(code: code, reason: "")), bytes: 60, over: line.number)
      kernel.add(.hungUp(line.number, code: code), after: kernel.delay())
    }
  }

  // Calm.

  /// All trouble ends.
  mutating func calm() {
    for host in kernel.hosts.indices { kernel.hosts[host].doom = nil }
    for index in kernel.active { end(index) }
    kernel.weather.loss = 0
    kernel.weather.slow = 0
    kernel.weather.twice = 0
    kernel.weather.delay = .milliseconds(25)
    kernel.weather.jitter = .milliseconds(25)
    kernel.weather.bandwidth = 0
    for phone in kernel.phones {
      let until = kernel.hosts[phone.place].network.holeUntil
      kernel.hosts[phone.place].network.holeUntil = min(until, now)
      kernel.hosts[phone.place].network.poolIsDead = false
    }
    prepareCalm()
    recompute()
    for host in kernel.ids where kernel.hosts[host.place].process == .dead {
      if host.kind == .phone { launch(host) } else { start(host) }
    }
    note(.calm)
    tellAll()
    becomeCalm()
  }
}
