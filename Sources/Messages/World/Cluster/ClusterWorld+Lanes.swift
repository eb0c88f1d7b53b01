import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerData
import HoldfastServerParts
import HoldfastWorldKernel

// The attempts of a node to use the database. `LaneRules` decides, as in the adapter.
extension ClusterWorld {
  /// The present time by the clock that measures the lease.
  func leaseTime(_ n: Int) -> Instant {
    defect == .leaseByWallClock ? now.advanced(by: nodes[n].clock) : now
  }

  func hasLease(_ n: Int) -> Bool { nodes[n].lease.isValid(at: leaseTime(n)) }

  /// Whether the lane reads from any server.
  private func isCareless(_ kind: ClusterLaneKind) -> Bool {
    defect == .stalePrimaryRead && kind == .pages
  }

  mutating func submit(_ job: ClusterLane.Job, _ kind: ClusterLaneKind, _ n: Int) {
    nodes[n][kind].jobs.append(job)
    proceed(kind, n)
  }

  /// Begins the next job, if the lane is free.
  mutating func proceed(_ kind: ClusterLaneKind, _ n: Int) {
    guard nodes[n][kind].current == nil, !nodes[n][kind].jobs.isEmpty else { return }
    nodes[n][kind].begin(at: now, after: nodes[n].attempts)
    attempt(kind, n)
  }

  mutating func attempt(_ kind: ClusterLaneKind, _ n: Int) {
    let lane = nodes[n][kind]
    if kind != .keeper, !lane.rules.goesOn(hasLease: hasLease(n)) { return fail(kind, n) }
    guard let connection = lane.connection,
      isCareless(kind) || connection.timeline >= nodes[n].timeline
    else { return send(.state, .choosing, kind, n) }
    guard kind == .keeper || hasLease(n) else { return rest(kind, n) }
    work(kind, n)
  }

  /// Sends the content of the current job.
  private mutating func work(_ kind: ClusterLaneKind, _ n: Int) {
    guard let job = nodes[n][kind].current else { return }
    let lane = nodes[n][kind]
    switch job {
    case .renewal:
      // After a change of the server another clock decides which leases have ended.
      let mayTake = NodeLease.allowsRole(afterChange: nodes[n].changedServer, at: now)
      send(.renew(claims: true, mayTakeRole: mayTake), .working, kind, n)
    case .read(_, let read): send(.read(read), .working, kind, n)
    case .check: send(.read(.heads([])), .working, kind, n)
    case .posts(let posts):
      var entries = posts.map(\.entry)
      if defect == .repeatedWithoutIDs, lane.rules.isUnknown {
        for index in entries.indices { entries[index].message.id = UUID128(high: 9, low: fresh()) }
      }
      write(.posts(entries), kind, n)
    case .fact: write(.fact, kind, n)
    }
  }

  private mutating func write(
    _ content: ClusterTransaction, _ kind: ClusterLaneKind, _ n: Int
  ) {
    nodes[n].attempts += 1
    let known = defect == .repeatedWithoutIDs ? nil : nodes[n][kind].rules.lookedUp
    send(.write(number: nodes[n].attempts, known: known, content), .working, kind, n)
  }

  private mutating func send(
    _ request: ClusterCall.Request, _ step: ClusterLane.Step, _ kind: ClusterLaneKind, _ n: Int
  ) {
    let call = ClusterCall(
      number: fresh(), node: n, run: nodes[n].run, lane: kind,
      server: nodes[n][kind].connection?.server ?? 0, request: request, sent: now)
    nodes[n][kind].step = step
    nodes[n][kind].call = call.number
    nodes[n][kind].sent = leaseTime(n)
    plan(.server(call), within: .milliseconds(10))
  }

  // MARK: - Servers

  /// Carries a request out at its server.
  mutating func serve(_ call: ClusterCall) {
    guard nodes[call.node].reachesDatabase else { return expire(call) }
    if case .state = call.request {
      let found = database.chosen(atRandom: &generator, isAny: isCareless(call.lane))
      let reply = found.map { ClusterReply.state(server: $0.0, timeline: $0.1) } ?? .broken
      return deliver(reply, to: call)
    }
    guard let reply = database.take(call, at: now, &generator) else {
      return expire(call)
    }
    noteEpochs()
    deliver(reply, to: call)
  }

  /// Sends an answer, which may be lost with its connection.
  mutating func deliver(_ reply: ClusterReply, to call: ClusterCall) {
    guard nodes[call.node].reachesDatabase else { return expire(call) }
    let reply = isCalm || !oneIn(40) ? reply : .broken
    plan(.node(call.node, call.run, .reply(call, reply)), within: .milliseconds(20))
  }

