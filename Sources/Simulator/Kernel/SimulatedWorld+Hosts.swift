import LinkCore

// Processes: launches, kills, suspension, servers that stop and start, and what an app is told.
extension SimulatedWorld where Self: ~Copyable {
  // Servers.

  /// Starts the process of a server, unless something keeps it down.
  mutating func start(_ server: HostID) {
    let host = kernel.hosts[server.place]
    guard host.process == .dead, host.downs.isEmpty, !host.conditions.isKilled
    else { return }
    kernel.hosts[server.place].process = .running
    kernel.hosts[server.place].run += 1
    kernel.hosts[server.place].calls = 0
    boot(server)
  }

  /// The process of a server dies at once, and stays away until the act ends.
  mutating func stop(_ server: HostID, for index: Int) {
    kernel.hosts[server.place].downs.append(index)
    halt(server)
  }

  private mutating func halt(_ server: HostID) {
    guard kernel.hosts[server.place].isRunning else { return }
    kernel.hosts[server.place].process = .dead
    kernel.hosts[server.place].doom = nil
    kernel.hosts[server.place].draining = nil
    kernel.hosts[server.place].calls = 0
    for phone in kernel.phones { kernel.hosts[phone.place].network.poolIsDead = true }
    writeLast(server)
    ended(server)
    for line in kernel.lines where line.to == server { serverDrops(line.number, .reset) }
    for exchange in kernel.exchanges where exchange.to == server && !exchange.isAbandoned {
      cut(exchange)
    }
  }

  /// A drain is over: the process ends and comes back when its act does.
  mutating func drained(_ server: HostID) {
    guard let index = kernel.hosts[server.place].draining else { return }
    stop(server, for: index)
  }

  // Phones.

  mutating func launch(_ phone: HostID) {
    let host = phone.place
    kernel.hosts[host].run += 1
    kernel.hosts[host].process = .running
    kernel.hosts[host].told = Host<Feature>.Told()
    kernel.hosts[host].held = []
    kernel.hosts[host].doom = nil
    kernel.hosts[host].calls = 0
    kernel.hosts[host].slept = .zero
    kernel.hosts[host].writing = []
    kernel.hosts[host].network.poolIsDead = false
    kernel.seams[phone.index].launched()
    boot(phone)
    lookAt(phone)
    note(.launched(phone, run: kernel.hosts[host].run), of: phone)
    tellAll(phone)
  }

  mutating func launchIfPossible(_ phone: HostID) {
    guard kernel.hosts[phone.place].process == .dead,
      !kernel.hosts[phone.place].conditions.isKilled,
      kernel.hosts[phone.place].downs.isEmpty, kernel.hosts[phone.place].suspending.isEmpty
    else { return }
    launch(phone)
  }

  mutating func tellAll() {
    for phone in kernel.phones { tellAll(phone) }
  }

  /// Tells the model what is so now and was not when it was told last.
  mutating func tellAll(_ phone: HostID) {
    let host = phone.place
    guard kernel.hosts[phone.place].isRunning else { return }
    let isFirst = kernel.hosts[host].told.lifecycle == nil
    let lifecycle = lifecycle(of: phone)
    if kernel.hosts[host].told.lifecycle != lifecycle {
      kernel.hosts[host].told.lifecycle = lifecycle
      kernel.hosts[host].network.poolIsDead = false
      inform(phone, of: .device(.lifecycle(lifecycle)))
    }
    let reachability = reachability(of: phone)
    if kernel.hosts[host].told.reachability != reachability {
      kernel.hosts[host].told.reachability = reachability
      kernel.hosts[host].network.poolIsDead = false
      inform(phone, of: .device(.reachability(reachability)))
    }
    tellApp(phone, isFirst: isFirst)
  }

  func lifecycle(of phone: HostID) -> Lifecycle {
    let host = kernel.hosts[phone.place]
    return host.conditions.isInBackground || !host.dozing.isEmpty ? .background : .foreground
  }

  func reachability(of phone: HostID) -> Reachability {
    let conditions = kernel.hosts[phone.place].conditions
    if conditions.isUnreachable { return .unreachable }
    if conditions.portal == .known { return .captivePortal }
    return .reachable(path: PathID("path-\(kernel.hosts[phone.place].network.path)"))
  }

