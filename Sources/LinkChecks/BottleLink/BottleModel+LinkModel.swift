public import HoldfastBottleLink
public import HoldfastCore
import HoldfastWire

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
