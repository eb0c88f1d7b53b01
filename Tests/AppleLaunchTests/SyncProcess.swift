@_spi(Script) import BackgroundSession
import Foundation
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

/// The steps of a process, at some of which something happens from outside, such as a kill.
final class SyncSteps: Sendable {
  private let state: Mutex<(count: Int, plan: [Int: [@Sendable () -> Void]])>

  /// Creates the steps of a process, with what happens at the given numbers.
  init(_ plan: [(step: Int, act: @Sendable () -> Void)] = []) {
    var acts: [Int: [@Sendable () -> Void]] = [:]
    for (step, act) in plan { acts[step, default: []].append(act) }
    state = Mutex((0, acts))
  }

  /// Passes one step.
  func pass() {
    let acts = state.withLock { state in
      state.count += 1
      return state.plan.removeValue(forKey: state.count) ?? []
    }
    for act in acts { act() }
  }

  /// Does now what was planned for later steps.
  func passAll() {
    let acts = state.withLock { state in
      defer { state.plan = [:] }
      return state.plan.sorted { $0.key < $1.key }.flatMap(\.value)
    }
    for act in acts { act() }
  }
}

/// A place where the tasks of killed processes wait until the end of the test.
final class SyncLimbo: Sendable {
  private let state = Mutex((isOver: false, waiting: [CheckedContinuation<Void, Never>]()))

  func wait() async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if !state.isOver { state.waiting.append(continuation) }
        return state.isOver
      }
      if isOver { continuation.resume() }
    }
  }

  func end() {
    let waiting = state.withLock { state in
      defer { state = (true, []) }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }
}

/// One process of the app: a sync with the adapters of HealthKit and of background sessions.
///
/// Each of its calls outwards is two steps, one before and one after. A task of a killed process does
/// not return from its step, as nothing of a killed process runs on.
final class SyncProcess: Sendable {
  let phone: SyncPhone
  let process: AppProcess
  let health: ScriptedHealth
  /// The events that the test waits for. A killed process ends its own steps, so nobody waits for its
  /// tasks.
  let events = Mailbox<Event>(of: "an event of a process")

  enum Event: Sendable {
    case opened(SampleSync)
    case failed(any Error)
    case quiet
    case killed
  }

  private let steps: SyncSteps
  private let limbo: SyncLimbo
  private let disk: any SyncQueueStore
  private let source: HealthKitSource
  private let uploads: BackgroundUploads
  private let handlers = Mutex<[Int: Int]>([:])

  /// Launches the app in the background. What fires before `open` waits for it.
  init(
    _ phone: SyncPhone, _ limbo: SyncLimbo,
    _ plan: [(step: Int, act: @Sendable (AppProcess) -> Void)]
  ) async throws {
    (self.phone, self.limbo) = (phone, limbo)
    disk = try await HoldfastPlatform.syncQueue(in: phone.scratch.path)
    let process = AppProcess(phone.daemon)
    self.process = process
    steps = SyncSteps(plan.map { step, act in (step, { act(process) }) })
    health = phone.newHealth()
    source = HealthKitSource(HKHealthStore(health))
    uploads = process.run {
      BackgroundUploads(identifier: SyncPhone.session, phone.target(in: phone.scratch.path))
    }
    source.prepare(SampleSync.preparedTypes(in: phone.scratch.path))
  }

  var isAlive: Bool { process.isAlive }

  /// Kills the process.
  func kill() {
    guard isAlive else { return }
    phone.kill(process)
    events.put(.killed)
  }

  /// Passes a step of another program, such as the daemon.
  func pass() {
    guard isAlive else { return }
    steps.pass()
    if !isAlive { events.put(.killed) }
  }

  /// Passes a step. Returns false in a killed process, but not before the end of the test.
  @discardableResult
  func step() async -> Bool {
    pass()
    guard !isAlive else { return true }
    await limbo.wait()
    return false
  }

  /// Lets what was planned for later steps happen now.
  func passAll() {
    steps.passAll()
    if !isAlive { events.put(.killed) }
  }