  // Kills.

  /// What of the effects of a step is carried out: all of them, or some if the process is doomed to
  /// die between two. Call `die` behind them if it does.
  mutating func spared<Effect>(
    _ effects: [Effect], of host: HostID
  ) -> (effects: ArraySlice<Effect>, dies: Bool) {
    guard kernel.hosts[host.place].doom == .step, !effects.isEmpty else {
      return (effects[...], false)
    }
    let count = Int.random(in: 0...effects.count, using: &kernel.hosts[host.place].chance)
    return (effects.prefix(count), true)
  }

  /// The process dies soon: at once, between two effects, or with a change half way.
  mutating func doom(_ phone: HostID) {
    guard kernel.hosts[phone.place].process != .dead, kernel.hosts[phone.place].doom == nil else {
      return
    }
    let kind = kernel.hosts[phone.place].chance.next() % 4
    if kind == 0 || kernel.hosts[phone.place].process == .suspended {
      die(phone)
    } else {
      kernel.hosts[phone.place].doom = kind == 1 ? .durable : .step
      kernel.add(.dies(phone, run: kernel.hosts[phone.place].run), after: .seconds(1))
    }
  }

  /// What was in memory is gone. A change that the disk was writing is durable, or it is not.
  mutating func die(_ phone: HostID) {
    guard phone.kind == .phone else { return halt(phone) }
    let host = phone.place
    guard kernel.hosts[phone.place].process != .dead else { return }
    writeLast(phone)
    kernel.hosts[host].process = .dead
    kernel.hosts[host].doom = nil
    kernel.hosts[host].held = []
    kernel.hosts[host].calls = 0
    abandonRequests(of: phone)
    kernel.counts.kills += 1
    kernel.bench.views[phone.index].standing.deadline = nil
    ended(phone)
    // From the end, since a line that no host holds leaves the list.
    for index in kernel.lines.indices.reversed()
    where kernel.lines[index].from == phone && kernel.lines[index].phoneHolds {
      kernel.lines[index].phoneHolds = false
      sendHangUp(index, code: 1006)
    }
    note(.killed(phone), of: phone)
    // It is launched at once if no act says when it comes back.
    launchIfPossible(phone)
  }

  // Suspension.

  mutating func suspend(_ phone: HostID, for index: Int) {
    let host = phone.place
    guard kernel.active.contains(index), !kernel.hosts[host].suspending.contains(index) else {
      return
    }
    kernel.hosts[host].suspending.append(index)
    guard kernel.hosts[phone.place].isRunning else { return }
    kernel.hosts[host].process = .suspended
    kernel.hosts[host].suspendedAt = now
    for index in kernel.lines.indices where kernel.lines[index].from == phone { kill(index) }
    abandonRequests(of: phone)
    kernel.hosts[host].network.poolIsDead = true
    note(.suspended(phone), of: phone)
  }

  /// Suspends a process once the time is over that the system has granted it.
  mutating func suspendLater(_ phone: HostID, for index: Int) {
    let until = kernel.hosts[phone.place].runsUntil
    if now < until {
      kernel.queue.add(.suspends(index, phone), at: until)
    } else {
      suspend(phone, for: index)
    }
  }

  /// The system lets a process run in background for a while, as for an event of its radio: one
  /// that it has suspended goes on, and one that it has ended is launched.
  ///
  /// - Parameter acts: The acts for which it suspends the process again.
  mutating func summon(_ phone: HostID, for time: Duration, then acts: [Int]) {
    let host = phone.place
    kernel.hosts[host].runsUntil = now.advanced(by: time)
    guard kernel.hosts[host].process != .running else { return }
    let again = kernel.hosts[host].suspending + acts
    kernel.hosts[host].suspending = []
    for index in Set(again).sorted() {
      kernel.queue.add(.suspends(index, phone), at: kernel.hosts[host].runsUntil)
    }
    if kernel.hosts[host].process == .suspended { goOn(phone) } else { launch(phone) }
  }

