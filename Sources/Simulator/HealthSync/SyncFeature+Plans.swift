import LinkCore

extension SyncFeature {
  /// What can happen in plans beside the kernel's troubles.
  public enum Verb: String, PlanVerb {
    // People.
    /// So many samples are added.
    case adds
    /// So many samples are deleted.
    case deletes
    /// So many samples that were deleted come back.
    case restores
    /// The app is closed by force: the system launches it for nothing until it is opened again.
    case forceQuits
    /// Parked batches are to be sent again.
    case retries
    /// A type is to be read anew.
    case resets
    /// The health store is put back to an earlier state, and imports bring again what came since.
    case storeReturns
    /// The queue and its files are put back to what they were when the app was launched last.
    case queueReturns
    // The system.
    /// The device is locked: health data cannot be read.
    case locks
    /// The system ends the app, and launches it for observers and uploads.
    case jettisons
    /// The system grants time without a change.
    case refreshes, processes
    /// The network costs, the user saves data or power.
    case cellular, lowData, lowPower
    // The server.
    /// Another secret counts; the phones get it after a span.
    case rotates
    /// Requests are answered with 429, and the wish to be left alone for so long.
    case overloads
    /// What it has stored is put back to what it was when its process began.
    case serverReturns

    /// The declarations of all verbs.
    public static let forms: [Verb: VerbForm] = [
      .adds: VerbForm(.count(1...5_000), isOfPeople: true) { "has \($0.number) more samples" },
      .deletes: VerbForm(.count(1...1_000), isOfPeople: true) { "deletes \($0.number) samples" },
      .restores: VerbForm(.count(1...1_000), isOfPeople: true) {
        "brings \($0.number) deleted samples back"
      },
      .forceQuits: VerbForm(.span, isOfPeople: true) {
        "closes the app by force, and opens it again after \(length($0))"
      },
      .retries: VerbForm(isOfPeople: true) { _ in "sends parked batches again" },
      .resets: VerbForm(.number(0...2), isOfPeople: true) {
        "has type \($0.number) read anew"
      },
      .storeReturns: VerbForm(isOfPeople: true) { _ in
        "puts the health store back, and imports again what came since"
      },
      .queueReturns: VerbForm(.span, isOfPeople: true) {
        "puts the app's data back, and opens it again after \(length($0))"
      },
      .locks: VerbForm(.span) { "the phone is locked for \(length($0))" },
      .jettisons: VerbForm(.span) {
        "the system ends the app, and launches it when needed, for \(length($0))"
      },
      .refreshes: VerbForm { _ in "the system grants 30 s" },
      .processes: VerbForm { _ in "the system grants 3 min" },
      .cellular: VerbForm(.span) { "the network costs for \(length($0))" },
      .lowData: VerbForm(.span, isOfPeople: true) { "saves data for \(length($0))" },
      .lowPower: VerbForm(.span, isOfPeople: true) { "saves power for \(length($0))" },
      .rotates: VerbForm(.span, of: .backend) {
        "the secret changes, and phones have it after \(length($0))"
      },
      .overloads: VerbForm(.time, .span, of: .backend) {
        "every request is answered with 429 for \(length($0)), and the wish to be left alone for "
          + Words.length($0.time)
      },
      .serverReturns: VerbForm(.span, of: .backend) {
        "the server is put back to a backup within \(length($0))"
      },
    ]
  }

