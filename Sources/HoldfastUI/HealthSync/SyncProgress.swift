import Foundation
public import Holdfast
public import Observation

/// How far health samples were synced, for the screens of an app.
///
///     SyncCard(sync.types)
///       .task { await sync.follow() }
///
/// All screens share one model. It is fed while it lives, so a `.task` that restarts finds it
/// whole.
@MainActor @Observable public final class SyncProgress {
  /// The types that are synced, in the order in which their first counts came.
  public private(set) var types: [SyncTypeRow] = []
  /// The batches that are not sent any more, and why; the user can have them tried again.
  public private(set) var parked: [SyncBatchReport] = []
  /// Whether the server refused the secret.
  public private(set) var needsSignIn = false
  /// What went wrong last, and did not end anything.
  public private(set) var notice: SyncNotice?

  /// Whether the server has everything that could be sent.
  public var isComplete: Bool { !types.isEmpty && types.allSatisfy { $0.report.pending == 0 } }

  @ObservationIgnored private let sync: SampleSync
  @ObservationIgnored private let holdings: Holdings
  @ObservationIgnored private let feed = Feed()

  init(_ sync: SampleSync, _ holdings: Holdings) {
    (self.sync, self.holdings) = (sync, holdings)
  }

  /// Keeps the model up to date until the task is cancelled or the sync is closed.
  ///
  /// Cancelling it stops nothing: the model is fed on, and is whole when a screen follows it again.
  public func follow() async {
    await feed.follow { [weak self, sync] in
      for await update in sync { self?.take(update) }
    }
  }

  /// Reads the source again, and tries at once what waits.
  public func again() { sync.again() }

  /// Ends the sync; what waits is sent by the next run. The app's links make a new model then.
  public func close() async {
    await sync.close()
    await holdings.close()
  }

  private func take(_ update: SyncUpdate) {
    switch update {
    case .type(let report):
      if let place = types.firstIndex(where: { $0.id == report.type }) {
        types[place].report = report
      } else {
        types.append(SyncTypeRow(report))
      }
    case .batch(let report):
      parked.removeAll { $0.file == report.file }
      if report.state == .parked { parked.append(report) }
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

/// The counts of one type as a row of a list.
public struct SyncTypeRow: Sendable, Hashable, Identifiable {
  /// HealthKit's identifier of the type.
  public var id: String { report.type }
  /// What is synced, pending and parked.
  public var report: SyncTypeReport

  init(_ report: SyncTypeReport) { self.report = report }
}

extension HoldfastLinks {
  /// Returns the sync of health samples, one model for all screens until it is closed; begins to
  /// read and to send.
  ///
  /// The token of this app is the secret. While the model is open, the arguments of further calls
  /// change nothing.
  ///
  /// - Parameters:
  ///   - source: The person's samples; by default the store of this package's imports.
  ///   - types: HealthKit's identifiers of the types.
  /// - Throws: `LinkFailure` where this platform has no network yet, or `StoreFailure`.
  public func healthSync(
    _ source: (any HealthSource)? = nil, types: [String] = SyncTypes.usual
  ) async throws -> SyncProgress {
    try await shared("sync") { [self] holdings in
      let folder = folder("sync")
      let queue = holdings.keep(try await Platform.syncQueue(in: folder))
      let samples: any HealthSource =
        if let source { source } else {
          StoredHealthSource(try await healthStore(holdings), clock: parts.clock)
        }
      var configuration = SyncConfiguration(
        server.absoluteString, source: samples, queue: queue, directory: folder, secret: key)
      configuration.types = types
      configuration.deviceID = try Platform.phoneName(in: folder).description.uppercased()
      configuration.network = parts.network
      configuration.reachability = parts.reachability
      (configuration.lifecycle, configuration.clock) = (parts.lifecycle, parts.clock)
      return SyncProgress(try await SampleSync(configuration), holdings)
    }
  }
}
