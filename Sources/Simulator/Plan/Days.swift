import LinkCore

// Days of any feature: the troubles that befall every phone, network and server.
extension Sketch {
  /// Draws the weather and the troubles of a kind of day.
  mutating func day(_ preset: DayPreset) {
    switch preset {
    case .lift: scatter((.lift, 8...20), (.cut, 2...6), (.hole, 0...2), (.suspend, 0...2))
    case .train:
      weather.jitter = draw.seconds(0.05, 0.4)
      weather.loss = draw.one(0, 0.01, 0.03)
      scatter(
        (.handover, 5...10), (.unreachable, 3...8), (.hole, 2...6), (.narrow, 1...3),
        (.cut, 1...4), (.kill, 0...2))
    case .cafe:
      weather.delay = draw.seconds(0.05, 0.3)
      weather.jitter = draw.seconds(0.1, 1.5)
      weather.loss = draw.one(0.02, 0.05, 0.1)
      weather.bandwidth = draw.one(0, 20_000, 5_000)
      scatter((.portal, 1...2), (.suspend, 3...8), (.cut, 1...4), (.kill, 0...2), (.dials, 0...2))
    case .aeroplane: fly()
    case .captivePortal:
      scatter((.portal, 4...9), (.handover, 1...4), (.suspend, 0...3), (.dials, 0...2))
    case .deploy:
      scatter((.down, 3...7), (.close, 2...5), (.status, 1...4), (.suspend, 0...2))
    case .swarm:
      weather.delay = draw.seconds(0.005, 0.2)
      weather.jitter = draw.seconds(0.001, 0.5)
      weather.bandwidth = draw.one(0, 0, 0, 50_000, 10_000)
      weather.loss = draw.one(0, 0, 0, 0.01, 0.05, 0.1)
      swarm(
        [
          .background, .suspend, .sleep, .kill, .cut, .hole, .unreachable, .handover, .portal,
          .narrow, .down, .close, .flap, .status, .store, .dials, .wall,
        ], times: 12...30)
    }
  }

  private mutating func scatter(_ troubles: (Trouble<Feature.Verb>, ClosedRange<Int>)...) {
    for (trouble, times) in troubles { scatter(draw.count(times)) { trouble.make(&$0) } }
  }

  /// Hours without a way out, asleep for half of them, or dead for a part.
  private mutating func fly() {
    length = draw.seconds(7200, 21_600)
    let start = draw.seconds(300, 1200)
    let flight = length - start - .seconds(600)
    add(Act(.unreachable, for: flight), at: start)
    let rest = start + .seconds(120)
    add(draw.one(Act(.sleep, for: flight / 2), Act(.kill, for: flight / 4)), at: rest)
    scatter((.suspend, 1...3))
  }
}

extension Trouble {
  /// One ride.
  fileprivate static var lift: Trouble { Trouble { Act(.unreachable, for: $0.seconds(3, 45)) } }
}

/// How the network of a world is while nothing special happens.
public struct NetworkWeather: PlanNumbers {
  /// The least time one way.
  public var delay = Duration.milliseconds(25)
  /// Added to it, evenly drawn.
  public var jitter = Duration.milliseconds(25)
  /// Bytes a second each way; 0 is without a limit.
  public var bandwidth: Int64 = 0
  /// Share of requests and answers that never arrive.
  public var loss = 0.0
  /// Share of answers that come a second time.
  public var twice = 0.0
  /// Share of requests and answers that take up to half a minute, also past their time-out.
  public var slow = 0.0
  /// How long a phone's HTTP client waits for an answer: 9 s in this package, longer in others.
  public var patience = Duration.seconds(9)
  /// How much faster than the world's clock a phone's wall clock runs.
  public var wallDrift = 0.0

  public init() {}

  public static var fields: [PlanField<NetworkWeather>] {
    [
      .span("jitter", \.jitter), .span("delay", \.delay),
      .number("bandwidth", \.bandwidth, 0...1_000_000_000), .number("loss", \.loss, 0...1),
      .number("twice", \.twice, 0...1), .number("slow", \.slow, 0...1),
      .span("patience", \.patience), .number("wallDrift", \.wallDrift, -0.01...0.01),
    ]
  }

  /// A good day: nothing is lost, late or slow.
  public static var calm: NetworkWeather {
    var weather = NetworkWeather()
    weather.jitter = .zero
    return weather
  }
}
