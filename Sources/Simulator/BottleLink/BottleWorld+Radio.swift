import BottleFirmware
import BottleLink
import LinkCore
import LinkWire
import VirtualBottle

// What an app asks of its radio, and what the system tells it.
extension BottleWorld {
  mutating func ask(_ effect: BottleModel.Effect) {
    account()
    switch effect {
    case .scan:
      guard radio.isOn else { return }
      kernel.counts.attempts += 1
      radio.isScanning = true
      lookOut()
    case .stopScan:
      radio.isScanning = false
      if seam.dropsQueue, radio.link == nil { radio.tickets.removeAll(where: \.isQueued) }
    case .connect(let attempt, _, let isQueued, let rest):
      let until = now.advanced(by: rest)
      connect(BottleRadio.Ticket(attempt: attempt, isQueued: isQueued, restsUntil: until))
    case .cancel(let attempt): cancel(attempt)
    case .discover(let attempt): discover(attempt)
    case .write(let attempt, let id, let attribute, let bytes):
      write(attempt, id, attribute, bytes)
    case .commit, .confirm, .update: return
    }
    plan()
  }

  private mutating func connect(_ ticket: BottleRadio.Ticket) {
    let attempt = ticket.attempt
    guard radio.isOn, !seam.ignores(restored: radio.link != nil && radio.tickets.isEmpty) else {
      return
    }
    if ticket.isQueued { kernel.counts.attempts += 1 }
    if !radio.hasTicket(attempt) {
      radio.tickets.append(ticket)
      radio.past.append(attempt)
      if radio.past.count > 4 { radio.past.removeFirst() }
    }
    if radio.link != nil {
      opens(attempt)
    } else if ticket.isQueued, isUnderWay(.crowded), kernel.happens(0.5) {
      fails(attempt)
    }
  }

  /// A connect fails, by default since the system has no slot for it.
  mutating func fails(
    _ attempt: AttemptID, _ failure: LinkFailure = .local(detail: "no slot is free")
  ) {
    for index in radio.tickets.indices where radio.tickets[index].attempt == attempt {
      radio.tickets[index].hasFailed = true
    }
    later(.central(.failed(attempt, failure)), after: .milliseconds(300))
  }

  private mutating func cancel(_ attempt: AttemptID) {
    let wasLinked = radio.link != nil
    guard radio.hasTicket(attempt) else { return }
    radio.tickets.removeAll { $0.attempt == attempt }
    if radio.link?.subscriber == attempt { radio.link?.subscriber = nil }
    if radio.tickets.isEmpty { hangUp() }
    guard kernel.callbacks.next() % 2 == 0 else { return }
    // A cancelled connect may have opened meanwhile; of a cancelled connection the end is told.
    let wait = kernel.callbacks.duration(below: .seconds(30))
    later(
      .central(wasLinked ? .disconnected(attempt, nil) : .connected(attempt)), after: wait)
  }

  private mutating func discover(_ attempt: AttemptID) {
    guard let link = radio.link else { return }
    let wait = Duration.milliseconds(150) + kernel.chance.duration(below: .seconds(1))
    kernel.later(.discovers(attempt, link: link.number, run: run), after: wait)
  }

  mutating func discovered(_ attempt: AttemptID, _ number: UInt64, _ run: Int) {
    guard radio.link?.number == number, run == self.run, radio.hasTicket(attempt) else { return }
    guard isInRange else {
      radio.link?.stalled.append(.discovers(attempt, link: number, run: run))
      return
    }
    guard !isUnderWay(.lossy) || !kernel.happens(0.2) else {
      return tell(.undiscovered(attempt, .timeout(.response)))
    }
    let now = now
    radio.link?.subscribe(attempt, at: now)
    tell(
      .discovered(
        attempt, longestValue: numbers.longest, bottle.state, at: wall(.phone)))
  }

  // Values.

  private mutating func write(
    _ attempt: AttemptID, _ id: WriteID, _ attribute: BottleAttribute, _ bytes: [UInt8]
  ) {
    guard let link = radio.link, radio.hasTicket(attempt) else {
      return later(.unwritten(id, .reset), after: .milliseconds(5))
    }
    if isUnderWay(.lossy), kernel.happens(0.15) {
      if BottleRadio.setsTime(attribute, bytes) { noteLostTime() }
      return later(.unwritten(id, .timeout(.response)), after: .seconds(1))
    }
    let (realAttribute, realBytes) = seam.written(bytes, to: attribute)
    let write = BottleFeature.RadioWrite(
      link: link.number, run: run, id: id, attribute: realAttribute, bytes: realBytes)
    guard isInRange else {
      radio.link?.stalled.append(.writes(write))
      return
    }
    let at = max(link.upFree, now.advanced(by: kernel.delay()))
    radio.link?.upFree = at
    kernel.queue.add(.cue(nil, run: 0, .writes(write)), at: at)
  }

  /// The bottle may learn the time later: the app is told after 1 s, and has set waits.
  private mutating func noteLostTime() {
    guard let lost = radio.link?.lostTimes else { return }
    let waits = clients[0].settings.syncRetries
    let wait = lost < waits.count ? waits[lost] : .seconds(86_400)
    let next = now.advanced(by: .seconds(1) + wait + .seconds(2))
    radio.link?.lostTimes = lost + 1
    radio.link?.timeBy = next
  }

