import HoldfastCore
public import HoldfastLinkChecks
public import HoldfastSession
import HoldfastSessionData

extension SessionModel: LinkModel {
  public static func role(of input: Input) -> InputRole {
    switch input {
    case .start: .wanted
    case .stop, .stopUnread: .left
    case .link(let event, _): event.role
    case .credentials(let event): .credentials(event)
    case .opened(let attempt): .opened(attempt)
    case .frame(let attempt, let message, _, _): role(of: message, attempt)
    case .malformed(let attempt, _), .reading(let attempt, _): .received(attempt)
    case .unsent(let attempt): .lost(attempt, .local(detail: "unsent"))
    case .committed, .commitFailed: .answered(isTrigger: false)
    case .restored, .prompt, .retry, .discard, .cancel, .follow, .shown, .answersShown, .probed:
      .other
    }
  }

  private static func role(
    of message: SessionServerMessage, _ attempt: AttemptID
  ) -> InputRole {
    switch message {
    case .response, .replay, .history, .historyBatch: .data(attempt)
    case .draining(_, let retryAfter, let window):
      .draining(attempt, within: retryAfter + (window ?? .zero))
    case .authError(let reason): .lost(attempt, .closed(code: 4401, reason: reason))
    case .hello, .connected, .pong, .ack, .responsePart, .error, .turnComplete, .heartbeat,
      .sessionKilled, .unknown:
      .received(attempt)
    }
  }

  public static func role(of effect: Effect) -> EffectRole {
    switch effect {
    case .open(let attempt): .open(attempt)
    case .close(let attempt, let reason): .close(attempt, reason)
    case .send(let attempt, .ping): .ping(attempt)
    case .refreshCredentials: .refreshCredentials
    case .commit: .store
    case .update(.notice), .update(.record): .notice
    case .connect, .send, .probe, .update: .other
    }
  }
}
