public import BottleLink
public import HoldfastSocket
public import LinkCore
public import LinkRuntime
public import LinkStorage
import Synchronization

/// A drinking bottle that reconnects by itself: iterate it for what happens.
///
///     let bottle = try await HeldBottle(BottleOptions(radio: central, store: store))
///     for await update in bottle {
///       if case .drink(let drink) = update {
///         show(drink)
///         bottle.confirm(drink.number)
///       }
///     }
///
/// Drinks are stored before the bottle may forget them, each once, and are shown by the next run
/// unless they were confirmed. One loop reads it. End it with `close()`; dropping it disconnects
/// too.
public final class HeldBottle: Sendable, AsyncSequence {
  /// What the sequence consists of.
  public typealias Element = BottleUpdate
  /// The iterator of a bottle's updates.
  public typealias Iterator = UpdateIterator<BottleUpdate>

  private let running: Running<BottleShell>
  private let lastRequest = Mutex<UInt64>(0)

  /// Begins to look for the bottle.
  ///
  /// - Parameter notice: called once if journaling is turned off later, with the reason.
  /// - Throws: `.local` if the journal cannot be made or the store cannot be read.
  public init(
    _ options: BottleOptions,
    notice: @escaping @Sendable (JournalError) -> Void = { _ in }
  ) async throws(LinkFailure) {
    let start = try await LinkFailure.local { () throws(JournalError) in
      try await MachineStart<BottleModel>(
        options.settings, journal: options.journal, at: options.clock.wall, notice: notice)
    }
    let kept = try await LinkFailure.local { () throws(StoreFailure) in
      try await options.store.open()
    }
    running = Running(
      start, BottleShell(options), clock: options.clock,
      device: Device(
        reachability: AlwaysReachable(), lifecycle: options.lifecycle, network: nil,
        clock: options.clock),
      first: [.restored(kept), .start])
    running.shell.listen()
  }

  /// Returns the one iterator that a bottle serves.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: running.shell.updates) }

  /// Connects and synchronises now; the result comes as `.refreshed` with the returned number.
  @discardableResult
  public func refresh() -> UInt64 {
    let id = nextRequest
    running.command(.refresh(id))
    return id
  }

  /// Asks something of the bottle; the result comes as `.performed` with the returned number.
  @discardableResult
  public func perform(_ request: BottleRequest) -> UInt64 {
    let id = nextRequest
    running.command(.perform(id, request))
    return id
  }

  /// Keeps the connection although nothing happens; give each hold back.
  public func hold(_ isHeld: Bool) { running.command(.hold(isHeld)) }

  /// Uses another bottle; `nil` for the first one that is found.
  public func choose(_ bottle: KnownBottle?) { running.command(.choose(bottle)) }

  /// Notes that everything up to this drink was shown: no later run shows it again.
  public func confirm(_ number: UInt64) { running.command(.shown(through: number)) }

  /// Connects again after `close` or a failure, and does not wait for the next burst.
  public func start() { running.command(.start) }

  /// Reports whether the app is in front, where there is no lifecycle monitor.
  public func turn(_ lifecycle: Lifecycle) {
    running.command(.link(.device(.lifecycle(lifecycle))))
  }

  /// The model between two steps.
  package var snapshot: BottleModel {
    get async { await running.snapshot }
  }

  /// Returns when all commands given before were taken and `isSettled` holds, or it is closed, or
  /// the task is cancelled.
  package func settled(_ isSettled: @escaping @Sendable (BottleModel) -> Bool) async {
    await running.settled(isSettled)
  }

  /// Disconnects, leaves nothing queued with the system, and ends the sequence. Runs to completion
  /// even if the calling task is cancelled.
  public func close() async { await running.close(.stop) { $0.isStopped } }

  private var nextRequest: UInt64 {
    lastRequest.withLock { last in
      last += 1
      return last
    }
  }
}

/// How an app wants its bottle, and the ports that it stands on.
public struct BottleOptions: Sendable {
  /// When to connect, and the numbers beside.
  public var settings = BottleSettings()
  /// Finds and connects the bottle; this bottle uses it alone.
  public var radio: any Central
  /// Keeps the drinks; one bottle uses it at a time.
  public var store: any DrinkStore
  /// A file that records every decision for `holdfast replay`; `nil` for none.
  public var journal: String?
  /// Reports whether the app is in front, and when the device sleeps.
  public var lifecycle: any LifecycleMonitor = AlwaysForeground()
  /// The time.
  public var clock: any LinkClock = BootClock()

  public init(radio: any Central, store: any DrinkStore) {
    (self.radio, self.store) = (radio, store)
  }
}
