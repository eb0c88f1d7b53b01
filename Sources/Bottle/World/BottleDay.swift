import HoldfastBottleChecks
public import HoldfastCore
import HoldfastLinkChecks
import HoldfastWorldKernel

/// An ordinary day of a bottle and its phone, and the cost of the day with the timers of a plan.
///
/// A person is up for 16 hours and picks up the bottle every half hour, three out of four times to
/// drink. Twice, the bottle is carried around for 20 minutes. The app is opened eight times for a
/// minute and is suspended for the remaining time. The system takes 10 to 60 s to notice an
/// advertisement.
public struct BottleDay: Sendable, Hashable {
  /// The number of the plan that defines the timers.
  public var profile: Int
  /// The number of seconds for which the bottle is awake.
  public var awake: Int
  /// The number of seconds for which the bottle advertises.
  public var advertising: Int
  /// The number of seconds for which the bottle is connected.
  public var connected: Int
  /// The number of seconds for which the phone scans.
  public var scanning: Int
  /// The number of drinks.
  public var drinks: Int
  /// The number of drinks that are stored within two minutes.
  public var soon: Int

  /// The numbers of the plans that define timers.
  public static let profiles = [28, 34, 35]
  private static let soonest = Duration.seconds(120)

  /// Runs a day. Equal seeds produce equal days.
  public static func played(
    _ profile: Int, seed: UInt64, policy: LinkPolicy = .bottleLink
  ) -> BottleDay {
    var recorded: [UInt32: Instant] = [:]
    var soon = 0
    var isOver = false
    let setup = RunSetup<BottleFeature>(policy: policy)
    let outcome = BottleFeature.play(plan(profile, seed: seed), setup) { seen, phoneState in
      if case .calm = seen { isOver = true }
      guard case .fact(let fact) = seen, !isOver else { return }
      switch fact {
      case .recorded(let id): recorded[id] = phoneState.now
      case .stored(let id):
        let time = recorded[id].map { $0.duration(to: phoneState.now) }
        if let time, time <= soonest { soon += 1 }
      case .removed, .advertises, .linked, .stamped, .erased, .altered: return
      }
    }
    let counts = outcome.counts
    return BottleDay(
      profile: profile, awake: counts[.awake], advertising: counts[.advertising],
      connected: counts[.connected], scanning: counts[.scanning], drinks: recorded.count,
      soon: soon)
  }

  /// Draws the plan of the day for a seed.
  static func plan(_ profile: Int, seed: UInt64) -> WorldPlan<BottleFeature> {
    var builder = PlanBuilder<BottleFeature>(seed: seed, server: .usual)
    builder.length = .seconds(86_400)
    builder.numbers.profile = profile
    builder.numbers.passive = .seconds(60)
    for visit in 0..<32 {
      let time = Duration.seconds(60 + 1800 * Int64(visit)) + builder.draw.seconds(0, 900)
      builder.add(visit % 4 == 3 ? PlannedEvent(.moves) : PlannedEvent(.drinks, 1), at: time)
    }
    for hour in [5, 12] {
      builder.add(
        PlannedEvent(.carries, for: .seconds(1200)),
        at: .seconds(3600 * Int64(hour)) + builder.draw.seconds(900, 1800))
    }
    // The app is suspended seven times for two hours less a minute, and then for the night.
    for visit in 0..<8 {
      let span = visit < 7 ? Int64(7_200 - 60) : 86_400 - 7 * 7_200 - 90
      builder.add(
        PlannedEvent(.suspend, for: .seconds(span)), at: .seconds(60 + 7_200 * Int64(visit)))
    }
    return builder.finished(seed: seed)
  }
}
