import Foundation
public import Holdfast
import HoldfastCore
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
@MainActor @Observable public final class SyncProgress {
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

  @ObservationIgnored private let sync: SampleSync
  @ObservationIgnored private let resources: SharedResources
  @ObservationIgnored private let feed = Feed()

  init(_ sync: SampleSync, _ resources: SharedResources) {
    (self.sync, self.resources) = (sync, resources)
  }

  /// Starts updating the model. Returns when the task is cancelled or the sync is closed.
  ///
  /// Cancelling the task does not stop the updates, so the model is complete when a screen follows
  /// it again.
  public func follow() async {
    await feed.follow { [weak self, sync] in
      for await update in sync { self?.take(update) }
    }
  }

  /// Reads the source again, and retries all waiting batches immediately.
  public func retryNow() { sync.retryNow() }

  /// Reports whether the app is in the foreground. It is for platforms without a lifecycle monitor.
  public func setLifecycle(_ lifecycle: AppLifecycle) { sync.setLifecycle(lifecycle) }

  /// Ends the sync. The next run sends the waiting batches.
  ///
  /// On the next request, `HoldfastLinks` creates a new model.
  public func close() async {
    await sync.close()
    await resources.close()
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
  /// - source: The source of the person's samples. The default is the store of this package's
  ///   imports.
  /// - types: HealthKit's identifiers of the types to sync.
  /// - Throws: `OpenError` if the server's URL is not valid or this platform has no network adapter
  ///   yet, or `StoreFailure`.
  public func healthSync(
    _ source: (any HealthSource)? = nil, types: [String] = SyncTypes.usual
  ) async throws -> SyncProgress {
    try await shared("sync") { [self] resources in
      let folder = folder("sync")
      let queue = resources.keep(try await HoldfastPlatform.syncQueue(in: folder))
      let samples: any HealthSource =
        if let source { source } else {
          StoredHealthSource(try await healthStore(resources), clock: ports.clock)
        }
      var configuration = SyncConfiguration(
        server.absoluteString, source: samples, storage: .store(queue), directory: folder,
        tokens: tokens)
      configuration.types = types
      configuration.deviceID = try HoldfastPlatform.phoneName(in: folder).description.uppercased()
      configuration.ports = ports
      return SyncProgress(try await SampleSync(configuration), resources)
    }
  }
}