  /// A write is at the bottle.
  mutating func arrive(_ write: BottleFeature.RadioWrite) {
    guard radio.link?.number == write.link, radio.bottleLink == write.link else {
      if write.run == run { later(.unwritten(write.id, .reset), after: .milliseconds(5)) }
      return
    }
    guard isInRange else {
      radio.link?.stalled.append(.writes(write))
      return
    }
    account()
    if answersList(write) { return }
    let deleted = record(deletedBy: write)
    let outputs = bottle.handle(.written(write.attribute, write.bytes), at: now)
    if let deleted { note(gone: deleted) }
    let isTaken = !outputs.contains(.answers(write.attribute, isTaken: false))
    let answer = BottleModel.Input.written(write.id)
    let told = isTaken ? answer : .unwritten(write.id, .refused)
    if numbers.overtakes == 0, write.run == run { bring(.tells(told)) }
    follow(outputs)
    if numbers.overtakes == 1, write.run == run { bring(.tells(told)) }
  }

  /// Answers with a list of activities, as the original firmware does.
  private mutating func answersList(_ write: BottleFeature.RadioWrite) -> Bool {
    guard numbers.lies == 1, write.attribute == .command,
      let list = BottleLists.answer(write.bytes, &kernel.chance)
    else { return false }
    if write.run == run { bring(.tells(.written(write.id))) }
    notify(.activity, list)
    return true
  }

  /// Sends something down to the app, behind what is on its way.
  private mutating func bring(_ cue: BottleFeature.Cue) {
    guard let link = radio.link else {
      // The connection ended in the same moment.
      if case .tells(.written(let id)) = cue { later(.unwritten(id, .reset), after: .zero) }
      return
    }
    guard isInRange else {
      radio.link?.stalled.append(cue)
      return
    }
    let at = max(link.downFree, now.advanced(by: kernel.delay()))
    radio.link?.downFree = at
    kernel.queue.add(.cue(.phone, run: run, cue), at: at)
  }

  /// The bottle notifies a value.
  mutating func notify(_ attribute: BottleAttribute, _ bytes: [UInt8]) {
    guard let link = radio.link else { return }
    if attribute == .drinks, let chunk = try? BottleChunk(bytes) {
      radio.sent.formUnion(chunk.records.map(\.id))
    }
    if process == .dead { return launch(isConnected: true) }
    guard let attempt = link.subscriber else { return }
    if isUnderWay(.garbles), kernel.happens(0.3) {
      return bring(.notifies(attempt, attribute, bytes.dropLast()))
    }
    let isLossy = isUnderWay(.lossy)
    if isLossy, kernel.happens(0.25) { return }
    bring(.notifies(attempt, attribute, bytes))
    if isLossy, kernel.happens(0.15) { bring(.notifies(attempt, attribute, bytes)) }
  }

  // The app.

  /// Tells the app later, unless its process ends before.
  mutating func later(_ input: BottleModel.Input, after wait: Duration) {
    kernel.later(.tells(input), on: .phone, after: wait)
    if kernel.happens(kernel.weather.twice), BottleModel.role(of: input).attempt != nil {
      kernel.later(.tells(input), on: .phone, after: wait + kernel.delay())
    }
  }

  /// Tells the app of something of its radio: the system lets one in background run for it.
  mutating func tell(_ input: BottleModel.Input) {
    guard process != .dead else { return }
    if case .central(.failed(let attempt, _)) = input {
      radio.tickets.removeAll { $0.attempt == attempt && $0.hasFailed }
    }
    if lifecycle(of: .phone) == .background || process == .suspended { wakeApp() }
    give(input, to: .phone)
  }

  private mutating func wakeApp() { summon(.phone, for: BottleRadio.grant, then: evictions) }

  /// Launches an app that the system has ended, since something of its radio happened.
  mutating func launch(isConnected: Bool) {
    guard process == .dead, radio.isEvicted, !isForced else { return }
    radio.restores = [RestoredPeripheral(BottleRadio.id, isConnected: isConnected)]
    wakeApp()
  }

  /// Whether the system ends the app, and not the user.
  var isBeingEvicted: Bool { !isForced && !evictions.isEmpty }

  /// Whether the user or a fault ended the app, which the system does not launch then.
  var isForced: Bool {
    kernel.active.contains { kernel.plan.acts[$0].act.verb == .common(.kill) }
  }

  private var evictions: [Int] {
    kernel.active.filter { kernel.plan.acts[$0].act.verb == .own(.evict) }
  }

  // The adapter.

  mutating func setAdapter(_ state: AdapterState) {
    guard state != radio.adapter else { return }
    account()
    let hadWish = !radio.tickets.isEmpty || radio.keepsConnect || radio.link != nil
    radio.adapter = state
    radio.untold.append(state)
    kernel.own.isOn = state == .on
    if state == .on {
      if radio.wished { wakeForAdapter() }
    } else {
      radio.wished = radio.wished || hadWish
      // The system says nothing of what it drops.
      for ticket in radio.tickets where radio.link != nil {
        note(.wentDead(.phone, ticket.attempt), of: .phone)
      }
      radio.forget()
      hangUp()
    }
    plan()
    weigh()
  }

  /// The system wakes an app that had asked something of the radio.
  private mutating func wakeForAdapter() {
    radio.wished = false
    switch process {
    case .suspended: wakeApp()
    case .dead: if kernel.callbacks.next() % 2 == 0 { launch(isConnected: false) }
    case .running: return
    }
  }
}
