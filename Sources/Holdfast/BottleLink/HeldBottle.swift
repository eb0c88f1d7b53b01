public import HoldfastBottleData
public import HoldfastBottleLink
public import HoldfastCore
import HoldfastFeaturePorts
import HoldfastPorts
public import HoldfastSocket
import Synchronization

/// A drinking bottle that reconnects automatically.
///
/// Iterate over the bottle to receive its updates:
///
///     let bottle = try await HeldBottle(
///       BottleLinkConfiguration(radio: central, storage: .directory(directory)))
///     for await update in bottle {
///       if case .drink(let drink) = update {
///         show(drink)
///         bottle.markShown(through: drink.number)
///       }
///     }
///
/// Each drink is stored once, before it may be deleted on the bottle. The next run shows a drink
/// again unless it was marked as shown. Only one loop may read the updates. It ends when the bottle
/// is closed, or when no retry can help, which requires a policy that stops after a failure. End
/// the bottle with `close()`. Releasing the last reference also disconnects it.
public final class HeldBottle: Sendable, AsyncSequence {
  /// An element of the sequence.
  public typealias Element = BottleUpdate
  /// The iterator of a bottle's updates.
  public typealias Iterator = UpdateIterator<BottleUpdate>

  private let runtime: MachineRuntime<BottleEffectHandler>
  private let lastRequest = Mutex<UInt64>(0)

  /// Starts to search for the bottle.
  ///
  /// - Parameter notice: A closure that is called with the reason if journaling is turned off
  ///   later. It is called at most once.
  /// - Throws: `.store` if the drinks cannot be opened or read, for example because they are open
  ///   already; `.journal` if the journal cannot be created.
  public init(
    _ configuration: BottleLinkConfiguration,
    notice: @escaping @Sendable (JournalError) -> Void = { _ in }
  ) async throws(OpenError) {
    let (ports, storage) = (configuration.ports, configuration.storage)
    let store = try await OpenError.wrapping(OpenError.store) { () throws(StoreFailure) in
      try await storage.open()
    }
    let (stored, start) = try await storage.starting(with: store) { () throws(OpenError) in
      let stored = try await OpenError.wrapping(OpenError.store) { () throws(StoreFailure) in
        try await store.open()
      }
      let start = try await MachineStart<BottleModel>(
        configuration.settings, journal: configuration.journal, at: ports.clock.wall,
        notice: notice)
      return (stored, start)
    }
    runtime = MachineRuntime(
      start, BottleEffectHandler(configuration, store), clock: ports.clock,
      device: Device(
        reachability: AlwaysReachable(), lifecycle: ports.lifecycle, network: nil,
        clock: ports.clock),
      first: [.restored(stored), .start], onEnd: storage.closing(store))
    runtime.effectHandler.listen()
  }

  /// Returns the iterator of the updates. A bottle has only one reader.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: runtime.effectHandler.updates) }

  /// The updates, which do not end when the bottle has failed.
  package var lastingUpdates: LastingUpdates<BottleUpdate> {
    LastingUpdates(runtime.effectHandler.updates)
  }

  /// The failure that ended the updates, or `nil` if there is none. No retry can cure it.
  public var failure: LinkFailure? { runtime.effectHandler.updates.failure }

  /// Connects and synchronizes immediately. The result is a `.refreshed` update with the returned
  /// number.
  @discardableResult
  public func refresh() -> UInt64 {
    let id = nextRequest
    runtime.command(.refresh(id))
    return id
  }

  /// Sends a request to the bottle. The result is a `.performed` update with the returned number.
  @discardableResult
  public func perform(_ request: BottleRequest) -> UInt64 {
    let id = nextRequest
    runtime.command(.perform(id, request))
    return id
  }

  /// Keeps an idle connection open, or releases such a hold. Each hold must be released.
  public func hold(_ isHeld: Bool) { runtime.command(.hold(isHeld)) }

  /// Switches to another bottle, or to the first bottle found if `bottle` is `nil`.
  public func choose(_ bottle: KnownBottle?) { runtime.command(.choose(bottle)) }

  /// Records that all drinks up to this number were shown, so that no later run shows them again.
  ///
  /// After `close()` has begun, a call may have no effect.
  public func markShown(through number: UInt64) { runtime.command(.shown(through: number)) }

  /// Looks for the bottle now, without waiting for the next burst. This is also valid after a
  /// failure.
  public func reconnect() { runtime.restart(.start) }

  /// Reports whether the app is in the foreground, if there is no lifecycle monitor.
  public func setLifecycle(_ lifecycle: AppLifecycle) {
    runtime.command(.link(.device(.lifecycle(lifecycle))))
  }

  /// A snapshot of the model between two steps.
  package var snapshot: BottleModel {
    get async { await runtime.snapshot }
  }

  /// Returns when all earlier commands have been processed and `condition` holds.
  ///
  /// Also returns when the bottle is closed or the task is cancelled.
  package func waitUntil(_ condition: @escaping @Sendable (BottleModel) -> Bool) async {
    await runtime.waitUntil(condition)
  }

  /// Disconnects, cancels every connection that is pending with the system, and ends the sequence.
  ///
  /// A store that the bottle opened is closed. The call runs to completion even if the calling task
  /// is cancelled.
  public func close() async { await runtime.close(.stop) { $0.isStopped } }

  private var nextRequest: UInt64 {
    lastRequest.withLock { last in
      last += 1
      return last
    }
  }
}
