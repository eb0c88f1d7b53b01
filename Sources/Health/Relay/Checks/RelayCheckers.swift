import HoldfastCore
public import HoldfastHealthRelay
public import HoldfastLinkChecks

/// The checkers of the guarantees that a phone of a relay keeps by itself.
public struct RelayCheckers: FeatureCheckers {
  /// The feature that the checkers check.
  public typealias Feature = RelayFeature

  private var found = Findings()
  /// For each phone, the checker of this run of the phone.
  private var phones: [Int: RelayPhoneChecker] = [:]

  public init() {}

  public var findings: [Finding] { found.all }

  public mutating func stepped(
    _ input: RelayModel.Input?, isLate: Bool, _ effects: [RelayModel.Effect],
    _ phoneState: PhoneState<RelayFeature>
  ) {
    phones[phoneState.own.phone, default: RelayPhoneChecker()]
      .stepped(input, effects, phoneState, &found)
  }

  public mutating func handle(
    _ seen: Observation<RelayFeature>, _ phoneState: PhoneState<RelayFeature>
  ) {
    if case .launched(let host, _) = seen { phones[host.index] = nil }
  }
}
