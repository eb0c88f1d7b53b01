public import HoldfastCore
public import HoldfastFeaturePorts
import HoldfastHealthSamples
public import HoldfastPorts
public import HoldfastSyncData
public import HoldfastUploads
import Synchronization

/// A source of health samples that a test adds and removes. The anchor is the number of the last
/// change.
public final class FakeHealthSource: HealthSource {
  private struct Change {
    enum Kind {
      case added(SourceSample)
      case deleted(UUID128)
    }

    var type: String
    var kind: Kind
  }

  private struct State {
    var changes: [Change] = []
    var types: [String] = []
    var prepared: [[String]] = []
    var asked: [[String]] = []
    var fired: (@Sendable ([String], Wake) -> Void)?
    var failure: HealthSourceFailure?
  }

  private let state = Mutex(State())

  /// Creates a source without samples.
  public init() {}

  /// Adds samples, as an app adds them to the system's store.
  public func add(_ samples: [SourceSample]) {
    change(samples.map { Change(type: $0.sample.type, kind: .added($0)) })
  }

  /// Deletes a sample by its UUID.
  public func remove(_ uuid: UUID128, of type: String) {
    change([Change(type: type, kind: .deleted(uuid))])
  }

  /// Makes the reading of pages fail, as on a locked device; `nil` makes it succeed again.
  public func fail(_ failure: HealthSourceFailure?) { state.withLock { $0.failure = failure } }

  private func change(_ changes: [Change]) {
    state.withLock { $0.changes += changes }
    fire { types in types.filter { type in changes.contains { $0.type == type } } }
  }

  private func fire(_ choose: ([String]) -> [String]) {
    let (types, fired) = state.withLock { (choose($0.types), $0.fired) }
    if !types.isEmpty { fired?(types, Wake(budget: .seconds(10)) { _ in }) }
  }

  /// The types of all calls of `prepare`, in order.
  public var prepared: [[String]] { state.withLock(\.prepared) }

  /// The types of all calls of `ask(for:)`, in order.
  public var asked: [[String]] { state.withLock(\.asked) }

  public func prepare(_ types: [String]) { state.withLock { $0.prepared.append(types) } }

  public func ask(for types: [String]) async throws(HealthSourceFailure) {
    state.withLock { $0.asked.append(types) }
  }

  public func observe(
    _ types: [String], _ fired: @escaping @Sendable ([String], Wake) -> Void
  ) async {
    state.withLock { ($0.types, $0.fired) = (types, fired) }
    fire(\.self)
  }

  public func page(
    _ type: String, from start: HealthPageStart, limit: Int
  ) async throws(HealthSourceFailure) -> SourcePage {
    let (changes, failure) = state.withLock { ($0.changes, $0.failure) }
    if let failure { throw failure }
    var offset = 0
    if case .after(let anchor) = start { offset = Self.offset(of: anchor) }
    var page = SourcePage(anchor: Self.anchor(at: offset))
    for (index, change) in changes.enumerated().dropFirst(offset) where change.type == type {
      guard page.added.count + page.deleted.count < limit else { break }
      switch change.kind {
      case .added(let sample): page.added.append(sample)
      case .deleted(let uuid): page.deleted.append(uuid)
      }
      page.anchor = Self.anchor(at: index + 1)
    }
    return page
  }

  private static func anchor(at offset: Int) -> HealthAnchor {
    HealthAnchor(Array("\(offset)".utf8))
  }

  private static func offset(of anchor: HealthAnchor) -> Int {
    Int(String(decoding: anchor.bytes, as: UTF8.self)) ?? 0
  }

  public func stop() async { state.withLock { ($0.types, $0.fired) = ([], nil) } }
}

/// An upload queue in which a test decides the results. Its uploads go on after `stop`, as those of
/// a system do: a later call of `events` receives their ends.
public final class FakeUploadQueue: UploadQueue {
  private struct State {
    var deliver: (@Sendable (UploadEvent) async -> Void)?
    var running: Set<String>
    /// The ends that nobody has received yet.
    var ended: [UploadEvent] = []
    /// The wakes that wait for `events`.
    var wakes: [Wake] = []
    var enqueued: [FileUpload] = []
  }

  /// The identifier of the background session.
  public let session: String?
  private let state: Mutex<State>
  private let outcome: @Sendable (FileUpload) -> UploadOutcome?
  private let identity: SyncIdentity

  /// Creates a queue.
  ///
  /// - Parameters:
  ///   - session: The identifier of the session for whose wakes the queue stands.
  ///   - identity: The identity that the server reports.
  ///   - running: The files of uploads that an earlier process started and that are still running.
  ///   - outcome: Returns the immediate result of an upload, or `nil` if it runs until `end(_:_:)`
  ///     is called.
  public init(
    session: String? = nil,
    identity: SyncIdentity = SyncIdentity(SyncOwner(server: "https://server.example")),
    running: Set<String> = [], outcome: @escaping @Sendable (FileUpload) -> UploadOutcome?
  ) {
    state = Mutex(State(running: running))
    (self.outcome, self.identity, self.session) = (outcome, identity, session)
  }

  /// The enqueued uploads, in order.
  public var enqueued: [FileUpload] { state.withLock(\.enqueued) }

  /// Ends a running upload; does nothing if the upload is not running.
  public func end(_ file: String, _ outcome: UploadOutcome) async {
    let event = UploadEvent(file: file, outcome: outcome)
    let deliver = state.withLock { state -> (@Sendable (UploadEvent) async -> Void)? in
      guard state.running.remove(file) != nil else { return nil }
      if state.deliver == nil { state.ended.append(event) }
      return state.deliver
    }
    await deliver?(event)
  }

  public func events(_ deliver: @escaping @Sendable (UploadEvent) async -> Void) async {
    let (ended, wakes) = state.withLock { state in
      defer { (state.ended, state.wakes) = ([], []) }
      state.deliver = deliver
      return (state.ended, state.wakes)
    }
    for event in ended { await deliver(event) }
    for wake in wakes { wake.giveBack(.done) }
  }

  public func woken(_ wake: Wake) async {
    let isDelivering = state.withLock { state in
      if state.deliver == nil { state.wakes.append(wake) }
      return state.deliver != nil
    }
    if isDelivering { wake.giveBack(.done) }
  }

  public func running() async -> Set<String> { state.withLock(\.running) }

  public func identify() async throws(LinkFailure) -> SyncIdentity { identity }

  public func renewSecret() async -> Bool { false }

  public func refresh() async -> LinkFailure? { nil }

  public func enqueue(_ uploads: [FileUpload]) async {
    state.withLock { state in
      state.enqueued += uploads
      state.running.formUnion(uploads.map(\.file))
    }
    for upload in uploads {
      if let outcome = outcome(upload) { await end(upload.file, outcome) }
    }
  }

  public func stop() async {
    let wakes = state.withLock { state in
      defer { (state.deliver, state.wakes) = (nil, []) }
      return state.wakes
    }
    for wake in wakes { wake.giveBack(.later) }
  }

  public func cancelAll() async { state.withLock { ($0.running, $0.ended) = ([], []) } }
}
