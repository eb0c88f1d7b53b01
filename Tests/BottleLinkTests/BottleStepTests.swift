import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import BottleLink

/// Tests of the effects of each input of the app, the device and the radio.
@Suite struct BottleStepTests {
  private static let other = KnownBottle(PeripheralID(UUID128(high: 1, low: 1)), name: "Other")

  /// Returns a phone whose first burst has ended, and its queued connect.
  private static func waiting() throws -> (hand: Hand, queue: AttemptID) {
    var hand = Hand.looking()
    hand.pass(.seconds(10))
    #expect(hand.model.status.outstanding == [.queuedConnect])
    return (hand, try #require(hand.model.queue))
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
    var hand = Hand.looking()
    let burst = try #require(hand.model.burst?.attempt)
    let found = CentralEvent.found(Hand.bottle.id, name: "Bottle")
    #expect(
      hand.give(.central(found)) == [
        .connect(burst, Hand.bottle.id, isQueued: false), .stopScan,
        Self.status(.connecting, [.connect, .queuedConnect], hand.model),
      ])
    #expect(hand.give(.central(found)) == [])
  }

  @Test func `leaves a bottle to the system that advertises while no burst is in progress`() throws
  {
    var (hand, _) = try Self.waiting()
    #expect(hand.give(.central(.found(Hand.bottle.id, name: "New name"))) == [])
    #expect(hand.model.bottle == Hand.bottle)
  }

  @Test func `connects to the first bottle by burst and queued connect`() throws {
    var hand = Hand()
    hand.give(.start)
    hand.give(.central(.adapter(.on)))
    let (burst, queue) = (try #require(hand.model.burst?.attempt), try #require(hand.model.queue))
    #expect(
      hand.give(.central(.found(Hand.bottle.id, name: "Bottle"))) == [
        .connect(queue, Hand.bottle.id, isQueued: true),
        .connect(burst, Hand.bottle.id, isQueued: false), .stopScan,
        Self.status(.connecting, [.connect, .queuedConnect], hand.model),
      ])
    #expect(hand.model.bottle == Hand.bottle)
    // A radio reports the oldest attempt first.
    let opened = hand.give(.central(.connected(queue)))
    #expect(opened.contains(.discover(queue)))
    #expect(opened.contains(.cancel(burst)))
    #expect(!hand.give(.central(.connected(burst))).contains(.discover(burst)))
  }

