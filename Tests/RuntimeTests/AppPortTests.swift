import HoldfastTestKit
import LinkCore
import LinkDriver
import LinkWire
import Synchronization
import Testing

/// Tests of the ports for background time, wakes and secrets.
@Suite(.timeLimit(.minutes(10))) struct AppPortTests {
  @Test func `secrets in memory keep the contract`() async throws {
    let store = MemorySecretStore()
    try await secretStoreContract { store }
  }

  @Test func `a locked device gives only secrets that work in background needs`() throws {
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
  func `a name has 1 to 64 of a to z, 0 to 9 and -`(name: String, isName: Bool) {
    #expect((SecretName(name)?.description == name) == isName)
  }

  @Test func `unlimited and fake background time keep the contract`() throws {
    try backgroundTimeContract(UnlimitedTime())
    let fake = FakeBackgroundTime()
    try backgroundTimeContract(fake) { fake.expire() }
    #expect(fake.openGrants == 0)
    fake.setGranting(false)
    #expect(fake.begin("refused") {} == nil)
  }

  @Test func `a grant that is dropped is given back once`() {
    let count = Mutex(0)
    do {
      let grant = TimeGrant { count.withLock { $0 += 1 } }
      grant.giveBack()
    }
    do { _ = TimeGrant { count.withLock { $0 += 10 } } }
    #expect(count.withLock(\.self) == 11)
  }

  @Test func `timers keep the contract of wakes`() async throws {
    let clock = TestClock()
    let wakes = TimerWakes(clock: clock)
    try await wakeSourceContract(wakes) { clock.advance(by: $0) }
  }

  @Test func `what a host knows wakes with a budget, and is completed once`() async {
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

  @Test func `the eleventh task is refused, and says what to do`() throws {
    let wakes = TimerWakes(clock: TestClock())
    for number in 0..<TimerWakes.mostTasks {
      try wakes.schedule(WakeTask("\(number)", after: .seconds(1)))
    }
    try wakes.schedule(WakeTask("0", after: .seconds(2)))
    let refused = WakeFailure.tooMany(identifier: "one-more")
    #expect(throws: refused) { try wakes.schedule(WakeTask("one-more")) }
    #expect(
      refused.description
        == "the task one-more was not scheduled, since too many wait; cancel one of them")
  }

  @Test func `a store in memory gives way while it is suspended`() async throws {
    let store = MemoryStore(1)
    try await suspendableContract(store, use: { try await store.check() })
  }
}
