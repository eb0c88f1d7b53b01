import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageStream

/// The conditions under which a stream cannot continue on its own, each with its exit status.
struct StreamEnding {
  let shop: ShopID
  /// Whether the stream must catch up within a number of attempts instead of retrying forever.
  let isOnce: Bool
  /// The number of failed fetches in total, or of consecutive failed writes to the store, that ends
  /// the stream.
  private let tries: Int
  /// The time at which the command started.
  private let since: Timestamp?
  /// Whether all attempts to open the socket failed.
  private var isExhausted = false
  /// The messages that were once waiting to be sent.
  private var waiting: Set<UUID128> = []
  /// The number of messages that failed permanently.
  private(set) var failed = 0
  /// Whether the store has been read. The first status is sent after that.
  private var isLoaded = false
  /// The number of failed fetches.
  private var fetchFailures = 0
  private var lastFailure: LinkFailure?
  /// The failure of the most recent attempt to send a message; `nil` if it succeeded.
  private(set) var sendFailure: LinkFailure?
  /// The number of consecutive failed writes to the store.
  private var refusals = 0
  private var storeFailure: StoreFailure?

  init(shop: ShopID, isOnce: Bool = false, tries: Int = .max, since: Timestamp? = nil) {
    self.shop = shop
    self.isOnce = isOnce
    self.tries = tries
    self.since = since
  }

  /// Returns the failure that an update causes for the command; `nil` if it can continue.
  mutating func failure(after update: StreamUpdate) -> CommandFailure? {
    switch update {
    case .status(let status):
      isLoaded = true
      isExhausted = status.state == .polling
      if case .failure(let failure) = status.reason { lastFailure = failure }
      return failure(of: status)
    case .notice(let notice): return failure(of: notice)
    case .outbox(let entry): note(entry)
    case .outboxDone(let id, _):
      waiting.remove(id)
      sendFailure = nil
    case .messages, .edited, .deleted, .gap, .gapClosed, .history: break
    }
    return nil
  }

  private mutating func note(_ entry: OutboxEntry) {
    switch entry.state {
    case .queued: waiting.insert(entry.id)
    case .failed:
      // Failures from earlier runs were already reported.
      let isNew = since.map { entry.createdAt >= $0 } ?? false
      if waiting.remove(entry.id) != nil || isNew { failed += 1 }
    }
  }

  private func failure(of status: StreamStatus) -> CommandFailure? {
    guard status.state == .disconnected else { return nil }
    switch status.reason {
    case .failure(let failure):
      // For these failures, a notice follows.
      let isNoticed = [.forbidden, .closedForbidden, .tls].contains(failure.failureClass)
      return isNoticed ? nil : Self.failure(failure, shop)
    case .exhausted(let failure): return Self.failure(failure, shop)
    case .blocked(.unreachable) where isOnce:
      return Self.failure(.unreachable(detail: "this device is offline"), shop)
    case .blocked(.captivePortal) where isOnce: return Self.failure(.captivePortal, shop)
    case .signIn, .blocked, .ended, .debouncing, .limited, nil: return nil
    }
  }

  private mutating func failure(of notice: StreamNotice) -> CommandFailure? {
    switch notice {
    case .signIn: return .signIn
    case .forbidden:
      return Self.failure(.http(status: 403, retryAfter: nil, detail: ""), shop)
    case .security(let failure): return Self.failure(failure, shop)
    case .store(let failure):
      refusals += 1
      storeFailure = failure
      let isOver = failsForGood(failure) || isOnce && refusals >= tries
      return isOver ? CommandFailure(failure) : nil
    case .storeRecovered:
      refusals = 0
      storeFailure = nil
      return nil
    case .fetchFailed(let failure):
      fetchFailures += 1
      lastFailure = failure
      return isOnce && (isExhausted || fetchFailures >= tries) ? Self.failure(failure, shop) : nil
    case .sendFailed(let failure):
      sendFailure = failure
      return nil
    case .malformed, .rejected, .unknownType, .oversized, .draining, .newEpoch:
      return nil
    }
  }

  /// Returns whether a failure is permanent. If the disk is full or busy, the failure is temporary
  /// and the stream retries.
  private func failsForGood(_ failure: StoreFailure) -> Bool {
    switch failure {
    case .full, .locked, .other: !isLoaded
    case .corrupt, .fromTheFuture, .denied: true
    }
  }

  /// Whether a request or the store has failed.
  var hasFailure: Bool { lastFailure != nil || sendFailure != nil || storeFailure != nil }

  /// Returns the failure for a run that reached its time limit.
  func late(after limit: Duration) -> CommandFailure {
    if let storeFailure { return CommandFailure(storeFailure) }
    if let sendFailure, !waiting.isEmpty {
      return .unstored(sendFailure, within: limit, remedy: "")
    }
    return lastFailure.map { Self.failure($0, shop) }
      ?? CommandFailure(
        .failed, "not finished within \(limit.text)", remedy: "use a longer --duration")
  }

  /// Returns the failure for a command whose link failed.
  static func failure(_ failure: LinkFailure, _ shop: ShopID) -> CommandFailure {
    switch ExitCode(failure) {
    case .signInNeeded: .signIn
    case .forbidden:
      CommandFailure(
        .forbidden, "the token's user is not a member of shop \(shop)",
        remedy: "ask to be added, or follow another shop")
    case .done, .failed, .usage, .security, .unreachable: CommandFailure(failure)
    }
  }
}
