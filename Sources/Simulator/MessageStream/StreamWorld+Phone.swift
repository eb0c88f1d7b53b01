import LinkCore
import LinkWire
import MessageStream

// The phone: its app, its user, its store and its tokens.
extension StreamWorld {
  // The app.

  mutating func tellApp(_ host: HostID, isFirst: Bool) {
    if isFirst, kernel.hosts[host.place].isSignedIn { giveToken() }
    let isRealtime = !isUnderWay(.realtimeOff)
    if phone.told.isRealtime != isRealtime {
      phone.told.isRealtime = isRealtime
      give(.realtime(isRealtime), to: host)
    }
    let isReaderSlow = isUnderWay(.slowReader)
    if phone.told.isReaderSlow != isReaderSlow {
      phone.told.isReaderSlow = isReaderSlow
      give(.reader(isBehind: isReaderSlow), to: host)
    }
    let isOpen = !isUnderWay(.leaveScreen)
    if phone.told.isOpen != isOpen {
      phone.told.isOpen = isOpen
      give(isOpen ? .open(at: phoneWall) : .close, to: host)
    }
  }

  /// The user looks at the shop, and wants to see it live; the client was told so.
  func isWanted(_ host: HostID) -> Bool {
    phone.told.isOpen && phone.told.isRealtime
      && kernel.hosts[host.place].told.lifecycle == .foreground
  }

  mutating func look(_ host: HostID) {
    (kernel.bench.views[0].standing.own.isWhole, kernel.bench.views[0].standing.own.backlog) =
      clients[0].holdings()
  }

  /// Whether the user can touch the shop's screen now.
  var isInHand: Bool {
    let host = kernel.hosts[phoneID.place]
    return host.isRunning && !host.conditions.isInBackground && !isUnderWay(.leaveScreen)
  }

  mutating func send() {
    phone.sent += 1
    give(.send(text: "own \(phone.sent)", parent: nil, at: phoneWall), to: phoneID)
  }

  /// The user taps all that could not be sent.
  mutating func retryFailed() {
    for entry in disk.outbox {
      if case .failed = entry.state { give(.retry(entry.id), to: phoneID) }
    }
  }

  // Effects.

  mutating func perform(_ effect: StreamModel.Effect, of host: HostID) {
    switch effect {
    case .open(let attempt, let after):
      dial(host, attempt, to: server, hello: .init(after: after, token: phone.token))
    case .close(let attempt, let code): hangUp(host, attempt, code: code)
    case .ping(let attempt, let id): send(host, attempt, ping: id)
    case .refreshCredentials: refresh()
    case .fetch(let id, let query): ask(.fetch(id, query))
    case .post(let entry, let number): ask(.post(entry, try: number))
    case .load(let limit):
      read(.loaded((shadow ?? disk).load(limit: limit)), or: { .loadFailed($0) })
    case .commit(let id, let change): commit(id, change)
    case .readOlder(let key, let limit):
      read(.older((shadow ?? disk).older(than: key, limit: limit)), or: { .olderFailed($0) })
    case .update(let update): show(update)
    }
  }

  private mutating func show(_ update: StreamUpdate) {
    switch update {
    case .messages(let messages, _):
      kernel.counts[.shown] += messages.count
      if let awaited = screen.awaited, messages.contains(where: { $0.text == awaited }) {
        screen.awaited = nil
      }
    case .history(let hasMore):
      screen.hasMore = hasMore
      screen.histories += 1
    case .notice(.signIn): askToSignIn()
    case .status, .edited, .gap, .gapClosed, .outbox, .outboxDone, .notice: return
    }
  }

  // The store.

  private mutating func read(
    _ answer: StreamModel.Input, or failed: (StoreFailure) -> StreamModel.Input
  ) {
    let isLocked = kernel.hosts[phoneID.place].conditions.disk == .locked
    let input = isLocked ? failed(.locked(detail: "the device is locked")) : answer
    let wait = diskDelay(phoneID)
    kernel.answerLater(.input(input), to: phoneID, after: wait)
  }

