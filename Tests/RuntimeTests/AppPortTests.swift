import HoldfastCore
import HoldfastDriver
import HoldfastPorts
import HoldfastTestKit
import Synchronization
import Testing

/// Tests of the ports for background time, wakes and secrets.
@Suite(.timeLimit(.minutes(60))) struct AppPortTests {
  @Test func `MemorySecretStore satisfies the contract of a secret store`() async throws {
    let store = MemorySecretStore()
    try await secretStoreContract { store }
  }

  @Test func `a locked device provides only secrets accessible after the first unlock`() throws {
    let store = MemorySecretStore()
    let other = try #require(SecretName("other"))
    try store.write(Secret("a"), .resume, access: .afterFirstUnlock)
    try store.write(Secret("b"), other, access: .whileUnlocked)
    store.setLocked(true)
    #expect(try store.read(.resume) == Secret("a"))
    let locked = StoreFailure.locked(
      detail: "The device is locked; other can be used when it is unlocked.")
    #expect(throws: locked) { try store.read(other) }
    #expect(throws: locked) { try store.write(nil, other, access: .whileUnlocked) }
    store.setLocked(false)
    #expect(try store.read(other) == Secret("b"))
  }

  @Test(arguments: [
    ("", false), ("a", true), (String(repeating: "a", count: 64), true),
    (String(repeating: "a", count: 65), false), ("../up", false), ("A", false), ("a-9", true),
  ])
  func `a secret name consists of 1 to 64 lower-case letters, digits and hyphens`(
    name: String, isName: Bool
  ) {
    #expect((SecretName(name)?.description == name) == isName)
  }

  @Test func `unlimited and fake background time satisfy the contract`() throws {
    try backgroundTimeContract(UnlimitedTime())
    let fake = FakeBackgroundTime()
    try backgroundTimeContract(fake) { fake.expire() }
    #expect(fake.openGrants == 0)
    fake.setGranting(false)
    #expect(fake.begin("refused") {} == nil)
  }

  @Test func `a dropped grant is released exactly once`() {
    let count = Mutex(0)
    do {
      let grant = TimeGrant { count.withLock { $0 += 1 } }
      grant.giveBack()
    }
    do { _ = TimeGrant { count.withLock { $0 += 10 } } }
    #expect(count.withLock(\.self) == 11)
  }

  @Test func `TimerWakes satisfies the contract of a wake source`() async throws {
    let clock = TestClock()
    let wakes = TimerWakes(clock: clock)
    try await wakeSourceContract(wakes) {
      wakes.expire()
    } advance: {
      clock.advance(by: $0)
    }
  }

  @Test func `an expiry runs each function once before the wake is given back`() {
    let (calls, results) = (Mailbox<Int>(), Mailbox<WakeResult>())
    let wake = Wake(budget: .seconds(1)) { results.put($0) }
    wake.onExpiry { calls.put(1) }
    wake.onExpiry { calls.put(2) }
    wake.expire()
    wake.expire()
    #expect(calls.takeAll() == [1, 2])
    #expect(results.takeAll() == [], "the adapter gives the wake back")
    wake.onExpiry { calls.put(3) }
    #expect(calls.takeAll() == [3])
    wake.giveBack(.later)
    #expect(results.takeAll() == [.later])
  }

  @Test func `a wake that was given back never expires`() {
    let calls = Mailbox<Int>()
    let wake = Wake(budget: .seconds(1)) { _ in }
    wake.onExpiry { calls.put(1) }
    wake.giveBack(.done)
    wake.expire()
    wake.onExpiry { calls.put(2) }
    #expect(calls.takeAll() == [])
  }

  @Test func `a wake whose expiry gives it back is given back once`() {
    let results = Mailbox<WakeResult>()
    let wakes = TimerWakes(clock: TestClock())
    let held = Mailbox<Wake>()
    wakes.register { _, wake in
      wake.onExpiry { [weak wake] in wake?.giveBack(.done) }
      held.put(wake)
    }
    wakes.wake(for: .push) { results.put($0) }
    wakes.expire()
    #expect(results.takeAll() == [.done])
    #expect(held.takeAll().count == 1)
  }

  @Test func `an unavailable wake task names the identifier and the remedy`() {
    #expect(
      WakeFailure.unavailable(identifier: "sync").description
        == "the task sync was not scheduled, because this device runs no background tasks; ask the "
        + "user to turn background refresh on")
  }

  @Test func `a wake from the host has a budget and is completed once`() async {
    let wakes = TimerWakes(clock: TestClock(), budget: .seconds(25))
    let results = Mailbox<WakeResult>()
    wakes.wake(for: .push) { results.put($0) }
    let woken = Mailbox<Duration>()
    wakes.register { _, wake in
      woken.put(wake.budget)
      wake.giveBack(.done)
      wake.giveBack(.later)
    }
    #expect(await woken.next() == .seconds(25))
    #expect(results.takeAll() == [.done])
  }

  @Test func `the eleventh wake task is refused, and the error names the remedy`() throws {
    let wakes = TimerWakes(clock: TestClock())
    for number in 0..<TimerWakes.mostTasks {
      try wakes.schedule(WakeTask("\(number)", after: .seconds(1)))
    }
    try wakes.schedule(WakeTask("0", after: .seconds(2)))
    let refused = WakeFailure.tooMany(identifier: "one-more")
    #expect(throws: refused) { try wakes.schedule(WakeTask("one-more")) }
    #expect(
      refused.description
        == "the task one-more was not scheduled, because too many tasks wait; cancel one of them")
  }

  @Test func `a memory store satisfies the contract of a suspendable store`() async throws {
    let store = MemoryStore(1)
    try await suspendableContract(store, use: { try await store.check() })
  }
}
