public import HoldfastBottleChecks
import HoldfastCore
import HoldfastLinkChecks
public import HoldfastWorldKernel

extension BottleFeature {
  /// The kinds of planned events, in addition to those of the kernel.
  public enum EventKind: String, PlanEventKind {
    // People.
    /// A person takes a number of drinks in succession.
    case drinks
    case moves
    /// The bottle is carried around.
    case carries
    /// A person pours out a number of milliliters. A negative number is a refill.
    case pours
    case shakes
    case refreshes
    /// The user deletes the newest drink.
    case deletes
    case commands
    /// The user opens a screen that holds the connection.
    case holds
    /// The user temporarily turns off the feature.
    case pauses
    /// The user removes the bottle. Afterwards any bottle is accepted.
    case forgets
    // The bottle.
    case restarts
    /// The bottle restarts with empty memory, and a person drinks.
    case wipes
    case flat
    /// The bottle measures the charge of its battery, in percent.
    case measures
    /// The bottle changes its services, which a phone must then discover again.
    case changes
    // The radio.
    case away
    /// The phone has no free slot for another connection.
    case crowded
    /// Notifications are lost or repeated, and writes fail.
    case lossy
    /// Values are truncated.
    case garbles
    case bluetooth
    /// Callbacks of earlier attempts occur again.
    case echoes
    // The phone's system.
    /// The phone's clock is reset to 2017, as after an empty battery.
    case timeless
    /// The system ends the app. It launches the app again when the bottle is in range.
    case evict

    /// The declarations of all event kinds.
    public static let forms: [EventKind: EventForm] = [
      .drinks: EventForm(.count(1...60), of: .peripheral, isOfPeople: true) {
        "takes \(TraceText.count($0.number, "drink"))"
      },
      .moves: EventForm(of: .peripheral, isOfPeople: true) { _ in "moves the bottle" },
      .carries: EventForm(.span, of: .peripheral, isOfPeople: true) {
        "carries the bottle for \(length($0))"
      },
      .pours: EventForm(.choice(amounts), of: .peripheral, isOfPeople: true) {
        "pours \($0.choice) ml"
      },
      .shakes: EventForm(of: .peripheral, isOfPeople: true) { _ in "shakes the bottle" },
      .refreshes: EventForm(isOfPeople: true) { _ in "refreshes" },
      .deletes: EventForm(isOfPeople: true) { _ in "deletes the newest drink" },
      .commands: EventForm(.choice(BottleRequestKind.allCases.map(\.rawValue)), isOfPeople: true) {
        "sends \($0.choice) to the bottle"
      },
      .holds: EventForm(.span, isOfPeople: true) {
        "looks at a screen that keeps the connection for \(length($0))"
      },
      .pauses: EventForm(.span, isOfPeople: true) { "turns it off for \(length($0))" },
      .forgets: EventForm(isOfPeople: true) { _ in "gives the bottle up" },
      .restarts: EventForm(of: .peripheral) { _ in "the bottle restarts" },
      .wipes: EventForm(of: .peripheral) { _ in "the bottle loses its memory" },
      .flat: EventForm(.span, of: .peripheral) { "the bottle's battery is flat for \(length($0))" },
      .measures: EventForm(.count(0...100), of: .peripheral) {
        "the bottle's battery has \($0.number) %"
      },
      .changes: EventForm(
        .choice(BottleRadio.ServiceChange.allCases.map(\.rawValue)), of: .peripheral
      ) {
        "the bottle changes its services (\($0.choice))"
      },
      .away: EventForm(.span, of: .peripheral) { "the bottle is out of range for \(length($0))" },
      .crowded: EventForm(.span) { "the phone has no slot for a connection for \(length($0))" },
      .lossy: EventForm(.span) { "the radio loses and repeats values for \(length($0))" },
      .garbles: EventForm(.span) { "the radio cuts values off for \(length($0))" },
      .bluetooth: EventForm(.choice(["off", "unauthorised", "resetting", "unknown"]), .span) {
        "Bluetooth is \($0.choice) for \(length($0))"
      },
      .echoes: EventForm { _ in "callbacks of older attempts come again" },
      .timeless: EventForm { _ in "the phone's clock falls back by years" },
      .evict: EventForm(.span, lasting: .spanAnd(.seconds(1))) {
        "the system ends the app, which is opened again after \(length($0))"
      },
    ]

