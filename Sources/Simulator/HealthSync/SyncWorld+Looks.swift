import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

// People who look at their health data: the answers of the server are compared with what their
// phones have.
extension SyncWorld {
  func desk(of phone: Int) -> SyncDesk {
    SyncDesk(
      backend.server, backend.kept, seam.defect, phones[phone].source.zone, at: now, wall(server))
  }

  /// Compares what each person is shown with what the phone has.
  mutating func checkLooks() {
    guard kernel.hosts[server.place].isRunning else { return }
    for phone in phones.indices {
      let own = kernel.bench.views[phone].standing.own
      guard own.missing == 0, own.extra == 0,
        let there = phones[phone].source.kept(where: { $0.deleted == nil })
      else { continue }
      var desk = desk(of: phone)
      // People look some days later as well.
      desk.wall = desk.wall.advanced(by: .seconds(86_400 * Int64(kernel.plan.seed % 40)))
      let look = SyncLook(there, phones[phone].source.zone, at: desk.wall)
      for path in [SyncPath.steps, .heartRate, .sleep, .workouts, .periods] {
        check(path, look, &desk, phone)
      }
    }
  }

  /// Lets a client of another make come, which is answered as the protocols say.
  mutating func checkStranger() {
    guard kernel.hosts[server.place].isRunning else { return }
    let chance = Chance(seed: kernel.hosts[server.place].chance.next())
    var stranger = SyncStranger(desk(of: 0), chance)
    stranger.visit()
    for wrong in stranger.wrong { note(.misanswered(wrong)) }
    if let name = stranger.desk.brokenInvariant { kernel.report([name]) }
  }

  private mutating func check(
    _ path: SyncPath, _ look: SyncLook, _ desk: inout SyncDesk, _ phone: Int
  ) {
    let word = kernel.hosts[server.place].chance.next()
    let (received, glance) = question(path, look, phone, word)
    let answer = desk.ask(received, of: SyncUser(Self.user(phone)))
    if let name = desk.brokenInvariant { kernel.report([name]) }
    judge(glance, answer)
  }

  /// A question about days, drawn from a number, and what it must be answered with.
  private func question(
    _ path: SyncPath, _ look: SyncLook, _ phone: Int, _ word: UInt64
  ) -> (SyncReceivedRequest, Glance) {
    let first = word % 3 == 0 ? nil : look.today - Int64(word >> 8 % 60) + 2
    let last = word % 5 == 0 ? nil : (first ?? look.today) + Int64(word >> 16 % 40) - 3
    var received = SyncReceivedRequest(
      method: "GET", path: path, fields: ["host": SyncRequest.host])
    received.query["from"] = first.map { SyncZone.date($0) }
    received.query["to"] = last.map { SyncZone.date($0) }
    let glance = Glance(
      phone: phone, path: path, must: look.shown(path, first, last),
      isAnyLatest: path == .heartRate && look.hasManyLatest)
    return (received, glance)
  }

  /// Compares an answer with what it must be.
  private mutating func judge(_ glance: Glance, _ answer: SyncAnswer?) {
    let (path, phone) = (glance.path.rawValue, glance.phone)
    guard var must = glance.must else {
      if answer?.status != 400 { misshown(phone, "\(path) answers days of no sense") }
      return
    }
    guard let answer, answer.status == 200, let told = SyncTold(answer.body) else {
      return misshown(phone, "\(path) is answered with \(answer?.status ?? 0)")
    }
    if glance.isAnyLatest { must["latest"] = told.shown["latest"] }
    if let difference = told.difference(from: must) { misshown(phone, "\(path): \(difference)") }
  }

  // In the middle of a run.

  /// The questions of people in the middle of a run.
  struct Glances {
    /// Theirs alone, so that they change nothing else.
    var chance: Chance
    /// How many more there may be.
    var left = 6
    /// Those that have no answer yet.
    var open: [TrafficID: Glance] = [:]
    /// The number of the last one, beside those of other requests.
    var last: TrafficID = 1 << 48
  }

  /// A question of a person.
  struct Glance {
    var phone: Int
    var path: SyncPath
    /// What must be shown; `nil` if the days make no sense.
    var must: [String: SyncLook.Shown]?
    /// Several rates are the latest, and any of them may be shown.
    var isAnyLatest: Bool
  }

  /// Lets the person look whose batch was stored, some of the times.
  mutating func lookSoon(_ user: String) {
    guard glances.left > 0, glances.chance.next() % 3 == 0,
      let phone = phones.indices.first(where: { Self.user($0) == user })
    else { return }
    glances.left -= 1
    kernel.later(
      .looks(phone: phone), after: glances.chance.duration(below: .milliseconds(500)))
  }

  /// Asks the server, which must answer with what it has stored now.
  mutating func look(at phone: Int) {
    let held = backend.kept.places(of: Self.user(phone))
    guard kernel.hosts[server.place].isRunning,
      let there = phones[phone].source.kept(where: { held.contains($0.place) })
    else { return }
    let paths = [SyncPath.steps, .heartRate, .sleep, .workouts, .periods]
    let path = paths[Int(glances.chance.next() % 5)]
    let wall = wall(server)
    let look = SyncLook(there, phones[phone].source.zone, at: wall)
    let (received, glance) = question(path, look, phone, glances.chance.next())
    glances.last += 1
    glances.open[glances.last] = glance
    feed(.request(RequestID(glances.last), received, user: SyncUser(Self.user(phone)), wall: wall))
  }

  /// What the server answers from what is stored now.
  func told(
    _ path: SyncPath, _ span: SyncSpan, _ user: SyncUser, _ wall: Timestamp
  ) -> SyncOutcome {
    let phone = phones.indices.first { Self.user($0) == user.name } ?? 0
    let kept = seam.defect == .readsStale ? backend.old : backend.kept
    return SyncDesk.tell(
      path, span, user, wall, from: kept, phones[phone].source.zone, seam.defect)
  }

  /// Takes an answer to a person; returns false if it is one to a phone.
  mutating func seen(_ id: TrafficID, _ answer: SyncAnswer) -> Bool {
    guard let glance = glances.open.removeValue(forKey: id) else { return false }
    // A server that goes away, or has too much to do, shows nothing.
    if answer.status != 503 { judge(glance, answer) }
    return true
  }

  private mutating func misshown(_ phone: Int, _ detail: String) {
    note(.misshown(phone: phone, detail))
  }
}
