import HoldfastCore
public import HoldfastLinkChecks

/// A search for a smaller plan that still fails in the same way, with fewer and shorter faults and
/// better network conditions.
///
/// Delta debugging (Zeller, Hildebrandt 2002) first reduces the planned events, then every number
/// of the plan. Shrinking is deterministic.
public struct Shrink<Feature: SimulatedFeature> {
  /// The type of plan that is shrunk.
  public typealias Plan = WorldPlan<Feature>

  /// The smallest failing plan so far.
  public private(set) var plan: Plan
  /// The number of plans tried.
  public private(set) var tries = 0
  private let limit: Int
  private let fails: (Plan) -> Bool

  /// Creates a search.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of plans to try.
  ///   - fails: Returns whether a plan fails in the same way as the original. It must return true
  ///     for `plan`.
  public init(_ plan: Plan, limit: Int = 1000, fails: @escaping (Plan) -> Bool) {
    self.plan = plan
    self.limit = limit
    self.fails = fails
  }

  /// Returns the smallest plan found that leads to a finding of the given kind. If the setup has a
  /// defect, the plan must have no findings without the defect.
  ///
  /// - Parameter play: Runs a plan, as `Feature.play` does.
  public static func shrunk(
    _ plan: Plan, _ setup: RunSetup<Feature> = RunSetup(), keeping kind: Finding.Kind,
    limit: Int = 1000, isCancelled: @escaping () -> Bool = { false },
    play: @escaping (Plan, RunSetup<Feature>) -> RunOutcome<Feature> = { Feature.play($0, $1) }
  ) -> Plan {
    var shrink = Shrink(plan, limit: limit) { plan in
      guard !isCancelled(), play(plan, setup).kinds.contains(kind) else { return false }
      guard setup.defect != nil else { return true }
      return !play(plan, RunSetup(policy: setup.policy)).kinds.contains(kind)
    }
    shrink.run()
    return shrink.plan
  }

  /// Searches until nothing more can be removed or the limit is reached.
  public mutating func run() {
    var before: Plan
    repeat {
      before = plan
      removeEvents()
      calm()
      shorten()
      simplifyEvents()
    } while plan != before && tries < limit
  }

  /// Replaces the plan with a candidate if the candidate also fails. Returns whether it does.
  private mutating func accept(_ change: (inout Plan) -> Void) -> Bool {
    var candidate = plan
    change(&candidate)
    guard candidate != plan, tries < limit, candidate.problem == nil || plan.problem != nil
    else { return false }
    tries += 1
    guard fails(candidate) else { return false }
    plan = candidate
    return true
  }

  /// Removes halves of the events, then quarters, and finally single events.
  private mutating func removeEvents() {
    var size = max(1, plan.events.count / 2)
    while !plan.events.isEmpty {
      var start = 0
      while start < plan.events.count {
        let piece = start..<min(start + size, plan.events.count)
        if !accept({ $0.events.removeSubrange(piece) }) { start += size }
      }
      guard size > 1 else { return }
      size /= 2
    }
  }

  /// Sets the numbers of the network conditions and of the feature to those of a good day: first
  /// all at once, then one at a time.
  private mutating func calm() {
    _ = accept {
      $0.networkConditions = .calm
      $0.numbers = .calm
    }
    for field in NetworkConditions.fields {
      for simpler in field.simpler(plan.networkConditions, .calm)
      where accept({ $0.networkConditions = simpler }) {
        break
      }
    }
    for field in Feature.Numbers.fields {
      for simpler in field.simpler(plan.numbers, .calm) where accept({ $0.numbers = simpler }) {
        break
      }
    }
  }

  /// Starts the calm phase sooner, and moves events to earlier times.
  private mutating func shorten() {
    let last = plan.events.map { $0.at + $0.event.length }.max() ?? .zero
    for rest in [Duration.seconds(1), .seconds(60), .seconds(600)] {
      let length = last + rest
      guard length < plan.length else { break }
      if accept({ $0.length = length }) { break }
    }
    for index in plan.events.indices {
      let before = index > 0 ? plan.events[index - 1].at : .zero
      let idle = plan.events[index].at - before
      guard idle > .seconds(1) else { continue }
      for shorter in [Duration.seconds(1), (idle / 2).inMilliseconds] {
        let saved = idle - shorter
        let isSooner = accept { plan in
          for later in index..<plan.events.count { plan.events[later].at -= saved }
          plan.length -= saved
        }
        if isSooner { break }
      }
    }
    for index in plan.events.indices {
      let rounded = plan.events[index].at.rounded
      let least = index > 0 ? plan.events[index - 1].at : .zero
      if rounded >= least { _ = accept { $0.events[index].at = rounded } }
    }
  }

  private mutating func simplifyEvents() {
    for index in plan.events.indices {
      for simpler in plan.events[index].event.simpler {
        if accept({ $0.events[index].event = simpler }) { break }
      }
    }
  }
}

extension Duration {
  /// The duration in whole seconds, rounded down.
  fileprivate var rounded: Duration { .seconds(components.seconds) }
  fileprivate var inMilliseconds: Duration { .milliseconds(nanoseconds / 1_000_000) }
}
