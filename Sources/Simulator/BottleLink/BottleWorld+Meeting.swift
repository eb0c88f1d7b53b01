import BottleFirmware
import BottleLink
import LinkCore
import LinkWire
import VirtualBottle

// How phone and bottle find and lose each other.
extension BottleWorld {
  var isInRange: Bool { !isUnderWay(.away) }

  /// Plans when the phone connects, as things stand now; a plan at the same pace is kept.
  mutating func plan() {
    let pace = self.pace
    guard pace != radio.pace else { return }
    radio.pace = pace
    radio.plan += 1
    guard let wait = wait(at: pace) else { return }
    kernel.later(.meets(plan: radio.plan), after: radio.rest(at: now) + wait)
  }

  private var pace: BottleRadio.Pace {
    guard radio.link == nil, radio.isOn, isInRange, bottle.bottle.isAdvertising,
      !radio.openTickets.isEmpty || radio.keepsConnect
    else { return .never }
    let isEager = radio.openTickets.contains { !$0.isQueued }
    if isUnderWay(.crowded), !isEager { return .never }
    if isEager || radio.isScanning && radio.keepsConnect == false { return .fast }
    let isInFront = process == .running && lifecycle(of: .phone) == .foreground
    return isInFront ? .foreground : .background
  }

  /// An advertisement comes every second; without a scan the system looks now and then.
  private mutating func wait(at pace: BottleRadio.Pace) -> Duration? {
    switch pace {
    case .never: nil
    case .fast: .milliseconds(50) + kernel.chance.duration(below: .seconds(1))
    case .foreground: .seconds(5) + kernel.chance.duration(below: .seconds(10))
    case .background:
      min(numbers.passive, .seconds(10))
        + kernel.chance.duration(below: max(numbers.passive - .seconds(10), .seconds(1)))
    }
  }

  /// A planned meeting is due.
  mutating func meet(_ plan: UInt64) {
    guard plan == radio.plan, radio.pace != .never else { return }
    radio.pace = .never
    let isCrowded = isUnderWay(.crowded)
    guard !isCrowded, !kernel.happens(kernel.weather.loss) else {
      let failure: LinkFailure =
        isCrowded ? .local(detail: "no slot is free") : .timeout(.connect)
      for ticket in radio.openTickets where !ticket.isQueued || kernel.happens(0.3) {
        fails(ticket.attempt, failure)
      }
      weigh()
      return self.plan()
    }
    account()
    let outputs = bottle.handle(.connected(longestValue: numbers.longest), at: now)
    follow(outputs)
    guard bottle.bottle.isConnected else { return self.plan() }
    linked()
  }

  private mutating func linked() {
    radio.lastLink += 1
    radio.link = BottleRadio.Link(number: radio.lastLink, upFree: now, downFree: now)
    radio.bottleLink = radio.lastLink
    kernel.counts[.links] += 1
    note(.linked(true))
    weigh()
    for ticket in radio.openTickets { opens(ticket.attempt) }
    if process == .dead { launch(isConnected: true) }
  }

  /// A ticket's connection is open: the app is told a moment later.
  mutating func opens(_ attempt: AttemptID) {
    note(.upgraded(.phone, attempt, status: 101), of: .phone)
    later(.central(.connected(attempt)), after: .milliseconds(5))
  }

  // Scans.

  /// Waits for an advertisement while the app scans.
  mutating func lookOut() {
    guard !radio.looks, radio.isScanning || radio.keepsScan else { return }
    radio.looks = true
    let isInFront = process == .running && lifecycle(of: .phone) == .foreground
    let wait = self.wait(at: isInFront ? .fast : .background)
    kernel.later(.sees, after: wait ?? .seconds(1))
  }

  mutating func see() {
    radio.looks = false
    guard radio.isScanning || radio.keepsScan, radio.isOn else { return }
    if isInRange, bottle.bottle.isAdvertising {
      if process == .dead { launch(isConnected: false) }
      if clients[0].bottle != nil {
        tell(.central(.found(BottleRadio.other, name: nil)))
      }
      if radio.isScanning {
        tell(.central(.found(BottleRadio.id, name: BottleRadio.name)))
      }
    }
    lookOut()
  }

