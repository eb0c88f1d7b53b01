import HoldfastBottleData
import HoldfastCore
import HoldfastFirmware
import HoldfastVirtualBottle
import Testing

@testable import HoldfastBottleLink

/// Tests of services that a bottle changes during a connection.
@Suite struct BottleChangeTests {
  private static func discovered(
    _ harness: Harness, _ unsynced: UInt16 = 0, longest: Int = 244
  ) -> BottleModel.Input {
    .discovered(
      harness.attempt, longestValue: longest, Harness.state(unsynced), at: harness.wall)
  }

  private static func change(_ harness: inout Harness) -> [BottleModel.Effect] {
    harness.give(.central(.changed(harness.attempt)))
  }

  private static func isStart(_ bytes: [UInt8]) -> Bool {
    (try? BottleSync(bytes))?.command == .start
  }

  @Test func `a change starts one discovery, and the connection remains`() throws {
    var harness = try Harness.ready()
    let effects = Self.change(&harness)
    #expect(effects.first == .discover(harness.attempt))
    #expect(effects.count == 2, "the other one is the status")
    #expect(harness.model.status.phase == .connected)
    #expect(harness.model.status.outstanding == [.discovery, .connection])
    let found = harness.give(Self.discovered(harness))
    #expect(found.writes == [BottleCommand.setTime(1_768_766_400).bytes])
    #expect(!found.contains { if case .commit = $0 { true } else { false } })
    #expect(harness.model.status.outstanding == [.connection])
  }

  @Test func `a change of another connection is ignored`() throws {
    var harness = try Harness.ready()
    #expect(harness.give(.central(.changed(AttemptID(99)))) == [])
    var waiting = Harness.looking()
    #expect(waiting.give(.central(.changed(AttemptID(1)))) == [])
  }

  @Test func `changes during a discovery cause one more discovery, however it ends`() throws {
    for isFound in [true, false] {
      var harness = try Harness.opened()
      for _ in 0..<2 { #expect(Self.change(&harness) == []) }
      let end = Self.discovered(harness)
      let attempt = harness.attempt
      #expect(
        harness.give(isFound ? end : .undiscovered(attempt, .refused)) == [.discover(attempt)])
      #expect(harness.model.status.phase == .discovering)
      harness.give(end)
      #expect(harness.model.status.phase == .connected)
    }
  }

  @Test func `changes during a second discovery also cause one more`() throws {
    var harness = try Harness.ready()
    #expect(Self.change(&harness).contains(.discover(harness.attempt)))
    #expect(Self.change(&harness) == [])
    #expect(harness.give(Self.discovered(harness, 3)) == [.discover(harness.attempt)])
    #expect(harness.give(Self.discovered(harness, 3)).writes.contains(where: Self.isStart))
    #expect(harness.give(Self.discovered(harness, 3)) == [], "reported twice")
  }

  @Test func `a second discovery that fails ends the connection`() throws {
    var harness = try Harness.ready()
    _ = Self.change(&harness)
    let effects = harness.give(.undiscovered(harness.attempt, .refused))
    #expect(effects.contains(.cancel(harness.attempt, .rejected)))
    #expect(harness.model.status.phase == .disconnected)
  }

  @Test func `a synchronization begins again, without a notice and without an acknowledgement`()
    throws
  {
    var harness = try Harness.ready(unsynced: 2)
    let start = harness.write
    harness.chunk(0, of: 2, [Harness.record(1)])
    #expect(Self.change(&harness).notices == [])
    #expect(harness.committed([Harness.drink(1)]) == [.update(.drink(Harness.drink(1)))])
    #expect(harness.chunk(1, of: 2, [Harness.record(2)]) == [], "its notification was late")
    let effects = harness.give(Self.discovered(harness, 2, longest: 20))
    #expect(effects.writes.last == BottleSync.request(count: 2, longestValue: 20).bytes)
    #expect(harness.give(.unwritten(start, .reset)) == [], "the write of the earlier one")
    #expect(harness.model.sync.isRunning)
  }

  @Test func `requests wait for the discovery`() throws {
    var harness = try Harness.ready()
    _ = Self.change(&harness)
    #expect(harness.give(.refresh(1)).shown == [])
    #expect(harness.give(.perform(2, .command(.tare))).writes == [])
    let effects = harness.give(Self.discovered(harness))
    #expect(effects.writes.contains(BottleCommand.tare.bytes))
    #expect(effects.shown.contains(.refreshed(1, .alreadySynced)))
    #expect(harness.written().shown == [.performed(2, .done)])
  }

  @Test func `a command that was written before a change ends with its result, if one comes`()
    throws
  {
    var (done, unknown) = (try Harness.ready(), try Harness.ready())
    for isDone in [true, false] {
      var harness = isDone ? done : unknown
      harness.give(.perform(1, .command(.tare)))
      let write = harness.write
      #expect(Self.change(&harness).shown == [])
      let result = harness.give(isDone ? .written(write) : .unwritten(write, .reset))
      #expect(result.shown == [.performed(1, isDone ? .done : .unconfirmed)])
      if isDone { done = harness } else { unknown = harness }
    }
  }

  @Test func `a ping that is due during a discovery is answered by the discovery's end`() throws {
    var harness = try Harness.ready()
    harness.give(.hold(true))
    harness.pass(.seconds(24))
    _ = Self.change(&harness)
    #expect(harness.pass(.seconds(2)).writes == [])
    #expect(harness.give(Self.discovered(harness)).writes.contains(BottleCommand.ping.bytes))
    harness.written()
    #expect(harness.pass(.seconds(15)).isEmpty)
    #expect(harness.model.status.phase == .connected)
  }

  @Test func `a second discovery that never ends closes the connection`() throws {
    for isHeld in [true, false] {
      var harness = try Harness.ready()
      if isHeld { harness.give(.hold(true)) }
      _ = Self.change(&harness)
      let effects = harness.pass(.seconds(120))
      #expect(
        effects.contains(.cancel(harness.attempt, isHeld ? .silent : .idle)), "held: \(isHeld)")
    }
  }

  @Test(arguments: 0...30)
  func `a change at any time loses no drink and stores none twice`(_ tenths: Int) {
    var harness = BottleHarness.wanted()
    harness.pass(1)
    harness.touch(.moved)
    harness.touch(.stands(true))
    for _ in 0..<60 { harness.touch(.poured(40)) }
    harness.longestValue = 182
    harness.give(.hold(true))
    _ = harness.wait(10) { $0.isLinked }
    harness.pass(Double(tenths) / 10)
    harness.changeServices()
    harness.touch(.poured(300))
    harness.pass(60)
    let all = (1...61).map { UInt32($0) }
    #expect(harness.stored == all)
    #expect(harness.drinks.map(\.record.id) == all)
    #expect(harness.bottle.bottle.unsynced == 0)
    let opened = harness.log.count {
      if case .commit(_, let change) = $0.effect { change.bottle != nil } else { false }
    }
    #expect(opened == 1, "it is the same connection")
  }
}
