import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageServer
import HoldfastPorts
import HoldfastPostgreSQLStores
import HoldfastServerParts
import Synchronization

/// The removal of the oldest messages, which carries out what its rules ask for.
final class MessageKeeper: Sendable {
  private let store: any PrunableLog
  private let images: any ImageContents
  private let policy: RetentionPolicy
  private let log: BackendLog
  /// Whether this node removes messages now. Of several nodes one does.
  private let isDue: @Sendable () -> Bool
  private let rules: Mutex<Retention>
  private let runs = Mutex<Task<Void, Never>?>(nil)
  private let clock = BootClock()

  /// Prepares the store.
  ///
  /// - Throws: `.store` if the store cannot remove messages.
  init(
    _ service: ShopService, _ policy: RetentionPolicy, log: BackendLog,
    isDue: @escaping @Sendable () -> Bool
  ) async throws(BackendError) {
    guard let store = service.store as? any PrunableLog else {
      throw .store(
        .other(
          detail: "This store cannot remove old messages. Use one of the backend's own stores, or "
            + "keep all messages."))
    }
    (self.store, images, self.policy, self.log) = (store, service.images, policy, log)
    self.isDue = isDue
    rules = Mutex(Retention(policy))
    do throws(StoreFailure) {
      if let reason = try await store.prepareToShrink() { log.note(.keepsRoom, reason) }
    } catch {
      log.note(.keepsRoom, "the file of the messages does not shrink: \(error)")
    }
  }

  /// Looks at the messages now, and then once in each interval of the policy, until `stop`.
  func follow() {
    runs.withLock { task in
      task = Task { [self] in
        while !Task.isCancelled {
          await run(at: clock.wall)
          try? await clock.wait(until: clock.now.advanced(by: policy.nextLook))
        }
      }
    }
  }

  /// Ends after the step under way.
  func stop() async {
    let task = runs.withLock(\.self)
    task?.cancel()
    await task?.value
  }

  func report(to page: inout MetricsPage) { rules.withLock(\.self).report(to: &page) }

  /// Removes what is due.
  private func run(at wall: Timestamp) async {
    guard isDue() else { return }
    var next = rules.withLock { $0.begin(at: wall) }
    while let step = next, !Task.isCancelled {
      let start = clock.now
      let answer = await perform(step)
      next = rules.withLock { $0.take(answer) }
      // Posts have the store for at least as long as the step had.
      let end = clock.now
      try? await clock.wait(until: end.advanced(by: start.duration(to: end)))
    }
    let counts = rules.withLock(\.counts)
    guard counts.messages > 0 else { return }
    log.note(
      .messagesRemoved, "\(counts.bytes) bytes of \(counts.shops) shops", count: counts.messages)
  }

  private func perform(_ step: Retention.Step) async -> Retention.Answer {
    do throws(StoreFailure) {
      switch step {
      case .extents(let shop, let limit):
        return .extents(try await store.extents(after: shop, limit: limit))
      case .marks(let shop, let version, let limit):
        return .marks(try await store.marks(of: shop, after: version, limit: limit))
      case .remove(let cut): return .removed(try await store.remove(cut))
      case .tidy(let time): return .tidied(try await store.tidy(keysBefore: time))
      case .removeTraces:
        try await images.removeDeleted(of: store)
        try await store.removeTraces()
        return .tracesRemoved
      }
    } catch {
      log.note(.retentionFailed, error.description)
      return .failed
    }
  }
}

extension Backend {
  /// Prepares the removal of old messages. Returns `nil` if all are kept.
  func openKeeper(
    _ services: [any Service]
  ) async throws(BackendError) -> MessageKeeper? {
    guard configuration.retention.isActive,
      let shop = services.lazy.compactMap({ $0 as? ShopService }).first
    else { return nil }
    let node = membership?.node
    return try await MessageKeeper(shop, configuration.retention, log: log) {
      node?.holdsRole ?? true
    }
  }
}