  @Test func `connects to the first bottle by queued connect if no burst is in progress`() throws {
    var hand = Hand()
    hand.give(.start)
    hand.give(.central(.adapter(.on)))
    hand.pass(.seconds(10))
    let queue = try #require(hand.model.queue)
    #expect(hand.model.status.outstanding == [.queuedScan])
    #expect(
      hand.give(.central(.found(Hand.bottle.id, name: nil))) == [
        .connect(queue, Hand.bottle.id, isQueued: true), .stopScan,
        Self.status(.disconnected, [.queuedConnect], hand.model),
      ])
  }

  @Test func `the first restored bottle becomes the known one, unless one is known`() {
    let restored = [
      RestoredPeripheral(Hand.bottle.id, isConnected: false),
      RestoredPeripheral(Self.other.id, isConnected: false),
    ]
    var unknown = Hand()
    unknown.give(.central(.restored([])))
    #expect(unknown.model.bottle == nil)
    unknown.give(.central(.restored(restored)))
    #expect(unknown.model.bottle == KnownBottle(Hand.bottle.id))
    unknown.give(.central(.restored(restored.reversed())))
    #expect(unknown.model.bottle == KnownBottle(Hand.bottle.id))
  }

  // Connections.

  @Test func `a connection made by the system ends the burst`() throws {
    var hand = Hand.looking()
    let queue = try #require(hand.model.queue)
    let effects = hand.give(.central(.connected(queue)))
    #expect(effects.contains(.discover(queue)))
    #expect(effects.contains(.stopScan))
    #expect(!effects.contains(.cancel(queue)))
    #expect((hand.model.queue, hand.model.burst == nil) == (nil, true))
    #expect(hand.give(.central(.connected(queue))) == [], "reported twice")
  }

  @Test func `ends a connection that nothing awaits`() throws {
    var hand = Hand.looking()
    #expect(hand.give(.central(.connected(AttemptID(99)))) == [.cancel(AttemptID(99))])
    #expect(hand.model.status.phase == .scanning)
    var opened = try Hand.opened()
    #expect(opened.give(.central(.connected(AttemptID(99)))) == [.cancel(AttemptID(99))])
    #expect(opened.model.status.phase == .discovering)
  }

  @Test func `queues a failed connect again, and the burst continues`() throws {
    var hand = Hand.looking()
    hand.pass(.seconds(3))
    let (burst, queue) = (try #require(hand.model.burst?.attempt), try #require(hand.model.queue))
    hand.give(.central(.failed(queue, .reset)))
    #expect((hand.model.queue, hand.model.burst?.attempt) == (nil, burst))
    #expect(hand.model.status.outstanding == [.scan])
    #expect(hand.pass(.milliseconds(999)) == [])
    let effects = hand.pass(.milliseconds(1))
    let next = try #require(hand.model.queue)
    #expect(next != queue)
    #expect(effects.contains(.connect(next, Hand.bottle.id, isQueued: true)))
    #expect(hand.model.burst?.attempt == burst)
    #expect(hand.give(.central(.failed(AttemptID(99), .reset))) == [])
    #expect(hand.model.queue == next)
  }

  @Test func `a failed connect ends its burst, and the queued connect stays`() throws {
    var hand = Hand.looking()
    hand.pass(.seconds(3))
    hand.give(.central(.found(Hand.bottle.id, name: nil)))
    let (burst, queue) = (try #require(hand.model.burst?.attempt), try #require(hand.model.queue))
    hand.give(.central(.failed(burst, .reset)))
    #expect((hand.model.burst?.attempt, hand.model.queue) == (nil, queue))
    #expect(hand.model.status.phase == .disconnected)
  }

  @Test func `a disconnect without a reason is an end`() throws {
    var (bare, ended, reset) = (try Hand.ready(), try Hand.ready(), try Hand.ready())
    let effects = bare.give(.central(.disconnected(bare.attempt, nil)))
    #expect(effects == ended.give(.central(.disconnected(ended.attempt, .ended))))
    #expect(effects != reset.give(.central(.disconnected(reset.attempt, .reset))))
    #expect(bare.model.status.reason == bare.model.link.status.reason)
    #expect(bare.model.status.reason != nil)
    #expect(bare.model.status.retryAt == bare.now.advanced(by: .seconds(3)))
  }

  @Test func `missing services end only the connection of their attempt`() throws {
    var hand = try Hand.opened()
    #expect(hand.give(.undiscovered(AttemptID(99), .refused)) == [])
    #expect(hand.model.status.phase == .discovering)
    let effects = hand.give(.undiscovered(hand.attempt, .refused))
    #expect(effects.contains(.cancel(hand.attempt)))
    #expect(hand.model.status.phase == .disconnected)
  }

  @Test func `missing services of an earlier connection leave a queued connect alone`() throws {
    var (hand, queue) = try Self.waiting()
    #expect(hand.give(.undiscovered(queue, .refused)) == [])
    #expect(hand.model.queue == queue)
  }

  @Test func `ignores a value of another connection`() throws {
    var hand = try Hand.ready()
    #expect(hand.give(.heard(AttemptID(99), .battery(7), at: hand.wall)) == [])
    #expect(hand.model.state?.battery == 100)
  }

  // The app and the device.

  @Test func `a start scans at once, whenever it comes`() throws {
    var (hand, _) = try Self.waiting()
    #expect(hand.give(.start).contains(.scan))
  }

  @Test func `a hint from the device that something changed starts a scan`() throws {
    var (hand, _) = try Self.waiting()
    #expect(hand.give(.link(.device(.again))).contains(.scan))
    var idle = Hand()
    idle.give(.central(.adapter(.on)))
    #expect(idle.give(.link(.device(.again))).contains(.scan), "it is a start as well")
    #expect(hand.give(.link(.device(.reachability(.unreachable)))) == [], "it is no network")
  }

  @Test func `a stop ends everything in progress, in order`() throws {
    var scanning = Hand.looking()
    let queue = try #require(scanning.model.queue)
    #expect(
      scanning.give(.stop) == [
        .cancel(queue), .stopScan, Self.status(.disconnected, [], scanning.model),
      ])
    #expect(!scanning.model.isKeptBySystem)
    var connecting = Hand.looking()
    connecting.give(.central(.found(Hand.bottle.id, name: nil)))
    let burst = try #require(connecting.model.burst?.attempt)
    let cancels = connecting.give(.stop).compactMap {
      if case .cancel(let attempt) = $0 { attempt } else { nil }
    }
    #expect(Set(cancels) == [burst, queue])
    var connected = try Hand.ready()
    #expect(connected.give(.stop).contains(.cancel(connected.attempt)))
    #expect(connected.model.isStopped)
  }

  @Test func `a stop forgets holds and ends requests`() throws {
    var hand = Hand.looking()
    hand.give(.hold(true))
    hand.give(.perform(4, .command(.tare)))
    hand.give(.refresh(5))
    #expect(
      hand.give(.stop).shown == [
        .performed(4, .notSent(.bottleAsleep)), .refreshed(5, .bottleAsleep),
      ])
    hand.give(.start)
    hand.give(.central(.found(Hand.bottle.id, name: nil)))
    let attempt = try #require(hand.model.burst?.attempt)
    hand.give(.central(.connected(attempt)))
    let effects = hand.give(
      .discovered(attempt, longestValue: 244, Hand.state(0), at: hand.wall))
    #expect(effects.writes == [BottleCommand.setTime(1_768_766_400).bytes])
  }

  @Test func `choosing the same bottle changes nothing`() throws {
    var hand = try Hand.ready()
    #expect(hand.give(.choose(KnownBottle(Hand.bottle.id, name: "Another name"))) == [])
    #expect(hand.model.bottle == Hand.bottle)
  }

  @Test func `choosing another bottle ends the connection but starts nothing by itself`() throws {
    var hand = try Hand.ready()
    let effects = hand.give(.choose(Self.other))
    #expect(effects.contains(.cancel(hand.attempt)))
    #expect(hand.model.bottle == Self.other)
    #expect(hand.model.status.outstanding.contains(.queuedConnect))
    var stopped = Hand()
    stopped.give(.central(.adapter(.on)))
    #expect(stopped.give(.choose(Self.other)) == [])
    #expect(stopped.model.status.outstanding == [])
    #expect(stopped.model.bottle == Self.other)
  }

  @Test func `only a pending task of the system keeps a suspended app`() throws {
    var hand = try Hand.opened()
    #expect(hand.model.isKeptBySystem)
    hand.give(.central(.disconnected(hand.attempt, .reset)))
    #expect(hand.model.isKeptBySystem == hand.model.status.outstanding.contains(.queuedConnect))
    var off = Hand.looking()
    off.give(.central(.adapter(.off)))
    #expect(off.model.status.outstanding == [.adapter])
    #expect(off.model.status.adapter == .off)
    #expect(off.model.isKeptBySystem)
  }

  @Test func `passes the shell's confirmation to the store`() {
    var hand = Hand()
    #expect(hand.give(.shown(through: 7)) == [.confirm(7)])
  }

  @Test func `shows drinks at the start that no run has shown`() {
    var hand = Hand()
    var snapshot = DrinkSnapshot()
    snapshot.unshown = [Hand.drink(1), Hand.drink(2)]
    #expect(
      hand.give(.restored(snapshot))
        == [.update(.drink(Hand.drink(1))), .update(.drink(Hand.drink(2)))])
    #expect(hand.model.bottle == nil)
  }

  @Test func `an input of a link event returns that event, and others return none`() {
    let event = LinkEvent.device(.again)
    #expect(BottleModel.Input(event, at: Hand.start) == .link(event))
    #expect(BottleModel.Input.link(event).event == event)
    #expect(BottleModel.Input.start.event == nil)
  }

  @Test func `a burst stores the name of its bottle, and a stopped link stores none`() {
    var hand = Hand()
    var snapshot = DrinkSnapshot()
    snapshot.bottle = KnownBottle(Hand.bottle.id)
    hand.give(.restored(snapshot))
    hand.give(.start)
    hand.give(.central(.adapter(.on)))
    hand.give(.central(.found(Hand.bottle.id, name: "Bottle")))
    #expect(hand.model.bottle == Hand.bottle)
    var stopped = Hand()
    stopped.give(.central(.adapter(.on)))
    #expect(stopped.give(.central(.found(Hand.bottle.id, name: "Bottle"))) == [])
    #expect(stopped.model.bottle == nil)
  }
}
