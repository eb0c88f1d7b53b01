import HoldfastCore
import HoldfastHealthSamples
import HoldfastSyncData
import HoldfastUploads
import Testing

@testable import HoldfastHealthSync

/// Tests of the time that the system grants for ended uploads and for scheduled tasks.
@Suite struct SyncWakeTests {
  private static let steps = SyncHarness.steps
  private static let heart = SyncHarness.heart
  private static let wake = WakeID(1)

  /// Settings of a system that makes the uploads without the process.
  private static let system = SyncSettings(policy: SyncHarness.plain, depth: 4)

  @discardableResult
  private static func wake(
    _ harness: inout SyncHarness, _ id: WakeID = wake, reads: Bool,
    budget: Duration = .seconds(30)
  ) -> [SyncModel.Effect] {
    harness.give(.woken(id, budget: budget, reads: reads))
  }

  /// Returns a sync that has read everything and whose batches the server has accepted.
  private static func synced(
    _ types: [String] = [steps], _ settings: SyncSettings = system
  ) throws -> SyncHarness {
    var harness = SyncHarness.asked(types, settings)
    for type in types {
      harness.fire([type], 100)
      harness.pass(.seconds(1))
      try harness.read(1, anchor: 1)
      harness.accept(try #require(harness.sent.last))
      harness.finishCommits()
      harness.give(.refreshed(nil))
    }
    #expect(harness.model.state == .done(quarantined: 0))
    harness.log = []
    return harness
  }

  // Ended uploads.

  @Test func `a wake for uploads is given back at once if nothing is under way`() throws {
    var harness = try Self.synced()
    #expect(Self.wake(&harness, reads: false) == [.giveBack(Self.wake, .done)])
    #expect(harness.fetches == [])
  }

  @Test func `a wake for uploads is given back once the accepted batch is out of the queue`()
    throws
  {
    var harness = SyncHarness(Self.system)
    harness.give(SyncHarness.waiting([SyncHarness.batch("a")]))
    harness.accept("a")
    Self.wake(&harness, reads: false)
    #expect(harness.givenBack == [:])
    harness.finishCommits()
    #expect(harness.givenBack == [:], "the server has not confirmed yet that all data was sent")
    harness.give(.refreshed(nil))
    #expect(harness.givenBack == [Self.wake: [.done]])
  }

  @Test func `a wake ends with work left if the store fails, and does not wait for the retry`() {
    var harness = SyncHarness(Self.system)
    harness.give(SyncHarness.waiting([SyncHarness.batch("a")]))
    harness.accept("a")
    Self.wake(&harness, reads: false)
    let id = harness.model.commits.underWay.keys.first ?? SyncCommitID(0)
    harness.give(.notCommitted(id, .locked(detail: "locked")))
    #expect(harness.givenBack == [Self.wake: [.later]])
  }

  @Test func `uploads of the system do not keep the time, uploads of this process do`() {
    for (settings, expected) in [
      (Self.system, [Self.wake: [WakeResult.done]]), (SyncSettings(policy: SyncHarness.plain), [:]),
    ] {
      var harness = SyncHarness(settings)
      harness.give(SyncHarness.waiting([SyncHarness.batch("a")]))
      #expect(harness.model.sending == ["a"])
      Self.wake(&harness, reads: false)
      #expect(harness.givenBack == expected)
      harness.accept("a")
      harness.finishCommits()
      harness.give(.refreshed(nil))
      #expect(harness.givenBack == [Self.wake: [.done]])
    }
  }

  @Test func `a wake waits for the server's identity, without which nothing is handed over`() {
    var harness = SyncHarness(Self.system)
    harness.identity = nil
    harness.give(SyncHarness.waiting([SyncHarness.batch("a")]))
    Self.wake(&harness, reads: false)
    #expect(harness.givenBack == [:])
    let effects = harness.give(.identified(SyncIdentity(SyncHarness.owner)))
    #expect(effects.last == .giveBack(Self.wake, .done), "after the batch was handed over")
    #expect(harness.sent == ["a"])
  }

  // Scheduled tasks.

  @Test func `a task reads all types and keeps the time until they are stored and handed over`()
    throws
  {
    var harness = try Self.synced([Self.steps, Self.heart])
    #expect(Self.wake(&harness, reads: true) == [])
    harness.pass(.milliseconds(50))
    #expect(harness.fetches.count == 2)
    let (first, second) = (harness.fetches[0], harness.fetches[1])
    let anchor = HealthAnchor([1])
    harness.give(
      .fetched(first, FetchedPage(drafts: [], anchor: anchor, made: SyncHarness.time(2))))
    #expect(harness.givenBack == [:])
    let draft = PayloadDraft(file: "new", records: 1, deletions: 0, bytes: 1)
    harness.give(
      .fetched(
        second,
        FetchedPage(drafts: [draft], anchor: HealthAnchor([2]), made: SyncHarness.time(2))))
    harness.finishCommits()
    #expect(harness.givenBack == [:], "the next page is being read")
    try harness.page(0, anchor: 2)
    #expect(harness.sent.last == "new")
    #expect(harness.givenBack == [Self.wake: [.done]])
  }

  @Test func `a task does not read a type twice that is being read`() throws {
    var harness = SyncHarness.fetching()
    Self.wake(&harness, WakeID(2), reads: true)
    #expect(harness.fetches.count == 1)
    try harness.read(0, anchor: 1)
    harness.pass(.seconds(1))
    #expect(harness.fetches.count == 2, "the second read finds the end")
    #expect(harness.givenBack[WakeID(2)] == [.done])
  }

  @Test func `a task ends the waits of the source and of the server`() throws {
    var harness = SyncHarness.fetching()
    harness.give(.notFetched(try #require(harness.fetches.last), .failed(detail: "busy")))
    #expect(harness.fetches.count == 1)
    Self.wake(&harness, WakeID(2), reads: true)
    #expect(harness.fetches.count == 2, "without the wait of a second")

    var sender = SyncHarness(Self.system)
    sender.give(SyncHarness.waiting([SyncHarness.batch("a")]))
    sender.fail("a", SyncHarness.http(503))
    #expect(sender.sent == ["a"])
    Self.wake(&sender, reads: true)
    #expect(sender.sent == ["a", "a"])
  }

  @Test func `a task on a locked device is given back at once with work left`() throws {
    var harness = try Self.synced()
    harness.give(.conditions(SyncConditions(isUnlocked: false)))
    #expect(Self.wake(&harness, reads: true) == [.giveBack(Self.wake, .later)])
  }

  // All wakes.

  @Test func `a wake is given back shortly before its budget ends`() throws {
    var harness = SyncHarness.fetching()
    Self.wake(&harness, WakeID(2), reads: true, budget: .seconds(30))
    harness.pass(.milliseconds(28_999))
    #expect(harness.givenBack[WakeID(2)] == nil)
    harness.pass(.milliseconds(1))
    #expect(harness.givenBack[WakeID(2)] == [.later])
    try harness.page(0, anchor: 1)
    #expect(harness.givenBack[WakeID(2)] == [.later])
  }

  @Test func `a wake is given back at once before the start, after the stop, and under a known ID`()
    throws
  {
    var harness = SyncHarness()
    #expect(Self.wake(&harness, reads: true) == [.giveBack(Self.wake, .later)])
    harness = SyncHarness.fetching()
    #expect(Self.wake(&harness, reads: true) == [.giveBack(Self.wake, .later)], "1 is in use")
    #expect(Self.wake(&harness, WakeID(2), reads: false) == [])
    let effects = harness.give(.stop)
    #expect(effects.contains(.giveBack(WakeID(2), .later)))
    #expect(Self.wake(&harness, WakeID(3), reads: true) == [.giveBack(WakeID(3), .later)])
  }
}
