import Foundation
public import Holdfast
import HoldfastCore
import HoldfastPorts
public import HoldfastFeaturePorts
public import HoldfastHealthSync
public import Observation

/// The progress of syncing health samples, for the screens of an app.
///
///     SyncCard(sync.types)
///       .task { await sync.follow() }
///
/// All screens share one model. The model receives updates as long as it exists, so it is complete
/// when a `.task` restarts.
@MainActor @Observable public final class SyncProgress: SharedModel {
  /// The synced types, in the order in which their first counts arrived.
  public private(set) var types: [SyncTypeRow] = []
  /// The quarantined batches and their reasons. The user can request a retry.
  public private(set) var quarantined: [SyncBatchReport] = []
  /// A Boolean value that indicates whether the server refused the secret.
  public private(set) var needsSignIn = false
  /// The most recent problem that did not end the sync.
  public private(set) var notice: SyncNotice?

  /// A Boolean value that indicates whether the server has all samples that can be sent.
  public var isComplete: Bool { !types.isEmpty && types.allSatisfy { $0.report.pending == 0 } }

  /// Whether the sync is open.
  public var phase: OpeningPhase { opening.phase }

  let opening: Opening<SampleSync>
  @ObservationIgnored private let feed = Feed()

  init(_ opening: Opening<SampleSync>) { self.opening = opening }

  /// Starts updating the model. Returns when the task is cancelled or the sync is closed.
  ///
  /// Cancelling the task does not stop the updates, so the model is complete when a screen follows
  /// it again.
  public func follow() async {
    guard let sync = await opening.lasting() else { return }
    await feed.follow(updates(of: sync))
  }

  /// Returns a closure that processes updates until the sync is closed.
  private func updates(of sync: SampleSync) -> @MainActor () async -> Void {
    { [weak self] in
      for await update in sync { self?.take(update) }
    }
  }

  /// Opens the sync again after it could not be opened.
  public func retry() { opening.retry() }

  /// Reads the source again, and retries all waiting batches immediately.
  public func retryNow() { opening.whenOpen { $0.retryNow() } }

  /// Reads the source again, and waits until everything is sent or handed over to the system.
  ///
  /// - Parameter limit: The maximum duration of the wait.
  /// - Throws: The failure for which something is left, an `OpenError` if the sync cannot be opened,
  ///   or `CancellationError`.
  public func refresh(within limit: Duration = .seconds(30)) async throws {
    let sync = try await opening.opened()
    feed.start(updates(of: sync))
    let (results, continuation) = AsyncStream.makeStream(of: WakeResult.self)
    sync.wake(
      .task("refresh"),
      Wake(budget: limit) { result in
        continuation.yield(result)
        continuation.finish()
      })
    for await case .later in results {
      if case .unreachable(let failure) = notice { throw failure }
      throw LinkFailure.local(detail: "some samples wait for a later attempt")
    }
    try Task.checkCancellation()
  }

  /// Reports whether the app is in the foreground. It is for platforms without a lifecycle monitor.
  public func setLifecycle(_ lifecycle: AppLifecycle) {
    opening.whenOpen { $0.setLifecycle(lifecycle) }
  }

  /// Ends the sync. The next run sends the waiting batches.
  ///
  /// On the next request, `HoldfastLinks` creates a new model.
  public func close() async {
    await opening.close { await $0.close() }
    feed.endIfIdle()
  }

  private func take(_ update: SyncUpdate) {
    switch update {
    case .type(let report):
      if let index = types.firstIndex(where: { $0.id == report.type }) {
        types[index].report = report
      } else {
        types.append(SyncTypeRow(report))
      }
    case .batch(let report):
      quarantined.removeAll { $0.file == report.file }
      if report.state == .quarantined { quarantined.append(report) }
    case .notice(let latest): take(latest)
    }
  }

  private func take(_ latest: SyncNotice) {
    notice = latest
    switch latest {
    case .secretRefused: needsSignIn = true
    case .secretRenewed: needsSignIn = false
    case .unreachable, .source, .store, .divided, .readsAgain, .notRefreshed: return
    }
  }
}

/// The counts of one type, as a row of a list.
public struct SyncTypeRow: Sendable, Hashable, Identifiable {
  /// HealthKit's identifier of the type.
  public var id: String { report.type }
  /// The counts of synced, pending and quarantined samples.
  public var report: SyncTypeReport

  init(_ report: SyncTypeReport) { self.report = report }
}

extension HoldfastLinks {
  /// Returns the model of the sync of health samples. All screens share the model until it is
  /// closed.
  ///
  /// The first call starts to read and send samples. The app's token is used as the secret. While
  /// the model is open, the arguments of further calls have no effect.
  ///
  /// - Parameters:
  /// - source: The source of the person's samples. The default is that of `parts`, or else the store
  ///   of this package's imports.
  /// - types: HealthKit's identifiers of the types to sync. The default is that of `parts`.
  public func healthSync(
    _ source: (any HealthSource)? = nil, types: [String]? = nil
  ) -> SyncProgress {
    shared("sync") { resources in
      SyncProgress(
        opening(resources) { (links, resources) in
          let samples: any HealthSource =
            if let own = source ?? links.parts.samples { own } else {
              StoredHealthSource(
                try await links.healthStore(resources), clock: links.ports.clock)
            }
          return try await SampleSync(
            links.syncConfiguration(samples, types: types ?? links.parts.types, resources))
        })
    }
  }

  private func syncConfiguration(
    _ samples: any HealthSource, types: [String], _ resources: SharedResources
  ) async throws -> SyncConfiguration {
    let folder = folder(.sync)
    let queue = resources.keep(try await HoldfastPlatform.syncQueue(in: folder))
    var configuration = SyncConfiguration(
      server.absoluteString, source: samples, storage: .store(queue), directory: folder,
      tokens: tokens)
    configuration.types = types
    configuration.uploads = parts.uploads
    configuration.deviceID = try HoldfastPlatform.phoneName(in: folder).description.uppercased()
    configuration.ports = ports
    return configuration
  }
}
