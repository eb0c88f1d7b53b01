import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

// People who look at their health data: the answers of the server are compared with what their
// phones have.
extension SyncWorld {
  func desk(of phone: Int) -> SyncDesk {
    SyncDesk(
      backend.server, (backend.kept, backend.stock), seam.defect, phones[phone].source.zone,
      at: now, wall(server))
  }

  /// Compares what each person is shown with what the phone has.
  mutating func checkLooks() {
    guard kernel.hosts[server.place].isRunning else { return }
    for phone in phones.indices {
      let own = kernel.bench.views[phone].standing.own
      guard own.missing == 0, own.extra == 0 else { continue }
      var seen: Set<HealthSamplePlace> = []
      let there = phones[phone].source.entries.filter {
        $0.deleted == nil && seen.insert($0.place).inserted
      }.map(\.sample.sample)
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
    if let stray = stranger.stray { note(.strayed(stray)) }
  }

  private mutating func check(
    _ path: SyncPath, _ look: SyncLook, _ desk: inout SyncDesk, _ phone: Int
  ) {
    let word = kernel.hosts[server.place].chance.next()
    let first = word % 3 == 0 ? nil : look.today - Int64(word >> 8 % 60) + 2
    let last = word % 5 == 0 ? nil : (first ?? look.today) + Int64(word >> 16 % 40) - 3
    var letter = SyncLetter(method: "GET", path: path, fields: ["host": SyncRequest.host])
    letter.query["from"] = first.map { SyncZone.date($0) }
    letter.query["to"] = last.map { SyncZone.date($0) }
    let answer = desk.ask(letter, of: SyncUser(Self.user(phone)))
    if let stray = desk.newStray() { note(.strayed(stray)) }
    guard var must = look.shown(path, first, last) else {
      if answer?.status != 400 { misshown(phone, "\(path.rawValue) answers days of no sense") }
      return
    }
    guard let answer, answer.status == 200, let told = SyncTold(answer.body) else {
      return misshown(phone, "\(path.rawValue) is answered with \(answer?.status ?? 0)")
    }
    if path == .heartRate, look.hasManyLatest { must["latest"] = told.shown["latest"] }
    if let difference = told.difference(from: must) {
      misshown(phone, "\(path.rawValue): \(difference)")
    }
  }

  private mutating func misshown(_ phone: Int, _ detail: String) {
    note(.misshown(phone: phone, detail))
  }
}
