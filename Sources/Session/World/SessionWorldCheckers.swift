import HoldfastCore
public import HoldfastLinkChecks
import HoldfastSession
public import HoldfastSessionChecks
import HoldfastWorldKernel

/// The checkers of a session's guarantees that need everything that passes over a connection. A
/// journal omits too much for them.
public struct SessionWorldCheckers: FeatureCheckers {
  /// The feature that the checkers check.
  public typealias Feature = SessionsFeature

  private var found = Findings()
  private var connections = Array(
    repeating: SessionConnectionChecker(), count: SessionsFeature.phones)
  private var prompts = Array(repeating: SessionPromptChecker(), count: SessionsFeature.phones)

  public init() {}

  public var findings: [Finding] { found.all }

  public mutating func stepped(
    _ input: Feature.Input?, isLate: Bool, _ effects: [Feature.Effect],
    _ phoneState: PhoneState<SessionsFeature>
  ) {
    connections[phoneState.own.phone].received(input, effects, at: phoneState.now, &found)
    prompts[phoneState.own.phone].received(input, effects, at: phoneState.now, &found)
  }

  public mutating func handle(
    _ seen: Observation<Feature>, _ phoneState: PhoneState<SessionsFeature>
  ) {
    switch seen {
    case .launched:
      connections[phoneState.own.phone].launched()
      prompts[phoneState.own.phone].launched()
    case .suspended, .resumed:
      connections[phoneState.own.phone].slept()
      prompts[phoneState.own.phone].slept()
    case .fact(.counted(let phone, let days)):
      connections[phone].compare(days, at: phoneState.now, &found)
    case .killed, .received, .ticked, .upgraded, .serverLost, .wentDead, .server, .began, .ended,
      .calm, .fact:
      return
    }
  }

  public mutating func conclude(_ phoneState: PhoneState<SessionsFeature>) {}
}
