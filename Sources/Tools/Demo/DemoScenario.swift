import LinkCore

/// A scenario of the demo, which plays its faults and fills the ledger.
protocol DemoScenario: Sendable {
  /// The scenario's name for `--scenario`.
  var name: String { get }
  var title: String { get }
  /// Whether the scenario needs the phone that follows the shop's messages.
  var needsTraffic: Bool { get }
  /// The troubles that the scenario plays, in order. Each has a row of the ledger.
  var troubles: [Trouble] { get }
  func play(on environment: isolated DemoEnvironment) async throws(DemoFailure)
}

extension DemoScenario {
  var needsTraffic: Bool { true }
  var troubles: [Trouble] { [] }
}

extension Demo {
  /// All scenarios in the order in which they are played. `Calm` is the last one: it ends the
  /// traffic.
  ///
  /// The token expires early, since the phone's first token must last until then.
  static let scenarios: [any DemoScenario] = [
    SteadyTraffic(), PhoneTrouble.linkCut, TokenExpiry(), PhoneTrouble.halfOpenLink,
    PhoneTrouble.serverRestart, ServerRefusal(), PhoneTrouble.phoneKill, AssistantQuestions(),
    SessionPrompts(), HeldFeed(), HealthSyncing(), BottleDrinks(), Calm(),
  ]

  /// Returns the scenarios with the given names, in order; all scenarios for no name.
  ///
  /// If one of them needs the traffic, the beginning and the end of the traffic are included.
  static func scenarios(named names: Set<String>) -> [any DemoScenario] {
    guard !names.isEmpty else { return scenarios }
    let isTraffic = scenarios.contains { names.contains($0.name) && $0.needsTraffic }
    return scenarios.filter { scenario in
      names.contains(scenario.name) || isTraffic && (scenario is SteadyTraffic || scenario is Calm)
    }
  }
}

/// A fault of the demo.
struct Trouble: Sendable, Hashable {
  /// The stable name in JSON.
  let name: String
  /// A short title for the ledger.
  let title: String
  /// Returns the longest times that a policy allows, plus the time for work.
  let bounds: @Sendable (LinkPolicy) -> Outcome.Bounds

  init(
    _ name: String, _ title: String, bounds: @escaping @Sendable (LinkPolicy) -> Outcome.Bounds
  ) {
    self.name = name
    self.title = title
    self.bounds = bounds
  }

  static func == (left: Trouble, right: Trouble) -> Bool { left.name == right.name }

  func hash(into hasher: inout Hasher) { hasher.combine(name) }

  /// The troubles of all scenarios, in order.
  static var all: [Trouble] { of(Demo.scenarios) }

  /// Returns the troubles of some scenarios, in order.
  static func of(_ scenarios: [any DemoScenario]) -> [Trouble] { scenarios.flatMap(\.troubles) }
}

/// The outcome of one trouble.
struct Outcome: Sendable, Hashable {
  /// The longest times that the policy allows, plus the time for this machine's work.
  struct Bounds: Sendable, Hashable {
    /// The time until the phone notices the trouble; `nil` if it cannot notice it.
    var noticed: Duration?
    /// The time until everything is complete again.
    var whole: Duration
  }

  var trouble: Trouble
  /// The time from the beginning of the trouble to the phone's first status that is not connected;
  /// `nil` if there was none.
  var noticed: Duration?
  /// The time from the end of the trouble until every message accepted so far is shown, or the
  /// question is answered; `nil` if that did not happen.
  var whole: Duration?
  var bounds: Bounds

  /// Whether both times are within their bounds.
  var isHeld: Bool {
    guard let whole, whole <= bounds.whole else { return false }
    guard let bound = bounds.noticed else { return true }
    return noticed.map { $0 <= bound } ?? false
  }
}
