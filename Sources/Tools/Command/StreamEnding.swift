import CommandKit
import LinkCore
import LinkWire
import MessageStream

/// Notices when a stream cannot go on by itself, and with which exit status it ends.
struct StreamEnding {
  let shop: ShopID
  /// The store was read when there was a status.
  private var isLoaded = false

  init(shop: ShopID) {
    self.shop = shop
  }

  /// The failure that an update means; `nil` while there is hope.
  mutating func failure(after update: StreamUpdate) -> CommandFailure? {
    switch update {
    case .status(let status):
      isLoaded = true
      return failure(of: status)
    case .notice(let notice): return failure(of: notice)
    case .messages, .edited, .gap, .gapClosed, .outbox, .outboxDone, .history: return nil
    }
  }

  private func failure(of status: StreamStatus) -> CommandFailure? {
    guard status.state == .disconnected else { return nil }
    switch status.reason {
    case .failure(let failure):
      switch failure.failureClass {
      case .forbidden, .closedForbidden, .tls: return nil  // a notice follows
      case _: return Self.failure(failure, shop)
      }
    case .exhausted(let failure): return Self.failure(failure, shop)
    case .signIn, .obstacle, .ended, .settling, nil: return nil
    }
  }

  private func failure(of notice: StreamNotice) -> CommandFailure? {
    switch notice {
    case .signIn: return Self.signIn
    case .forbidden:
      return Self.failure(.http(status: 403, retryAfter: nil, detail: ""), shop)
    case .security(let failure): return Self.failure(failure, shop)
    case .store(let failure): return failsForGood(failure) ? CommandFailure(failure) : nil
    case .malformed, .rejected, .unknownType, .oversized, .fetchFailed, .storeRecovered,
      .draining, .newEpoch:
      return nil
    }
  }

  /// A full or busy disk may pass; what the stream could not write it tries again.
  private func failsForGood(_ failure: StoreFailure) -> Bool {
    switch failure {
    case .full, .locked, .other: !isLoaded
    case .corrupt, .fromTheFuture, .denied: true
    }
  }

  static let signIn = CommandFailure(
    .signInNeeded, "the server does not take the token",
    remedy: "sign in again, or make a token with `holdfast token`")

  /// What a link's failure means for whoever typed the command.
  static func failure(_ failure: LinkFailure, _ shop: ShopID) -> CommandFailure {
    let code = ExitCode(failure)
    return switch code {
    case .signInNeeded: signIn
    case .forbidden:
      CommandFailure(
        code, "the token's user is no member of shop \(shop)",
        remedy: "ask to be let in, or follow another shop")
    case .security:
      CommandFailure(
        code,
        "the server's identity is not proven (\(StreamText.safe(StreamReason.text(failure))))",
        remedy: "check --server; --ca FILE adds an authority")
    case .unreachable:
      CommandFailure(
        code, "the server cannot be reached (\(StreamText.safe(StreamReason.text(failure))))",
        remedy: "check --server and the network")
    case .done, .failed, .usage:
      CommandFailure(.failed, "the server refused: \(StreamText.safe(StreamReason.text(failure)))")
    }
  }
}
