import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests that a failing store loses no messages, and that no message is acknowledged before it is
/// stored.
struct StoreTests {
  @Test(
    arguments: Shop.Kind.allCases,
    [
      StoreFailure.full(detail: ""), .locked(detail: ""), .corrupt(detail: ""),
      .denied(detail: ""), .fromTheFuture(found: 9, supported: 1),
    ])
  func `what cannot be stored is not shown, not acknowledged, and not lost`(
    kind: Shop.Kind, failure: StoreFailure
  ) {
    var world = StreamHarness.connected(kind)
    let cursor = world.disk.cursor
    world.disk.failure = failure
    for number in 1...40 {
      world.say("n\(number)")
      world.pass(.seconds(1))
    }
    #expect(world.notices.contains(.store(failure)))
    #expect(world.texts == ["m1", "m2", "m3"])
    #expect(world.disk.cursor == cursor)
    world.disk.failure = nil
    world.pass(.seconds(31))
    #expect(world.texts.count == 43)
    #expect(world.notices.last == .storeRecovered)
    #expect(world.disk.cursor.position == world.shop.head)
    #expect(world.ledger.problems == [])
  }

  @Test func `a late refusal of a change is ignored`() {
    var harness = Harness.connected(at: 3)
    harness.effects = []
    harness.give(.commitFailed(CommitID(999), .full(detail: "")))
    #expect(harness.effects == [])
    #expect(harness.model.isSettled)
  }

  @Test func `a store that returns more than requested fills memory only to its limit`() {
    var settings = StreamHarness.settings
    settings.memory = 2
    var model = StreamModel(settings: settings, seed: 1)
    _ = model.handle(.open(at: Harness.wall), at: .zero)
    let messages = (UInt64(1)...3).map { Harness.message($0) }
    _ = model.handle(.loaded(TimelineSnapshot(messages: messages)), at: .zero)
    #expect(model.timeline.messages == [messages[1], messages[2]])
    #expect(model.brokenInvariants(.thorough) == [])
  }

  @Test func `a retried change has a number of its own`() {
    var harness = Harness.connected(at: 3)
    harness.storesPromptly = false
    harness.receive(Harness.message(4))
    harness.refuseCommit()
    harness.pass(31)
    let numbers = harness.effects.compactMap {
      if case .commit(let id, _) = $0 { id } else { CommitID?.none }
    }
    #expect(numbers.count > 1)
    #expect(Set(numbers).count == numbers.count)
  }

  @Test(arguments: Shop.Kind.allCases)
  func `a kill while the store fails loses nothing`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind)
    world.disk.failure = .full(detail: "")
    for number in 1...150 { world.say("n\(number)") }
    world.pass(.seconds(10))
    world.kill()
    world.disk.failure = nil
    world.relaunch()
    world.pass(.seconds(10))
    world.scrollToTheBeginning()
    world.ledger.compare(with: world.shop.ordered)
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `what exceeds the write queue is left to a catch-up, and memory stays bounded`(
    kind: Shop.Kind
  ) {
    var world = StreamHarness.connected(kind)
    world.disk.failure = .full(detail: "")
    for number in 1...2500 { world.say("n\(number)") }
    world.pass(.seconds(10))
    #expect(world.model.commits.messages.count <= 2101)
    world.disk.failure = nil
    world.pass(.seconds(60))
    world.ledger.compare(with: world.shop.ordered)
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `an app that does not read keeps its link, and receives all when it reads again`(
    kind: Shop.Kind
  ) {
    var world = StreamHarness.connected(kind)
    world.log = Log()
    world.give(.reader(isBehind: true))
    for number in 1...300 {
      world.say("n\(number)")
      world.pass(.seconds(1))
    }
    #expect(world.texts == ["m1", "m2", "m3"])
    #expect(world.status.state == .connected)
    #expect(world.log.opens.isEmpty && world.log.fetches.isEmpty)
    #expect(!world.model.isWhole)
    world.give(.reader(isBehind: false))
    world.pass(.seconds(5))
    #expect(world.texts.count == 303)
    #expect(world.model.isWhole)
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `a link lost while nobody reads comes back, and a post is not repeated`(
    kind: Shop.Kind
  ) {
    var world = StreamHarness.connected(kind)
    world.give(.reader(isBehind: true))
    world.send("own")
    world.drive { !$0.log.posts.isEmpty }
    world.net.isBlackHole = true
    world.pass(.seconds(100))
    world.net.isBlackHole = false
    world.say("n")
    world.pass(.seconds(100))
    #expect(world.status.state == .connected)
    world.give(.reader(isBehind: false))
    world.pass(.seconds(60))
    #expect(world.texts.count == 5)
    #expect(world.accepted == ["own": 1])
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `a slow store with more than one full batch loses nothing`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind)
    world.disk.delay = .seconds(20)
    for number in 1...4500 { world.say("n\(number)") }
    world.pass(.seconds(300))
    world.ledger.compare(with: world.shop.ordered)
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: [StoreFailure.locked(detail: ""), .full(detail: "")])
  func `a store that cannot be opened yet is opened later automatically`(failure: StoreFailure) {
    var world = StreamHarness.connected(.ours)
    world.kill()
    world.disk.failure = failure
    world.relaunch()
    world.pass(.seconds(100))
    #expect(world.texts == [])
    #expect(world.log.opens.count == 1)
    world.disk.failure = nil
    world.pass(.seconds(31))
    #expect(world.texts == ["m1", "m2", "m3"])
    #expect(world.notices.last == .storeRecovered)
    #expect(world.status.state == .connected)
  }

  @Test(arguments: [
    StoreFailure.corrupt(detail: ""), .fromTheFuture(found: 2, supported: 1),
  ])
  func `a store that is broken waits for the user`(failure: StoreFailure) {
    var world = StreamHarness.connected(.ours)
    world.kill()
    world.disk.failure = failure
    world.relaunch()
    world.pass(.seconds(100))
    #expect(world.notices == [.store(failure)])
    #expect(world.model.deadline == nil)
    world.disk.failure = nil
    world.give(.refresh)
    world.pass(.seconds(5))
    #expect(world.texts == ["m1", "m2", "m3"])
    #expect(world.status.state == .connected)
  }

  @Test func `closing stops the attempts to open the store`() {
    var world = StreamHarness(.ours)
    world.disk.failure = .locked(detail: "")
    world.launch()
    world.pass(.seconds(5))
    world.give(.close)
    #expect(world.model.deadline == nil)
    world.disk.failure = nil
    world.give(.open(at: world.wall))
    world.pass(.seconds(5))
    #expect(world.status.state == .connected)
  }

  @Test(arguments: [StoreFailure.full(detail: ""), .locked(detail: "")])
  func `reports a message as queued once it is stored`(failure: StoreFailure) {
    var world = StreamHarness.connected(.ours)
    let reports: (StreamHarness) -> Int = { world in
      world.ledger.updates.count { if case .outbox = $0 { true } else { false } }
    }
    world.disk.failure = failure
    world.send("hello")
    world.pass(.seconds(40))
    #expect(reports(world) == 0)
    #expect(world.model.outbox.unstoredCount == 1)
    world.disk.failure = nil
    world.pass(.seconds(31))
    #expect(reports(world) == 1)
    #expect(world.model.outbox.unstoredCount == 0)
    #expect(world.accepted == ["hello": 1])
  }
}