  private mutating func commit(_ id: CommitID, _ change: TimelineChange) {
    let disk = kernel.hosts[phoneID.place].conditions.disk
    guard var early = shadow, disk == .works || disk == .slow else {
      return write(.change(id, change), on: phoneID)
    }
    let answer = seam.stored(early.commit(change), of: change)
    shadow = early
    kernel.answerLater(.input(.committed(id, answer)), to: phoneID, after: .milliseconds(1))
    write(.change(id, change), on: phoneID, after: .seconds(2))
  }

  mutating func makeDurable(
    _ change: StreamFeature.Cue, on host: HostID
  ) -> StreamFeature.Cue? {
    guard case .change(let id, let change) = change else { return nil }
    let commit = kernel.bench.views[0].standing.own.disk.commit(change)
    note(.stored(change, commit))
    guard shadow == nil else { return nil }
    return .input(
      .committed(id, kernel.setup.defect != nil ? seam.stored(commit, of: change) : commit))
  }

  func keepsLastWrites(_ host: HostID) -> Bool { shadow == nil }

  func refusedChange(_ change: StreamFeature.Cue, isFull: Bool) -> StreamFeature.Cue {
    guard case .change(let id, _) = change else { return change }
    let failure: StoreFailure =
      isFull ? .full(detail: "no space left") : .locked(detail: "the device is locked")
    return .input(.commitFailed(id, failure))
  }

  // Tokens.

  /// The shell reads in the token whose it is, and says so first.
  private mutating func giveToken() {
    give(.user("me"), to: phoneID)
    // How long the phone believes that it lives: by its own clock.
    let life = phoneWall.duration(to: phone.token.expiresAt)
    give(.credentials(.available(expiresIn: life)), to: phoneID)
  }

  private mutating func refresh() {
    let host = kernel.hosts[phoneID.place]
    var outcome = host.isSignedIn ? phone.refresh : .isRefused
    guard outcome != .hangs else {
      phone.refresh = .works
      return
    }
    kernel.hosts[phoneID.place].calls += 1
    var wait = kernel.roundTrip()
    if host.conditions.isUnreachable || host.conditions.portal != nil {
      outcome = .fails
    } else if host.conditions.isHole {
      (outcome, wait) = (.fails, .seconds(12))
    }
    kernel.later(.refreshed(outcome), on: phoneID, after: wait)
  }

  mutating func refreshed(_ outcome: TokenRefresh) {
    kernel.hosts[phoneID.place].calls -= 1
    guard kernel.hosts[phoneID.place].isRunning else { return }
    switch outcome {
    case .works:
      newToken()
      giveToken()
    case .fails:
      phone.refresh = .works
      give(.credentials(.refreshFailed), to: phoneID)
    case .isRefused:
      phone.refresh = .works
      if kernel.hosts[phoneID.place].isSignedIn {
        kernel.hosts[phoneID.place].isSignedIn = false
        signInSoon()
      }
      give(.credentials(.rejected), to: phoneID)
    case .hangs: return  // was never answered
    }
  }

  private mutating func newToken() {
    backend.newestToken += 1
    let life = kernel.plan.numbers.tokenLife
    phone.token = StreamToken(
      number: backend.newestToken, expiresAt: serverWall.advanced(by: life))
    kernel.bench.views[0].standing.secrets.insert(phone.token.secret)
  }

  private mutating func signInSoon() {
    let wait = kernel.hosts[phoneID.place].chance.duration(below: .seconds(70))
    kernel.later(.signsIn, after: .seconds(20) + wait)
  }

  /// The app says that only its user can go on from here.
  private mutating func askToSignIn() {
    guard !phone.isAskedToSignIn else { return }
    phone.isAskedToSignIn = true
    if kernel.hosts[phoneID.place].isSignedIn { signInSoon() }
  }

  /// The user signs in once they look at the app.
  mutating func signIn() {
    let host = kernel.hosts[phoneID.place]
    guard !host.isSignedIn || phone.isAskedToSignIn else { return }
    guard host.isRunning, !host.conditions.isInBackground else {
      return kernel.later(.signsIn, after: .seconds(20))
    }
    kernel.hosts[phoneID.place].isSignedIn = true
    phone.isAskedToSignIn = false
    newToken()
    giveToken()
  }
}