  /// Ends the wait for an answer at its deadline.
  private mutating func expire(_ call: ClusterCall) {
    plan(.node(call.node, call.run, .reply(call, .broken)), after: .seconds(5))
  }

  // MARK: - Answers

  mutating func take(_ reply: ClusterReply, to call: ClusterCall, _ n: Int) {
    let kind = call.lane
    guard nodes[n][kind].call == call.number else { return }
    nodes[n][kind].call = nil
    switch (nodes[n][kind].step, reply) {
    case (.choosing, .state(let server, let timeline)): chose(server, timeline, kind, n)
    case (.renewing, .renewed): renewedFirst(kind, n)
    case (.comparing, .newest(let number)): compared(number, kind, n)
    case (.beginningEpoch, .written):
      nodes[n][kind].rules.commit(nodes[n].number(of: call))
      work(kind, n)
    case (.working, .renewed(let term)): renewed(term: term, n)
    case (.working, .page(let answer)): read(answer, kind, n)
    case (.working, .written(let outcome)):
      wrote(outcome, number: nodes[n].number(of: call), kind, n)
    case (.working, .known(let number, let outcome)): wrote(outcome, number: number, kind, n)
    case (_, .roleLost), (_, .superseded): fail(kind, n)
    case (let step, let reply): broke(step, reply, kind, n)
    }
  }

  private mutating func chose(
    _ server: Int, _ timeline: Int64, _ kind: ClusterLaneKind, _ n: Int
  ) {
    guard timeline >= nodes[n].timeline || isCareless(kind) else { return rest(kind, n) }
    if timeline > nodes[n].timeline {
      (nodes[n].timeline, nodes[n].changedServer) = (timeline, now)
    }
    nodes[n][kind].connection = (server, timeline)
    guard kind != .keeper, !isCareless(kind) else { return work(kind, n) }
    send(.renew(claims: false, mayTakeRole: false), .renewing, kind, n)
  }

  private mutating func renewedFirst(_ kind: ClusterLaneKind, _ n: Int) {
    let sent = nodes[n][kind].sent
    // After the end of a lease another node may have the role.
    if !hasLease(n), defect != .formerHolderAnswers { nodes[n].roleTerm = nil }
    guard isNewest(kind, n) else { return broke(.renewing, .broken, kind, n) }
    renew(sent, n)
    guard nodes[n][kind].rules.mustCompare else { return work(kind, n) }
    send(.newest, .comparing, kind, n)
  }

  private func isNewest(_ kind: ClusterLaneKind, _ n: Int) -> Bool {
    nodes[n][kind].connection.map { $0.timeline >= nodes[n].timeline } ?? false
  }

  private mutating func renew(_ sent: Instant, _ n: Int) {
    nodes[n].lease.handle(.renewed(sent: sent), at: leaseTime(n))
    let difference = leaseTime(n).duration(to: now)
    nodes[n].renewed = max(nodes[n].renewed ?? .zero, sent.advanced(by: difference))
    watch(n)
  }

  private mutating func compared(_ number: Int64, _ kind: ClusterLaneKind, _ n: Int) {
    let hasEpoch = kind == .log && defect != .epochKeptAfterLoss
    guard nodes[n][kind].rules.compare(with: number, hasEpoch: hasEpoch) else {
      return work(kind, n)
    }
    nodes[n].attempts += 1
    nodes[n][kind].rules.beginEpoch(nodes[n].attempts)
    let timeline = nodes[n][kind].connection?.timeline ?? 0
    send(
      .write(number: nodes[n].attempts, known: nil, .epoch(timeline)), .beginningEpoch, kind, n)
  }

  private mutating func renewed(term: Int?, _ n: Int) {
    let sent = nodes[n][.keeper].sent
    guard isNewest(.keeper, n) else { return broke(.working, .broken, .keeper, n) }
    if defect != .formerHolderAnswers || term != nil { nodes[n].roleTerm = term }
    finish(.keeper, n)
    renew(sent, n)
    let next = nodes[n].lease.renewal(at: leaseTime(n)) ?? leaseTime(n)
    plan(
      .node(n, nodes[n].run, .renew), after: max(.zero, leaseTime(n).duration(to: next)))
  }

  private mutating func read(
    _ answer: ShopServer.StoreAnswer, _ kind: ClusterLaneKind, _ n: Int
  ) {
    guard hasLease(n) else { return broke(.working, .broken, kind, n) }
    checkLease(n)
    if kind == .log { return checked(n) }
    guard nodes[n][kind].confirmed == nodes[n].timeline else {
      nodes[n][kind].step = .checking
      return submit(.check, .log, n)
    }
    guard case .read(let token, let question) = nodes[n][kind].current else { return }
    finish(kind, n)
    feed(.stored(token, shortened(answer, question)), n)
  }

