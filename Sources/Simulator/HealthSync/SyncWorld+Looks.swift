import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

// People who look at their health data: the answers of the server are compared with what their
// phones have.
extension SyncWorld {
  /// The backend beside its run: the same rules and the same store, and nothing takes time.
  struct Desk {
    var rules: SyncServer
    var kept: KeptSync
    var defect: Feature.Defect?
    var zone: SyncZone
    var now: Instant
    var wall: Timestamp
    var lastRequest: UInt64 = 1 << 50

    /// Makes a request, and does at once what it needs.
    mutating func ask(_ call: SyncCall, of user: SyncUser?) -> SyncAnswer? {
      lastRequest += 1
      var effects = rules.handle(
        .request(RequestID(lastRequest), call, user: user, wall: wall), at: now)
      while !effects.isEmpty {
        switch effects.removeFirst() {
        case .answer(_, let answer): return answer
        case .tell(let token, let user, let path, let span, let wall):
          effects += rules.handle(.done(token, tell(path, span, user, wall)), at: now)
        case .check(let token): effects += rules.handle(.done(token, .checked), at: now)
        case .ingest, .keep, .finish, .forget, .inform, .interrupt, .finished: continue
        }
      }
      return nil
    }

    private func tell(
      _ path: SyncPath, _ span: SyncSpan, _ user: SyncUser, _ wall: Timestamp
    ) -> SyncOutcome {
      var report = SyncReport(
        path, span, zone: zone.rules, now: wall, stored: kept.summary(of: user.name))
      while var query = report.wanted {
        query.limit = min(query.limit, 100)
        var page = kept.samples(query, of: user.name)
        if defect == .countsTwice {
          for index in page.samples.indices where page.samples[index].type.contains("Quantity") {
            page.samples[index].source = "Watch"
          }
        }
        report.take(page)
      }
      return report.outcome
    }
  }

  func desk(of phone: Int) -> Desk {
    Desk(
      rules: backend.rules, kept: backend.kept, defect: seam.defect,
      zone: phones[phone].source.zone, now: now, wall: wall(server))
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

  private mutating func check(
    _ path: SyncPath, _ look: SyncLook, _ desk: inout Desk, _ phone: Int
  ) {
    let word = kernel.hosts[server.place].chance.next()
    let first = word % 3 == 0 ? nil : look.today - Int64(word >> 8 % 60) + 2
    let last = word % 5 == 0 ? nil : (first ?? look.today) + Int64(word >> 16 % 40) - 3
    let call = SyncCall(
      "GET", path, host: SyncRequest.host, from: first.map { SyncZone.date($0) },
      to: last.map { SyncZone.date($0) })
    let answer = desk.ask(call, of: SyncUser(Self.user(phone)))
    guard var must = look.shown(path, first, last) else {
      if answer?.status != 400 { misread(phone, "\(path.rawValue) answers days of no sense") }
      return
    }
    guard let answer, answer.status == 200, let told = SyncTold(answer.body) else {
      return misread(phone, "\(path.rawValue) is answered with \(answer?.status ?? 0)")
    }
    if path == .heartRate, look.hasManyLatest { must["latest"] = told.shown["latest"] }
    if let difference = told.difference(from: must) {
      misread(phone, "\(path.rawValue): \(difference)")
    }
  }

  private mutating func misread(_ phone: Int, _ detail: String) {
    note(.misread(phone: phone, detail))
  }
}
