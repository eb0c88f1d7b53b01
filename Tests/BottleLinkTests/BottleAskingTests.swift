import HoldfastBottleData
import HoldfastCore
import Testing

@testable import HoldfastBottleLink

/// Tests of refreshes and commands, step by step.
@Suite struct BottleAskingTests {
  private static let tare = BottleRequest.command(.tare)
  private static let delete = BottleRequest.command(.delete(41))

  private static func ready(unsynced: UInt16 = 0) throws -> Harness {
    var harness = try Harness.ready(unsynced: unsynced)
    harness.written()
    return harness
  }

  @Test func `each kind of request goes to its characteristic`() throws {
    var harness = try Self.ready()
    let requests: [(BottleRequest, BottleAttribute, [UInt8])] = [
      (Self.tare, .command, [1, 0, 0, 0]),
      (.settings(BottleSwitches(shakeToEmpty: true)), .settings, [1, 0, 0, 0]),
      (
        .configuration(BottleConfiguration(scale: 412.5, tare: 233)), .configuration,
        BottleConfiguration(scale: 412.5, tare: 233).bytes
      ),
    ]
    for (number, request) in requests.enumerated() {
      let effects = harness.give(.perform(UInt64(number), request.0))
      #expect(
        effects == [
          .write(harness.attempt, WriteID(UInt64(number) + 2), request.1, request.2)
        ])
      #expect(harness.written() == [.update(.performed(UInt64(number), .done))])
      #expect(harness.written() == [])
    }
    harness.give(.perform(9, Self.tare))
    #expect(
      harness.give(.unwritten(harness.write, .refused)) == [.update(.performed(9, .refused))])
  }

  @Test func `sends waiting requests in order once the bottle is discovered`() throws {
    var harness = try Harness.opened()
    #expect(harness.give(.perform(1, Self.tare)).writes == [])
    #expect(harness.give(.perform(2, .command(.ping))).writes == [])
    let effects = harness.give(
      .discovered(harness.attempt, longestValue: 244, Harness.state(0), at: harness.wall))
    #expect(effects.writes.suffix(2) == [[1, 0, 0, 0], [2, 0, 0, 0]])
    #expect(harness.give(.perform(3, Self.tare)).writes == [[1, 0, 0, 0]], "the others were sent")
  }

  @Test func `refuses an invalid request with the remedy and does not send it`() throws {
    var harness = try Self.ready()
    #expect(
      harness.give(.perform(1, .command(.setTime(0))))
        == [.update(.performed(1, .invalid("the time must be from 2020 to 2106")))])
    let wrong = BottleRequest.configuration(BottleConfiguration(scale: 1, tare: 0))
    #expect(
      harness.give(.perform(2, wrong))
        == [.update(.performed(2, .invalid("the scale factor must be 100 to 800")))])
  }

  // Deletions.

  @Test func `a deletion is confirmed by the next state`() throws {
    var harness = try Self.ready()
    #expect(harness.give(.perform(1, Self.delete)).writes == [BottleCommand.delete(41).bytes])
    #expect(harness.written() == [])
    harness.pass(.milliseconds(4_999))
    var change = DrinkChange(at: harness.wall)
    change.deleted = 41
    #expect(
      harness.say(.state(Harness.state(0)))
        == [.commit(2, change), .update(.performed(1, .done))])
    #expect(harness.say(.state(Harness.state(0))) == [])
    #expect(harness.pass(.seconds(10)).shown == [])
  }

  @Test func `a state that arrives before the answer of the write confirms a deletion, too`() throws
  {
    var harness = try Self.ready()
    harness.give(.perform(1, Self.delete))
    #expect(harness.say(.state(Harness.state(0))) == [])
    var change = DrinkChange(at: harness.wall)
    change.deleted = 41
    #expect(harness.written() == [.commit(2, change), .update(.performed(1, .done))])
  }

  @Test func `a state from before the deletion confirms nothing`() throws {
    var harness = try Harness.opened()
    harness.give(.perform(1, Self.delete))
    harness.give(
      .discovered(harness.attempt, longestValue: 244, Harness.state(0), at: harness.wall))
    #expect(harness.written() == [])
    #expect(harness.pass(.seconds(5)).shown == [.performed(1, .unconfirmed)])
  }

  @Test func `does not store a refused deletion`() throws {
    var harness = try Self.ready()
    harness.give(.perform(1, Self.delete))
    harness.say(.state(Harness.state(0)))
    #expect(
      harness.give(.unwritten(harness.write, .refused)) == [.update(.performed(1, .refused))])
  }

  @Test func `a program that only sends commands stores no deletion`() throws {
    var harness = try Harness.ready { $0.syncs = false }
    harness.give(.perform(1, Self.delete))
    harness.written()
    #expect(harness.say(.state(Harness.state(0))) == [.update(.performed(1, .done))])
  }

  // Losses and time.

  @Test func `a loss leaves sent requests unconfirmed`() throws {
    var harness = try Self.ready()
    harness.give(.perform(1, Self.delete))
    harness.written()
    harness.give(.perform(2, Self.tare))
    let lost = harness.give(.central(.disconnected(harness.attempt, .reset)))
    #expect(lost.shown == [.performed(1, .unconfirmed), .performed(2, .unconfirmed)])
    #expect(harness.model.requests.entries == [])
  }

  @Test func `a loss during discovery keeps waiting requests`() throws {
    var harness = try Harness.opened()
    harness.give(.perform(1, Self.tare))
    #expect(harness.give(.central(.disconnected(harness.attempt, .reset))).shown == [])
    #expect(harness.model.requests.entries.map(\.id) == [1])
    let late = harness.pass(.seconds(15))
    #expect(late.shown == [.performed(1, .notSent(.connectionFailed))], "it had been found")
  }

  @Test(arguments: [(BottleRefreshResult.bottleAsleep, false), (.connectionFailed, true)])
  func `waiting requests end after 15 s`(result: BottleRefreshResult, isFound: Bool) throws {
    var harness = Harness.looking()
    harness.give(.refresh(1))
    harness.give(.perform(2, Self.tare))
    if isFound { harness.give(.central(.found(Harness.bottle.id, name: nil))) }
    #expect(harness.pass(.milliseconds(14_999)).shown == [])
    #expect(
      harness.pass(.milliseconds(1)).shown
        == [.refreshed(1, result), .performed(2, .notSent(result))])
  }

  @Test func `a request scans for 10 s, burst after burst`() throws {
    var harness = Harness.looking()
    harness.pass(.seconds(30))
    let begin = harness.now
    harness.give(.refresh(1))
    harness.pass(.milliseconds(9_999))
    #expect(harness.model.search.isScanning)
    harness.pass(.milliseconds(1))
    #expect(!harness.model.search.isScanning)
    #expect(begin.duration(to: harness.now) == .seconds(10))
  }

  @Test(arguments: [AdapterState.resetting, .unknown])
  func `a request may still succeed when the adapter comes back`(state: AdapterState) throws {
    var harness = Harness.looking()
    harness.give(.central(.adapter(state)))
    #expect(harness.give(.refresh(1)).shown == [])
    #expect(harness.give(.central(.adapter(.on))).contains(.scan))
    #expect(harness.give(.central(.adapter(.off))).shown == [.refreshed(1, .bluetoothOff)])
  }

  // Refreshes.

  @Test func `a refresh of a bottle without drinks ends at once`() throws {
    var harness = try Self.ready()
    #expect(harness.give(.refresh(1)) == [.update(.refreshed(1, .alreadySynced))])
    var commands = try Harness.ready { $0.syncs = false }
    #expect(commands.give(.refresh(1)) == [.update(.refreshed(1, .alreadySynced))])
  }

  @Test func `a refresh waits for the synchronization in progress`() throws {
    var harness = try Self.ready(unsynced: 3)
    #expect(harness.give(.refresh(1)) == [])
    #expect(harness.give(.refresh(2)) == [])
    harness.chunk(0, of: 1, [Harness.record(1), Harness.record(2), Harness.record(3)])
    harness.committed([Harness.drink(1), Harness.drink(2)])
    #expect(
      harness.written() == [.update(.refreshed(1, .synced(2))), .update(.refreshed(2, .synced(2)))])
  }

  @Test func `a refresh starts again after all retries have failed`() throws {
    var harness = try Self.ready(unsynced: 1)
    for wait in [1, 5, 15, 1] {
      harness.chunk(0, of: 1, [Harness.record(1)])
      harness.give(.uncommitted(harness.commit, .full(detail: "full")))
      harness.pass(.seconds(wait))
    }
    #expect(!harness.model.sync.isRunning)
    let asked = harness.give(.refresh(1))
    #expect(asked.writes == [BottleSync.request(count: 1, longestValue: 244).bytes])
    #expect(asked.shown == [])
    harness.chunk(0, of: 1, [Harness.record(1)])
    let failed = harness.give(.uncommitted(harness.commit, .full(detail: "full")))
    #expect(failed.shown == [.notice(.syncFailed(.store(.full(detail: "full"))))])
  }

  @Test func `a refresh does not wait for the next retry`() throws {
    var harness = try Self.ready(unsynced: 1)
    harness.say(.brokenChunk(detail: "cut"))
    #expect(
      harness.give(.refresh(1)).writes
        == [BottleSync.request(count: 1, longestValue: 122).bytes])
  }

  @Test func `a bottle that reports pending drinks is not called already synced`() throws {
    // The drinks arrive, but the bottle still reports some, because it counts deleted records.
    var harness = try Self.ready(unsynced: 2)
    harness.chunk(0, of: 1, [Harness.record(1)])
    harness.committed([])
    #expect(harness.written().shown == [])
    harness.give(.refresh(1))
    harness.chunk(0, of: 1, [Harness.record(1)])
    harness.committed([])
    #expect(harness.written().shown == [.refreshed(1, .synced(0))])
    // A phone that does not fetch drinks stores none of them.
    var commands = try Harness.ready(unsynced: 2) { $0.syncs = false }
    #expect(commands.give(.refresh(1)).shown == [.refreshed(1, .nothingCame(2))])
  }

  @Test func `a refresh reports a bottle that sent nothing twice`() throws {
    var harness = try Self.ready(unsynced: 2)
    harness.give(.refresh(1))
    harness.pass(.seconds(6))
    harness.written()
    #expect(harness.pass(.milliseconds(4_999)).shown == [])
    #expect(
      harness.pass(.milliseconds(1)).shown
        == [.notice(.nothingCame(said: 2)), .refreshed(1, .nothingCame(2))])
  }

  @Test func `a refresh whose START is not answered fails, and does not report that nothing came`()
    throws
  {
    // The write of the time is not answered, and START waits for it.
    var harness = try Harness.ready(unsynced: 2)
    harness.give(.refresh(1))
    let failed = BottleUpdate.notice(.syncFailed(.write(.timeout(.response))))
    #expect(harness.pass(.milliseconds(4_999)).shown == [])
    #expect(harness.pass(.milliseconds(1)).shown == [failed])
    let start = BottleSync.request(count: 2, longestValue: 244).bytes
    #expect(harness.pass(.seconds(1)).writes == [start])
    #expect(harness.pass(.seconds(5)).shown == [failed], "5 s after 6 s")
    #expect(harness.pass(.milliseconds(3_999)).shown == [])
    #expect(harness.pass(.milliseconds(1)).shown == [.refreshed(1, .syncFailed)], "after 15 s")
  }

  @Test func `a refresh counts the drinks received before an interruption`() throws {
    var harness = try Self.ready(unsynced: 60)
    harness.give(.refresh(1))
    harness.chunk(0, of: 4, (1...17).map { Harness.record($0) })
    harness.committed((1...17).map { Harness.drink($0) })
    harness.say(.brokenChunk(detail: "cut"))
    harness.pass(.seconds(1))
    harness.written()
    harness.chunk(0, of: 1, (1...60).map { Harness.record($0) })
    harness.committed((18...60).map { Harness.drink($0) })
    #expect(harness.written() == [.update(.refreshed(1, .synced(60)))], "17 and 43")
  }

  @Test func `a refresh counts its drinks although its last acknowledgement was not answered`()
    throws
  {
    var harness = try Self.ready(unsynced: 2)
    harness.give(.refresh(1))
    harness.chunk(0, of: 1, [Harness.record(1), Harness.record(2)])
    harness.committed([Harness.drink(1), Harness.drink(2)])
    // The bottle has received the acknowledgement, as its next state shows.
    harness.give(.unwritten(harness.write, .reset))
    harness.say(.state(Harness.state(0)))
    #expect(harness.pass(.seconds(1)).shown == [.refreshed(1, .synced(2))])
  }

  @Test func `a refresh that times out reports its progress`() throws {
    var harness = try Self.ready(unsynced: 2)
    harness.give(.refresh(1))
    harness.chunk(0, of: 2, [Harness.record(1)])
    #expect(harness.pass(.milliseconds(14_999)).shown == [])
    #expect(harness.pass(.milliseconds(1)).shown == [.refreshed(1, .syncFailed)])
  }

  @Test func `32 requests may wait, and the next is refused at once`() throws {
    var harness = Harness.looking()
    for number: UInt64 in 1...31 { harness.give(.perform(number, Self.tare)) }
    #expect(harness.give(.refresh(32)).shown == [])
    #expect(harness.give(.refresh(33)).shown == [.refreshed(33, .connectionFailed)])
    #expect(
      harness.give(.perform(34, Self.tare)).shown == [.performed(34, .notSent(.connectionFailed))])
    #expect(harness.model.requests.entries.count == 32)
  }

  @Test func `replies arrive in any order, and each ends its own request`() throws {
    var harness = try Self.ready()
    harness.give(.perform(1, Self.tare))
    let first = harness.write
    harness.give(.perform(2, .command(.ping)))
    #expect(harness.written() == [.update(.performed(2, .done))])
    #expect(harness.give(.written(first)) == [.update(.performed(1, .done))])
    #expect(harness.pass(.seconds(20)).shown == [], "an answered request is over")
  }

  @Test func `a request that ended for lack of the adapter stays ended`() {
    var harness = Harness.looking()
    harness.give(.refresh(1))
    #expect(harness.give(.central(.adapter(.off))).shown == [.refreshed(1, .bluetoothOff)])
    #expect(harness.pass(.seconds(20)).shown == [])
  }

  @Test func `a request starts a link that was not wanted`() {
    var harness = Harness()
    harness.give(.central(.adapter(.on)))
    #expect(harness.model.isStopped)
    #expect(harness.give(.refresh(1)).contains(.scan))
    #expect(!harness.model.isStopped)
  }

  @Test func `a request and its answer count as use`() throws {
    for isAnswer in [false, true] {
      var harness = try Self.ready()
      if isAnswer { harness.give(.perform(1, Self.tare)) }
      harness.pass(.seconds(isAnswer ? 10 : 50))
      if isAnswer { harness.give(.written(harness.write)) } else { harness.give(.refresh(1)) }
      harness.pass(.milliseconds(59_999))
      #expect(harness.model.status.phase == .connected)
      harness.pass(.milliseconds(1))
      #expect(harness.model.status.phase == .disconnected)
    }
  }

  @Test func `a refresh starts again although nothing new came`() throws {
    var harness = try Self.ready(unsynced: 1)
    harness.chunk(0, of: 1, [Harness.record(1)])
    harness.committed([])
    harness.written()
    #expect(
      harness.give(.refresh(1)).writes
        == [BottleSync.request(count: 1, longestValue: 244).bytes])
    harness.chunk(0, of: 1, [Harness.record(1)])
    harness.committed([])
    #expect(harness.written() == [.update(.refreshed(1, .synced(0)))])
  }

  @Test func `each synchronization counts its own drinks`() throws {
    var harness = try Self.ready(unsynced: 1)
    for id: UInt32 in 1...2 {
      harness.give(.refresh(UInt64(id)))
      harness.chunk(0, of: 1, [Harness.record(id)])
      harness.committed([Harness.drink(id)])
      #expect(harness.written() == [.update(.refreshed(UInt64(id), .synced(1)))])
      harness.say(.state(Harness.state(0)))
      harness.say(.state(Harness.state(1)))
    }
  }

  @Test func `a refresh ends when all retries have failed`() throws {
    var harness = try Harness.ready(unsynced: 1) { $0.syncRetries = [.seconds(1)] }
    harness.give(.refresh(1))
    harness.say(.brokenChunk(detail: "cut"))
    harness.pass(.seconds(1))
    #expect(
      harness.say(.brokenChunk(detail: "cut")).shown == [
        .notice(.syncFailed(.malformed(detail: "cut"))), .refreshed(1, .syncFailed),
      ])
  }
}
