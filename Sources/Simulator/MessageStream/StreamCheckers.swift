import LinkCore
public import MessageStream

/// The checkers of MessageStream's own promises.
public struct StreamCheckers: FeatureCheckers {
  /// The feature that is checked.
  public typealias Feature = StreamFeature

  private var ledger = Ledger()
  private var durability = Durability()
  private var requests = Requests()
  private var progress = Progress()
  private var sends = Sends()
  private var lifetimes = Lifetimes()
  private var needs = Needs()
  private var departure = Departure()
  private var heads = Heads()
  private var edits = Edits()

  public init() {}

  public var findings: [Finding] {
    ledger.findings + durability.findings + requests.findings + progress.findings
      + sends.findings + lifetimes.findings + needs.findings + departure.findings
      + heads.findings + edits.findings
  }

  public mutating func stepped(
    _ input: StreamModel.Input?, isLate: Bool, _ effects: [StreamModel.Effect],
    _ standing: Standing<StreamFeature>
  ) {
    if let input {
      ledger.told(input, isLate: isLate, standing)
      requests.told(input, isLate: isLate, standing)
      progress.told(input, isLate: isLate, standing)
      sends.told(input, isLate: isLate, standing)
      needs.told(input, isLate: isLate, standing)
      departure.told(input, isLate: isLate, standing)
      heads.told(input, isLate: isLate, standing)
      edits.told(input, isLate: isLate, standing)
    }
    for effect in effects {
      ledger.asked(effect, standing)
      durability.asked(effect, standing)
      requests.asked(effect, standing)
      progress.asked(effect, standing)
      sends.asked(effect, standing)
      needs.asked(effect, standing)
    }
    settled(standing)
  }

  public mutating func met(
    _ seen: Observation<StreamFeature>, _ standing: Standing<StreamFeature>
  ) {
    ledger.met(seen, standing)
    durability.met(seen, standing)
    requests.met(seen, standing)
    progress.met(seen, standing)
    sends.met(seen, standing)
    lifetimes.met(seen, standing)
    needs.met(seen, standing)
    departure.met(seen, standing)
    heads.met(seen, standing)
    edits.met(seen, standing)
    settled(standing)
  }

  private mutating func settled(_ standing: Standing<StreamFeature>) {
    requests.settled(standing)
    progress.settled(standing)
    lifetimes.settled(standing)
    needs.settled(standing)
    departure.settled(standing)
    heads.settled(standing)
  }

  public mutating func conclude(_ standing: Standing<StreamFeature>) {
    ledger.conclude(standing)
    durability.conclude(standing)
    edits.conclude(standing)
  }
}

/// A checker of one promise, which receives inputs, effects and the state after them.
protocol StreamChecker: Sendable {
  typealias Seen = Observation<StreamFeature>
  typealias Facts = Standing<StreamFeature>

  var found: Findings { get }
  /// Handles an input of the client. Its effects follow.
  mutating func told(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts)
  mutating func asked(_ effect: StreamModel.Effect, _ facts: Facts)
  /// Handles any other observation.
  mutating func met(_ seen: Seen, _ facts: Facts)
  /// Checks the state after all effects of an input.
  mutating func settled(_ facts: Facts)
  /// Checks the end of the run.
  mutating func conclude(_ facts: Facts)
}

extension StreamChecker {
  mutating func told(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {}
  mutating func settled(_ facts: Facts) {}
  mutating func conclude(_ facts: Facts) {}

  /// The findings so far.
  var findings: [Finding] { found.all }
}
