import HoldfastCore
public import HoldfastLinkChecks
public import HoldfastMessageChecks
public import HoldfastMessageStream
import HoldfastWorldKernel

/// The checkers of MessageStream's guarantees that need to know what the server has and does.
public struct StreamWorldCheckers: FeatureCheckers {
  /// The feature that the checkers check.
  public typealias Feature = StreamFeature

  private var lifetimes = Lifetimes()
  private var fetches = FetchChecker()
  private var heads = Heads()
  private var edits = Edits()
  private var versions = Versions()
  private var ownChanges = OwnChanges()
  private var images = Images()
  private var covers = Covers()

  public init() {}

  public var findings: [Finding] {
    lifetimes.findings + fetches.findings + heads.findings + edits.findings + versions.findings
      + ownChanges.findings + images.findings + covers.findings
  }

  public mutating func stepped(
    _ input: StreamModel.Input?, isLate: Bool, _ effects: [StreamModel.Effect],
    _ phoneState: PhoneState<StreamFeature>
  ) {
    if let input {
      fetches.received(input, isLate: isLate, phoneState)
      heads.received(input, isLate: isLate, phoneState)
      edits.received(input, isLate: isLate, phoneState)
      versions.received(input, isLate: isLate, phoneState)
      ownChanges.received(input, isLate: isLate, phoneState)
    }
    for effect in effects {
      fetches.requested(effect, phoneState)
      versions.requested(effect, phoneState)
      images.requested(effect, phoneState)
    }
    stepEnded(phoneState)
  }

  public mutating func handle(
    _ seen: Observation<StreamFeature>, _ phoneState: PhoneState<StreamFeature>
  ) {
    lifetimes.handle(seen, phoneState)
    fetches.handle(seen, phoneState)
    heads.handle(seen, phoneState)
    edits.handle(seen, phoneState)
    versions.handle(seen, phoneState)
    ownChanges.handle(seen, phoneState)
    images.handle(seen, phoneState)
    covers.handle(seen, phoneState)
    stepEnded(phoneState)
  }

  private mutating func stepEnded(_ phoneState: PhoneState<StreamFeature>) {
    lifetimes.stepEnded(phoneState)
    fetches.stepEnded(phoneState)
    heads.stepEnded(phoneState)
  }

  public mutating func conclude(_ phoneState: PhoneState<StreamFeature>) {
    edits.conclude(phoneState)
    versions.conclude(phoneState)
    ownChanges.conclude(phoneState)
    images.conclude(phoneState)
    covers.conclude(phoneState)
  }
}
