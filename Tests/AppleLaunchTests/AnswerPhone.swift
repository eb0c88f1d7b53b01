@_spi(Script) import BackgroundSession
import Foundation
import FoundationNetworking
@_spi(Script) import HealthKit
import Holdfast
import HoldfastBackgroundUploads
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthKit
import HoldfastPorts
import HoldfastSocket
import HoldfastSyncData
import HoldfastTestKit
import Synchronization

/// A phone whose syncs upload to an `AnswerServer` through the system's daemon.
final class AnswerPhone: Sendable {
  private static let url = "https://server.example"

  let scratch: Scratch
  let daemon = UploadDaemon()
  let server: AnswerServer
  let health = ScriptedHealth()
  private let network = FakeNetwork(clock: TestClock())
  private let state = Mutex((token: "token-1", process: AppProcess?.none))

  init() throws {
    scratch = try Scratch()
    server = AnswerServer(daemon)
    network.serve(requests: { _ in .success(HTTPAnswer(status: 200, headers: [:], body: [])) })
  }

  /// The token that the app has.
  var token: String {
    get { state.withLock(\.token) }
    set { state.withLock { $0.token = newValue } }
  }

  /// Adds samples whose values are their numbers.
  func add(_ numbers: [Int]) {
    health.add(numbers.compactMap { SyncPhone.sample($0, minutesAgo: 1_000 - $0) })
  }

  /// Lets the user answer the system's question for permission.
  func askForPermission() async throws {
    try await HealthKitSource(HKHealthStore(health)).ask(for: [SyncPhone.steps])
  }

  /// Runs a process of the app with a sync, which is closed afterwards.
  @discardableResult
  func run<Result>(
    clock: any LinkClock = BootClock(), _ body: (SampleSync) async throws -> Result
  ) async throws -> Result {
    let process = AppProcess(daemon)
    state.withLock { $0.process = process }
    defer { process.kill() }
    let sync = try await SampleSync(try configuration(process, clock))
    do {
      let result = try await body(sync)
      await sync.close()
      return result
    } catch {
      await sync.close()
      throw error
    }
  }

  private func configuration(
    _ process: AppProcess, _ clock: any LinkClock
  ) throws -> SyncConfiguration {
    var configuration = SyncConfiguration(
      Self.url, source: HealthKitSource(HKHealthStore(health)),
      storage: .directory(URL(filePath: scratch.path))
    ) { [self] in token }
    var target = UploadTarget(
      server: Self.url, directory: URL(filePath: scratch.path), http: network
    ) { [self] in token }
    target.clock = clock
    configuration.types = [SyncPhone.steps]
    configuration.uploads = process.run {
      BackgroundUploads(identifier: SyncPhone.session, target)
    }
    configuration.ports = DevicePorts(
      network: network, reachability: FakeReachability(), clock: clock)
    let schedule = "100ms*1 max 100ms +-0.0 min 100ms xunlimited"
    configuration.policy = try LinkPolicy.healthSync.setting([
      ("retry.first", schedule), ("retry.reconnect", schedule), ("retry.windows", "60/30s"),
      ("retry.serverJitter", "1ms"),
    ])
    return configuration
  }

  /// Kills the process without warning.
  func kill() { state.withLock(\.process)?.kill() }

  // MARK: The queue on the disk

  /// Returns the stored queue while no sync is open.
  func queued() async throws -> StoredSyncQueue {
    try await withQueue { try await $0.stored() }
  }

  /// Releases a batch from quarantine, as `holdfast health retry` does.
  func release(_ batch: QueuedBatch) async throws {
    try await withQueue { try await $0.apply([.quarantine(file: batch.file, reason: nil)]) }
  }

  private func withQueue<Result>(
    _ body: (any SyncQueueStore) async throws -> Result
  ) async throws -> Result {
    let queue = try await HoldfastPlatform.syncQueue(in: scratch.path)
    do {
      let result = try await body(queue)
      await queue.close()
      return result
    } catch {
      await queue.close()
      throw error
    }
  }

