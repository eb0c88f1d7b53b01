import HoldfastCore

/// A scenario of the demo. It plays faults and adds the results to the ledger.
protocol DemoScenario: Sendable {
  /// The scenario's name, by which it can be selected.
  var name: String { get }
  var title: String { get }
  /// Whether the scenario needs the phone that follows the messages of the shop.
  var needsTraffic: Bool { get }
  /// The faults that the scenario plays, in order. The ledger has a row for each of them.
  var troubles: [Trouble] { get }
  /// The link that the scenario shows; `nil` if an earlier scenario has launched its app.
  var link: DemoLink? { get }
  func play(on environment: isolated DemoEnvironment) async throws(DemoFailure)
}

extension DemoScenario {
  var needsTraffic: Bool { true }
  var troubles: [Trouble] { [] }
  var link: DemoLink? { nil }
}

extension Demo {
  /// All scenarios, in the order in which they are played.
  ///
  /// `TokenExpiry` is played early, because the phone's first token must remain valid until then.
  /// `Calm` is played last, because it ends the traffic.
  static let scenarios: [any DemoScenario] = [
    SteadyTraffic(), PhoneTrouble.linkCut, TokenExpiry(), PhoneTrouble.halfOpenLink,
    PhoneTrouble.serverRestart, ServerRefusal(), PhoneTrouble.phoneKill, AssistantQuestions(),
    SessionPrompts(), HeldFeed(), HealthSyncing(), BottleDrinks(), Calm(),
  ]

  /// Returns the scenarios with the given names, in order. Without names, all scenarios are
  /// returned.
  ///
  /// If one of them needs the traffic, the scenarios that begin and end the traffic are included.
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
  /// The stable name of the fault in JSON.
  let name: String
  /// The short title of the fault in the ledger.
  let title: String
  /// Returns the maximum times that follow from a policy and from the time for the machine's work.
  let bounds: @Sendable (LinkPolicy, Duration) -> Outcome.Bounds

  init(
    _ name: String, _ title: String,
    bounds: @escaping @Sendable (LinkPolicy, Duration) -> Outcome.Bounds
  ) {
    self.name = name
    self.title = title
    self.bounds = bounds
  }

  static func == (left: Trouble, right: Trouble) -> Bool { left.name == right.name }

  func hash(into hasher: inout Hasher) { hasher.combine(name) }

  /// The faults of all scenarios, in order.
  static var all: [Trouble] { of(Demo.scenarios) }

  /// Returns the faults of the given scenarios, in order.
  static func of(_ scenarios: [any DemoScenario]) -> [Trouble] { scenarios.flatMap(\.troubles) }
}

/// The outcome of a fault.
struct Outcome: Sendable, Hashable {
  /// The maximum times that follow from the policy, including the time for the machine's work.
  struct Bounds: Sendable, Hashable {
    /// The time until the phone notices the fault; `nil` if it cannot notice the fault.
    var noticed: Duration?
    /// The time until the recovery is complete.
    var whole: Duration
  }

  var trouble: Trouble
  /// The time from the beginning of the fault to the phone's first status that is not connected;
  /// `nil` if there was no such status.
  var noticed: Duration?
  /// The time from the end of the fault until the recovery is complete; `nil` if it was never
  /// complete.
  ///
  /// The recovery is complete when every message accepted so far is shown, or when the question is
  /// answered.
  var whole: Duration?
  var bounds: Bounds

  /// Whether both times are within their limits.
  var isHeld: Bool {
    guard let whole, whole <= bounds.whole else { return false }
    guard let bound = bounds.noticed else { return true }
    return noticed.map { $0 <= bound } ?? false
  }
}
