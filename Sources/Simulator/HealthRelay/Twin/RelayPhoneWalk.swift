import HealthRelay
import LinkCore
import LinkHealth
import LinkWire

/// A phone of the relay beside its twin, to which anything is said and done.
struct RelayPhoneWalk: TwinWalk {
  var chance: Chance
  var model: RelayModel
  var twin: RelayPhoneTwin
  var now = Instant.zero
  var stray: String?
  /// The reading that was asked for last, the newest pings, and the socket that was closed last.
  var reading = WorkID(1)
  var pings: [UInt64] = [1]
  var closed = AttemptID(1)
  /// The socket that was told to be open.
  var opened: AttemptID?
  var lastNew = 0
  /// Whether pings are seldom answered.
  let isDeaf: Bool

  init(_ chance: Chance) {
    var chance = chance
    isDeaf = chance.next() % 4 == 0
    let way = Int(chance.next() % 6)
    let policy = Self.policies[way % Self.policies.count]
    let isLoud = chance.next() % 2 == 0
    let hasNotification = way == 0 || way > 1 && isLoud
    var settings = RelaySettings(policy: policy, hasNotification: hasNotification)
    if way < 2 { settings = RelaySettings(way == 0 ? .service : .foreground) }
    let seed = chance.next()
    let isBorn = chance.next() % 2 == 0
    model =
      isBorn
      ? RelayModel(RelayModel.Birth(settings), seed: seed)
      : RelayModel(settings: settings, seed: seed)
    twin = RelayPhoneTwin(policy, hasNotification: hasNotification, seed: seed)
    self.chance = chance
    if model.settings.policy != policy || model.settings.hasNotification != hasNotification {
      stray = "the phone goes by other numbers than \(policy.name)"
    }
  }

  /// The two of the seed, and two whose links come to what theirs seldom do.
  private static let policies: [LinkPolicy] = {
    let open = try? LinkPolicy.healthRelayService.setting([
      ("liveness.idle", "40s idle"), ("gate.networkChange", "reconnect"),
      ("establish.milestone", "opened"),
    ])
    let hidden = try? LinkPolicy.healthRelayForeground.setting([
      ("gate.background", "2s hold"), ("gate.foreground", "500ms"), ("establish.prepare", "1s"),
      ("liveness.idle", "50s idle"),
    ])
    return [.healthRelayService, .healthRelayForeground, open, hidden].compactMap(\.self)
  }()

  /// Takes so many steps; returns the first difference.
  mutating func walk(_ steps: Int) -> String? {
    if happens(3) { give(.resume(Secret("early"))) }
    if happens(4) { device() }
    give(.start)
    let full = happens(6) ? number(0...steps) : -1
    for step in 0..<steps where stray == nil {
      if step == full { fill() }
      happen()
    }
    return stray
  }

  // Steps.

  mutating func give(_ input: RelayModel.Input?) {
    guard stray == nil else { return }
    let effects = input.map { model.handle($0, at: now) } ?? model.tick(at: now)
    let must = twin.step(input, at: now)
    stray = Self.difference(effects.map { RelayPhoneAct($0) }, must) ?? difference()
    for effect in effects { note(effect) }
  }

  static func difference(_ acts: [RelayPhoneAct], _ must: [RelayPhoneAct]) -> String? {
    guard acts != must else { return nil }
    let place = zip(acts, must).prefix { $0 == $1 }.count
    let (one, two) = (acts.dropFirst(place).first, must.dropFirst(place).first)
    let words = [one, two].map { $0.map { "\($0)" } ?? "nothing" }
    return "the phone asks for \(words[0]), and must for \(words[1])"
  }

  private mutating func difference() -> String? {
    if model.deadline != twin.deadline { return "the phone waits until another time" }
    if model.link != twin.link { return "the phone's link was told something else" }
    if model.resume != twin.token { return "the phone keeps another token" }
    if model.status != twin.shown { return "the phone says that it is \(model.status)" }
    if model.openQuestions != twin.line.count { return "the phone counts other questions" }
    guard happens(4), let broken = model.brokenInvariants(.thorough).first else { return nil }
    return "the invariant \(broken) does not hold"
  }

