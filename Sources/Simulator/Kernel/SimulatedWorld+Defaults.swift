import LinkCore

// What a world has in common with most others, unless it says otherwise.
extension SimulatedWorld where Self: ~Copyable {
  /// The first server.
  var server: HostID { kernel.host(.backend) }

  /// What the checkers see of the first phone.
  var own: Feature.State { kernel.own }

  /// The start of chance for a process that begins on a host.
  mutating func newSeed(_ host: HostID) -> UInt64 { kernel.hosts[host.place].chance.next() }

  /// Closes all connections with 1001.
  mutating func drain(_ server: HostID, within time: Duration) {
    for line in kernel.lines where line.serverHolds && line.to == server {
      serverCloses(line.number, code: 1001, reason: "")
    }
    drained(server)
  }

  func deadline(of host: HostID) -> Instant? { nil }
  mutating func tick(_ host: HostID) {}
  mutating func tellApp(_ phone: HostID, isFirst: Bool) {}
  mutating func look(_ phone: HostID) {}
  mutating func ended(_ line: TrafficID, code: UInt16, at server: HostID) {}
  mutating func makeDurable(_ change: Feature.Cue, on host: HostID) -> Feature.Cue? { nil }
  func refusedChange(_ change: Feature.Cue, isFull: Bool) -> Feature.Cue { change }
}

extension SimulatedWorld where Self: ~Copyable, Client: LinkModel {
  /// The user looks at the app and wants the link, as far as the model was told.
  func isWanted(_ phone: HostID) -> Bool {
    kernel.hosts[phone.place].told.lifecycle == .foreground
      && clients[phone.index].link.isWanted
  }
}

// A world without exchanges.
extension SimulatedWorld
where Self: ~Copyable, Feature.Question == Nothing, Feature.Reply == Nothing {
  mutating func requestArrived(_ id: TrafficID, _ question: Nothing, at server: HostID) {}
  func refusal(_ status: Int) -> Nothing { Nothing() }
  func bytes(of nothing: Nothing) -> Int { 0 }
  mutating func answered(
    _ question: Nothing, _ result: Result<Nothing, LinkFailure>, to host: HostID
  ) {}
}

// Calm: nothing goes wrong any more, and everything must become whole.
extension SimulatedWorld where Self: ~Copyable {
  var isComplete: Bool { true }
  var complaint: String {
    kernel.bench.views.map { $0.standing.status.words + Feature.remains($0.standing) }
      .joined(separator: "; ")
  }
  mutating func tryAgain() {}
  mutating func happenLast() {}
  mutating func leave() {}

  mutating func heal() {
    becomeWhole()
    finish()
  }

  /// Waits until everything is whole, and again after one last thing has happened.
  mutating func becomeWhole() {
    var isDone = false
    // The refusal of a try that was under way when calm came may move the limit.
    while !isDone, let limit = kernel.bench.wholeBy, now < limit, !kernel.isAborted {
      isDone = run(until: min(limit, now.advanced(by: .seconds(30)))) { $0.isComplete }
      if !isDone { tryAgain() }
    }
    guard isDone else { return }  // a checker says so
    happenLast()
    var isShown = run(until: now.advanced(by: .seconds(120))) { $0.isComplete }
    // What was on its way when calm came may end a link that was whole: it has the time of calm.
    if !isShown, let limit = kernel.bench.wholeBy, now < limit, hasLostLink {
      isShown = run(until: limit) { $0.isComplete }
    }
    if !isShown { kernel.find(.unhealed, "the last message was not shown: \(complaint)") }
  }

  private var hasLostLink: Bool {
    kernel.bench.views.contains { $0.standing.status.phase != .connected }
  }

  /// The user leaves; nothing may be left to wait for.
  mutating func finish() {
    leave()
    run(until: now.advanced(by: .seconds(60)))
  }
}
