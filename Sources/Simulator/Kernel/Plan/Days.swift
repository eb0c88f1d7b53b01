import HoldfastCore
import HoldfastLinkChecks

// Plans that any feature can draw. Their faults affect all phones, networks and servers.
extension PlanBuilder {
  /// Draws the network conditions and the faults of a preset.
  public mutating func day(_ preset: DayPreset) {
    switch preset {
    case .lift: scatter((.lift, 8...20), (.cut, 2...6), (.hole, 0...2), (.suspend, 0...2))
    case .train:
      networkConditions.jitter = draw.seconds(0.05, 0.4)
      networkConditions.loss = draw.one(0, 0.01, 0.03)
      scatter(
        (.handover, 5...10), (.unreachable, 3...8), (.hole, 2...6), (.narrow, 1...3),
        (.cut, 1...4), (.kill, 0...2))
    case .cafe:
      networkConditions.delay = draw.seconds(0.05, 0.3)
      networkConditions.jitter = draw.seconds(0.1, 1.5)
      networkConditions.loss = draw.one(0.02, 0.05, 0.1)
      networkConditions.bandwidth = draw.one(0, 20_000, 5_000)
      scatter((.portal, 1...2), (.suspend, 3...8), (.cut, 1...4), (.kill, 0...2), (.dials, 0...2))
    case .aeroplane: fly()
    case .captivePortal:
      scatter((.portal, 4...9), (.handover, 1...4), (.suspend, 0...3), (.dials, 0...2))
    case .deploy:
      scatter((.down, 3...7), (.close, 2...5), (.status, 1...4), (.suspend, 0...2))
    case .swarm:
      networkConditions.delay = draw.seconds(0.005, 0.2)
      networkConditions.jitter = draw.seconds(0.001, 0.5)
      networkConditions.bandwidth = draw.one(0, 0, 0, 50_000, 10_000)
      networkConditions.loss = draw.one(0, 0, 0, 0.01, 0.05, 0.1)
      swarm(
        [
          .background, .suspend, .sleep, .kill, .cut, .hole, .unreachable, .handover, .portal,
          .narrow, .down, .close, .flap, .status, .store, .dials, .wall,
        ], times: 12...30)
    }
  }

  private mutating func scatter(_ troubles: (Trouble<Feature.EventKind>, ClosedRange<Int>)...) {
    for (trouble, times) in troubles { scatter(draw.count(times)) { trouble.make(&$0) } }
  }

  /// Draws hours without a network. In half of the plans the phone sleeps during this time; in the
  /// others its process is dead for part of it.
  private mutating func fly() {
    length = draw.seconds(7200, 21_600)
    let start = draw.seconds(300, 1200)
    let flight = length - start - .seconds(600)
    add(PlannedEvent(.unreachable, for: flight), at: start)
    let rest = start + .seconds(120)
    add(
      draw.one(PlannedEvent(.sleep, for: flight / 2), PlannedEvent(.kill, for: flight / 4)),
      at: rest)
    scatter((.suspend, 1...3))
  }
}

extension Trouble {
  /// One ride in a lift.
  fileprivate static var lift: Trouble {
    Trouble { PlannedEvent(.unreachable, for: $0.seconds(3, 45)) }
  }
}

/// The network conditions of a world while no fault is in progress.
public struct NetworkConditions: PlanNumbers {
  /// The minimum delay in one direction.
  public var delay = Duration.milliseconds(25)
  /// The upper bound of the random time that is added to the delay. The time is drawn uniformly.
  public var jitter = Duration.milliseconds(25)
  /// The bandwidth in each direction, in bytes per second; 0 for unlimited.
  public var bandwidth: Int64 = 0
  /// The share of requests and responses that never arrive.
  public var loss = 0.0
  /// The share of responses that arrive a second time.
  public var twice = 0.0
  /// The share of requests and responses that are delayed by up to half a minute, beyond their
  /// time-out.
  public var slow = 0.0
  /// The response time-out of a phone's HTTP client: 9 s in this package, longer in others.
  public var timeLimit = Duration.seconds(9)
  /// The relative rate by which a phone's wall clock runs faster than the world's clock.
  public var wallDrift = 0.0

  public init() {}

  public static var fields: [PlanField<NetworkConditions>] {
    [
      .span("jitter", \.jitter), .span("delay", \.delay),
      .number("bandwidth", \.bandwidth, 0...1_000_000_000), .number("loss", \.loss, 0...1),
      .number("twice", \.twice, 0...1), .number("slow", \.slow, 0...1),
      .span("requestTimeout", \.timeLimit), .number("wallDrift", \.wallDrift, -0.01...0.01),
    ]
  }

  /// The conditions of a good day, on which nothing is lost, late or slow.
  public static var calm: NetworkConditions {
    var networkConditions = NetworkConditions()
    networkConditions.jitter = .zero
    return networkConditions
  }
}
