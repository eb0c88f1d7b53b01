public import HoldfastCore
import HoldfastLinkChecks

/// The random source of plans. Each draw advances one generator.
public struct Draw: Sendable {
  /// The generator that each draw advances.
  public var generator: RandomSource

  init(seed: UInt64) {
    generator = RandomSource(seed: seed)
  }

  public mutating func happens(_ share: Double) -> Bool { generator.unit() < share }

  public mutating func count(_ range: ClosedRange<Int>) -> Int {
    Int.random(in: range, using: &generator)
  }

  /// Returns a duration between two numbers of seconds. It is drawn uniformly, in whole
  /// milliseconds.
  public mutating func seconds(_ low: Double, _ high: Double) -> Duration {
    let milliseconds = (low + (high - low) * generator.unit()) * 1000
    return .milliseconds(Int64(milliseconds))
  }

  /// Returns one of the given elements at random.
  public mutating func one<Element>(_ first: Element, _ others: Element...) -> Element {
    let index = Int.random(in: 0...others.count, using: &generator)
    return index == 0 ? first : others[index - 1]
  }

  /// Returns a random element of a list, which must not be empty.
  public mutating func any<Element>(of all: [Element]) -> Element { all[count(0...all.count - 1)] }
}

/// A builder that adds planned events at random times over a plan's length.
public struct PlanBuilder<Feature: SimulatedFeature> {
  /// A planned event without its time.
  public typealias Made = PlannedEvent<Feature.EventKind>

  public var draw: Draw
  /// A separate random source for draws that were added later. With it, each seed still produces
  /// the same draws as before.
  private var side: Draw
  /// The server of the plan.
  public let server: Feature.Server
  /// The network conditions of the whole run.
  public var networkConditions = NetworkConditions()
  /// The numbers of the feature for the whole run.
  public var numbers = Feature.Numbers()
  public var events: [TimedEvent<Feature.EventKind>] = []
  /// The length of the plan, without the calm phase.
  public var length = Duration.seconds(3600)

  public init(seed: UInt64, server: Feature.Server) {
    draw = Draw(seed: seed)
    side = Draw(seed: ~seed)
    self.server = server
  }

  /// Runs a function whose draws come from the separate random source.
  public mutating func aside(_ body: (inout PlanBuilder) -> Void) {
    swap(&draw, &side)
    body(&self)
    swap(&draw, &side)
  }

  public mutating func add(_ event: Made, at time: Duration) {
    events.append(TimedEvent(at: time, event))
  }

  /// Adds events, each at its own random time and with its own arguments.
  public mutating func scatter(_ times: Int, _ make: (inout Draw) -> Made) {
    for _ in 0..<times {
      let time = draw.seconds(5, Double(length.components.seconds))
      add(make(&draw), at: time)
    }
  }

  /// Adds faults of several kinds. A weight is drawn for each kind; some kinds have a weight of
  /// zero.
  ///
  /// - Returns: Whether the weight of any kind is not zero.
  @discardableResult
  public mutating func swarm(_ troubles: [Trouble<Feature.EventKind>], times: ClosedRange<Int>)
    -> Bool
  {
    let weights = troubles.map { _ in draw.happens(0.45) ? 0 : draw.count(1...10) }
    let sum = weights.reduce(0, +)
    guard sum > 0 else { return false }
    for _ in 0..<draw.count(times) {
      let time = draw.seconds(5, Double(length.components.seconds))
      var left = draw.count(1...sum)
      for (trouble, weight) in zip(troubles, weights) {
        left -= weight
        guard left <= 0 else { continue }
        add(trouble.make(&draw), at: time)
        break
      }
    }
    return true
  }

  /// Returns the plan, with its events ordered by time. Events with equal times stay in the order
  /// in which they were drawn.
  public func finished(seed: UInt64) -> WorldPlan<Feature> {
    let order = events.indices.sorted { (events[$0].at, $0) < (events[$1].at, $1) }
    return WorldPlan(
      seed: seed, server: server, networkConditions: networkConditions, numbers: numbers,
      events: order.map { events[$0] }, length: length)
  }
}

/// A kind of fault that a plan builder can draw, with the distribution of its arguments.
public struct Trouble<Own: PlanEventKind>: Sendable {
  let make: @Sendable (inout Draw) -> PlannedEvent<Own>

  public init(_ make: @escaping @Sendable (inout Draw) -> PlannedEvent<Own>) {
    self.make = make
  }
}