  private func shortened(
    _ answer: ShopServer.StoreAnswer, _ question: ClusterRead
  ) -> ShopServer.StoreAnswer {
    guard defect == .holeNotRead, case .tail = question, case .page(var page, let total) = answer
    else { return answer }
    page.messages = page.messages.suffix(1)
    return .page(page, total: total)
  }

  /// Records that the lane of posts has looked for lost commits.
  private mutating func checked(_ n: Int) {
    let timeline = nodes[n].timeline
    finish(.log, n)
    guard nodes[n][.pages].step == .checking else { return }
    nodes[n][.pages].confirmed = timeline
    nodes[n][.pages].step = .idle
    attempt(.pages, n)
  }

  private mutating func wrote(
    _ outcome: [Result<LogOutcome, StoreFailure>], number: Int64, _ kind: ClusterLaneKind,
    _ n: Int
  ) {
    nodes[n][kind].rules.commit(number)
    let job = nodes[n][kind].current
    finish(kind, n)
    guard case .posts(let posts) = job else { return }
    for (post, result) in zip(posts, outcome) {
      switch result {
      case .success(let outcome): feed(.stored(post.token, .appended(outcome)), n)
      case .failure(let failure): feed(.stored(post.token, .failed(failure)), n)
      }
    }
  }

  /// Handles the end of a connection, or of the lease.
  private mutating func broke(
    _ step: ClusterLane.Step, _ reply: ClusterReply, _ kind: ClusterLaneKind, _ n: Int
  ) {
    nodes[n][kind].connection = nil
    var isEndOfLease = false
    if case .leaseEnded = reply { isEndOfLease = true }
    if step == .working {
      if !isEndOfLease, defect == .unknownBatchGivenUp, kind == .log { return fail(kind, n) }
      nodes[n][kind].rules.breakOff(isEndOfLease: isEndOfLease)
    }
    rest(kind, n)
  }

  /// Waits before another attempt, unless the time is over.
  private mutating func rest(_ kind: ClusterLaneKind, _ n: Int) {
    guard let pause = nodes[n][kind].rules.pause(at: now) else { return fail(kind, n) }
    nodes[n][kind].step = .resting
    plan(.node(n, nodes[n].run, .retry(kind)), after: pause)
  }

  mutating func finish(_ kind: ClusterLaneKind, _ n: Int) {
    (nodes[n][kind].current, nodes[n][kind].step) = (nil, .idle)
    if !nodes[n][kind].jobs.isEmpty { plan(.node(n, nodes[n].run, .retry(kind)), after: .zero) }
  }

  private mutating func fail(_ kind: ClusterLaneKind, _ n: Int) {
    let job = nodes[n][kind].current
    finish(kind, n)
    let failure = ShopServer.StoreAnswer.failed(.locked(detail: "the database"))
    switch job {
    case .renewal:
      nodes[n].lease.handle(.failed("no answer"), at: leaseTime(n))
      if defect == .leaseNotTakenAgain, !hasLease(n) { return }
      plan(.node(n, nodes[n].run, .renew), after: .milliseconds(200))
    case .posts(let posts): for post in posts { feed(.stored(post.token, failure), n) }
    case .read(let token, _): feed(.stored(token, failure), n)
    case .check:
      guard nodes[n][.pages].step == .checking else { return }
      fail(.pages, n)
    case .fact, nil: return
    }
  }
}

extension ClusterNode {
  subscript(_ kind: ClusterLaneKind) -> ClusterLane {
    get { lanes[kind.rawValue] }
    set { lanes[kind.rawValue] = newValue }
  }

  /// Returns the number of an attempt.
  fileprivate func number(of call: ClusterCall) -> Int64 {
    if case .write(let number, _, _) = call.request { number } else { 0 }
  }
}

extension ClusterLane {
  /// Takes the next job. All posts that wait share a transaction.
  fileprivate mutating func begin(at now: Instant, after attempts: Int64) {
    rules.begin(after: attempts, until: now.advanced(by: patience))
    step = .idle
    guard case .posts = jobs[0] else {
      current = jobs.removeFirst()
      return
    }
    var all: [(token: StoreToken, entry: LogEntry)] = []
    while case .posts(let posts) = jobs.first {
      all += posts
      jobs.removeFirst()
    }
    current = .posts(all)
  }
}
