public import HoldfastCore
public import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastPorts
public import HoldfastSyncData
import HoldfastUploads
import Synchronization

/// Checks the promises of `HealthSource`, for any implementation and any test library.
///
/// - Parameters:
///   - type: The HealthKit identifier of a type without samples in the source.
///   - add: Adds the given number of new samples of the type.
///   - remove: Deletes a sample by its UUID; `nil` if samples are never deleted.
/// - Throws: `ContractViolation` for the first broken promise, or an error of the source.
public func healthSourceContract(
  _ source: any HealthSource, type: String, add: (Int) async throws -> Void,
  remove: ((UUID128) async throws -> Void)? = nil
) async throws {
  let (calls, continuation) = AsyncStream.makeStream(of: [String].self)
  let stopped = StoppedDelivery()
  // What fires after `prepare` waits for `observe`.
  source.prepare([type])
  await source.observe([type]) { types, wake in
    stopped.note()
    continuation.yield(types)
    wake.giveBack(.done)
  }
  var fired = calls.makeAsyncIterator()
  try ContractViolation.unless(await fired.next(), is: [type], "an observer fires at first")
  let everything = HealthPageStart.last(.seconds(400 * 86_400))
  let empty = try await source.page(type, from: everything, limit: 2)
  try ContractViolation.unless(empty.added, is: [], "nothing was added at first")
  try await expectNothing(after: empty.anchor, of: type, in: source)

  try await add(3)
  try ContractViolation.unless(await fired.next(), is: [type], "a change fires")
  let (found, last) = try await additions(of: type, after: empty.anchor, in: source)
  try ContractViolation.unless(Set(found).count, is: 3, "a page leaves out no change")
  try await expectNothing(after: last, of: type, in: source)
  let (again, _) = try await additions(of: type, after: empty.anchor, in: source)
  try ContractViolation.unless(Set(again), is: Set(found), "a sample keeps its UUID")

  if let remove, let removed = found.first {
    try await remove(removed)
    try ContractViolation.unless(await fired.next(), is: [type], "a deletion fires")
    let page = try await source.page(type, from: .after(last), limit: 2)
    try ContractViolation.unless(page.deleted, is: [removed], "a deletion is reported by its UUID")
    try await expectNothing(after: page.anchor, of: type, in: source)
  }
  await source.stop()
  stopped.begin()
  try await add(1)
  try await stopped.check("a source that was stopped does not fire")
}

/// A check that nothing is delivered after a stop.
private final class StoppedDelivery: Sendable {
  private let state = Mutex((isStopped: false, isBroken: false))

  /// Records a delivery.
  func note() { state.withLock { if $0.isStopped { $0.isBroken = true } } }

  /// Records that the stop has ended.
  func begin() { state.withLock { $0.isStopped = true } }

  /// Lets other tasks run, and throws if something was delivered after the stop.
  func check(_ promise: String) async throws {
    for _ in 0..<100 { await Task.yield() }
    try ContractViolation.unless(state.withLock(\.isBroken), is: false, promise)
  }
}

/// Checks that a page without changes has the same anchor as its query.
private func expectNothing(
  after anchor: HealthAnchor, of type: String, in source: any HealthSource
) async throws {
  try ContractViolation.unless(
    try await source.page(type, from: .after(anchor), limit: 2), is: SourcePage(anchor: anchor),
    "a page without changes has the anchor of its query")
}

/// Returns the UUIDs of the added samples and the last anchor.
///
/// The function reads pages until the anchor stays the same.
private func additions(
  of type: String, after anchor: HealthAnchor, in source: any HealthSource
) async throws -> ([UUID128], HealthAnchor) {
  var (found, anchor): ([UUID128], HealthAnchor) = ([], anchor)
  while true {
    let page = try await source.page(type, from: .after(anchor), limit: 2)
    if page.anchor == anchor { return (found, anchor) }
    found += page.added.map(\.uuid)
    anchor = page.anchor
  }
}

