import HoldfastCore
public import HoldfastPorts

/// Checks the promises of `ReachabilityMonitor`, for any implementation and any test library.
///
/// - Parameter change: Changes the reachability to a value that differs from the previous one.
/// - Throws: `ContractViolation` for the first broken promise, or an error of `change`.
public func reachabilityMonitorContract(
  _ monitor: any ReachabilityMonitor, change: () async throws -> Void
) async throws {
  var changes = monitor.changes().makeAsyncIterator()
  guard var last = await changes.next() else {
    throw ContractViolation("the first element arrives at once with the current state")
  }
  for _ in 0..<2 {
    var later = monitor.changes().makeAsyncIterator()
    try ContractViolation.unless(
      await later.next(), is: last, "a later listener first receives the current state")
    try await change()
    let found = await changes.next()
    guard let found, found != last else {
      throw ContractViolation("an element comes only when the answer changed: found \(last) again")
    }
    try ContractViolation.unless(await later.next(), is: found, "every listener receives a change")
    last = found
  }
  try await endsWhenCancelled(monitor.changes())
}

/// Checks the promises of `LifecycleMonitor`, for any implementation and any test library.
///
/// - Parameter cause: Makes the system report an event. It is called for each of `events`, in
///   order.
/// - Throws: `ContractViolation` for the first broken promise, or an error of `cause`.
public func lifecycleMonitorContract(
  _ monitor: any LifecycleMonitor, events: [LifecycleEvent],
  cause: (LifecycleEvent) async throws -> Void
) async throws {
  var first = monitor.changes().makeAsyncIterator()
  var second = monitor.changes().makeAsyncIterator()
  for event in events {
    try await cause(event)
    try ContractViolation.unless(
      await first.next()?.event, is: event, "events arrive once, in order")
    try ContractViolation.unless(
      await second.next()?.event, is: event, "every listener receives an event")
  }
  try await endsWhenCancelled(monitor.changes())
}

/// Checks that a task waiting for the stream resumes when it is cancelled.
private func endsWhenCancelled<Element: Sendable>(_ stream: AsyncStream<Element>) async throws {
  let listening = Task { for await _ in stream {} }
  listening.cancel()
  await listening.value
}
