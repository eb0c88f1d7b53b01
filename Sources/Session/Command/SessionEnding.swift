import Holdfast
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastSession

/// The conditions under which `session` ends on its own.
struct SessionRunEnding {
  let isOnce: Bool
  /// The number of prompts in this run that failed, were interrupted, or have an unknown outcome.
  private(set) var failed = 0
  private var wasConnected = false
  /// The number of connections that failed before the first one was established.
  private var failures = 0

  /// The number of attempts after which `--once` gives up on a server that has never been reached.
  private static let firstTries = 6

  init(isOnce: Bool) {
    self.isOnce = isOnce
  }

  /// Returns the failure that an update causes; `nil` if the command can continue.
  mutating func failure(after update: SessionUpdate) -> CommandFailure? {
    switch update {
    case .status(let status): return failure(of: status)
    case .prompt(let prompt, _):
      if [.failed, .interrupted, .unsure].contains(prompt.state) { failed += 1 }
      return nil
    case .record(let record): return failure(of: record)
    case .notice(.store(let failure)): return failure.isLasting ? CommandFailure(failure) : nil
    case .quality, .pending, .message, .part, .gap, .notice: return nil
    }
  }

  private mutating func failure(of status: LinkStatus) -> CommandFailure? {
    if status.phase == .connected { wasConnected = true }
    if isOnce, status.reason == .blocked(.captivePortal) { return CommandFailure(status.reason) }
    guard status.phase == .failed || status.phase == .standby else { return nil }
    switch status.reason {
    case .signIn:
      return CommandFailure(
        .signInNeeded, "the server refuses the key", remedy: "check the key in --key-file")
    case .failure(let failure) where failure.failureClass == .closedForbidden:
      return CommandFailure(
        .forbidden, "the server refuses this version: \(failure.description.printable)",
        remedy: "use a newer holdfast")
    case .failure, .exhausted, .blocked, .ended, .debouncing, .limited, nil:
      return CommandFailure(status.reason)
    }
  }

  private mutating func failure(of record: SessionRecord) -> CommandFailure? {
    guard isOnce, !wasConnected, case .failure(let failure) = record.reason else { return nil }
    if failure.isElsewhere { return CommandFailure(failure) }
    if case .http(404, _, _) = failure {
      return CommandFailure(
        .failed, "the server has no sessions at this path: \(failure.description.printable)",
        remedy: "check the path of --server")
    }
    guard failure.meansServerUnreachable else { return nil }
    failures += 1
    return failures >= Self.firstTries ? CommandFailure(failure) : nil
  }
}

extension SessionUpdate {
  /// The number to mark once the update has been shown; `nil` if later runs do not repeat it.
  var news: UInt64? {
    switch self {
    case .message(_, _, let number): number > 0 ? number : nil
    case .prompt(_, let number): number
    case .status, .quality, .pending, .part, .gap, .record, .notice: nil
    }
  }
}

extension StoreFailure {
  /// Whether no retry can succeed.
  fileprivate var isLasting: Bool {
    switch self {
    case .corrupt, .fromTheFuture, .denied: true
    case .full, .locked, .other: false
    }
  }
}
