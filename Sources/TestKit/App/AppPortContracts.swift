import HoldfastCore
import HoldfastDriver
public import HoldfastPorts
import Synchronization

/// Checks the promises of `SecretStore`, for any implementation and any test library.
///
/// - Parameter make: Opens the same secrets again. They must be empty at first.
/// - Throws: `ContractViolation` for the first broken promise, or an error of the store.
public func secretStoreContract(make: () async throws -> any SecretStore) async throws {
  let (first, second) = (Secret("first"), Secret("second"))
  guard let other = SecretName("other-1") else {
    throw ContractViolation("a name of letters, digits and - is a name")
  }
  let store = try await make()
  try ContractViolation.unless(store.read(.resume), is: nil, "nothing is kept at first")
  try store.write(nil, .resume, access: .afterFirstUnlock)
  try store.write(first, .resume, access: .afterFirstUnlock)
  try store.write(second, other, access: .whileUnlocked)
  try ContractViolation.unless(store.read(.resume), is: first, "a secret is read as written")
  try store.write(second, .resume, access: .afterFirstUnlock)
  let again = try await make()
  try ContractViolation.unless(again.read(.resume), is: second, "the newest one is durable")
  try again.write(nil, .resume, access: .afterFirstUnlock)
  try ContractViolation.unless(again.read(.resume), is: nil, "one that was removed is gone")
  try ContractViolation.unless(again.read(other), is: second, "another one stays")
}

/// Checks the promises of `Suspendable`, for a store.
///
/// - Parameters:
///   - use: Uses the store; throws if the store fails.
///   - second: Opens the store a second time, as another process would; `nil` if this is
///     impossible.
public func suspendableContract(
  _ store: any SuspendableStore, use: () async throws -> Void,
  second: (() async throws -> any SuspendableStore)? = nil
) async throws {
  try await use()
  for _ in 0..<2 { await store.suspend() }
  do {
    try await use()
    throw ContractViolation("a suspended store fails: it answered")
  } catch let failure as StoreFailure {
    guard case .locked = failure else {
      throw ContractViolation("a suspended store is locked: it failed with \(failure)")
    }
  }
  if let second {
    let rival = try await second()
    var refusal: StoreFailure?
    do throws(StoreFailure) { try await store.resume() } catch { refusal = error }
    guard case .locked? = refusal else {
      throw ContractViolation(
        "what another process holds is locked: found \(refusal.map(\.description) ?? "no failure")")
    }
    await rival.close()
  }
  for _ in 0..<2 { try await store.resume() }
  try await use()
}

/// Checks the promises of `BackgroundTime`.
///
/// - Parameter expire: Expires the open grants; `nil` if the system never expires them.
public func backgroundTimeContract(
  _ time: any BackgroundTime, expire: (() -> Void)? = nil
) throws {
  let expirations = Mutex(0)
  guard let running = time.begin("kept", expired: { expirations.withLock { $0 += 1 } }),
    let ended = time.begin("ended", expired: { expirations.withLock { $0 += 10 } })
  else { throw ContractViolation("time is granted") }
  ended.giveBack()
  ended.giveBack()
  guard let expire else { return running.giveBack() }
  expire()
  try ContractViolation.unless(
    expirations.withLock(\.self), is: 1, "what was not given back expires once, and nothing else")
  running.giveBack()
  expire()
  try ContractViolation.unless(
    expirations.withLock(\.self), is: 1, "what was given back never expires")
}

/// Checks the promises of `WakeSource`.
///
/// - Parameters:
///   - expire: Makes the system take back the time of the wakes that have not been given back;
///     `nil` if the system never does.
///   - advance: Lets a period pass, and returns once all wakes that became due have been delivered.
public func wakeSourceContract(
  _ source: any WakeSource, expire: (() async -> Void)? = nil,
  advance: (Duration) async -> Void
) async throws {
  let woken = Mailbox<(WakeCause, Wake)>()
  try source.schedule(WakeTask("early", after: .seconds(1)))
  await advance(.seconds(1))
  source.register { woken.put(($0, $1)) }
  guard let early = await woken.next() else { throw ContractViolation("a wake is handed over") }
  try ContractViolation.unless(
    early.0, is: .task("early"), "a wake that came without a handler waits for one")
  early.1.giveBack(.done)
  try source.schedule(WakeTask("again", after: .seconds(10)))
  try source.schedule(WakeTask("again", after: .seconds(20)))
  try source.schedule(WakeTask("taken-back", after: .seconds(5)))
  source.cancel("taken-back")
  source.cancel("never-there")
  await advance(.seconds(20))
  let again = await woken.next()
  try ContractViolation.unless(
    again?.0, is: .task("again"), "a task takes the place of the one with its identifier")
  guard let again, again.1.budget > .zero else {
    throw ContractViolation("a wake grants time")
  }
  try await wakeExpiryContract(given: early.1, running: again.1, expire)
}

/// Checks the promises about the expiry of wakes.
///
/// - Parameters:
///   - given: A wake that was given back.
///   - running: A wake that was not given back.
private func wakeExpiryContract(
  given: Wake, running: Wake, _ expire: (() async -> Void)?
) async throws {
  let expirations = Mutex(0)
  given.onExpiry { expirations.withLock { $0 += 100 } }
  running.onExpiry { expirations.withLock { $0 += 1 } }
  guard let expire else { return running.giveBack(.done) }
  for _ in 0..<2 { await expire() }
  try ContractViolation.unless(
    expirations.withLock(\.self), is: 1, "only a wake that was not given back expires, and once")
  running.onExpiry { expirations.withLock { $0 += 10 } }
  try ContractViolation.unless(
    expirations.withLock(\.self), is: 11, "after the expiry, a function runs at once")
  running.giveBack(.later)
}
