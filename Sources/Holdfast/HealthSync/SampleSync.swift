public import HoldfastCore
import HoldfastFeaturePorts
public import HoldfastHealthSync
public import HoldfastPorts
public import HoldfastSocket

/// A sync of health samples with a server.
///
/// Iterate over the sync to receive its updates:
///
///     let sync = try await SampleSync(
///       SyncConfiguration(
///         "https://example.com", source: source, storage: .directory(directory)) { secret })
///     for await update in sync {
///       if case .type(let report) = update { show(report) }
///     }
///
/// Samples that were read survive the end of the process and are sent until the server has them.
/// The loop ends only when the sync is closed, because a sync never gives up: after a refusal, the
/// source of the secret is called again once a minute. Only one loop may read the sequence. While
/// the loop is not reading, a newer report of a type replaces the older one. End the sync with
/// `close()`.
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
  /// - Throws: `.configuration` if the server's URL or a fixed secret is not valid, the URL needs
  ///   `allowsPlaintext`, or there is no directory for the files; `.store` if the queue cannot be
  ///   opened or read, for example because it is open already; `.journal` if the journal cannot be
  ///   created; `.network` if the device has run out of descriptors or threads.
  public init(
    _ configuration: SyncConfiguration,
    notice: @escaping @Sendable (JournalError) -> Void = { _ in }
  ) async throws(OpenError) {
    let (ports, storage) = (configuration.ports, configuration.storage)
    let host = try ServerURL.backendHost(
      configuration.server, ports, allowsPlaintext: configuration.allowsPlaintext)
    try configuration.tokens.check()
    let files = try configuration.files()
    let network = try ports.openNetwork(allowsPlaintext: configuration.allowsPlaintext)
    let queue = try await OpenError.wrapping(OpenError.store) { () throws(StoreFailure) in
      try await storage.open()
    }
    let (stored, start) = try await storage.starting(with: queue) { () throws(OpenError) in
      let stored = try await OpenError.wrapping(OpenError.store) { () throws(StoreFailure) in
        try await queue.stored()
      }
      let start = try await MachineStart<SyncModel>(
        configuration.settings, journal: configuration.journal, at: ports.clock.wall,
        notice: notice)
      return (stored, start)
    }
    let missing = files.removeUnknown(Set(stored.batches.map(\.file)))
    let effectHandler = SyncEffectHandler(configuration, files, queue, network)
    let uploading = await effectHandler.listen()
    let device = Device<SyncModel.Input>(
      reachability: ports.reachability ?? HoldfastPlatform.meteredReachability(of: host),
      lifecycle: ports.lifecycle, network: network,
      conditions: { .conditions(SyncConditions($0)) }
    ) { .device($0) }
    runtime = MachineRuntime(
      start, effectHandler, clock: ports.clock, device: device,
      first: [
        .restored(stored, running: uploading, missing: missing), .ask(configuration.types),
      ], onEnd: storage.closing(queue))
    await effectHandler.deliverEarlyEnds()
  }

  /// Returns the iterator of the updates. A sync has only one reader.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: runtime.effectHandler.updates) }

  /// Retries immediately, without waiting for the next scheduled retry.
  public func retryNow() { runtime.command(.again) }

  /// Reports whether the app is in the foreground, if there is no lifecycle monitor.
  public func setLifecycle(_ lifecycle: AppLifecycle) {
    runtime.command(.device(.lifecycle(lifecycle)))
  }

  /// Reports the current conditions for uploads, if there is no monitor.
  public func setConditions(_ conditions: SyncConditions) {
    runtime.command(.conditions(conditions))
  }

  /// Passes a wake of the system to the sync, which gives it back.
  ///
  /// - After `.task` and `.push`, all types are read, and waiting batches are sent at once. The wake
  ///   is given back when everything is stored and handed over, even if the system has yet to send
  ///   it.
  /// - After `.uploads`, the wake is given back when all ended uploads are stored as sent.
  /// - After `.health`, the wake is given back when the changes of these types are stored.
  ///
  /// A wake is given back shortly before its budget ends in any case, and at once after `close()`.
  /// The method returns at once. Wakes from the source's own observers are not passed here.
  public func wake(_ cause: WakeCause, _ wake: Wake) {
    if let input = runtime.effectHandler.input(of: cause, wake) { runtime.command(input) }
  }

  /// Returns the types that the last run with this directory synced, for `HealthSource.prepare`.
  ///
  /// A launch calls `prepare` with these types before it ends. The function reads a small file,
  /// which can also be read before the first unlock of the device, and needs no open queue. It
  /// returns no types if there was no run.
  ///
  /// - Parameter directory: The directory of the queue or, if the configuration names one, of the
  ///   files of pending batches.
  public static func preparedTypes(in directory: String) -> [String] {
    PayloadFiles(in: directory).asked
  }

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
  /// Unsent samples wait for the next run. A queue that the sync opened is closed. The call runs to
  /// completion even if the calling task is cancelled.
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
