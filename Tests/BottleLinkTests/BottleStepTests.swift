import HoldfastBottleData
import HoldfastCore
import Testing

@testable import HoldfastBottleLink

/// Tests of the effects of each input of the app, the device and the radio.
@Suite struct BottleStepTests {
  private static let other = KnownBottle(PeripheralID(UUID128(high: 1, low: 1)), name: "Other")

  /// Returns a phone whose first burst has ended, and its queued connect.
  private static func waiting() throws -> (harness: Harness, queue: AttemptID) {
    var harness = Harness.looking()
    harness.pass(.seconds(10))
    #expect(harness.model.status.outstanding == [.queuedConnect])
    return (harness, try #require(harness.model.search.queue))
  }

  private static func status(
    _ phase: BottleStatus.Phase, _ outstanding: [BottleStatus.Outstanding], _ model: BottleModel
  ) -> BottleModel.Effect {
    var status = BottleStatus()
    (status.phase, status.outstanding, status.adapter) = (phase, outstanding, .on)
    (status.reason, status.retryAt) = (model.link.status.reason, model.link.status.retryAt)
    return .update(.status(status))
  }

  // Looking for the bottle.

  @Test func `a burst connects once to the bottle that it finds`() throws {
    var harness = Harness.looking()
    let burst = try #require(harness.model.search.burst?.attempt)
    let found = CentralEvent.found(Harness.bottle.id, name: "Bottle")
    #expect(
      harness.give(.central(found)) == [
        .connect(burst, Harness.bottle.id, isQueued: false), .stopScan,
        Self.status(.connecting, [.connect, .queuedConnect], harness.model),
      ])
    #expect(harness.give(.central(found)) == [])
  }

  @Test func `leaves a bottle to the system that advertises while no burst is in progress`() throws
  {
    var (harness, _) = try Self.waiting()
    #expect(harness.give(.central(.found(Harness.bottle.id, name: "New name"))) == [])
    #expect(harness.model.bottle == Harness.bottle)
  }

