public import HoldfastCore
public import HoldfastHealthRelay
import HoldfastLinkChecks
public import HoldfastRelayChecks
public import HoldfastWorldKernel

extension RelayModel: SimulatedModel {
  public static func renamed(_ input: Input, to attempt: AttemptID) -> Input {
    switch input {
    case .opened: .opened(attempt)
    case .message(_, let message): .message(attempt, message)
    case .link(let event): .link(event.moved(to: attempt))
    case .unsent: .unsent(attempt)
    case .start, .stop, .resume, .closed, .prepared: input
    }
  }
}

extension LinkPolicy {
  /// The policy for an app without a service. Its link ends immediately when the app enters the
  /// background.
  var withoutService: LinkPolicy {
    var gate = gate
    gate.background = .leave(after: .zero, then: .idle)
    var liveness = liveness
    liveness.idle = nil
    do {
      return try LinkPolicy(
        name: name, retry: retry, gate: gate, liveness: liveness, establish: establish,
        standby: standby, actions: actions)
    } catch {
      return self  // The result would be invalid.
    }
  }
}