/// Checks the promises of `UploadQueue`.
///
/// - Parameters:
///   - good: Two or more uploads whose files exist and that the server accepts.
///   - unreadable: An upload whose file does not exist.
/// - Throws: `ContractViolation` for the first broken promise.
public func uploadQueueContract(
  _ queue: any UploadQueue, good: [FileUpload], unreadable: FileUpload
) async throws {
  let (ends, continuation) = AsyncStream.makeStream(of: UploadEvent.self)
  let stopped = StoppedDelivery()
  await queue.events {
    stopped.note()
    continuation.yield($0)
  }
  try ContractViolation.unless(await queue.running(), is: [], "nothing runs at first")
  await queue.enqueue(good + [unreadable])
  var found: [String: [UploadOutcome]] = [:]
  var events = ends.makeAsyncIterator()
  for _ in 0...good.count {
    guard let event = await events.next() else { break }
    found[event.file, default: []].append(event.outcome)
  }
  for upload in good {
    try ContractViolation.unless(
      found[upload.file], is: [.accepted], "each upload ends with exactly one event")
  }
  guard case .unreadable? = found[unreadable.file]?.first else {
    throw ContractViolation("an upload without its file ends as unreadable")
  }
  // An upload that has ended can be enqueued again.
  await queue.enqueue(Array(good.prefix(1)))
  try ContractViolation.unless(
    await events.next(), is: good.first.map { UploadEvent(file: $0.file, outcome: .accepted) },
    "an upload that has ended can begin anew")
  try await stopContract(queue, enqueuing: Array(good.prefix(1)), stopped)
  for upload in good.dropFirst().prefix(1) { try await reopenContract(queue, upload) }
}

/// Checks that a stop ends the delivery and gives back the wakes, even if an upload goes on.
private func stopContract(
  _ queue: any UploadQueue, enqueuing uploads: [FileUpload], _ stopped: StoppedDelivery
) async throws {
  let results = WakeResults()
  await queue.woken(Wake(budget: .seconds(30)) { results.put($0) })
  await queue.enqueue(uploads)
  await queue.stop()
  stopped.begin()
  try await stopped.check("a queue that was stopped delivers nothing")
  try ContractViolation.unless(
    results.count, is: 1, "a wake is given back after the ends were delivered, or by the stop")
}

/// Checks that a queue that was stopped can be opened again, and that nothing is delivered about
/// cancelled uploads.
///
/// - Parameter upload: An upload that was not enqueued immediately before the stop.
private func reopenContract(_ queue: any UploadQueue, _ upload: FileUpload) async throws {
  try ContractViolation.unless(queue.session?.isEmpty ?? false, is: false, "a session has a name")
  let accepted = UploadEvent(file: upload.file, outcome: .accepted)
  for isCancelled in [false, true] {
    let (ends, continuation) = AsyncStream.makeStream(of: UploadEvent.self)
    let stopped = StoppedDelivery()
    if isCancelled { stopped.begin() }
    await queue.events {
      // An upload that went on after the stop ends at any time.
      guard $0.file == upload.file else { return }
      stopped.note()
      continuation.yield($0)
    }
    if isCancelled {
      try await stopped.check("nothing is delivered about cancelled uploads")
      try ContractViolation.unless(await queue.running(), is: [], "a cancelled upload has ended")
    }
    await queue.enqueue([upload])
    var events = ends.makeAsyncIterator()
    try ContractViolation.unless(
      await events.next(), is: accepted, "a queue that was stopped can be opened again")
    await queue.enqueue([upload])
    await queue.stop()
    await queue.cancelAll()
  }
}

/// The results with which a wake was given back.
private final class WakeResults: Sendable {
  private let all = Mutex([WakeResult]())

  /// The number of results.
  var count: Int { all.withLock(\.count) }

  /// Adds a result.
  func put(_ result: WakeResult) { all.withLock { $0.append(result) } }
}