  private mutating func note(_ effect: RelayModel.Effect) {
    switch effect {
    case .read(let work, _, _, _), .fail(let work, _, _, _): reading = work
    case .ping(_, let id): pings = (pings + [id]).suffix(3)
    case .close(let of, _): closed = of
    case .open, .send, .discard, .refuse, .notify, .unnotify, .update: return
    }
  }

  private mutating func happen() {
    if happens(2) { pass() }
    switch number(0...29) {
    case 0: user()
    case 1: device()
    case 2: odd()
    case 3: if happens(2) { crowd() } else { babble() }
    case _: goOn()
    }
  }

  // Time.

  /// Lets time pass: a moment, up to a bound, or beside it.
  private mutating func pass() {
    let beside = one([Duration.zero, .zero, .nanoseconds(-1), .nanoseconds(1)])
    switch number(0...11) {
    case 0, 1: advance(to: model.deadline?.advanced(by: beside))
    case 2:
      advance(to: twin.toldAt?.advanced(by: .seconds(30)).advanced(by: beside))
      give(.message(attempt, nonsense()))
    case 3:
      guard let first = twin.refusedAt.first, twin.refusedAt.count > 18 else { return }
      advance(to: first.advanced(by: .seconds(60)).advanced(by: beside))
      give(.message(attempt, nonsense()))
    case 4: advance(to: twin.quietAt?.advanced(by: beside))
    case 5: advance(to: now.advanced(by: .seconds(number(2...45))))
    case _: now = now.advanced(by: .milliseconds(one([0, 1, 40, 300, 1_000, 2_500])))
    }
    if happens(3) { give(nil) }
  }

  private mutating func advance(to target: Instant?) {
    guard let target, target > now else { return }
    for _ in 0..<8 where !happens(40) {
      guard let due = model.deadline, due < target, stray == nil else { break }
      now = max(now, due)
      let before = pings
      give(nil)
      if pings != before, !isDeaf || happens(4) { give(.pong(attempt, pings[pings.count - 1])) }
    }
    now = max(now, target)
    if happens(3) { give(nil) }
  }

  // People and devices.

  private mutating func user() {
    switch number(0...5) {
    case 0: give(.stop)
    case 1: give(.resume(Secret(one(["early", "late"]))))
    case 2: give(.closed(happens(2) ? closed : attempt))
    case _: give(.start)
    }
  }

  private mutating func device() {
    switch number(0...7) {
    case 0: give(.reachability(.unreachable))
    case 1: give(.reachability(.captivePortal))
    case 2: give(.reachability(.reachable(path: PathID("cell"))))
    case 3: give(.lifecycle(.background))
    case 4: give(.woke)
    case 5: give(.lifecycle(.foreground))
    case _: give(.reachability(.reachable(path: PathID("wifi"))))
    }
  }

  var attempt: AttemptID { model.link.currentAttempt ?? AttemptID(99) }

  /// Does what brings the phone on, mostly.
  private mutating func goOn() {
    if model.status.state == .stopping {
      if happens(2) { return give(.closed(closed)) }
      return happens(2) ? advance(to: model.deadline) : give(.start)
    }
    guard model.link.currentAttempt != nil else {
      if model.link.status.phase == .held, happens(3) {
        give(.lifecycle(.foreground))
        return give(.reachability(.reachable(path: PathID("wifi"))))
      }
      let isOver = model.deadline == nil || !model.link.isWanted
      return isOver || happens(6) ? give(.start) : advance(to: model.deadline)
    }
    if model.link.status.phase == .connected { return talk() }
    if opened != attempt, happens(6) { return ask(number(0...9)) }
    if opened != attempt, !happens(9) {
      opened = attempt
      return give(.opened(attempt))
    }
    if happens(4) { return talk() }
    give(.message(attempt, happens(2) ? welcome() : greeting()))
  }
}