  public static func draw(_ preset: DayPreset, _ sketch: inout Sketch<SyncFeature>) {
    sketch.numbers.storeDelay = sketch.draw.one(.milliseconds(2), .milliseconds(300))
    sketch.numbers.phones = sketch.draw.one(1, 2)
    sketch.numbers.system = sketch.draw.one(0, 1)
    sketch.numbers.depth = sketch.draw.one(1, 1, 16)
    sketch.numbers.maxBody = sketch.draw.one(4 << 20, 4 << 20, 4_000, 1_000)
    sketch.numbers.again = sketch.draw.one(0, 0, 0.05, 0.3)
    sketch.numbers.delivery = sketch.draw.one(.milliseconds(200), .seconds(5), .seconds(300))
    sketch.aside { sketch in
      sketch.numbers.variety = sketch.draw.one(0, 0, 1)
      guard sketch.draw.happens(0.5) else { return }
      sketch.numbers.resumesFrom = sketch.draw.one(300, 1_000, 3_000)
      sketch.numbers.piece = sketch.draw.one(0, 200, 1_000, 3_000)
      sketch.numbers.dialect = sketch.draw.one(8, 8, 3, 3, 1, 1, 5, 6, 0)
      sketch.numbers.cuts = sketch.draw.one(0, 0.1, 0.5)
      sketch.numbers.coded = sketch.draw.one(0, 1)
    }
    sketch.day(preset)
    sketch.scatter(sketch.draw.count(6...20)) { Act(.adds, $0.one(1, 1, 2, 5, 30)) }
    sketch.scatter(sketch.draw.count(2...10)) { Act(.deletes, $0.one(1, 1, 3)) }
    sketch.scatter(sketch.draw.count(0...4)) { Act(.restores, $0.one(1, 2)) }
    sketch.scatter(sketch.draw.count(1...5)) { $0.one(Act(.refreshes), Act(.processes)) }
    let isRough = preset == .swarm || preset == .deploy
    sketch.swarm(Sketch<SyncFeature>.troubles, times: isRough ? 8...24 : 1...8)
    for index in sketch.acts.indices where sketch.acts[index].act.isOfPhone {
      if sketch.draw.happens(0.6) {
        sketch.acts[index].act.host = sketch.draw.count(0...sketch.numbers.phones - 1)
      }
    }
    sketch.aside { sketch in sketch.putThingsBack() }
  }
}

extension Sketch<SyncFeature> {
  /// Draws, for some runs, data that are put back, and successes that are none.
  fileprivate mutating func putThingsBack() {
    guard draw.happens(0.4) else { return }
    let phones = numbers.phones
    scatter(draw.count(1...4)) { draw in
      switch draw.count(0...4) {
      case 0, 1: Act(.serverReturns, for: draw.seconds(1, 30))
      case 2: Act(.storeReturns, on: draw.count(0...phones - 1))
      // Longer than anything is on its way that was sent before.
      case 3: Act(.queueReturns, for: draw.seconds(200, 900), on: draw.count(0...phones - 1))
      // Answers of success that say that nothing was stored.
      case _: Act(.restStatus, 200, for: draw.seconds(5, 300))
      }
    }
  }
}

extension Act<SyncFeature.Verb> {
  /// Whether it concerns phones.
  fileprivate var isOfPhone: Bool { (kind ?? form.host) == .phone }
}

extension Sketch<SyncFeature> {
  /// Troubles of syncs beside those of every day; their order is part of every seed.
  fileprivate static var troubles: [Trouble<SyncFeature.Verb>] {
    [
      Trouble { Act(.locks, for: $0.seconds(1, 600)) },
      Trouble { Act(.jettisons, for: $0.seconds(5, 900)) },
      Trouble { Act(.forceQuits, for: $0.seconds(5, 900)) },
      Trouble { Act($0.one(.cellular, .lowData, .lowPower), for: $0.seconds(10, 900)) },
      Trouble { Act(.rotates, for: $0.seconds(1, 600)) },
      Trouble { Act(.overloads, by: $0.seconds(1, 900), for: $0.seconds(5, 120)) },
      Trouble {
        Act(
          .restStatus, $0.one(500, 503, 429, 413, 400, 401, 403, 408),
          for: $0.seconds(1, 60))
      },
      Trouble { Act(.kill, for: $0.one(.zero, $0.seconds(0, 60))) },
      Trouble { Act(.kill, for: $0.seconds(0.5, 30), at: .backend) },
      Trouble {
        Act($0.one(.storeFull, .storeLocked, .storeSlow), for: $0.seconds(1, 60), at: .backend)
      },
      Trouble { Act($0.one(.storeFull, .storeLocked, .storeSlow), for: $0.seconds(1, 60)) },
      Trouble { Act(.wallClock, by: $0.seconds(-4_000, 4_000)) },
      Trouble { $0.one(Act(.retries), Act(.resets, $0.count(0...2))) },
    ]
  }
}
