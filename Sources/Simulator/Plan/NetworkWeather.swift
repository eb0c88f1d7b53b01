import LinkCore

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
