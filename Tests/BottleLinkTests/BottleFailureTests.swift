import LinkCore
import LinkWire
import Testing

@testable import BottleLink

/// Tests of failed synchronizations and their retries.
@Suite struct BottleFailureTests {
  private static func start(_ count: UInt16, longest: Int = 244) -> [UInt8] {
    BottleSync.request(count: count, longestValue: longest).bytes
  }

  /// Returns a harness whose connection is kept by a hold, so that only drinks matter.
  private static func held(unsynced: UInt16) throws -> Hand {
    var hand = try Hand.ready(unsynced: unsynced)
    hand.written()
    hand.give(.hold(true))
    hand.written()
    return hand
  }

  /// Returns the requests for drinks by the second of their sending; pings of the hold are
  /// answered.
  private static func asked(_ hand: inout Hand, within seconds: Int) -> [Int: [[UInt8]]] {
    var found: [Int: [[UInt8]]] = [:]
    let begin = hand.now
    for _ in 0..<seconds * 2 {
      for bytes in hand.pass(.milliseconds(500)).writes {
        if bytes == BottleCommand.ping.bytes {
          hand.written()
        } else {
          found[Int(begin.duration(to: hand.now).components.seconds), default: []].append(bytes)
        }
      }
    }
    return found
  }

  @Test
  func `a chunk missing for 30 s ends the synchronization, which begins again after a second`()
    throws
  {
    var hand = try Self.held(unsynced: 40)
    hand.chunk(0, of: 3, [Hand.record(1)])
    hand.committed([Hand.drink(1)])
    hand.written()
    var effects = hand.pass(.milliseconds(24_999))
    if !effects.writes.isEmpty { hand.written() }
    effects = hand.pass(.milliseconds(5_000))
    if !effects.writes.isEmpty { hand.written() }
    #expect(hand.model.sync.isRunning)
    #expect(hand.pass(.milliseconds(1)).notices == [.syncFailed(.silence)])
    #expect(!hand.model.sync.isRunning)
    #expect(hand.pass(.milliseconds(999)).writes == [])
    #expect(hand.pass(.milliseconds(1)).writes == [Self.start(40)])
  }

  @Test func `requests a first chunk that does not come in 5 s once more`() throws {
    var hand = try Self.held(unsynced: 2)
    #expect(hand.pass(.milliseconds(4_999)) == [])
    #expect(hand.model.sync.isRunning)
    #expect(hand.pass(.milliseconds(1)) == [])
    #expect(!hand.model.sync.isRunning)
    #expect(hand.pass(.milliseconds(999)).writes == [])
    #expect(hand.pass(.milliseconds(1)).writes == [Self.start(2)])
    hand.written()
    #expect(hand.pass(.milliseconds(4_999)).notices == [])
    #expect(hand.pass(.milliseconds(1)).notices == [.nothingCame(said: 2)])
    #expect(hand.say(.state(Hand.state(2, level: 490))).writes == [], "it was asked twice")
    #expect(hand.say(.state(Hand.state(3))).writes == [Self.start(3)])
    hand.written()
    #expect(hand.pass(.seconds(5)).notices == [], "the count of silences began anew")
  }

  @Test func `a complete synchronization resets the count of silences`() throws {
    var hand = try Self.held(unsynced: 1)
    hand.pass(.seconds(6))
    hand.written()
    hand.chunk(0, of: 1, [Hand.record(1)])
    hand.committed([Hand.drink(1)])
    hand.written()
    hand.say(.state(Hand.state(0)))
    hand.say(.state(Hand.state(1)))
    hand.written()
    #expect(hand.pass(.seconds(5)).notices == [])
  }

  @Test func `begins again after 1, 5 and 15 s, and then no more`() throws {
    var hand = try Self.held(unsynced: 1)
    for wait in [1, 5, 15] {
      #expect(hand.chunk(0, of: 1, [Hand.record(1)]).count == 1)
      let failed = hand.give(.uncommitted(hand.commit, .full(detail: "full")))
      #expect(failed.notices == [.syncFailed(.store(.full(detail: "full")))])
      #expect(hand.say(.state(Hand.state(1, level: UInt16(wait)))).writes == [], "it waits")
      #expect(Self.asked(&hand, within: wait) == [wait: [Self.start(1)]])
    }
    hand.chunk(0, of: 1, [Hand.record(1)])
    hand.give(.uncommitted(hand.commit, .full(detail: "full")))
    #expect(Self.asked(&hand, within: 40) == [:])
    #expect(hand.say(.state(Hand.state(1, level: 15))).writes == [], "nothing new was reported")
    #expect(hand.say(.state(Hand.state(1, level: 14))).writes == [Self.start(1)])
    hand.written()
    hand.chunk(0, of: 1, [Hand.record(1)])
    hand.give(.uncommitted(hand.commit, .full(detail: "full")))
    #expect(Self.asked(&hand, within: 2) == [1: [Self.start(1)]], "all waits begin anew")
  }

  @Test func `a success resets the count of failures`() throws {
    var hand = try Self.held(unsynced: 1)
    for wait in [1, 5] {
      hand.chunk(0, of: 1, [Hand.record(1)])
      hand.give(.uncommitted(hand.commit, .full(detail: "full")))
      _ = Self.asked(&hand, within: wait)
      hand.written()
    }
    hand.chunk(0, of: 1, [Hand.record(1)])
    hand.committed([Hand.drink(1)])
    hand.written()
    hand.say(.state(Hand.state(0)))
    hand.say(.state(Hand.state(1)))
    hand.chunk(0, of: 1, [Hand.record(2)])
    hand.give(.uncommitted(hand.commit, .full(detail: "full")))
    #expect(Self.asked(&hand, within: 4) == [1: [Self.start(1)]])
  }

