import LinkCore

/// Finds a smaller plan that still fails in the same way: fewer troubles, shorter, in better
/// weather.
///
/// Delta debugging (Zeller, Hildebrandt 2002) over the plan's actions, then every number of it.
/// The same plan shrinks to the same plan.
public struct Shrink {
  /// The smallest plan so far that fails.
  public private(set) var plan: Plan
  /// How many plans were tried.
  public private(set) var tries = 0
  private let limit: Int
  private let fails: (Plan) -> Bool

  /// - Parameters:
  ///   - limit: Plans that are tried at most.
  ///   - fails: Whether a plan fails in the way in question; it must hold for `plan`.
  public init(_ plan: Plan, limit: Int = 1000, fails: @escaping (Plan) -> Bool) {
    self.plan = plan
    self.limit = limit
    self.fails = fails
  }

  /// The smallest plan with which a client breaks a promise of the given kind; where a defect is
  /// switched on, only because of it.
  public static func shrunk<Client: StreamClient>(
    _ plan: Plan, _ setup: Setup = Setup(), as client: Client.Type, keeping kind: Finding.Kind,
    limit: Int = 1000, isCancelled: @escaping () -> Bool = { false }
  ) -> Plan {
    var shrink = Shrink(plan, limit: limit) { plan in
      guard !isCancelled(), play(plan, setup, as: client).kinds.contains(kind) else { return false }
      guard setup.defect != nil else { return true }
      return !play(plan, Setup(policy: setup.policy), as: client).kinds.contains(kind)
    }
    shrink.run()
    return shrink.plan
  }

  /// Tries until nothing can be left out any more, or the limit is reached.
  public mutating func run() {
    var before: Plan
    repeat {
      before = plan
      removeActions()
      calm()
      shorten()
      simplifyActions()
    } while plan != before && tries < limit
  }

  /// Takes a candidate over when it fails as well.
  private mutating func accept(_ change: (inout Plan) -> Void) -> Bool {
    var candidate = plan
    change(&candidate)
    guard candidate != plan, tries < limit else { return false }
    tries += 1
    guard fails(candidate) else { return false }
    plan = candidate
    return true
  }

  /// Leaves out halves, then quarters, down to single actions.
  private mutating func removeActions() {
    var size = max(1, plan.actions.count / 2)
    while !plan.actions.isEmpty {
      var start = 0
      while start < plan.actions.count {
        let piece = start..<min(start + size, plan.actions.count)
        if !accept({ $0.actions.removeSubrange(piece) }) { start += size }
      }
      guard size > 1 else { return }
      size /= 2
    }
  }

  /// One number of the weather after the other becomes what it is on a good day.
  private mutating func calm() {
    let good = Weather.calm
    _ = accept { $0.weather = good }
    _ = accept { $0.weather.jitter = good.jitter }
    _ = accept { $0.weather.delay = good.delay }
    _ = accept { $0.weather.bandwidth = good.bandwidth }
    _ = accept { $0.weather.loss = good.loss }
    _ = accept { $0.weather.twice = good.twice }
    _ = accept { $0.weather.slow = good.slow }
    _ = accept { $0.weather.patience = good.patience }
    _ = accept { $0.weather.pages = good.pages }
    _ = accept { $0.weather.ping = good.ping }
    _ = accept { $0.weather.tokenLife = good.tokenLife }
    _ = accept { $0.weather.lateStamps = good.lateStamps }
    _ = accept { $0.weather.equalStamps = good.equalStamps }
    _ = accept { $0.weather.wallDrift = good.wallDrift }
    _ = accept { $0.weather.memory = good.memory }
    _ = accept { $0.weather.historyPage = good.historyPage }
    _ = accept { $0.weather.catchUpPage = good.catchUpPage }
    for history in [0, 1, 10] where history < plan.weather.history {
      if accept({ $0.weather.history = history }) { break }
    }
  }

  /// Calm begins sooner, and what happens comes sooner.
  private mutating func shorten() {
    let last = plan.actions.map { $0.at + $0.action.length }.max() ?? .zero
    for rest in [Duration.seconds(1), .seconds(60), .seconds(600)] {
      let length = last + rest
      guard length < plan.length else { break }
      if accept({ $0.length = length }) { break }
    }
    for index in plan.actions.indices {
      let before = index > 0 ? plan.actions[index - 1].at : .zero
      let idle = plan.actions[index].at - before
      guard idle > .seconds(1) else { continue }
      for kept in [Duration.seconds(1), (idle / 2).inMilliseconds] {
        let saved = idle - kept
        let isSooner = accept { plan in
          for later in index..<plan.actions.count { plan.actions[later].at -= saved }
          plan.length -= saved
        }
        if isSooner { break }
      }
    }
    for index in plan.actions.indices {
      let rounded = plan.actions[index].at.rounded
      let least = index > 0 ? plan.actions[index - 1].at : .zero
      if rounded >= least { _ = accept { $0.actions[index].at = rounded } }
    }
  }

  private mutating func simplifyActions() {
    for index in plan.actions.indices {
      for simpler in plan.actions[index].action.simpler {
        if accept({ $0.actions[index].action = simpler }) { break }
      }
    }
  }
}

extension Weather {
  /// A good day: nothing is lost, late or slow.
  static var calm: Weather {
    var weather = Weather()
    weather.jitter = .zero
    return weather
  }
}

extension Duration {
  /// Without what is below a second.
  fileprivate var rounded: Duration { .seconds(components.seconds) }
  fileprivate var inMilliseconds: Duration { .milliseconds(nanoseconds / 1_000_000) }
}
