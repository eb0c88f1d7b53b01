import CommandKit
import LinkCore
import LinkWire
import MessageStream

/// Notices when a stream cannot go on by itself, and with which exit status it ends.
struct StreamEnding {
  let shop: ShopID
  /// Whether it must be caught up soon, instead of trying for ever.
  let isOnce: Bool
  /// How often it may find pages that cannot be had, or a store that refuses, until it gives up.
  private let tries: Int
  /// When the command began.
  private let since: Timestamp?
  /// All tries of the socket failed.
  private var isExhausted = false
  /// What waits to be sent, as far as it was seen.
  private var waiting: Set<UUID128> = []
  /// How many messages failed for good.
  private(set) var failed = 0
  /// The store was read when there was a status.
  private var isLoaded = false
  /// How often pages could not be had, and why last.
  private var fetchFailures = 0
  private var lastFailure: LinkFailure?
  /// How often the store refused in a row.
  private var refusals = 0

  init(shop: ShopID, isOnce: Bool = false, tries: Int = .max, since: Timestamp? = nil) {
    self.shop = shop
    self.isOnce = isOnce
    self.tries = tries
    self.since = since
  }

  /// The failure that an update means; `nil` while there is hope.
  mutating func failure(after update: StreamUpdate) -> CommandFailure? {
    switch update {
    case .status(let status):
      isLoaded = true
      isExhausted = status.state == .failed
      if case .failure(let failure) = status.reason { lastFailure = failure }
      return failure(of: status)
    case .notice(let notice): return failure(of: notice)
    case .outbox(let entry): note(entry)
    case .outboxDone(let id, _): waiting.remove(id)
    case .messages, .edited, .gap, .gapClosed, .history: break
    }
    return nil
  }

  private mutating func note(_ entry: OutboxEntry) {
    switch entry.state {
    case .queued: waiting.insert(entry.id)
    case .failed:
      // What failed in an earlier run was told then.
      let isNew = since.map { entry.createdAt >= $0 } ?? false
      if waiting.remove(entry.id) != nil || isNew { failed += 1 }
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
    case .obstacle(.unreachable) where isOnce:
      return Self.failure(.unreachable(detail: "this device is offline"), shop)
    case .obstacle(.captivePortal) where isOnce: return Self.failure(.captivePortal, shop)
    case .signIn, .obstacle, .ended, .settling, nil: return nil
    }
  }

  private mutating func failure(of notice: StreamNotice) -> CommandFailure? {
    switch notice {
    case .signIn: return Self.signIn
    case .forbidden:
      return Self.failure(.http(status: 403, retryAfter: nil, detail: ""), shop)
    case .security(let failure): return Self.failure(failure, shop)
    case .store(let failure):
      refusals += 1
      let isOver = failsForGood(failure) || isOnce && refusals >= tries
      return isOver ? CommandFailure(failure) : nil
    case .storeRecovered:
      refusals = 0
      return nil
    case .fetchFailed(let failure):
      fetchFailures += 1
      lastFailure = failure
      return isOnce && (isExhausted || fetchFailures >= tries) ? Self.failure(failure, shop) : nil
    case .malformed, .rejected, .unknownType, .oversized, .draining, .newEpoch:
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

  /// What it means that time ran out before all was done.
  func late(after limit: Duration) -> CommandFailure {
    lastFailure.map { Self.failure($0, shop) }
      ?? CommandFailure(
        .failed, "it was not done within \(limit.text)", remedy: "give it a longer --duration")
  }

  /// What it means that the store does not hold all that was to be sent.
  static func unstored(_ count: Int) -> CommandFailure? {
    guard count > 0 else { return nil }
    return CommandFailure(
      .failed, count == 1 ? "a message was not stored" : "\(count) messages were not stored",
      remedy: "the output says why; send what it does not show as queued again")
  }

  /// What the end of a command means that should send all it was given.
  static func unsent(_ count: Int) -> CommandFailure? {
    guard count > 0 else { return nil }
    return CommandFailure(
      .failed, count == 1 ? "a message was not sent" : "\(count) messages were not sent",
      remedy: "the output says which, and why")
  }

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