  /// Opens the sync.
  func open() async throws -> SampleSync {
    var configuration = SyncConfiguration(
      phone.server.url, source: SteppedSource(base: source, process: self),
      storage: .store(SteppedQueue(base: disk, process: self)), directory: phone.scratch.path
    ) { [phone] in phone.secret }
    configuration.types = [SyncPhone.steps]
    configuration.uploads = SteppedUploads(base: uploads, process: self)
    let schedule = "100ms*1 max 100ms +-0.0 min 100ms xunlimited"
    configuration.policy = try LinkPolicy.healthSync.setting([
      ("retry.first", schedule), ("retry.reconnect", schedule), ("retry.windows", "60/30s"),
      ("retry.serverJitter", "1ms"),
    ])
    return try await SampleSync(configuration)
  }

  /// Passes the system's wake for ended uploads to the sync, and records the calls of its handler.
  func wake(_ sync: SampleSync) {
    let number = handlers.withLock { handlers in
      handlers[handlers.count] = 0
      return handlers.count - 1
    }
    let wake = Wake(budget: .seconds(30)) { [self] _ in
      pass()
      if isAlive { handlers.withLock { $0[number, default: 0] += 1 } }
    }
    sync.wake(.uploads(session: SyncPhone.session), wake)
  }

  /// The number of calls of each completion handler for ended uploads.
  var handlerCalls: [Int] { handlers.withLock { Array($0.values) } }

  /// The batches that the queue on the disk holds.
  func queued() async throws -> [QueuedBatch] { try await disk.stored().batches }

  /// Releases the files of the process.
  func release() async { await disk.close() }
}

/// A queue store whose calls are steps of a process.
private struct SteppedQueue: SyncQueueStore {
  let base: any SyncQueueStore
  let process: SyncProcess

  func stored() async throws(StoreFailure) -> StoredSyncQueue {
    try await around { () async throws(StoreFailure) in try await base.stored() }
  }

  func apply(_ steps: [SyncQueueStep]) async throws(StoreFailure) {
    try await around { () async throws(StoreFailure) in try await base.apply(steps) }
  }

  private func around<R: Sendable>(
    _ call: () async throws(StoreFailure) -> R
  ) async throws(StoreFailure) -> R {
    guard await process.step() else { throw .other(detail: "the process was killed") }
    let result: Result<R, StoreFailure>
    do throws(StoreFailure) {
      result = .success(try await call())
    } catch {
      result = .failure(error)
    }
    guard await process.step() else { throw .other(detail: "the process was killed") }
    return try result.get()
  }

  func check() async throws(StoreFailure) { try await base.check() }

  /// The process closes the store.
  func close() async {}
}

/// A source of samples whose calls are steps of a process.
private struct SteppedSource: HealthSource {
  let base: HealthKitSource
  let process: SyncProcess

  func prepare(_ types: [String]) { base.prepare(types) }

  func observe(
    _ types: [String], _ fired: @escaping @Sendable ([String], Wake) -> Void
  ) async {
    guard await process.step() else { return }
    await base.observe(types, fired)
  }

  func page(
    _ type: String, from start: HealthPageStart, limit: Int
  ) async throws(HealthSourceFailure) -> SourcePage {
    guard await process.step() else { throw .failed(detail: "the process was killed") }
    let page = try await base.page(type, from: start, limit: limit)
    guard await process.step() else { throw .failed(detail: "the process was killed") }
    return page
  }

  func stop() async { await base.stop() }
}

/// A queue of uploads whose calls are steps of a process.
private struct SteppedUploads: UploadQueue {
  let base: BackgroundUploads
  let process: SyncProcess

  var session: String? { base.session }

  func events(_ deliver: @escaping @Sendable (UploadEvent) async -> Void) async {
    await base.events { [process] event in
      guard await process.step() else { return }
      await deliver(event)
      await process.step()
    }
  }

  func running() async -> Set<String> {
    await process.step()
    let running = await base.running()
    await process.step()
    return running
  }

  func enqueue(_ uploads: [FileUpload]) async {
    await process.step()
    await base.enqueue(uploads)
    await process.step()
  }

  func identify() async throws(LinkFailure) -> SyncIdentity {
    await process.step()
    return try await base.identify()
  }

  func renewSecret() async -> Bool { await base.renewSecret() }

  func refresh() async -> LinkFailure? {
    await process.step()
    return await base.refresh()
  }

  func woken(_ wake: Wake) async { await base.woken(wake) }
  func stop() async { await base.stop() }
  func cancelAll() async { await base.cancelAll() }
}
