public import HoldfastBottleLink
public import HoldfastSocket
public import HoldfastCore
public import HoldfastFeaturePorts
public import HoldfastPorts
public import HoldfastStorage
import Synchronization

/// A drinking bottle that reconnects automatically.
///
/// Iterate over the bottle to receive its updates:
///
///     let bottle = try await HeldBottle(BottleOptions(radio: central, store: store))
///     for await update in bottle {
///       if case .drink(let drink) = update {
///         show(drink)
///         bottle.confirm(drink.number)
///       }
///     }
///
/// Each drink is stored once, before it may be deleted on the bottle. The next run shows a drink
/// again unless it was confirmed. Only one loop may read the updates. End the bottle with
/// `close()`. Releasing the last reference also disconnects it.
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
  /// - Throws: `.local` if the journal cannot be created or the store cannot be read.
  public init(
    _ options: BottleOptions,
    notice: @escaping @Sendable (JournalError) -> Void = { _ in }
  ) async throws(LinkFailure) {
    let start = try await LinkFailure.local { () throws(JournalError) in
      try await MachineStart<BottleModel>(
        options.settings, journal: options.journal, at: options.clock.wall, notice: notice)
    }
    let stored = try await LinkFailure.local { () throws(StoreFailure) in
      try await options.store.open()
    }
    runtime = MachineRuntime(
      start, BottleEffectHandler(options), clock: options.clock,
      device: Device(
        reachability: AlwaysReachable(), lifecycle: options.lifecycle, network: nil,
        clock: options.clock),
      first: [.restored(stored), .start])
    runtime.effectHandler.listen()
  }

  /// Returns the iterator of the updates. A bottle has only one reader.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: runtime.effectHandler.updates) }

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

  /// Confirms that all drinks up to this number were shown, so that no later run shows them again.
  public func confirm(_ number: UInt64) { runtime.command(.shown(through: number)) }

  /// Connects again after `close` or a failure, without waiting for the next burst.
  public func start() { runtime.command(.start) }

  /// Reports whether the app is in the foreground, if there is no lifecycle monitor.
  public func turn(_ lifecycle: AppLifecycle) {
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
  /// The call runs to completion even if the calling task is cancelled.
  public func close() async { await runtime.close(.stop) { $0.isStopped } }

  private var nextRequest: UInt64 {
    lastRequest.withLock { last in
      last += 1
      return last
    }
  }
}

/// The options of a bottle, and the ports that it uses.
public struct BottleOptions: Sendable {
  /// The policy of the link, and the numbers of the feature.
  public var settings = BottleSettings()
  /// The radio that finds the bottle and connects to it. No other bottle may use it.
  public var radio: any Central
  /// The store of the drinks. Only one bottle may use it at a time.
  public var store: any DrinkStore
  /// The path of a journal that records every decision for `holdfast replay`, or `nil` for no
  /// journal.
  public var journal: String?
  /// The monitor that reports whether the app is in the foreground and when the device sleeps.
  public var lifecycle: any LifecycleMonitor = AlwaysForeground()
  /// The clock of the bottle.
  public var clock: any LinkClock = BootClock()

  public init(radio: any Central, store: any DrinkStore) {
    (self.radio, self.store) = (radio, store)
  }
}