    /// The amounts at and next to the thresholds for a drink, a refill and a change of the level.
    static let amounts = [
      "-1000", "-101", "-100", "-99", "-10", "-9", "9", "10", "29", "30", "99", "100", "900",
    ]
  }

  public static func draw(_ preset: DayPreset, _ builder: inout PlanBuilder<BottleFeature>) {
    builder.bottle()
    switch preset {
    case .lift:
      builder.scatter(builder.draw.count(10...30)) { PlannedEvent(.away, for: $0.seconds(0.5, 90)) }
      builder.scatter(builder.draw.count(0...3)) {
        PlannedEvent(.suspend, for: $0.seconds(10, 300))
      }
    case .cafe:
      builder.scatter(builder.draw.count(4...10)) {
        PlannedEvent(.suspend, for: $0.seconds(30, 900))
      }
      builder.scatter(builder.draw.count(0...3)) { PlannedEvent(.evict, for: $0.seconds(30, 900)) }
      builder.swarm(PlanBuilder<BottleFeature>.troubles, times: 0...4)
    case .train:
      builder.networkConditions.loss = builder.draw.one(0.05, 0.2, 0.4)
      builder.networkConditions.twice = builder.draw.one(0, 0.1, 0.3)
      builder.scatter(builder.draw.count(4...10)) {
        $0.one(
          PlannedEvent(.lossy, for: $0.seconds(5, 200)),
          PlannedEvent(.crowded, for: $0.seconds(5, 200)),
          PlannedEvent(.away, for: $0.seconds(5, 200)))
      }
    case .aeroplane: builder.fly()
    case .captivePortal, .deploy, .swarm:
      builder.networkConditions.loss = builder.draw.one(0, 0, 0, 0.1, 0.3)
      builder.networkConditions.twice = builder.draw.one(0, 0, 0.1, 0.3)
      builder.swarm(PlanBuilder<BottleFeature>.troubles, times: 10...30)
    }
    builder.aside { $0.tinker() }
  }
}

extension PlanBuilder<BottleFeature> {
  /// Adds the bottle, the phone, and the usual actions of people.
  fileprivate mutating func bottle() {
    numbers.profile = draw.one(28, 34, 35, 35)
    numbers.passive = draw.one(.seconds(10), .seconds(30), .seconds(60))
    numbers.longest = draw.one(20, 62, 182, 244)
    numbers.capacity = draw.one(600, 600, 600, 20)
    numbers.lies = draw.one(0, 0, 1)
    numbers.overtakes = draw.count(0...1)
    networkConditions.jitter = draw.seconds(0.005, 0.1)
    scatter(draw.count(6...20)) { PlannedEvent(.drinks, $0.one(1, 1, 1, 2, $0.count(1...30))) }
    scatter(draw.count(0...8)) { _ in PlannedEvent(.moves) }
    scatter(draw.count(0...4)) {
      $0.one(
        PlannedEvent(.refreshes), PlannedEvent(.deletes),
        PlannedEvent(.commands, 0, $0.one("tare", "ping", "reset", "settings")),
        PlannedEvent(.holds, for: $0.seconds(5, 300)))
    }
  }