  // Ends.

  /// The phone has ended the connection: the bottle learns of it a little later.
  mutating func hangUp() {
    guard let link = radio.link else { return }
    account()
    radio.link = nil
    note(.linked(false))
    let wait = isInRange ? Duration.milliseconds(50) : BottleRadio.supervision
    kernel.later(.leaves(link: link.number), after: wait)
    weigh()
  }

  mutating func bottleLoses(_ link: UInt64) {
    guard radio.bottleLink == link else { return }
    radio.bottleLink = nil
    account()
    let outputs = bottle.handle(.disconnected, at: now)
    follow(outputs)
  }

  /// The connection is lost: each ticket is told of it and is over.
  mutating func drop(_ failure: LinkFailure) {
    guard radio.link != nil else { return }
    account()
    radio.link = nil
    note(.linked(false))
    let lost = radio.tickets
    radio.tickets = []
    radio.toldBy = now.advanced(by: BottleRadio.notice)
    for ticket in lost {
      note(.wentDead(.phone, ticket.attempt), of: .phone)
      later(.central(.disconnected(ticket.attempt, failure)), after: BottleRadio.notice)
    }
    if process == .dead { launch(isConnected: false) }
    plan()
    weigh()
  }

  /// A connection that is out of range ends at both sides, unless the bottle came back.
  mutating func silence(_ link: UInt64) {
    guard radio.link?.number == link, !isInRange else { return }
    drop(.timeout(.silence))
    bottleLoses(link)
  }

  /// The bottle went out of range, or came back.
  mutating func rangeChanged() {
    if isInRange {
      let stalled = radio.link?.stalled ?? []
      radio.link?.stalled = []
      for (index, cue) in stalled.enumerated() {
        let wait = Duration.milliseconds(Int64(index) * 5)
        if cue.isForPhone {
          kernel.later(cue, on: .phone, after: wait)
        } else {
          kernel.later(cue, after: wait)
        }
      }
    } else if let link = radio.link {
      kernel.later(.silences(link: link.number), after: BottleRadio.supervision)
    }
    plan()
    weigh()
  }

  // What the checkers are told.

  /// Notes what is in the way of phone and bottle, and whether the system holds something.
  mutating func weigh() {
    let isLinked = radio.link != nil
    let isKept = !radio.tickets.isEmpty || isLinked || radio.isScanning
    kernel.own.isKept = isKept
    let mustBeKept =
      process != .dead && radio.isOn && own.isKnown && !isPaused && radio.untold.isEmpty
      && now >= radio.toldBy
    kernel.own.bareSince = mustBeKept && !isKept ? own.bareSince ?? now : nil
    let isThere = process != .dead || !isForced && (radio.keepsConnect || isLinked)
    let isClear =
      radio.isOn && isInRange && isThere && own.isKnown && kernel.weather.loss == 0
      && kernel.hosts[HostID.phone.place].conditions.disk == .works
      && !isUnderWay(.lossy) && !isUnderWay(.garbles) && !isUnderWay(.crowded)
      && own.isLinkWanted && radio.untold.isEmpty
      && (bottle.bottle.isAdvertising || isLinked && radio.bottleLink == radio.link?.number)
    guard isClear else {
      (kernel.own.clearSince, kernel.own.freshSince) = (nil, nil)
      return
    }
    kernel.own.clearSince = own.clearSince ?? now
    if !isLinked { kernel.own.freshSince = own.freshSince ?? now }
  }
}

extension BottleFeature.Cue {
  /// Whether it belongs to the run of the app for which it was meant.
  var isForPhone: Bool {
    switch self {
    case .tells, .notifies, .input, .commits, .confirms: true
    case .meets, .sees, .writes, .discovers, .silences, .leaves, .handles, .carries, .calms: false
    }
  }
}
