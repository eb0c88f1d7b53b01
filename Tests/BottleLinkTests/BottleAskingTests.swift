import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import BottleLink

/// Tests of refreshes and commands, step by step.
@Suite struct BottleAskingTests {
  private static let tare = BottleRequest.command(.tare)
  private static let delete = BottleRequest.command(.delete(41))

  private static func ready(unsynced: UInt16 = 0) throws -> Hand {
    var hand = try Hand.ready(unsynced: unsynced)
    hand.written()
    return hand
  }

  @Test func `each kind of request goes to its characteristic`() throws {
    var hand = try Self.ready()
    let requests: [(BottleRequest, BottleAttribute, [UInt8])] = [
      (Self.tare, .command, [1, 0, 0, 0]),
      (.settings(BottleSwitches(shakeToEmpty: true)), .settings, [1, 0, 0, 0]),
      (
        .configuration(BottleConfiguration(scale: 412.5, tare: 233)), .configuration,
        BottleConfiguration(scale: 412.5, tare: 233).bytes
      ),
    ]
    for (number, request) in requests.enumerated() {
      let effects = hand.give(.perform(UInt64(number), request.0))
      #expect(
        effects == [
          .write(hand.attempt, WriteID(UInt64(number) + 2), request.1, request.2)
        ])
      #expect(hand.written() == [.update(.performed(UInt64(number), .done))])
      #expect(hand.written() == [])
    }
    hand.give(.perform(9, Self.tare))
    #expect(
      hand.give(.unwritten(hand.write, .refused)) == [.update(.performed(9, .refused))])
  }

  @Test func `sends waiting requests in order once the bottle is discovered`() throws {
    var hand = try Hand.opened()
    #expect(hand.give(.perform(1, Self.tare)).writes == [])
    #expect(hand.give(.perform(2, .command(.ping))).writes == [])
    let effects = hand.give(
      .discovered(hand.attempt, longestValue: 244, Hand.state(0), at: hand.wall))
    #expect(effects.writes.suffix(2) == [[1, 0, 0, 0], [2, 0, 0, 0]])
    #expect(hand.give(.perform(3, Self.tare)).writes == [[1, 0, 0, 0]], "the others were sent")
  }

  @Test func `refuses an invalid request with the remedy and does not send it`() throws {
    var hand = try Self.ready()
    #expect(
      hand.give(.perform(1, .command(.setTime(0))))
        == [.update(.performed(1, .invalid("the time must be from 2020 to 2106")))])
    let wrong = BottleRequest.configuration(BottleConfiguration(scale: 1, tare: 0))
    #expect(
      hand.give(.perform(2, wrong))
        == [.update(.performed(2, .invalid("the scale factor must be 100 to 800")))])
  }

  // Deletions.

  @Test func `a deletion is confirmed by the next state`() throws {
    var hand = try Self.ready()
    #expect(hand.give(.perform(1, Self.delete)).writes == [BottleCommand.delete(41).bytes])
    #expect(hand.written() == [])
    hand.pass(.milliseconds(4_999))
    var change = DrinkChange(at: hand.wall)
    change.deleted = 41
    #expect(
      hand.say(.state(Hand.state(0)))
        == [.commit(2, change), .update(.performed(1, .done))])
    #expect(hand.say(.state(Hand.state(0))) == [])
    #expect(hand.pass(.seconds(10)).shown == [])
  }

  @Test func `a state that arrives before the answer of the write confirms a deletion, too`() throws
  {
    var hand = try Self.ready()
    hand.give(.perform(1, Self.delete))
    #expect(hand.say(.state(Hand.state(0))) == [])
    var change = DrinkChange(at: hand.wall)
    change.deleted = 41
    #expect(hand.written() == [.commit(2, change), .update(.performed(1, .done))])
  }

  @Test func `a state from before the deletion confirms nothing`() throws {
    var hand = try Hand.opened()
    hand.give(.perform(1, Self.delete))
    hand.give(.discovered(hand.attempt, longestValue: 244, Hand.state(0), at: hand.wall))
    #expect(hand.written() == [])
    #expect(hand.pass(.seconds(5)).shown == [.performed(1, .unconfirmed)])
  }

  @Test func `does not store a refused deletion`() throws {
    var hand = try Self.ready()
    hand.give(.perform(1, Self.delete))
    hand.say(.state(Hand.state(0)))
    #expect(
      hand.give(.unwritten(hand.write, .refused)) == [.update(.performed(1, .refused))])
  }

  @Test func `a program that only sends commands stores no deletion`() throws {
    var hand = try Hand.ready { $0.syncs = false }
    hand.give(.perform(1, Self.delete))
    hand.written()
    #expect(hand.say(.state(Hand.state(0))) == [.update(.performed(1, .done))])
  }

  // Losses and time.

  @Test func `a loss leaves sent requests unconfirmed`() throws {
    var hand = try Self.ready()
    hand.give(.perform(1, Self.delete))
    hand.written()
    hand.give(.perform(2, Self.tare))
    let lost = hand.give(.central(.disconnected(hand.attempt, .reset)))
    #expect(lost.shown == [.performed(1, .unconfirmed), .performed(2, .unconfirmed)])
    #expect(hand.model.requests.entries == [])
  }

  @Test func `a loss during discovery keeps waiting requests`() throws {
    var hand = try Hand.opened()
    hand.give(.perform(1, Self.tare))
    #expect(hand.give(.central(.disconnected(hand.attempt, .reset))).shown == [])
    #expect(hand.model.requests.entries.map(\.id) == [1])
    let late = hand.pass(.seconds(15))
    #expect(late.shown == [.performed(1, .notSent(.connectionFailed))], "it had been found")
  }

  @Test(arguments: [(BottleRefreshResult.bottleAsleep, false), (.connectionFailed, true)])
  func `waiting requests end after 15 s`(result: BottleRefreshResult, isFound: Bool) throws {
    var hand = Hand.looking()
    hand.give(.refresh(1))
    hand.give(.perform(2, Self.tare))
    if isFound { hand.give(.central(.found(Hand.bottle.id, name: nil))) }
    #expect(hand.pass(.milliseconds(14_999)).shown == [])
    #expect(
      hand.pass(.milliseconds(1)).shown
        == [.refreshed(1, result), .performed(2, .notSent(result))])
  }

  @Test func `a request scans for 10 s, burst after burst`() throws {
    var hand = Hand.looking()
    hand.pass(.seconds(30))
    let begin = hand.now
    hand.give(.refresh(1))
    hand.pass(.milliseconds(9_999))
    #expect(hand.model.isScanning)
    hand.pass(.milliseconds(1))
    #expect(!hand.model.isScanning)
    #expect(begin.duration(to: hand.now) == .seconds(10))
  }

  @Test(arguments: [AdapterState.resetting, .unknown])
  func `a request may still succeed when the adapter comes back`(state: AdapterState) throws {
    var hand = Hand.looking()
    hand.give(.central(.adapter(state)))
    #expect(hand.give(.refresh(1)).shown == [])
    #expect(hand.give(.central(.adapter(.on))).contains(.scan))
    #expect(hand.give(.central(.adapter(.off))).shown == [.refreshed(1, .bluetoothOff)])
  }

  // Refreshes.

  @Test func `a refresh of a bottle without drinks ends at once`() throws {
    var hand = try Self.ready()
    #expect(hand.give(.refresh(1)) == [.update(.refreshed(1, .alreadySynced))])
    var commands = try Hand.ready { $0.syncs = false }
    #expect(commands.give(.refresh(1)) == [.update(.refreshed(1, .alreadySynced))])
  }

  @Test func `a refresh waits for the synchronization in progress`() throws {
    var hand = try Self.ready(unsynced: 3)
    #expect(hand.give(.refresh(1)) == [])
    #expect(hand.give(.refresh(2)) == [])
    hand.chunk(0, of: 1, [Hand.record(1), Hand.record(2), Hand.record(3)])
    hand.committed([Hand.drink(1), Hand.drink(2)])
    #expect(
      hand.written() == [.update(.refreshed(1, .synced(2))), .update(.refreshed(2, .synced(2)))])
  }

  @Test func `a refresh starts again after all retries have failed`() throws {
    var hand = try Self.ready(unsynced: 1)
    for wait in [1, 5, 15, 1] {
      hand.chunk(0, of: 1, [Hand.record(1)])
      hand.give(.uncommitted(hand.commit, .full(detail: "full")))
      hand.pass(.seconds(wait))
    }
    #expect(!hand.model.sync.isRunning)
    let asked = hand.give(.refresh(1))
    #expect(asked.writes == [BottleSync.request(count: 1, longestValue: 244).bytes])
    #expect(asked.shown == [])
    hand.chunk(0, of: 1, [Hand.record(1)])
    let failed = hand.give(.uncommitted(hand.commit, .full(detail: "full")))
    #expect(failed.shown == [.notice(.syncFailed(.store(.full(detail: "full"))))])
  }

  @Test func `a refresh does not wait for the next retry`() throws {
    var hand = try Self.ready(unsynced: 1)
    hand.say(.brokenChunk(detail: "cut"))
    #expect(
      hand.give(.refresh(1)).writes
        == [BottleSync.request(count: 1, longestValue: 122).bytes])
  }

  @Test func `a bottle that reports pending drinks is not called already synced`() throws {
    // Its drinks arrive, but it still reports some: it counts deleted records.
    var hand = try Self.ready(unsynced: 2)
    hand.chunk(0, of: 1, [Hand.record(1)])
    hand.committed([])
    #expect(hand.written().shown == [])
    hand.give(.refresh(1))
    hand.chunk(0, of: 1, [Hand.record(1)])
    hand.committed([])
    #expect(hand.written().shown == [.refreshed(1, .synced(0))])
    // A phone that does not fetch drinks stores none of them.
    var commands = try Hand.ready(unsynced: 2) { $0.syncs = false }
    #expect(commands.give(.refresh(1)).shown == [.refreshed(1, .nothingCame(2))])
  }

  @Test func `a refresh reports a bottle that sent nothing twice`() throws {
    var hand = try Self.ready(unsynced: 2)
    hand.give(.refresh(1))
    hand.pass(.seconds(6))
    hand.written()
    #expect(hand.pass(.milliseconds(4_999)).shown == [])
    #expect(
      hand.pass(.milliseconds(1)).shown
        == [.notice(.nothingCame(said: 2)), .refreshed(1, .nothingCame(2))])
  }

  @Test func `a refresh whose START is not answered fails, and does not report that nothing came`()
    throws
  {
    // The write of the time is not answered, and START waits behind it.
    var hand = try Hand.ready(unsynced: 2)
    hand.give(.refresh(1))
    let failed = BottleUpdate.notice(.syncFailed(.write(.timeout(.response))))
    #expect(hand.pass(.milliseconds(4_999)).shown == [])
    #expect(hand.pass(.milliseconds(1)).shown == [failed])
    let start = BottleSync.request(count: 2, longestValue: 244).bytes
    #expect(hand.pass(.seconds(1)).writes == [start])
    #expect(hand.pass(.seconds(5)).shown == [failed], "5 s after 6 s")
    #expect(hand.pass(.milliseconds(3_999)).shown == [])
    #expect(hand.pass(.milliseconds(1)).shown == [.refreshed(1, .syncFailed)], "after 15 s")
  }

  @Test func `a refresh counts the drinks received before an interruption`() throws {
    var hand = try Self.ready(unsynced: 60)
    hand.give(.refresh(1))
    hand.chunk(0, of: 4, (1...17).map { Hand.record($0) })
    hand.committed((1...17).map { Hand.drink($0) })
    hand.say(.brokenChunk(detail: "cut"))
    hand.pass(.seconds(1))
    hand.written()
    hand.chunk(0, of: 1, (1...60).map { Hand.record($0) })
    hand.committed((18...60).map { Hand.drink($0) })
    #expect(hand.written() == [.update(.refreshed(1, .synced(60)))], "17 and 43")
  }

  @Test func `a refresh counts its drinks although its last acknowledgement was not answered`()
    throws
  {
    var hand = try Self.ready(unsynced: 2)
    hand.give(.refresh(1))
    hand.chunk(0, of: 1, [Hand.record(1), Hand.record(2)])
    hand.committed([Hand.drink(1), Hand.drink(2)])
    // The bottle has received it and reports so.
    hand.give(.unwritten(hand.write, .reset))
    hand.say(.state(Hand.state(0)))
    #expect(hand.pass(.seconds(1)).shown == [.refreshed(1, .synced(2))])
  }

  @Test func `a refresh that times out reports its progress`() throws {
    var hand = try Self.ready(unsynced: 2)
    hand.give(.refresh(1))
    hand.chunk(0, of: 2, [Hand.record(1)])
    #expect(hand.pass(.milliseconds(14_999)).shown == [])
    #expect(hand.pass(.milliseconds(1)).shown == [.refreshed(1, .syncFailed)])
  }

  @Test func `32 requests may wait, and the next is refused at once`() throws {
    var hand = Hand.looking()
    for number: UInt64 in 1...31 { hand.give(.perform(number, Self.tare)) }
    #expect(hand.give(.refresh(32)).shown == [])
    #expect(hand.give(.refresh(33)).shown == [.refreshed(33, .connectionFailed)])
    #expect(
      hand.give(.perform(34, Self.tare)).shown == [.performed(34, .notSent(.connectionFailed))])
    #expect(hand.model.requests.entries.count == 32)
  }

  @Test func `replies arrive in any order, and each ends its own request`() throws {
    var hand = try Self.ready()
    hand.give(.perform(1, Self.tare))
    let first = hand.write
    hand.give(.perform(2, .command(.ping)))
    #expect(hand.written() == [.update(.performed(2, .done))])
    #expect(hand.give(.written(first)) == [.update(.performed(1, .done))])
    #expect(hand.pass(.seconds(20)).shown == [], "an answered request is over")
  }

  @Test func `a request that ended for lack of the adapter stays ended`() {
    var hand = Hand.looking()
    hand.give(.refresh(1))
    #expect(hand.give(.central(.adapter(.off))).shown == [.refreshed(1, .bluetoothOff)])
    #expect(hand.pass(.seconds(20)).shown == [])
  }

  @Test func `a request starts a link that was not wanted`() {
    var hand = Hand()
    hand.give(.central(.adapter(.on)))
    #expect(hand.model.isStopped)
    #expect(hand.give(.refresh(1)).contains(.scan))
    #expect(!hand.model.isStopped)
  }

  @Test func `a request and its answer count as use`() throws {
    for isAnswer in [false, true] {
      var hand = try Self.ready()
      if isAnswer { hand.give(.perform(1, Self.tare)) }
      hand.pass(.seconds(isAnswer ? 10 : 50))
      if isAnswer { hand.give(.written(hand.write)) } else { hand.give(.refresh(1)) }
      hand.pass(.milliseconds(59_999))
      #expect(hand.model.status.phase == .connected)
      hand.pass(.milliseconds(1))
      #expect(hand.model.status.phase == .disconnected)
    }
  }

  @Test func `a refresh starts again although nothing new came`() throws {
    var hand = try Self.ready(unsynced: 1)
    hand.chunk(0, of: 1, [Hand.record(1)])
    hand.committed([])
    hand.written()
    #expect(
      hand.give(.refresh(1)).writes
        == [BottleSync.request(count: 1, longestValue: 244).bytes])
    hand.chunk(0, of: 1, [Hand.record(1)])
    hand.committed([])
    #expect(hand.written() == [.update(.refreshed(1, .synced(0)))])
  }

  @Test func `each synchronization counts its own drinks`() throws {
    var hand = try Self.ready(unsynced: 1)
    for id: UInt32 in 1...2 {
      hand.give(.refresh(UInt64(id)))
      hand.chunk(0, of: 1, [Hand.record(id)])
      hand.committed([Hand.drink(id)])
      #expect(hand.written() == [.update(.refreshed(UInt64(id), .synced(1)))])
      hand.say(.state(Hand.state(0)))
      hand.say(.state(Hand.state(1)))
    }
  }

  @Test func `a refresh ends when all retries have failed`() throws {
    var hand = try Hand.ready(unsynced: 1) { $0.syncRetries = [.seconds(1)] }
    hand.give(.refresh(1))
    hand.say(.brokenChunk(detail: "cut"))
    hand.pass(.seconds(1))
    #expect(
      hand.say(.brokenChunk(detail: "cut")).shown == [
        .notice(.syncFailed(.malformed(detail: "cut"))), .refreshed(1, .syncFailed),
      ])
  }
}
