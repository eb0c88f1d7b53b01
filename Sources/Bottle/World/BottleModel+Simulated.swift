public import HoldfastBottleChecks
import HoldfastBottleData
public import HoldfastBottleLink
public import HoldfastCore
import HoldfastLinkChecks
public import HoldfastWorldKernel

extension BottleModel: SimulatedModel {
  public static func renamed(_ input: Input, to attempt: AttemptID) -> Input {
    switch input {
    case .link(let event): .link(event.moved(to: attempt))
    case .central(.connected): .central(.connected(attempt))
    case .central(.failed(_, let failure)): .central(.failed(attempt, failure))
    case .central(.disconnected(_, let failure)): .central(.disconnected(attempt, failure))
    case .central(.changed): .central(.changed(attempt))
    case .discovered(_, let longest, let state, let time):
      .discovered(attempt, longestValue: longest, state, at: time)
    case .undiscovered(_, let failure): .undiscovered(attempt, failure)
    case .heard(_, let news, let time): .heard(attempt, news, at: time)
    case .start, .stop, .refresh, .hold, .perform, .choose, .shown, .central, .written,
      .unwritten, .restored, .committed, .uncommitted:
      input
    }
  }
}
