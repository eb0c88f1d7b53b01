import CommandKit
import Holdfast
import LinkCore
import LinkWire
import Session
import Synchronization

/// The conditions under which `session` ends by itself.
struct SessionRunEnding {
  let isOnce: Bool
  /// How many prompts failed or were interrupted in this run.
  private(set) var failed = 0
  private var wasConnected = false
  /// Connections that failed before the first one was made.
  private var failures = 0

  /// With `--once` a server that was never there is given up after so many attempts.
  private static let firstTries = 6

  init(isOnce: Bool) {
    self.isOnce = isOnce
  }

  /// Returns the failure that an update means for the command; `nil` if it goes on.
  mutating func failure(after update: SessionUpdate) -> CommandFailure? {
    switch update {
    case .status(let status): return failure(of: status)
    case .prompt(let prompt, _):
      if prompt.state == .failed || prompt.state == .interrupted { failed += 1 }
      return nil
    case .record(let record): return failure(of: record)
    case .notice(.store(let failure)): return failure.isLasting ? CommandFailure(failure) : nil
    case .quality, .pending, .message, .part, .gap, .notice: return nil
    }
  }

  private mutating func failure(of status: LinkStatus) -> CommandFailure? {
    if status.phase == .connected { wasConnected = true }
    guard status.phase == .failed || status.phase == .standby else { return nil }
    switch status.reason {
    case .signIn:
      return CommandFailure(
        .signInNeeded, "the server refuses the key", remedy: "check the key in --key-file")
    case .failure(let failure) where failure.failureClass == .closedForbidden:
      return CommandFailure(
        .forbidden, "the server refuses this version (\(LinkReason.text(failure).printable))",
        remedy: "use a newer holdfast")
    case .failure, .exhausted, .obstacle, .ended, .settling, nil:
      return CommandFailure(status.reason)
    }
  }

  private mutating func failure(of record: SessionRecord) -> CommandFailure? {
    guard isOnce, !wasConnected, case .failure(let failure) = record.reason,
      failure.meansServerUnreachable
    else { return nil }
    failures += 1
    return failures >= Self.firstTries ? CommandFailure(failure) : nil
  }

  /// Returns the failure of a run in which prompts were not answered.
  static func unanswered(_ count: Int) -> CommandFailure? {
    guard count > 0 else { return nil }
    return CommandFailure(
      .failed, count == 1 ? "a prompt was not answered" : "\(count) prompts were not answered",
      remedy: "the output shows which, and why")
  }
}

/// The confirmation of what was shown, and the wait for it.
final class SessionWatch: Sendable {
  private let shown = Mutex<UInt64>(0)

  /// Confirms an update that was shown.
  func note(_ update: SessionUpdate, _ session: HeldSession) {
    let news: UInt64?
    switch update {
    case .message(_, _, let number): news = number
    case .prompt(_, let number): news = number
    case .status, .quality, .pending, .part, .gap, .record, .notice: news = nil
    }
    guard let news, news > 0 else { return }
    shown.withLock { $0 = max($0, news) }
    session.confirm(news)
  }

  /// Returns when everything was shown, and that is stored.
  func settled(_ session: HeldSession) async {
    await session.settled { $0.isSettled && $0.isShown }
  }
}

extension StoreFailure {
  /// Whether no later try can succeed.
  fileprivate var isLasting: Bool {
    switch self {
    case .corrupt, .fromTheFuture, .denied: true
    case .full, .locked, .other: false
    }
  }
}
