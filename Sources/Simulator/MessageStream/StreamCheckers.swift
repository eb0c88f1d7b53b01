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
  private var fetches = FetchChecker()
  private var departure = Departure()
  private var heads = Heads()
  private var edits = Edits()

  public init() {}

  public var findings: [Finding] {
    ledger.findings + durability.findings + requests.findings + progress.findings
      + sends.findings + lifetimes.findings + fetches.findings + departure.findings
      + heads.findings + edits.findings
  }

  public mutating func stepped(
    _ input: StreamModel.Input?, isLate: Bool, _ effects: [StreamModel.Effect],
    _ phoneState: PhoneState<StreamFeature>
  ) {
    if let input {
      ledger.told(input, isLate: isLate, phoneState)
      requests.told(input, isLate: isLate, phoneState)
      progress.told(input, isLate: isLate, phoneState)
      sends.told(input, isLate: isLate, phoneState)
      fetches.told(input, isLate: isLate, phoneState)
      departure.told(input, isLate: isLate, phoneState)
      heads.told(input, isLate: isLate, phoneState)
      edits.told(input, isLate: isLate, phoneState)
    }
    for effect in effects {
      ledger.asked(effect, phoneState)
      durability.asked(effect, phoneState)
      requests.asked(effect, phoneState)
      progress.asked(effect, phoneState)
      sends.asked(effect, phoneState)
      fetches.asked(effect, phoneState)
    }
    settled(phoneState)
  }

  public mutating func met(
    _ seen: Observation<StreamFeature>, _ phoneState: PhoneState<StreamFeature>
  ) {
    ledger.met(seen, phoneState)
    durability.met(seen, phoneState)
    requests.met(seen, phoneState)
    progress.met(seen, phoneState)
    sends.met(seen, phoneState)
    lifetimes.met(seen, phoneState)
    fetches.met(seen, phoneState)
    departure.met(seen, phoneState)
    heads.met(seen, phoneState)
    edits.met(seen, phoneState)
    settled(phoneState)
  }

  private mutating func settled(_ phoneState: PhoneState<StreamFeature>) {
    requests.settled(phoneState)
    progress.settled(phoneState)
    lifetimes.settled(phoneState)
    fetches.settled(phoneState)
    departure.settled(phoneState)
    heads.settled(phoneState)
  }

  public mutating func conclude(_ phoneState: PhoneState<StreamFeature>) {
    ledger.conclude(phoneState)
    durability.conclude(phoneState)
    edits.conclude(phoneState)
  }
}

/// A checker of one promise, which receives inputs, effects and the state after them.
protocol StreamChecker: Sendable {
  typealias Seen = Observation<StreamFeature>
  typealias Facts = PhoneState<StreamFeature>

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
