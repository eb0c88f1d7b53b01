import LinkCore
import LinkWire
import MessageStream

// The phone's system: launches, kills, suspends, and tells the app how things are.
extension World {
  mutating func launch() {
    phone.run += 1
    phone.process = .running
    phone.told = Phone.Told()
    phone.held = []
    phone.doom = nil
    phone.calls = 0
    phone.slept = .zero
    phone.writing = nil
    network.poolIsDead = false
    screen = Screen(awaited: screen.awaited)
    if shadow != nil { shadow = facts.disk }
    seam.launched()
    client = Client(settings: settings, seed: phone.chance.next())
    look()
    happen(.launched(run: phone.run))
    tellAll()
  }

  /// Tells the client what is so now and was not when it was told last.
  mutating func tellAll() {
    guard phone.process == .running else { return }
    let isFirst = phone.told.lifecycle == nil
    let lifecycle: Lifecycle =
      conditions.isInBackground || !dozing.isEmpty ? .background : .foreground
    if phone.told.lifecycle != lifecycle {
      phone.told.lifecycle = lifecycle
      network.poolIsDead = false
      give(.lifecycle(lifecycle, at: phoneWall))
    }
    if phone.told.reachability != reachability {
      phone.told.reachability = reachability
      network.poolIsDead = false
      give(.reachability(reachability))
    }
    if isFirst, phone.isSignedIn { giveToken() }
    if phone.told.isRealtime != conditions.isRealtime {
      phone.told.isRealtime = conditions.isRealtime
      give(.realtime(conditions.isRealtime))
    }
    if phone.told.isReaderSlow != conditions.isReaderSlow {
      phone.told.isReaderSlow = conditions.isReaderSlow
      give(.reader(isBehind: conditions.isReaderSlow))
    }
    if phone.told.isOpen != conditions.isOpen {
      phone.told.isOpen = conditions.isOpen
      give(conditions.isOpen ? .open(at: phoneWall) : .close)
    }
  }

  var reachability: Reachability {
    if conditions.isUnreachable { return .unreachable }
    if conditions.portal == .known { return .captivePortal }
    return .reachable(path: PathID("path-\(network.path)"))
  }

  /// The shell reads in the token whose it is, and says so first.
  private mutating func giveToken() {
    give(.user("me"))
    give(.credentials(.available(expiresIn: tokenLife)))
  }

  /// How long the phone believes that its token lives: by its own clock.
  var tokenLife: Duration { phoneWall.duration(to: phone.token.expiresAt) }

  // Kills.

  /// The process dies soon: at once, between two effects, or with a change half way.
  mutating func doom() {
    guard phone.process != .dead, phone.doom == nil else { return }
    let kind = phone.chance.next() % 4
    if kind == 0 || phone.process == .suspended {
      die()
    } else {
      phone.doom = kind == 1 ? .durable : .step
      queue.add(.dies(run: phone.run), at: now.advanced(by: .seconds(1)))
    }
  }

  /// What was in memory is gone. A change that the disk was working on is durable, or it is not.
  mutating func die() {
    guard phone.process != .dead else { return }
    if let writing = phone.writing, shadow == nil, phone.chance.next() % 2 == 0 {
      makeDurable(writing.change)
    }
    phone.process = .dead
    phone.doom = nil
    phone.writing = nil
    phone.held = []
    phone.calls = 0
    abandonRequests()
    counts.kills += 1
    facts.deadline = nil
    // From the end, since a line that nobody holds any more leaves the list.
    for index in network.lines.indices.reversed() where network.lines[index].phoneHolds {
      network.lines[index].phoneHolds = false
      sendHangUp(index, code: 1006)
    }
    happen(.killed)
    // Nobody waits for it where no plan says when it comes back.
    if !conditions.isKilled { launchIfPossible() }
  }

  mutating func launchIfPossible() {
    guard phone.process == .dead, !conditions.isKilled, suspending.isEmpty else { return }
    launch()
  }

  // Suspension.

  mutating func suspend(for index: Int) {
    guard active.contains(index), !suspending.contains(index) else { return }
    suspending.append(index)
    guard phone.process == .running else { return }
    phone.process = .suspended
    phone.suspendedAt = now
    for index in network.lines.indices { kill(line: index) }
    abandonRequests()
    network.poolIsDead = true
    happen(.suspended)
  }

  mutating func resume() {
    guard phone.process == .suspended, suspending.isEmpty else { return }
    phone.process = .running
    if seam.timersStopAsleep {
      phone.slept += phone.suspendedAt.duration(to: now)
      look()
    }
    happen(.resumed)
    let held = phone.held
    phone.held = []
    for input in held { give(input) }
    tellAll()
    network.poolIsDead = false
    give(.woke(at: phoneWall))
    // Of some sockets the system says that they are gone; others just stay silent.
    for line in network.lines where line.phoneHolds && line.run == phone.run {
      if phone.chance.next() % 2 == 0 {
        queue.add(.breaks(line.number, .reset), at: now.advanced(by: .milliseconds(20)))
      }
    }
  }

  // Tokens.

  mutating func refresh() {
    var outcome = phone.isSignedIn ? phone.refresh : .isRefused
    guard outcome != .hangs else {
      phone.refresh = .works
      return
    }
    phone.calls += 1
    var wait = network.delay(weather) + network.delay(weather)
    if conditions.isUnreachable || conditions.portal != nil {
      outcome = .fails
    } else if conditions.isHole {
      (outcome, wait) = (.fails, .seconds(12))
    }
    queue.add(.refreshed(run: phone.run, outcome), at: now.advanced(by: wait))
  }

  mutating func refreshed(_ outcome: Action.Refresh) {
    phone.calls -= 1
    guard phone.process == .running else { return }
    switch outcome {
    case .works:
      newToken()
      giveToken()
    case .fails:
      phone.refresh = .works
      give(.credentials(.refreshFailed))
    case .isRefused:
      phone.refresh = .works
      if phone.isSignedIn {
        phone.isSignedIn = false
        signInSoon()
      }
      give(.credentials(.rejected))
    case .hangs: return  // was never answered
    }
  }

  mutating func newToken() {
    backend.newestToken += 1
    phone.token = Token(
      number: backend.newestToken, expiresAt: serverWall.advanced(by: weather.tokenLife))
    facts.secrets.append(phone.token.secret)
  }

  private mutating func signInSoon() {
    let wait = Duration.seconds(20) + phone.chance.duration(below: .seconds(70))
    queue.add(.signsIn, at: now.advanced(by: wait))
  }

  /// The app says that only its user can go on from here.
  mutating func askToSignIn() {
    guard !phone.isAskedToSignIn else { return }
    phone.isAskedToSignIn = true
    if phone.isSignedIn { signInSoon() }
  }

  /// The user signs in once they look at the app.
  mutating func signIn() {
    guard !phone.isSignedIn || phone.isAskedToSignIn else { return }
    guard phone.process == .running, !conditions.isInBackground else {
      queue.add(.signsIn, at: now.advanced(by: .seconds(20)))
      return
    }
    phone.isSignedIn = true
    phone.isAskedToSignIn = false
    newToken()
    giveToken()
  }
}
