import HoldfastHealthSync
import HoldfastSocket
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastPorts
import HoldfastStorage
import HoldfastWire
import Synchronization

/// The effect handler of a sync. It uses the source, the files, the queue store and the uploads.
actor SyncEffectHandler: EffectHandler {
  let sink: InputSink<SyncModel>
  let updates: UpdateChannel<SyncUpdate>
  private let configuration: SyncConfiguration
  private let files: PayloadFiles
  private let queue: any SyncQueueStore
  private let uploads: any UploadQueue
  private let tasks: EffectTasks<SyncModel, Never>
  private let wakes = GrantedWakes()

  init(
    _ configuration: SyncConfiguration, _ files: PayloadFiles, _ queue: any SyncQueueStore,
    _ http: any HTTPClient
  ) {
    let sink = InputSink<SyncModel>()
    (self.configuration, self.files, self.queue) = (configuration, files, queue)
    self.sink = sink
    let tokens = configuration.tokens
    uploads =
      configuration.uploads
      ?? HTTPUploads(
        server: configuration.server, deviceID: configuration.deviceID, http: http, files: files,
        resumesFrom: configuration.resumesFrom,
        secretLimit: configuration.policy.gate.refreshTimeout, clock: configuration.ports.clock
      ) { () throws(LinkFailure) in
        try await tokens.secret()
      }
    tasks = EffectTasks(sink)
    updates = UpdateChannel(overflow: Self.overflow)
  }

  /// Adds an update to the full queue of an app that does not read updates.
  ///
  /// States of batches in progress are dropped, and newer counts of a type replace older ones.
  @Sendable private static func overflow(_ waiting: inout [SyncUpdate], _ next: SyncUpdate) {
    switch next {
    case .type(let report):
      waiting.removeAll {
        if case .type(let other) = $0 { other.type == report.type } else { false }
      }
    case .batch, .notice:
      if let first = waiting.firstIndex(where: \.isTransient) {
        waiting.remove(at: first)
      }
    }
    waiting.append(next)
  }

  /// Starts to forward the results of uploads to the driver. Returns the running uploads.
  ///
  /// Call this method before the first effect.
  func listen() async -> Set<String> {
    let clock = configuration.ports.clock
    await uploads.events { [sink] event in
      var inputs: [SyncModel.Input] = []
      if let epoch = event.epoch { inputs.append(.epoch(epoch)) }
      inputs.append(.uploaded(event.file, event.outcome, at: clock.wall))
      await sink.post(inputs)
    }
    return await uploads.running()
  }

  func perform(_ effect: SyncModel.Effect) async {
    switch effect {
    case .observe(let types): await observe(types)
    case .fetch(let id, let type, let start, let limit, let stamp):
      fetch(id, type, start, limit, notBefore: stamp)
    case .commit(let id, let steps): commit(id, steps)
    case .delete(let paths): files.delete(paths)
    case .upload(let all): await uploads.enqueue(all)
    case .split(let path): split(path)
    case .identify: identify()
    case .requestSecret:
      tasks.start { [uploads] in .secret(isNew: await uploads.renewSecret()) }
    case .refresh: tasks.start { [uploads] in .refreshed(await uploads.refresh()) }
    case .giveBack(let id, let result): wakes.take(id)?.giveBack(result)
    case .update(let update): updates.put(update)
    }
  }

  func stop() async {
    await configuration.source.stop()
    await uploads.stop()
    tasks.stop()
    wakes.giveBackAll()
  }

  private func observe(_ types: [String]) async {
    await configuration.source.observe(types) { [sink, wakes] types, wake in
      guard let id = wakes.add(wake) else { return }
      Task { await sink.post([.fired(types, id, budget: wake.budget)]) }
    }
  }

  /// Keeps a wake and returns the input for the machine; `nil` if the wake was given back or passed
  /// to the uploads.
  nonisolated func input(of cause: WakeCause, _ wake: Wake) -> SyncModel.Input? {
    switch cause {
    case .uploads:
      Task { await passToUploads(wake) }
      return nil
    case .health(let types):
      return wakes.add(wake).map { .fired(types, $0, budget: wake.budget) }
    case .task, .push:
      return wakes.add(wake).map { .woken($0, budget: wake.budget, reads: true) }
    }
  }

  /// Passes a wake to the uploads, and then to the machine, which stores what was delivered.
  ///
  /// The uploads receive a wake of their own. They give it back after all ends were delivered.
  private func passToUploads(_ wake: Wake) async {
    let clock = configuration.ports.clock
    let end = clock.now.advanced(by: wake.budget)
    let inner = Wake(budget: wake.budget) { [sink, wakes] _ in
      guard let id = wakes.add(wake) else { return }
      let budget = max(.zero, end - clock.now)
      Task { await sink.post([.woken(id, budget: budget, reads: false)]) }
    }
    // A strong reference would be a cycle, since the inner wake refers to the outer one.
    wake.onExpiry { [weak inner] in inner?.expire() }
    await uploads.woken(inner)
  }

  /// Reads a page and writes its batches. The batches are reported only after they have been
  /// written.
  private func fetch(
    _ id: SyncFetchID, _ type: String, _ start: HealthPageStart, _ limit: Int,
    notBefore stamp: Timestamp
  ) {
    let (source, clock) = (configuration.source, configuration.ports.clock)
    let packing = SyncPacking(deviceID: configuration.deviceID)
    tasks.start { [files] in
      let page: SourcePage
      do throws(HealthSourceFailure) {
        page = try await source.page(type, from: start, limit: limit)
      } catch {
        return .notFetched(id, error)
      }
      let made = max(clock.wall, stamp)
      do throws(StoreFailure) {
        let drafts = try files.write(packing.batches(of: type, page, made: made))
        let earliest = page.added.map(\.sample.start).min()
        return .fetched(
          id,
          FetchedPage(drafts: drafts, anchor: page.anchor, made: made, earliest: earliest))
      } catch {
        return .notWritten(id, error)
      }
    }
  }

  private func identify() {
    tasks.start { [uploads] in
      do throws(LinkFailure) {
        return .identified(try await uploads.identify())
      } catch {
        return .notIdentified(error)
      }
    }
  }

  private func commit(_ id: SyncCommitID, _ steps: [SyncQueueStep]) {
    tasks.start { [queue, files] () throws(StoreFailure) in
      try await queue.apply(steps)
      for case .ask(let types) in steps { files.keep(asked: types) }
      return .committed(id)
    } failing: {
      .notCommitted(id, $0)
    }
  }

  private func split(_ path: String) {
    tasks.start { [files] () throws(StoreFailure) in
      guard let halves = SyncPacking.halves(of: try files.read(path)) else {
        return .notSplit(path, nil)
      }
      return .split(path, try files.write(halves))
    } failing: {
      .notSplit(path, $0)
    }
  }
}

