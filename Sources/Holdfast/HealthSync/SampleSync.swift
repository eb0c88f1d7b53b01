public import HoldfastHealthSync
public import HoldfastSocket
public import HoldfastCore
import HoldfastPorts
import Foundation

/// A sync of health samples with a server.
///
/// Iterate over the sync to receive its updates:
///
///     let sync = try await SampleSync(
///       SyncConfiguration(
///         "https://example.com", source: source, queue: queue, directory: directory) { secret })
///     for await update in sync {
///       if case .type(let report) = update { show(report) }
///     }
///
/// Samples that were read survive the end of the process and are sent until the server has them.
/// Only one loop may read the sequence. While the loop is not reading, a newer report of a type
/// replaces the older one. End the sync with `close()`.
public final class SampleSync: Sendable, AsyncSequence {
  /// An element of the sequence.
  public typealias Element = SyncUpdate
  /// The iterator of a sync's updates.
  public typealias Iterator = UpdateIterator<SyncUpdate>

  private let runtime: MachineRuntime<SyncEffectHandler>

  /// Starts to read and send samples.
  ///
  /// - Parameter notice: A closure that is called with the reason if journaling is turned off
  ///   later. It is called at most once.
  /// - Throws: `.local` if the queue cannot be read, the journal cannot be created, or the device
  ///   has run out of descriptors or threads.
  public init(
    _ configuration: SyncConfiguration,
    notice: @escaping @Sendable (JournalError) -> Void = { _ in }
  ) async throws(LinkFailure) {
    let network =
      if let own = configuration.network { own } else { try HoldfastPlatform.ownNetwork() }
    let clock = configuration.clock
    let start = try await LinkFailure.local { () throws(JournalError) in
      try await MachineStart<SyncModel>(
        SyncSettings(
          policy: configuration.policy,
          depth: configuration.uploads == nil ? 1 : SyncSettings.mostBatches),
        journal: configuration.journal,
        at: clock.wall, notice: notice)
    }
    let stored = try await LinkFailure.local { () throws(StoreFailure) in
      try await configuration.queue.stored()
    }
    let files = PayloadFiles(in: configuration.directory)
    let missing = files.removeUnknown(Set(stored.batches.map(\.file)))
    let effectHandler = SyncEffectHandler(configuration, files, network)
    let uploading = await effectHandler.listen()
    let host = URLComponents(string: configuration.server)?.host ?? configuration.server
    let device = Device<SyncModel.Input>(
      reachability: configuration.reachability ?? HoldfastPlatform.reachability(of: host),
      lifecycle: configuration.lifecycle, network: network,
      conditions: { .conditions(SyncConditions($0)) }
    ) { .device($0) }
    runtime = MachineRuntime(
      start, effectHandler, clock: clock, device: device,
      first: [
        .restored(stored, running: uploading, missing: missing), .ask(configuration.types),
      ])
  }

  /// Returns the iterator of the updates. A sync has only one reader.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: runtime.effectHandler.updates) }

  /// Retries immediately, without waiting for the next scheduled retry.
  public func again() { runtime.command(.again) }

  /// Reports the current conditions for uploads, if there is no monitor.
  public func note(_ conditions: SyncConditions) { runtime.command(.conditions(conditions)) }

  /// A snapshot of the model between two steps.
  package var snapshot: SyncModel {
    get async { await runtime.snapshot }
  }

  /// Returns when all earlier commands have been processed and `condition` holds.
  ///
  /// Also returns when the sync is closed or the task is cancelled.
  package func waitUntil(_ condition: @escaping @Sendable (SyncModel) -> Bool) async {
    await runtime.waitUntil(condition)
  }

  /// Waits at most 2 s for work in progress to be stored, and ends the sequence.
  ///
  /// Unsent samples wait for the next run. The call runs to completion even if the calling task is
  /// cancelled.
  public func close() async { await runtime.close(.stop) { $0.isStopped } }
}

extension SyncConditions {
  /// Creates the conditions from those of the device.
  init(_ conditions: DeviceConditions) {
    self.init(
      isConstrained: conditions.traits.contains(.constrained),
      isExpensive: conditions.traits.contains(.expensive), isLowPower: conditions.isLowPower,
      isUnlocked: conditions.isProtectedDataAvailable)
  }
}
