import HealthRelay
import LinkCore
import LinkServerCore

// What the plan does, and the calm at the end.
extension RelayWorld {
  mutating func begin(_ index: Int) {
    let action = plan.actions[index].action
    say("plan: \(action)", 40)
    counts.actions += 1
    if let span = action.span {
      active.append(index)
      add(.ends(index), after: span)
    }
    switch action {
    case .asks(let asker, let patience): ask(asker, patience: patience)
    case .logsOut(let asker): logOut(asker)
    case .background(let phone, _): background(phone)
    case .kill(let phone, _): kill(phone)
    case .stop(let phone, _):
      phones[phone].isWanted = false
      unpair(phone)
      phones[phone].resume = nil
      give(phone, .stop)
    case .unreachable(let phone, _): cutOff(phone)
    case .halfOpen(let phone):
      for line in lines where line.phone == phone { loseSilently(line.number) }
    case .reset(let phone): reset(phone)
    case .hole(let span): holeUntil = max(holeUntil, now.advanced(by: span))
    case .slowReading(let phone, _):
      phones[phone].reading = .seconds(1) + chance.duration(below: .seconds(60))
    case .crash:
      backend.downs.append(index)
      stopBackend()
    case .deploy:
      backend.downs.append(index)
      feed(.drain(within: .seconds(5)))
    case .slowStore: backend.delay = .seconds(1) + chance.duration(below: .seconds(4))
    }
  }

  private mutating func background(_ phone: Int) {
    phones[phone].isInFront = false
    give(phone, .lifecycle(.background))
    if phones[phone].profile == .foreground {
      add(.suspends(phone: phone, run: phones[phone].run), after: .seconds(5))
    }
  }

  private mutating func cutOff(_ phone: Int) {
    phones[phone].isUnreachable = true
    for line in lines where line.phone == phone { loseSilently(line.number) }
    tellWay(phone)
  }

  mutating func end(_ index: Int) {
    guard let place = active.firstIndex(of: index) else { return }
    active.remove(at: place)
    let action = plan.actions[index].action
    // Another of its kind goes on.
    if active.contains(where: { plan.actions[$0].action.isLike(action) }) {
      backend.downs.removeAll { $0 == index }
      return
    }
    switch action {
    case .background(let phone, _): foreground(phone)
    case .kill(let phone, _): if phones[phone].process == .dead { launch(phone) }
    case .stop(let phone, _): start(phone)
    case .unreachable(let phone, _):
      phones[phone].isUnreachable = false
      phones[phone].path += 1
      tellWay(phone)
    case .slowReading(let phone, _): phones[phone].reading = nil
    case .slowStore: backend.delay = plan.storeDelay
    case .crash, .deploy:
      stopBackend()
      backend.downs.removeAll { $0 == index }
      startBackend()
    case .asks, .logsOut, .halfOpen, .reset, .hole: return
    }
  }

  /// All trouble ends; whoever is signed in, or can be, gets an answer.
  mutating func calm() {
    for index in active { end(index) }
    (delay, jitter) = (.milliseconds(25), .milliseconds(25))
    backend.delay = .milliseconds(2)
    holeUntil = min(holeUntil, now)
    say("calm", 41)
    for index in phones.indices where phones[index].process == .running { start(index) }
    for asker in askers.indices { add(.signsIn(asker: asker), after: .seconds(5)) }
    for asker in askers.indices { askers[asker].isWaiting = true }
    // An address that gave wrong pairs is locked out for 15 minutes.
    for _ in 0..<50 where askers.contains(where: \.isWaiting) {
      for asker in askers.indices where askers[asker].isWaiting && askers[asker].secret != nil {
        ask(asker, patience: .seconds(60))
      }
      run(until: now.advanced(by: .seconds(30))) { !$0.askers.contains(where: \.isWaiting) }
    }
    for asker in askers where asker.isWaiting {
      judge.find(
        .unhealed, now,
        "asker \(asker.index) got no data from phone \(asker.phone), which shows "
          + "\(phones[asker.phone].model.status.state)")
    }
  }
}

extension RelayPlan.Action {
  /// Whether another does the same to the same.
  fileprivate func isLike(_ other: RelayPlan.Action) -> Bool {
    switch (self, other) {
    case (.background(let one, _), .background(let two, _)),
      (.kill(let one, _), .kill(let two, _)), (.stop(let one, _), .stop(let two, _)),
      (.unreachable(let one, _), .unreachable(let two, _)),
      (.slowReading(let one, _), .slowReading(let two, _)):
      one == two
    case (.slowStore, .slowStore): true
    case _: false
    }
  }
}