extension PayloadFiles {
  /// Writes all bodies or none.
  fileprivate func write(
    _ batches: [SyncPacking.Packed]
  ) throws(StoreFailure) -> [PayloadDraft] {
    var drafts: [PayloadDraft] = []
    do throws(StoreFailure) {
      for batch in batches {
        drafts.append(
          PayloadDraft(
            file: try write(batch.bytes), records: batch.records, deletions: batch.deletions,
            bytes: batch.bytes.count))
      }
    } catch {
      delete(drafts.map(\.file))
      throw error
    }
    return drafts
  }
}

extension TokenSource {
  /// Returns the secret of a sync.
  ///
  /// If the user must sign in, the failure is that of a secret which the server refuses.
  fileprivate func secret() async throws(LinkFailure) -> String {
    do throws(TokenFailure) {
      return try await token().text
    } catch {
      switch error {
      case .rejected: throw .http(status: 401, retryAfter: nil, detail: error.description)
      case .unavailable(let detail): throw .local(detail: "there is no secret: \(detail)")
      }
    }
  }
}

extension SyncUpdate {
  /// Whether later updates make this one obsolete.
  fileprivate var isTransient: Bool {
    switch self {
    case .batch(let report): report.state == .sending || report.state == .queued
    case .type, .notice: false
    }
  }
}

/// The granted wakes that have not been given back.
private final class GrantedWakes: Sendable {
  private let state = Mutex((last: UInt64(0), wakes: [WakeID: Wake](), isClosed: false))

  /// Keeps a wake. Returns its ID; `nil` if the sync has ended and the wake was given back.
  func add(_ wake: Wake) -> WakeID? {
    let id = state.withLock { state -> WakeID? in
      guard !state.isClosed else { return nil }
      state.last += 1
      let id = WakeID(state.last)
      state.wakes[id] = wake
      return id
    }
    if id == nil { wake.giveBack(.later) }
    return id
  }

  func take(_ id: WakeID) -> Wake? { state.withLock { $0.wakes.removeValue(forKey: id) } }

  func giveBackAll() {
    let all = state.withLock { state in
      defer { (state.wakes, state.isClosed) = ([:], true) }
      return state.wakes.values.map(\.self)
    }
    for wake in all { wake.giveBack(.later) }
  }
}
