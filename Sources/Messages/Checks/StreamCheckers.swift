import HoldfastCore
public import HoldfastLinkChecks
public import HoldfastMessageStream

/// The checkers of the guarantees that are specific to MessageStream, and that need no more than a
/// journal contains.
public struct StreamCheckers: FeatureCheckers {
  /// The feature that the checkers check.
  public typealias Feature = StreamFeature

  private var ledger = Ledger()
  private var durability = Durability()
  private var requests = Requests()
  private var progress = Progress()
  private var sends = Sends()
  private var departure = Departure()

  public init() {}

  public var findings: [Finding] {
    ledger.findings + durability.findings + requests.findings + progress.findings
      + sends.findings + departure.findings
  }

  public mutating func stepped(
    _ input: StreamModel.Input?, isLate: Bool, _ effects: [StreamModel.Effect],
    _ phoneState: PhoneState<StreamFeature>
  ) {
    if let input {
      ledger.received(input, isLate: isLate, phoneState)
      requests.received(input, isLate: isLate, phoneState)
      progress.received(input, isLate: isLate, phoneState)
      sends.received(input, isLate: isLate, phoneState)
      departure.received(input, isLate: isLate, phoneState)
    }
    for effect in effects {
      ledger.requested(effect, phoneState)
      durability.requested(effect, phoneState)
      requests.requested(effect, phoneState)
      progress.requested(effect, phoneState)
      sends.requested(effect, phoneState)
    }
    stepEnded(phoneState)
  }

  public mutating func handle(
    _ seen: Observation<StreamFeature>, _ phoneState: PhoneState<StreamFeature>
  ) {
    ledger.handle(seen, phoneState)
    durability.handle(seen, phoneState)
    requests.handle(seen, phoneState)
    progress.handle(seen, phoneState)
    sends.handle(seen, phoneState)
    departure.handle(seen, phoneState)
    stepEnded(phoneState)
  }

  private mutating func stepEnded(_ phoneState: PhoneState<StreamFeature>) {
    requests.stepEnded(phoneState)
    progress.stepEnded(phoneState)
    departure.stepEnded(phoneState)
  }

  public mutating func conclude(_ phoneState: PhoneState<StreamFeature>) {
    ledger.conclude(phoneState)
    durability.conclude(phoneState)
  }
}

/// A checker of one guarantee. It receives inputs, effects and the resulting state.
package protocol StreamChecker: Sendable {
  typealias Seen = Observation<StreamFeature>
  typealias Facts = PhoneState<StreamFeature>

  var found: Findings { get }
  /// Handles an input of the client. The resulting effects follow.
  mutating func received(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts)
  mutating func requested(_ effect: StreamModel.Effect, _ facts: Facts)
  /// Handles an observation that is not a step.
  mutating func handle(_ seen: Seen, _ facts: Facts)
  /// Checks the state after all effects of an input.
  mutating func stepEnded(_ facts: Facts)
  /// Completes the checks at the end of the run.
  mutating func conclude(_ facts: Facts)
}

extension StreamChecker {
  package mutating func received(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {}
  package mutating func stepEnded(_ facts: Facts) {}
  package mutating func conclude(_ facts: Facts) {}

  /// The findings so far.
  package var findings: [Finding] { found.all }
}
