public import Foundation
public import Holdfast
import HoldfastCore
public import HoldfastFeaturePorts
public import HoldfastHealthSync
import HoldfastPorts
public import HoldfastSyncData
public import Observation

/// The progress of syncing health samples, for the screens of an app.
///
///     SyncCard(links.healthSync())
///
/// The card follows the model. A view of the app's own calls `follow()` in a `.task`.
///
/// All screens share one model. The model receives updates as long as it exists, so it is complete
/// when a `.task` restarts.
@MainActor @Observable public final class SyncProgress: SharedModel {
  /// The synced types, in the order in which their first counts arrived.
  public internal(set) var types: [SyncTypeRow] = []
  /// The quarantined batches and their reasons. The user can request a retry.
  public internal(set) var quarantined: [SyncBatchReport] = []
  /// A Boolean value that indicates whether the server refused the secret.
  public internal(set) var needsSignIn = false
  /// The most recent problem that did not end the sync.
  public internal(set) var notice: SyncNotice?
  /// The time at which the server last had everything that was to be sent; `nil` if nothing was sent
  /// in this run of the app.
  ///
  /// It is not stored. A batch that the server did not accept does not count as one to be sent.
  public internal(set) var lastSync: Date?
  /// A Boolean value that indicates whether `ask()` can show the system's question.
  public let canAsk: Bool

  /// A Boolean value that indicates whether the server has all samples that can be sent.
  public var isComplete: Bool { !types.isEmpty && types.allSatisfy { $0.report.pending == 0 } }

  /// Whether the sync is open.
  public var phase: OpeningPhase { opening.phase }

  let opening: Opening<SampleSync>
  @ObservationIgnored private let dates: Dates
  @ObservationIgnored private let source: Source?
  @ObservationIgnored private let feed = Feed()
  /// Whether the server has accepted a batch since the last complete sync.
  @ObservationIgnored private var hasSent = false

  /// A source that asks the user for access, and a closure that returns its types, which may be
  /// known only once the device is unlocked.
  typealias Source = (samples: any HealthSource, types: @MainActor () -> [String])

  /// - Parameter source: The source that asks the user; `nil` if there is nothing to ask.
  init(_ opening: Opening<SampleSync>, _ dates: Dates, source: Source?) {
    (self.opening, self.dates, self.source) = (opening, dates, source)
    canAsk = source != nil
  }

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
  /// - Throws: The failure for which something is left, an `OpenError` if the sync cannot be opened
  ///   or was closed, or `CancellationError`.
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
      if opening.isClosed { throw OpenError.closed }
      if case .unreachable(let failure) = notice { throw failure }
      throw LinkFailure.local(detail: "some samples wait for a later attempt")
    }
    try Task.checkCancellation()
  }

  /// Asks the user for access to the synced types, and then reads the source again.
  ///
  /// The system shows its question at most once for each type, and never reports what the user has
  /// allowed. Without a source that asks, the method has no effect.
  ///
  /// - Throws: `.locked` while the device is locked; `.failed` if the question could not be shown.
  public func ask() async throws(HealthSourceFailure) {
    guard let source else { return }
    try await source.samples.ask(for: source.types())
    retryNow()
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
    await feed.finish()
  }

  func clear() {
    (types, quarantined, notice) = ([], [], nil)
    (needsSignIn, lastSync, hasSent) = (false, nil, false)
  }

  func take(_ update: SyncUpdate) {
    switch update {
    case .type(let report):
      if let index = types.firstIndex(where: { $0.id == report.type }) {
        types[index].report = report
      } else {
        types.append(SyncTypeRow(report))
      }
      noteEnd()
    case .batch(let report):
      quarantined.removeAll { $0.file == report.file }
      switch report.state {
      case .quarantined: quarantined.append(report)
      case .accepted: hasSent = true
      case .queued, .sending, .retrying: break
      }
    case .notice(let latest): take(latest)
    }
  }

  /// Records the time if everything is sent.
  private func noteEnd() {
    guard hasSent, isComplete else { return }
    (hasSent, lastSync) = (false, dates.now)
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

  /// Creates the row of a report.
  public init(_ report: SyncTypeReport) { self.report = report }
}

extension HoldfastLinks {
  /// Returns the model of the sync of health samples. All screens share the model until it is
  /// closed.
  ///
  /// The first call starts to read and send samples. The app's token is used as the secret. While
  /// the model is open, the arguments of further calls have no effect. A call that creates the model
  /// also sets `parts.samples` to the source, so that wakes and a sign-out in this run use it. The
  /// next launch knows only what it sets in `parts`, and the types.
  ///
  /// - Parameters:
  ///   - source: The source of the person's samples. The default is that of `parts`, or else the
  ///     store of this package's imports.
  ///   - types: HealthKit's identifiers of the types to sync. The default is that of `parts`, or else
  ///     the types of the last run.
  public func healthSync(
    _ source: (any HealthSource)? = nil, types: [String]? = nil
  ) -> SyncProgress {
    shared("sync") { resources in
      parts.samples = source ?? parts.samples
      let asking: SyncProgress.Source? = parts.samples.map { samples in
        let asked: @MainActor () -> [String] = { [weak self] in
          if let types { return types }
          return self?.syncTypes ?? []
        }
        return (samples: samples, types: asked)
      }
      return SyncProgress(
        opening(resources) { (links, resources) in
          let samples: any HealthSource =
            if let own = source ?? links.parts.samples { own } else {
              StoredHealthSource(
                try await links.healthStore(resources), clock: links.ports.clock)
            }
          do {
            return try await SampleSync(
              links.syncConfiguration(samples, types: types ?? links.syncTypes, resources))
          } catch {
            await links.endAttempt(samples, isOfLaunch: source == nil && links.parts.samples != nil)
            throw error
          }
        }, Dates(clock: ports.clock), source: asking)
    }
  }

  /// Gives back the wakes that a source has, because the sync could not be opened.
  ///
  /// The observers that a launch began stay, so that the system wakes the app again. What changes
  /// until the sync is open is read then.
  private func endAttempt(_ samples: any HealthSource, isOfLaunch: Bool) async {
    guard isOfLaunch else { return await samples.stop() }
    await samples.observe(SampleSync.preparedTypes(in: folder(.sync))) { _, wake in
      wake.giveBack(.later)
    }
  }

  /// The directory of the sync. The paths of its uploads are relative to it, as a queue of
  /// background uploads must know.
  public var syncDirectory: URL { URL(filePath: folder(.sync), directoryHint: .isDirectory) }

  /// The identifier with which this phone uploads samples; `nil` until the first sync has created
  /// it, and while it cannot be read because the device has not been unlocked since its start.
  public var syncDeviceID: String? {
    Self.syncDeviceID(in: folder(.sync))
  }

  /// Returns the identifier in the directory of a sync. A phone without a sync has none, and does not
  /// get one by this call.
  nonisolated static func syncDeviceID(in folder: String) -> String? {
    guard FileManager.default.fileExists(atPath: folder + "/phone") else { return nil }
    return (try? HoldfastPlatform.phoneName(in: folder))?.description.uppercased()
  }

  /// The types of `parts`, or else those of the last run, or else the usual ones.
  private var syncTypes: [String] {
    if let types = parts.types { return types }
    let last = SampleSync.preparedTypes(in: folder(.sync))
    return last.isEmpty ? SyncTypes.usual : last
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