  @Test func `each broken chunk halves the size of the next ones, down to 20 bytes`() throws {
    var hand = try Self.held(unsynced: 50)
    var sizes: [[UInt8]] = []
    for wait in [1, 5, 15] {
      let failed = hand.say(.brokenChunk(detail: "cut"))
      #expect(failed.notices == [.syncFailed(.malformed(detail: "cut"))])
      sizes += Self.asked(&hand, within: wait)[wait] ?? []
      hand.written()
    }
    #expect(sizes == [122, 61, 30].map { Self.start(50, longest: $0) })
    hand.say(.brokenChunk(detail: "cut"))
    hand.give(.refresh(1))
    hand.say(.brokenChunk(detail: "cut"))
    #expect(Self.asked(&hand, within: 1)[1] == [Self.start(50, longest: 20)])
  }

  @Test func `a first chunk other than number 0 is a failure, unless number 0 follows`() throws {
    var hand = try Self.held(unsynced: 3)
    for wait in [1, 5, 15] {
      #expect(hand.chunk(1, of: 3, [Hand.record(2)]) == [])
      #expect(hand.chunk(2, of: 3, [Hand.record(3)]) == [])
      #expect(hand.pass(.milliseconds(4_999)).notices == [])
      #expect(
        hand.pass(.milliseconds(1)).notices == [.syncFailed(.missingChunk(expected: 0, found: 1))])
      #expect(Self.asked(&hand, within: wait) == [wait: [Self.start(3)]])
      hand.written()
    }
    #expect(hand.chunk(1, of: 3, [Hand.record(2)]) == [])
    hand.chunk(0, of: 1, [Hand.record(1)])
    hand.committed([Hand.drink(1)])
    #expect(hand.written().notices == [])
  }

  @Test func `a chunk out of order ends the synchronization`() throws {
    var hand = try Self.held(unsynced: 3)
    hand.chunk(0, of: 3, [Hand.record(1)])
    #expect(
      hand.chunk(1, of: 3, [Hand.record(2)]).notices
        == [.syncFailed(.missingChunk(expected: 0, found: 1))])
    #expect(!hand.model.sync.isRunning)
    #expect(hand.committed([Hand.drink(1)]).writes == [], "nothing is acknowledged any more")
  }

  @Test func `failed writes end a synchronization in progress`() throws {
    var hand = try Hand.ready(unsynced: 1)
    let start = hand.write
    #expect(
      hand.give(.unwritten(start, .reset)).notices == [.syncFailed(.write(.reset))])
    hand.pass(.seconds(1))
    hand.written()
    hand.chunk(0, of: 2, [Hand.record(1)])
    hand.committed([Hand.drink(1)])
    let acknowledgement = hand.write
    #expect(
      hand.give(.unwritten(acknowledgement, .reset)).notices == [.syncFailed(.write(.reset))])
    #expect(hand.give(.unwritten(acknowledgement, .reset)) == [], "reported twice")
  }

  @Test func `a write that fails after its synchronization has ended changes nothing`() throws {
    var hand = try Hand.ready(unsynced: 1)
    let start = hand.write
    hand.say(.brokenChunk(detail: "cut"))
    #expect(hand.give(.unwritten(start, .reset)) == [])
  }

  @Test func `a last acknowledgement that is refused fails the synchronisation`() throws {
    var hand = try Hand.ready(unsynced: 1)
    hand.chunk(0, of: 1, [Hand.record(1)])
    hand.committed([Hand.drink(1)])
    #expect(
      hand.give(.unwritten(hand.write, .refused)).notices == [.syncFailed(.write(.refused))])
    #expect(!hand.model.sync.isRunning)
  }

  @Test func `reports a failed commit without drinks, which ends nothing`() throws {
    var hand = try Hand.ready(unsynced: 1)
    let effects = hand.give(.uncommitted(1, .full(detail: "full")))
    #expect(effects.notices == [.notStored(detail: StoreFailure.full(detail: "full").description)])
    #expect(hand.model.sync.isRunning)
  }

  @Test func `a loss ends a synchronization and is reported`() throws {
    var hand = try Hand.ready(unsynced: 1)
    let lost = hand.give(.central(.disconnected(hand.attempt, .reset)))
    #expect(lost.notices == [.syncFailed(.disconnected)])
    var idle = try Hand.ready()
    #expect(idle.give(.central(.disconnected(idle.attempt, .reset))).notices == [])
  }

  @Test func `a ping that the bottle refuses ends the connection`() throws {
    var hand = try Hand.ready()
    hand.give(.hold(true))
    hand.written()
    #expect(hand.pass(.seconds(25)).writes == [BottleCommand.ping.bytes])
    let effects = hand.give(.unwritten(hand.write, .refused))
    #expect(effects.contains(.cancel(hand.attempt)))
    #expect(hand.model.status.phase == .disconnected)
    var woken = try Hand.ready()
    woken.give(.hold(true))
    #expect(woken.give(.unwritten(woken.write, .refused)) == [], "the ping only wakes it")
  }

  @Test func `each failure has a description`() {
    let failures: [SyncFailure] = [
      .missingChunk(expected: 1, found: 3), .changedTotal(from: 2, to: 4),
      .malformed(detail: "cut"), .silence, .write(.reset), .disconnected,
    ]
    #expect(
      failures.map(\.text) == [
        "chunk 3 came instead of 1", "the number of chunks changed from 2 to 4", "cut",
        "the bottle sent no more chunks", "the bottle did not take what was written",
        "the bottle disconnected",
      ])
  }
}
