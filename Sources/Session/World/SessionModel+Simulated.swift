public import HoldfastCore
import HoldfastLinkChecks
public import HoldfastSession
public import HoldfastSessionChecks
import HoldfastSessionData
public import HoldfastWorldKernel

extension SessionModel: SimulatedModel {
  public static func renamed(_ input: Input, to attempt: AttemptID) -> Input {
    switch input {
    case .link(let event, let wall): .link(event.moved(to: attempt), at: wall)
    case .opened: .opened(attempt)
    case .frame(_, let message, let bytes, let wall):
      .frame(attempt, message, bytes: bytes, at: wall)
    case .malformed(_, let detail): .malformed(attempt, detail: detail)
    case .reading(_, let isPaused): .reading(attempt, isPaused: isPaused)
    case .unsent: .unsent(attempt)
    case .restored, .start, .stop, .stopUnread, .prompt, .retry, .discard, .cancel, .follow,
      .shown, .answersShown, .credentials, .probed, .committed, .commitFailed:
      input
    }
  }
}

extension StoredPrompt {
  /// Whether the prompt has failed and waits for a decision of its user.
  var isFailed: Bool { if case .failed = state { true } else { false } }
}
