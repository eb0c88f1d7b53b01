import HoldfastBottleData
public import HoldfastBottleLink
import HoldfastCore
public import HoldfastLinkChecks

extension BottleModel: LinkModel {
  public static func role(of input: Input) -> InputRole {
    switch input {
    case .start: .wanted
    case .stop: .left
    case .refresh, .perform: .trigger
    case .choose: .changed
    case .link(let event): event.role
    case .central(let event): role(of: event)
    case .discovered(let attempt, _, _, _): .received(attempt)
    case .undiscovered(let attempt, let failure): .lost(attempt, failure)
    case .heard(let attempt, .chunk, _): .data(attempt)
    case .heard(let attempt, _, _): .received(attempt)
    case .committed, .uncommitted: .answered(isTrigger: false)
    case .written, .unwritten, .restored, .hold, .shown: .other
    }
  }

  private static func role(of event: CentralEvent) -> InputRole {
    switch event {
    case .adapter: .changed
    case .connected(let attempt): .opened(attempt)
    case .failed(let attempt, let failure): .lost(attempt, failure)
    case .disconnected(let attempt, let failure): .lost(attempt, failure ?? .ended)
    case .restored, .found, .changed, .value: .other
    }
  }

  /// Returns the meaning of an effect for the link. Scans and connects have separate limits, which
  /// `BottleScans` checks.
  public static func role(of effect: Effect) -> EffectRole {
    switch effect {
    case .cancel(let attempt, let reason): .close(attempt, reason)
    case .write(let attempt, _, .command, BottleCommand.ping.bytes): .ping(attempt)
    case .commit: .store
    case .update(.notice): .notice
    case .scan, .stopScan, .connect, .discover, .write, .confirm, .update: .other
    }
  }
}
