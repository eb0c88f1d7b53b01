import LinkCore
public import MessageStream

/// The checkers of a message stream's own promises.
public struct StreamCheckers: FeatureCheckers {
  /// The feature that they check.
  public typealias Feature = StreamFeature

  private var ledger = Ledger()
  private var durability = Durability()
  private var requests = Requests()

  public init() {}

  public var findings: [Finding] {
    ledger.findings + durability.findings + requests.findings
  }

  public mutating func stepped(
    _ input: StreamModel.Input?, isLate: Bool, _ effects: [StreamModel.Effect],
    _ standing: Standing<StreamFeature>
  ) {
    if let input {
      ledger.told(input, isLate: isLate, standing)
      requests.told(input, isLate: isLate, standing)
    }
    for effect in effects {
      ledger.asked(effect, standing)
      durability.asked(effect, standing)
      requests.asked(effect, standing)
    }
    requests.settled(standing)
  }

  public mutating func met(
    _ seen: Observation<StreamFeature>, _ standing: Standing<StreamFeature>
  ) {
    ledger.met(seen, standing)
    durability.met(seen, standing)
    requests.met(seen, standing)
    requests.settled(standing)
  }

  public mutating func conclude(_ standing: Standing<StreamFeature>) {
    ledger.conclude(standing)
    durability.conclude(standing)
  }
}

/// A checker of one promise: it is told what came in, each effect, and how things stand.
protocol StreamChecker: Sendable {
  typealias Seen = Observation<StreamFeature>
  typealias Facts = Standing<StreamFeature>

  var found: Findings { get }
  /// The client was given an input; its effects follow.
  mutating func told(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts)
  mutating func asked(_ effect: StreamModel.Effect, _ facts: Facts)
  /// Anything else happened.
  mutating func met(_ seen: Seen, _ facts: Facts)
  /// How things stand after all of it.
  mutating func settled(_ facts: Facts)
  /// The run is over.
  mutating func conclude(_ facts: Facts)
}

extension StreamChecker {
  mutating func told(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {}
  mutating func settled(_ facts: Facts) {}
  mutating func conclude(_ facts: Facts) {}

  /// What was broken so far.
  var findings: [Finding] { found.all }
}
