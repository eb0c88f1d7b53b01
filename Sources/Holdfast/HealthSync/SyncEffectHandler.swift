import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSync
import HoldfastPorts
import HoldfastSocket
import HoldfastSyncData
import Synchronization

/// The effect handler of a sync. It uses the source, the files, the queue store and the uploads.
actor SyncEffectHandler: EffectHandler {
  let thread: EventThread
  let sink: InputSink<SyncModel>
  let updates: UpdateChannel<SyncUpdate>
  private let configuration: SyncConfiguration
  private let files: PayloadFiles
  private let queue: any SyncQueueStore
  private let uploads: any UploadQueue
  private let tasks: EffectTasks<SyncModel, Never>
  private let wakes = GrantedWakes()
  private let early = EarlyEnds()

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.unownedExecutor }

  init(
    _ configuration: SyncConfiguration, _ files: PayloadFiles, _ queue: any SyncQueueStore,
    _ http: any HTTPClient
  ) {
    let sink = InputSink<SyncModel>()
    thread = .queue("holdfast.sync")
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

  /// Starts to receive the ends of uploads. Returns the uploads that have not ended for the machine.
  ///
  /// Call this method before the first effect. Ends that arrive before `deliverEarlyEnds()` wait for
  /// it, because the machine does not know their batches before it has the stored queue.
  func listen() async -> Set<String> {
    let clock = configuration.ports.clock
    await uploads.events { [sink, early] event in
      var inputs: [SyncModel.Input] = []
      if let epoch = event.epoch { inputs.append(.epoch(epoch)) }
      inputs.append(.uploaded(event.file, event.outcome, at: clock.wall))
      if !early.keep(inputs, of: event.file) { await sink.post(inputs) }
    }
    return await uploads.running().union(early.files)
  }

  /// Forwards the ends that have waited to the driver, and from now on each end at once.
  ///
  /// Call this method after the driver has the stored queue.
  func deliverEarlyEnds() async {
    while let inputs = early.next() { await sink.post(inputs) }
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
  /// The uploads give back a wake of their own after all ends were delivered. If this takes too long,
  /// the wake is given back without them.
  private func passToUploads(_ wake: Wake) async {
    let clock = configuration.ports.clock
    let end = clock.now.advanced(by: wake.budget)
    let (delivery, isDelivered) = AsyncStream.makeStream(of: Void.self)
    let expire = await passInner(wake, until: end) { isDelivered.finish() }
    let isInTime = await withTaskGroup(of: Bool.self) { group in
      group.addTask {
        for await _ in delivery {}
        return true
      }
      group.addTask {
        let due = end - SyncSettings.margin(of: wake.budget)
        return (try? await clock.wait(until: due)) == nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? true
    }
    guard !isInTime else { return }
    wake.giveBack(.later)
    expire()
  }

  /// Passes a wake to the uploads that stands for another one. Returns a function that ends its time.
  ///
  /// - Parameter delivered: A function that runs when the uploads have given the wake back.
  private func passInner(
    _ wake: Wake, until end: Instant, _ delivered: @escaping @Sendable () -> Void
  ) async -> @Sendable () -> Void {
    let clock = configuration.ports.clock
    let inner = Wake(budget: wake.budget) { [sink, wakes] _ in
      defer { delivered() }
      guard let id = wakes.add(wake) else { return }
      let budget = max(.zero, end - clock.now)
      Task { await sink.post([.woken(id, budget: budget, reads: false)]) }
    }
    // A strong reference would be a cycle, since the inner wake refers to the outer one.
    let expire: @Sendable () -> Void = { [weak inner] in inner?.expire() }
    wake.onExpiry(expire)
    await uploads.woken(inner)
    return expire
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
  package func secret() async throws(LinkFailure) -> String {
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

/// The ends of uploads that arrive before the machine has the stored queue.
private final class EarlyEnds: Sendable {
  private struct State {
    var inputs: [SyncModel.Input] = []
    var files: Set<String> = []
    var isOver = false
  }

  private let state = Mutex(State())

  /// The files whose ends have arrived early.
  var files: Set<String> { state.withLock(\.files) }

  /// Keeps the inputs of an end. Returns false if they must be posted, because all earlier ones have
  /// been taken.
  func keep(_ inputs: [SyncModel.Input], of file: String) -> Bool {
    state.withLock { state in
      guard !state.isOver else { return false }
      state.inputs += inputs
      state.files.insert(file)
      return true
    }
  }

  /// Takes the inputs that are kept; `nil` if there are none, after which none are kept any more.
  func next() -> [SyncModel.Input]? {
    state.withLock { state in
      guard !state.inputs.isEmpty else {
        state.isOver = true
        return nil
      }
      defer { state.inputs = [] }
      return state.inputs
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