  /// Returns the numbers of the samples in the file of a batch.
  func numbers(inFile file: String) -> [Int] {
    AnswerServer.numbers(in: URL(filePath: scratch(file)))
  }
}

/// A server of batches whose first answers a test plans. It accepts all later batches.
final class AnswerServer: Sendable {
  /// An upload that the server has answered.
  struct Attempt: Sendable {
    var time: ContinuousClock.Instant
    var token: String?
    var numbers: [Int]
    /// The number of deletions.
    var deletions: Int
    /// The time stamp of the batch, whose text sorts like the time.
    var stamp: String
    /// The status, also if another host has answered.
    var status: Int
  }

  private struct State {
    var plan: [Transfer.Result] = []
    var onPlanned: @Sendable () -> Void = {}
    var limit = Int.max
    var holdsUploads = false
    var attempts: [Attempt] = []
    var stored: [Int] = []
  }

  /// The uploads that wait for `end`.
  let held = Mailbox<Transfer>(of: "an upload")
  private let daemon: UploadDaemon
  private let state = Mutex(State())

  init(_ daemon: UploadDaemon) {
    self.daemon = daemon
    daemon.answer { [weak self] in self?.answer($0) }
  }

  /// Sets the first answers, and what happens with each of them.
  func plan(_ answers: [Transfer.Result], _ onPlanned: @escaping @Sendable () -> Void = {}) {
    state.withLock { ($0.plan, $0.onPlanned) = (answers, onPlanned) }
  }

  /// The number of samples in a batch above which the server answers with 413.
  var limit: Int {
    get { state.withLock(\.limit) }
    set { state.withLock { $0.limit = newValue } }
  }

  /// Whether uploads wait for `end`.
  var holdsUploads: Bool {
    get { state.withLock(\.holdsUploads) }
    set { state.withLock { $0.holdsUploads = newValue } }
  }

  /// The uploads in the order of their answers.
  var attempts: [Attempt] { state.withLock(\.attempts) }

  /// The numbers of the samples in accepted batches, in order. A sample that was accepted twice
  /// occurs twice.
  var stored: [Int] { state.withLock { $0.stored.sorted() } }

  /// Answers an upload that was held.
  func end(_ upload: Transfer, _ answer: Transfer.Result) {
    note(upload, answer)
    daemon.end(upload, answer)
  }

  private func answer(_ upload: Transfer) -> Transfer.Result? {
    guard !holdsUploads else {
      held.put(upload)
      return nil
    }
    let count = Self.numbers(in: upload.file).count
    let (answer, act) = state.withLock { state in
      guard state.plan.isEmpty else { return (state.plan.removeFirst(), state.onPlanned) }
      return (Transfer.Result.answer(count > state.limit ? 413 : 200), {})
    }
    act()
    note(upload, answer)
    return answer
  }

  private func note(_ upload: Transfer, _ answer: Transfer.Result) {
    guard case .answer(let status, _, _, let url) = answer else { return }
    let batch = Self.batch(in: upload.file)
    let numbers = Self.numbers(of: batch)
    let token = upload.request.value(forHTTPHeaderField: "Authorization")
    state.withLock { state in
      state.attempts.append(
        Attempt(
          time: .now, token: token, numbers: numbers,
          deletions: (batch["deletedUUIDs"] as? [String] ?? []).count,
          stamp: batch["timestamp"] as? String ?? "", status: status))
      if status == 200, url == nil { state.stored += numbers }
    }
  }

  /// Returns the numbers of the samples in a payload.
  static func numbers(in file: URL) -> [Int] { numbers(of: batch(in: file)) }

  private static func numbers(of batch: [String: Any]) -> [Int] {
    let records = batch["records"] as? [[String: Any]] ?? []
    return records.compactMap { $0["value"] as? Double }.map { Int($0) }
  }

  private static func batch(in file: URL) -> [String: Any] {
    guard let body = try? Data(contentsOf: file) else { return [:] }
    return (try? JSONSerialization.jsonObject(with: body)) as? [String: Any] ?? [:]
  }
}