// Faults that affect any phone or server.
extension Trouble {
  /// The app moves to the background.
  public static var background: Trouble {
    Trouble { PlannedEvent(.background, for: $0.seconds(1, 400)) }
  }
  public static var suspend: Trouble {
    Trouble { PlannedEvent(.suspend, for: $0.seconds(6, 900)) }
  }
  /// The device sleeps.
  public static var sleep: Trouble { Trouble { PlannedEvent(.sleep, for: $0.seconds(5, 900)) } }
  /// The app is killed, and launched at once or later.
  public static var kill: Trouble {
    Trouble { PlannedEvent(.kill, for: $0.one(.zero, $0.seconds(0, 200))) }
  }
  /// Connections end: with a reset, half, or without a report.
  public static var cut: Trouble {
    Trouble { $0.one(PlannedEvent(.reset), PlannedEvent(.halfOpen), PlannedEvent(.mappingExpired)) }
  }
  /// Packets vanish without a report.
  public static var hole: Trouble { Trouble { PlannedEvent(.blackHole, for: $0.seconds(1, 150)) } }
  /// The device has no network.
  public static var unreachable: Trouble {
    Trouble { PlannedEvent(.unreachable, for: $0.seconds(0.2, 300)) }
  }
  /// The device moves to another network.
  public static var handover: Trouble { Trouble { _ in PlannedEvent(.handover) } }
  /// A login page appears.
  public static var portal: Trouble { Trouble { .portal($0.seconds(5, 300), $0.happens(0.5)) } }
  /// The bandwidth is small.
  public static var narrow: Trouble {
    Trouble { PlannedEvent(.narrow, $0.count(200...20_000), for: $0.seconds(5, 300)) }
  }
  /// Connections are reset soon after they open.
  public static var flap: Trouble { Trouble { PlannedEvent(.flap, for: $0.seconds(30, 300)) } }
  /// Connections open slowly, and are reset before they are stable.
  public static var waver: Trouble { Trouble { PlannedEvent(.waver, for: $0.seconds(150, 500)) } }
  /// Dialing fails on the device.
  public static var dials: Trouble {
    Trouble {
      .dialsFail($0.one(.dns, .proxy, .local, .certificate), $0.seconds(1, 200))
    }
  }
  /// The disk of a phone is full, locked or slow.
  public static var store: Trouble {
    Trouble {
      $0.one(
        PlannedEvent(.storeFull, for: $0.seconds(1, 200)),
        PlannedEvent(.storeLocked, for: $0.seconds(1, 200)),
        PlannedEvent(.storeSlow, for: $0.seconds(1, 200)))
    }
  }
  public static var wall: Trouble {
    Trouble { PlannedEvent(.wallClock, by: $0.seconds(-300, 300)) }
  }
  /// A server crashes, or is deployed again.
  public static var down: Trouble {
    Trouble {
      $0.one(
        PlannedEvent(.crash, for: $0.seconds(0.5, 120)),
        PlannedEvent(.deploy, for: $0.seconds(0.5, 90)))
    }
  }
  /// The store of a server is slow.
  public static var slowStore: Trouble {
    Trouble { PlannedEvent(.slowStore, by: $0.seconds(0.1, 12), for: $0.seconds(10, 120)) }
  }
  /// A status in response to every request, or to every upgrade.
  public static var status: Trouble {
    Trouble {
      $0.one(
        PlannedEvent(
          .restStatus, $0.one(500, 502, 503, 504, 429, 404, 400, 401, 403, 408, 410, 413),
          for: $0.seconds(2, 120)),
        PlannedEvent(
          .upgradeStatus, $0.one(500, 502, 503, 504, 404, 429, 400, 401, 403, 408, 410, 426),
          for: $0.seconds(2, 120)))
    }
  }
  /// A server refuses with a `Retry-After`.
  public static var busy: Trouble {
    Trouble { PlannedEvent(.busy, by: $0.seconds(1, 600), for: $0.seconds(5, 200)) }
  }
  public static var close: Trouble {
    Trouble {
      PlannedEvent(.close, $0.one(1000, 1001, 1002, 1008, 1009, 1011, 1012, 1013, 4401, 4403, 4999))
    }
  }
}

extension PlannedEvent {
  /// Returns an event in which a login page appears.
  ///
  /// - Parameter isKnown: Whether the device detects the page.
  public static func portal(_ span: Duration, _ isKnown: Bool) -> PlannedEvent {
    PlannedEvent(.captivePortal, 0, isKnown ? "known" : "unknown", for: span)
  }

  /// Returns an event in which dialing fails on the device.
  public static func dialsFail(_ blockedReason: DialObstacle, _ span: Duration) -> PlannedEvent {
    PlannedEvent(.dialsFail, 0, blockedReason.rawValue, for: span)
  }
}

/// A preset for drawing plans. Each preset has its own distribution.
public enum DayPreset: String, Sendable, Hashable, Codable, CaseIterable {
  /// Short periods without a network, again and again. Some rides make connections half-open
  /// instead.
  case lift
  /// Handovers, coverage gaps that the device may or may not report, narrow bandwidth, and expiring
  /// NAT mappings.
  case train
  /// A login page, then a slow and lossy network, on a phone that often leaves the foreground and
  /// returns.
  case cafe
  /// Hours without a network, during which the phone sleeps or its process is dead for part of the
  /// time.
  case aeroplane
  /// Login pages that come and go, whether detected or not, and tokens that expire in the meantime.
  case captivePortal
  /// The server restarts, drains, refuses requests and drops old data.
  case deploy
  /// All faults, with separate probabilities and network conditions for each seed.
  case swarm

  /// A constant with which the same seed produces a different plan in each preset.
  fileprivate var salt: UInt64 {
    switch self {
    case .lift: 0x1F << 40
    case .train: 0x2E << 40
    case .cafe: 0x3D << 40
    case .aeroplane: 0x4C << 40
    case .captivePortal: 0x5B << 40
    case .deploy: 0x6A << 40
    case .swarm: 0x79 << 40
    }
  }
}

extension WorldPlan {
  /// Draws the plan of a seed, which contains at least an hour with faults.
  public static func drawn(
    _ preset: DayPreset, seed: UInt64, server: Feature.Server = .usual
  ) -> WorldPlan {
    var builder = PlanBuilder<Feature>(seed: seed ^ preset.salt, server: server)
    Feature.draw(preset, &builder)
    return builder.finished(seed: seed)
  }
}