  mutating func resume(_ phone: HostID) {
    guard kernel.hosts[phone.place].process == .suspended,
      kernel.hosts[phone.place].suspending.isEmpty
    else { return }
    goOn(phone)
    inform(phone, of: .device(.woke))
    // Of some sockets the system says that they are gone; others just stay silent.
    let run = kernel.hosts[phone.place].run
    for line in kernel.lines where line.phoneHolds && line.from == phone && line.run == run {
      if kernel.hosts[phone.place].chance.next() % 2 == 0 {
        kernel.add(.breaks(line.number, .reset), after: .milliseconds(20))
      }
    }
  }

  /// The timers of a suspended process run again, and it hears what it missed.
  private mutating func goOn(_ phone: HostID) {
    let host = phone.place
    kernel.hosts[host].process = .running
    if kernel.seams[phone.index].defect == .timersStopAsleep {
      kernel.hosts[host].slept += kernel.hosts[host].suspendedAt.duration(to: now)
      lookAt(phone)
    }
    note(.resumed(phone), of: phone)
    let held = kernel.hosts[host].held
    kernel.hosts[host].held = []
    for cue in held { take(cue, on: phone) }
    tellAll(phone)
    kernel.hosts[host].network.poolIsDead = false
  }

  // Disks: durable first, then told, so that a kill may fall between the two.

  /// Writes a change, unless the disk refuses: `makeDurable` is called when it is durable, and what
  /// that returns is told a moment later.
  mutating func write(_ change: Feature.Cue, on host: HostID, after delay: Duration? = nil) {
    switch kernel.hosts[host.place].conditions.disk {
    case .full, .locked:
      let isFull = kernel.hosts[host.place].conditions.disk == .full
      if isFull { tear(change, on: host) }
      let cue = refusedChange(change, isFull: isFull)
      kernel.answerLater(cue, to: host, after: .milliseconds(2))
    case .works, .slow:
      let time = diskDelay(host)
      kernel.lastWrite += 1
      let number = kernel.lastWrite
      kernel.hosts[host.place].calls += 1
      kernel.hosts[host.place].writing.append((number, change))
      kernel.add(.durable(host, number), after: delay ?? time)
    }
  }

  /// How long a call of the disk takes.
  mutating func diskDelay(_ host: HostID) -> Duration {
    switch kernel.hosts[host.place].conditions.disk {
    case .works, .full, .locked: .milliseconds(2)
    case .slow: .seconds(1) + kernel.hosts[host.place].chance.duration(below: .seconds(4))
    }
  }

  /// A change that is still being written becomes durable; when the process ended, it was settled
  /// what becomes of it.
  mutating func becomeDurable(_ number: UInt64, on host: HostID) {
    let writing = kernel.hosts[host.place].writing
    guard let place = writing.firstIndex(where: { $0.number == number }) else { return }
    let change = kernel.hosts[host.place].writing.remove(at: place).cue
    kernel.hosts[host.place].calls -= 1
    let answer = makeDurable(change, on: host)
    if kernel.hosts[host.place].doom == .durable {
      die(host)
    } else if let answer {
      kernel.answerLater(answer, to: host, after: .milliseconds(1))
    }
  }

  /// A process ends while the disk writes: some of the changes, from the first on, become durable;
  /// the next one may be there in part.
  private mutating func writeLast(_ host: HostID) {
    let writing = kernel.hosts[host.place].writing
    kernel.hosts[host.place].writing = []
    guard keepsLastWrites(host) else { return }
    for (_, change) in writing {
      guard kernel.hosts[host.place].chance.next() % 2 == 0 else {
        return tear(change, on: host)
      }
      _ = makeDurable(change, on: host)
    }
  }

  /// A cue for a process; the disk goes on while that is suspended, and is heard later.
  mutating func answer(_ cue: Feature.Cue, to host: HostID) {
    guard kernel.hosts[host.place].process != .dead else { return }
    kernel.hosts[host.place].calls -= 1
    if kernel.hosts[host.place].process == .suspended {
      kernel.hosts[host.place].held.append(cue)
    } else {
      take(cue, on: host)
    }
  }
}