  @Test func `connects to the first bottle by burst and queued connect`() throws {
    var harness = Harness()
    harness.give(.start)
    harness.give(.central(.adapter(.on)))
    let (burst, queue) = (
      try #require(harness.model.search.burst?.attempt), try #require(harness.model.search.queue)
    )
    #expect(
      harness.give(.central(.found(Harness.bottle.id, name: "Bottle"))) == [
        .connect(queue, Harness.bottle.id, isQueued: true),
        .connect(burst, Harness.bottle.id, isQueued: false), .stopScan,
        Self.status(.connecting, [.connect, .queuedConnect], harness.model),
      ])
    #expect(harness.model.bottle == Harness.bottle)
    // A radio reports the oldest attempt first.
    let opened = harness.give(.central(.connected(queue)))
    #expect(opened.contains(.discover(queue)))
    #expect(opened.contains(.cancel(burst, .superseded)))
    #expect(!harness.give(.central(.connected(burst))).contains(.discover(burst)))
  }

  @Test func `connects to the first bottle by queued connect if no burst is in progress`() throws {
    var harness = Harness()
    harness.give(.start)
    harness.give(.central(.adapter(.on)))
    harness.pass(.seconds(10))
    let queue = try #require(harness.model.search.queue)
    #expect(harness.model.status.outstanding == [.queuedScan])
    #expect(
      harness.give(.central(.found(Harness.bottle.id, name: nil))) == [
        .connect(queue, Harness.bottle.id, isQueued: true), .stopScan,
        Self.status(.disconnected, [.queuedConnect], harness.model),
      ])
  }

  @Test func `the first restored bottle becomes the known one, unless one is known`() {
    let restored = [
      RestoredPeripheral(Harness.bottle.id, isConnected: false),
      RestoredPeripheral(Self.other.id, isConnected: false),
    ]
    var unknown = Harness()
    unknown.give(.central(.restored([])))
    #expect(unknown.model.bottle == nil)
    unknown.give(.central(.restored(restored)))
    #expect(unknown.model.bottle == KnownBottle(Harness.bottle.id))
    unknown.give(.central(.restored(restored.reversed())))
    #expect(unknown.model.bottle == KnownBottle(Harness.bottle.id))
  }

  // Connections.

  @Test func `a connection made by the system ends the burst`() throws {
    var harness = Harness.looking()
    let queue = try #require(harness.model.search.queue)
    let effects = harness.give(.central(.connected(queue)))
    #expect(effects.contains(.discover(queue)))
    #expect(effects.contains(.stopScan))
    #expect(!effects.contains { if case .cancel(queue, _) = $0 { true } else { false } })
    #expect((harness.model.search.queue, harness.model.search.burst == nil) == (nil, true))
    #expect(harness.give(.central(.connected(queue))) == [], "reported twice")
  }

  @Test func `ends a connection that nothing awaits`() throws {
    var harness = Harness.looking()
    #expect(
      harness.give(.central(.connected(AttemptID(99)))) == [.cancel(AttemptID(99), .superseded)])
    #expect(harness.model.status.phase == .scanning)
    var opened = try Harness.opened()
    #expect(
      opened.give(.central(.connected(AttemptID(99)))) == [.cancel(AttemptID(99), .superseded)])
    #expect(opened.model.status.phase == .discovering)
  }

  @Test func `queues a failed connect again, and the burst continues`() throws {
    var harness = Harness.looking()
    harness.pass(.seconds(3))
    let (burst, queue) = (
      try #require(harness.model.search.burst?.attempt), try #require(harness.model.search.queue)
    )
    harness.give(.central(.failed(queue, .reset)))
    #expect((harness.model.search.queue, harness.model.search.burst?.attempt) == (nil, burst))
    #expect(harness.model.status.outstanding == [.scan])
    #expect(harness.pass(.milliseconds(999)) == [])
    let effects = harness.pass(.milliseconds(1))
    let next = try #require(harness.model.search.queue)
    #expect(next != queue)
    #expect(effects.contains(.connect(next, Harness.bottle.id, isQueued: true)))
    #expect(harness.model.search.burst?.attempt == burst)
    #expect(harness.give(.central(.failed(AttemptID(99), .reset))) == [])
    #expect(harness.model.search.queue == next)
  }

  @Test func `a failed connect ends its burst, and the queued connect stays`() throws {
    var harness = Harness.looking()
    harness.pass(.seconds(3))
    harness.give(.central(.found(Harness.bottle.id, name: nil)))
    let (burst, queue) = (
      try #require(harness.model.search.burst?.attempt), try #require(harness.model.search.queue)
    )
    harness.give(.central(.failed(burst, .reset)))
    #expect((harness.model.search.burst?.attempt, harness.model.search.queue) == (nil, queue))
    #expect(harness.model.status.phase == .disconnected)
  }

  @Test func `a disconnect without a reason is an end`() throws {
    var (bare, ended, reset) = (try Harness.ready(), try Harness.ready(), try Harness.ready())
    let effects = bare.give(.central(.disconnected(bare.attempt, nil)))
    #expect(effects == ended.give(.central(.disconnected(ended.attempt, .ended))))
    #expect(effects != reset.give(.central(.disconnected(reset.attempt, .reset))))
    #expect(bare.model.status.reason == bare.model.link.status.reason)
    #expect(bare.model.status.reason != nil)
    #expect(bare.model.status.retryAt == bare.now.advanced(by: .seconds(3)))
  }

  @Test func `missing services end only the connection of their attempt`() throws {
    var harness = try Harness.opened()
    #expect(harness.give(.undiscovered(AttemptID(99), .refused)) == [])
    #expect(harness.model.status.phase == .discovering)
    let effects = harness.give(.undiscovered(harness.attempt, .refused))
    #expect(effects.contains(.cancel(harness.attempt, .rejected)))
    #expect(harness.model.status.phase == .disconnected)
  }

  @Test func `missing services of an earlier connection leave a queued connect alone`() throws {
    var (harness, queue) = try Self.waiting()
    #expect(harness.give(.undiscovered(queue, .refused)) == [])
    #expect(harness.model.search.queue == queue)
  }

  @Test func `ignores a value of another connection`() throws {
    var harness = try Harness.ready()
    #expect(harness.give(.heard(AttemptID(99), .battery(7), at: harness.wall)) == [])
    #expect(harness.model.state?.battery == 100)
  }

  // The app and the device.

  @Test func `a start scans at once, whenever it comes`() throws {
    var (harness, _) = try Self.waiting()
    #expect(harness.give(.start).contains(.scan))
  }

  @Test func `a hint from the device that something changed starts a scan`() throws {
    var (harness, _) = try Self.waiting()
    #expect(harness.give(.link(.device(.again))).contains(.scan))
    var idle = Harness()
    idle.give(.central(.adapter(.on)))
    #expect(idle.give(.link(.device(.again))).contains(.scan), "it also starts the link")
    #expect(harness.give(.link(.device(.reachability(.unreachable)))) == [], "it needs no network")
  }

  @Test func `a stop ends everything in progress, in order`() throws {
    var scanning = Harness.looking()
    let queue = try #require(scanning.model.search.queue)
    #expect(
      scanning.give(.stop) == [
        .cancel(queue, .leaving), .stopScan, Self.status(.disconnected, [], scanning.model),
      ])
    #expect(!scanning.model.isHeldBySystem)
    var connecting = Harness.looking()
    connecting.give(.central(.found(Harness.bottle.id, name: nil)))
    let burst = try #require(connecting.model.search.burst?.attempt)
    let cancels = connecting.give(.stop).compactMap {
      if case .cancel(let attempt, .leaving) = $0 { attempt } else { nil }
    }
    #expect(Set(cancels) == [burst, queue])
    var connected = try Harness.ready()
    #expect(connected.give(.stop).contains(.cancel(connected.attempt, .leaving)))
    #expect(connected.model.isStopped)
  }

  @Test func `a stop forgets holds and ends requests`() throws {
    var harness = Harness.looking()
    harness.give(.hold(true))
    harness.give(.perform(4, .command(.tare)))
    harness.give(.refresh(5))
    #expect(
      harness.give(.stop).shown == [
        .performed(4, .notSent(.bottleAsleep)), .refreshed(5, .bottleAsleep),
      ])
    harness.give(.start)
    harness.give(.central(.found(Harness.bottle.id, name: nil)))
    let attempt = try #require(harness.model.search.burst?.attempt)
    harness.give(.central(.connected(attempt)))
    let effects = harness.give(
      .discovered(attempt, longestValue: 244, Harness.state(0), at: harness.wall))
    #expect(effects.writes == [BottleCommand.setTime(1_768_766_400).bytes])
  }

  @Test func `choosing the same bottle changes nothing`() throws {
    var harness = try Harness.ready()
    #expect(harness.give(.choose(KnownBottle(Harness.bottle.id, name: "Another name"))) == [])
    #expect(harness.model.bottle == Harness.bottle)
  }

  @Test func `choosing another bottle ends the connection but starts nothing by itself`() throws {
    var harness = try Harness.ready()
    let effects = harness.give(.choose(Self.other))
    #expect(effects.contains(.cancel(harness.attempt, .leaving)))
    #expect(harness.model.bottle == Self.other)
    #expect(harness.model.status.outstanding.contains(.queuedConnect))
    var stopped = Harness()
    stopped.give(.central(.adapter(.on)))
    #expect(stopped.give(.choose(Self.other)) == [])
    #expect(stopped.model.status.outstanding == [])
    #expect(stopped.model.bottle == Self.other)
  }

  @Test func `only a pending task of the system keeps a suspended app`() throws {
    var harness = try Harness.opened()
    #expect(harness.model.isHeldBySystem)
    harness.give(.central(.disconnected(harness.attempt, .reset)))
    #expect(
      harness.model.isHeldBySystem == harness.model.status.outstanding.contains(.queuedConnect))
    var off = Harness.looking()
    off.give(.central(.adapter(.off)))
    #expect(off.model.status.outstanding == [.adapter])
    #expect(off.model.status.adapter == .off)
    #expect(off.model.isHeldBySystem)
  }

  @Test func `passes the shell's confirmation to the store`() {
    var harness = Harness()
    #expect(harness.give(.shown(through: 7)) == [.confirm(7)])
  }

  @Test func `shows drinks at the start that no run has shown`() {
    var harness = Harness()
    var snapshot = DrinkSnapshot()
    snapshot.unshown = [Harness.drink(1), Harness.drink(2)]
    #expect(
      harness.give(.restored(snapshot))
        == [.update(.drink(Harness.drink(1))), .update(.drink(Harness.drink(2)))])
    #expect(harness.model.bottle == nil)
  }

  @Test func `an input of a link event returns that event, and others return none`() {
    let event = LinkEvent.device(.again)
    #expect(BottleModel.Input(event, at: Harness.start) == .link(event))
    #expect(BottleModel.Input.link(event).event == event)
    #expect(BottleModel.Input.start.event == nil)
  }

  @Test func `a burst stores the name of its bottle, and a stopped link stores none`() {
    var harness = Harness()
    var snapshot = DrinkSnapshot()
    snapshot.bottle = KnownBottle(Harness.bottle.id)
    harness.give(.restored(snapshot))
    harness.give(.start)
    harness.give(.central(.adapter(.on)))
    harness.give(.central(.found(Harness.bottle.id, name: "Bottle")))
    #expect(harness.model.bottle == Harness.bottle)
    var stopped = Harness()
    stopped.give(.central(.adapter(.on)))
    #expect(stopped.give(.central(.found(Harness.bottle.id, name: "Bottle"))) == [])
    #expect(stopped.model.bottle == nil)
  }
}
