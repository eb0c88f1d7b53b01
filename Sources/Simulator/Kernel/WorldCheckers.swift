public import HoldfastLinkChecks

/// The checkers of a feature whose guarantees need no more than a journal contains.
public struct NoCheckers<Feature: SimulatedFeature>: FeatureCheckers {
  public init() {}

  public var findings: [Finding] { [] }

  public mutating func stepped(
    _ input: Feature.Input?, isLate: Bool, _ effects: [Feature.Effect],
    _ phoneState: PhoneState<Feature>
  ) {}
  public mutating func handle(_ seen: Observation<Feature>, _ phoneState: PhoneState<Feature>) {}
  public mutating func conclude(_ phoneState: PhoneState<Feature>) {}
}

extension PhoneView {
  /// Passes a step of the phone's model to checkers of the world.
  public mutating func stepped<Checkers: FeatureCheckers>(
    _ input: Feature.Input?, isLate: Bool, _ effects: [Feature.Effect], _ checkers: inout Checkers
  ) where Checkers.Feature == Feature {
    checkers.stepped(input, isLate: isLate, effects, phoneState)
  }

  /// Passes an observation that is not a step to checkers of the world.
  mutating func handle<Checkers: FeatureCheckers>(
    _ seen: Observation<Feature>, _ checkers: inout Checkers
  ) where Checkers.Feature == Feature {
    checkers.handle(seen, phoneState)
  }
}