  /// In half of the plans, adds actions that people seldom perform with a bottle.
  fileprivate mutating func tinker() {
    guard draw.one(true, false) else { return }
    scatter(draw.count(0...6)) {
      PlannedEvent(.pours, 0, $0.any(of: BottleFeature.EventKind.amounts))
    }
    scatter(draw.count(0...2)) { _ in PlannedEvent(.shakes) }
    scatter(draw.count(0...3)) { PlannedEvent(.measures, $0.one(4, 19, 20, 24, 25, 26, 80)) }
    scatter(draw.count(0...4)) {
      PlannedEvent(.commands, 0, $0.any(of: BottleRequestKind.allCases).rawValue)
    }
    // A bottle that was just picked up is awake.
    for _ in 0..<draw.count(0...4) {
      let time = draw.seconds(5, Double(length.components.seconds) - 70)
      add(PlannedEvent(.drinks, 1), at: time)
      for _ in 0..<draw.count(1...8) {
        let kind = draw.any(of: BottleRequestKind.allCases).rawValue
        add(PlannedEvent(.commands, 0, kind), at: time + draw.seconds(10, 60))
      }
    }
    scatter(draw.count(0...2)) {
      $0.one(
        PlannedEvent(.holds, for: $0.seconds(60, 400)), PlannedEvent(.refreshes),
        PlannedEvent(.deletes))
    }
    scatter(draw.count(0...2)) {
      $0.one(
        PlannedEvent(.pauses, for: $0.seconds(0, 100)), PlannedEvent(.forgets),
        PlannedEvent(.echoes),
        PlannedEvent(.garbles, for: $0.seconds(20, 200)))
    }
    if draw.happens(0.05) { add(PlannedEvent(.timeless), at: .seconds(40)) }
    if draw.happens(0.1) { scatter(draw.count(1...4)) { _ in PlannedEvent(.wipes) } }
    scatter(draw.count(0...4)) {
      PlannedEvent(.changes, 0, $0.any(of: BottleRadio.ServiceChange.allCases).rawValue)
    }
  }

  /// Draws hours without Bluetooth. The app is closed or suspended for most of them.
  fileprivate mutating func fly() {
    length = draw.seconds(7200, 14_400)
    let start = draw.seconds(300, 1200)
    let flight = length - start - .seconds(600)
    let rest = start + .seconds(120)
    add(PlannedEvent(.bluetooth, 0, draw.one("off", "off", "unauthorised"), for: flight), at: start)
    add(
      draw.one(
        PlannedEvent(.suspend, for: flight / 2), PlannedEvent(.evict, for: flight / 4),
        PlannedEvent(.kill, for: flight / 4)),
      at: rest)
    scatter(draw.count(1...3)) { PlannedEvent(.suspend, for: $0.seconds(6, 900)) }
  }

  /// The faults between a phone and a bottle. Seeds depend on their order.
  fileprivate static var troubles: [Trouble<BottleFeature.EventKind>] {
    [
      .background, .suspend, .suspend, .kill, .store, .wall,
      Trouble { PlannedEvent(.evict, for: $0.seconds(5, 900)) },
      Trouble { PlannedEvent(.evict, for: $0.seconds(5, 900)) },
      Trouble { PlannedEvent(.away, for: $0.seconds(0.5, 200)) },
      Trouble { PlannedEvent(.crowded, for: $0.seconds(1, 200)) },
      Trouble { PlannedEvent(.lossy, for: $0.seconds(5, 200)) },
      Trouble {
        PlannedEvent(
          .bluetooth, 0, $0.one("off", "unauthorised", "resetting", "unknown"),
          for: $0.seconds(0.5, 200))
      },
      Trouble { _ in PlannedEvent(.echoes) },
      Trouble { _ in PlannedEvent(.restarts) },
      Trouble { PlannedEvent(.flat, for: $0.seconds(5, 300)) },
      Trouble { PlannedEvent(.carries, for: $0.seconds(30, 500)) },
      Trouble {
        $0.one(
          PlannedEvent(.refreshes), PlannedEvent(.deletes),
          PlannedEvent(.holds, for: $0.seconds(5, 300)),
          PlannedEvent(.commands, 0, "ping"))
      },
      Trouble { PlannedEvent(.drinks, $0.count(1...40)) },
    ]
  }
}
