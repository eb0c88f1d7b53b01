// What proves that a defect is caught: where, how soon, and as what.
extension Break {
  /// The servers with which the mistake can show.
  public var catchable: [ServerKind] {
    switch self {
    // With positions the head and the offsets show the hole, whoever fetches or buffers.
    case .noSecondFetch, .noBuffer: [.plain]
    // Only a catch-up by time has an overlap, and only it fetches what is known already.
    case .noOverlap, .forgetsIDs: [.plain]
    // A plain server knows no keys, and no epochs.
    case .noIdempotencyKey, .ignoresEpoch: [.positions]
    case .firstPageOnly, .showsBeforeStored, .countResetOnOpen, .noStability, .takesLateEvents,
      .losesStandby, .noSpread, .timersStopAsleep:
      ServerKind.allCases
    }
  }

  /// What it is caught as; one of these is enough.
  public var kinds: [Finding.Kind] {
    switch self {
    case .noSecondFetch, .noBuffer, .noOverlap, .firstPageOnly, .ignoresEpoch: [.lost, .early]
    case .showsBeforeStored: [.early]
    case .countResetOnOpen, .noStability, .noSpread: [.storm]
    case .takesLateEvents: [.late]
    case .forgetsIDs, .noIdempotencyKey: [.duplicated]
    case .losesStandby, .timersStopAsleep: [.stuck]
    }
  }

  /// It is caught within so many seeds, with each server that can show it.
  public var seeds: Int {
    switch self {
    // A log must begin anew while nobody looks.
    case .ignoresEpoch: 50
    case .noSecondFetch, .noBuffer, .noOverlap, .firstPageOnly, .showsBeforeStored,
      .countResetOnOpen,
      .noStability, .takesLateEvents, .forgetsIDs, .noIdempotencyKey, .losesStandby, .noSpread,
      .timersStopAsleep:
      20
    }
  }

  /// The run in which it is looked for.
  ///
  /// Most show on any bad day, which is swarm's. Three need a day of their own: answers slow enough
  /// that frames overtake them (`noBuffer`), a server that takes connections and drops them for
  /// minutes (`noStability`), a way so slow that a connection opens after it was given up
  /// (`takesLateEvents`).
  public func plan(seed: UInt64, server: ServerKind) -> Plan {
    switch self {
    case .noBuffer: slowAnswers(seed, server)
    case .noStability: flapping(seed, server)
    case .takesLateEvents: tooSlow(seed, server)
    case .noSecondFetch, .noOverlap, .firstPageOnly, .showsBeforeStored, .countResetOnOpen,
      .forgetsIDs, .noIdempotencyKey, .losesStandby, .noSpread, .ignoresEpoch,
      .timersStopAsleep:
      Plan.drawn(.swarm, seed: seed, server: server)
    }
  }

  /// Others talk while a connection is new, and later, so that no overlap reaches back to it.
  private func slowAnswers(_ seed: UInt64, _ server: ServerKind) -> Plan {
    var weather = Weather()
    weather.slow = 0.7
    let actions = (1...8).flatMap { round in
      let start = Duration.seconds(400 * round)
      return [
        Planned(at: start, .reset),
        Planned(at: start + .milliseconds(500), .others(messages: 10)),
        Planned(at: start + .seconds(250), .others(messages: 2)),
        Planned(at: start + .seconds(300), .others(messages: 2)),
      ]
    }
    return Plan(
      seed: seed, server: server, weather: weather, actions: actions, length: .seconds(3600))
  }

  /// Every connection is reset before it stood long enough to count, and no request works that
  /// would find the server back.
  private func flapping(_ seed: UInt64, _ server: ServerKind) -> Plan {
    let broken = Planned(at: .seconds(599), .restStatus(500, for: .seconds(310)))
    let actions = [broken] + (0..<100).map { Planned(at: .seconds(600 + 3 * $0), .reset) }
    return Plan(
      seed: seed, server: server, weather: Weather(), actions: actions, length: .seconds(3600))
  }

  /// It takes longer to open a connection than the policy waits for it.
  private func tooSlow(_ seed: UInt64, _ server: ServerKind) -> Plan {
    var weather = Weather()
    weather.delay = .milliseconds(3100)
    weather.jitter = .seconds(1)
    return Plan(
      seed: seed, server: server, weather: weather, actions: [], length: .seconds(3600))
  }
}
