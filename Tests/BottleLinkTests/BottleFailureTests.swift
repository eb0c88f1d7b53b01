import HoldfastBottleData
import HoldfastCore
import Testing

@testable import HoldfastBottleLink

/// Tests of failed synchronizations and their retries.
@Suite struct BottleFailureTests {
  private static func start(_ count: UInt16, longest: Int = 244) -> [UInt8] {
    BottleSync.request(count: count, longestValue: longest).bytes
  }

  /// Returns a harness whose connection is kept open by a hold, so that only drinks cause requests.
  private static func held(unsynced: UInt16) throws -> Harness {
    var harness = try Harness.ready(unsynced: unsynced)
    harness.written()
    harness.give(.hold(true))
    harness.written()
    return harness
  }

  /// Returns the requests for drinks by the second in which they are sent. The pings of the hold
  /// are answered.
  private static func asked(_ harness: inout Harness, within seconds: Int) -> [Int: [[UInt8]]] {
    var found: [Int: [[UInt8]]] = [:]
    let begin = harness.now
    for _ in 0..<seconds * 2 {
      for bytes in harness.pass(.milliseconds(500)).writes {
        if bytes == BottleCommand.ping.bytes {
          harness.written()
        } else {
          found[Int(begin.duration(to: harness.now).components.seconds), default: []].append(bytes)
        }
      }
    }
    return found
  }

  @Test func `a failure after which the policy stops is shown until the app reconnects`() throws {
    let policy = try LinkPolicy.bottleLink.setting([(key: "failure.protocolError", value: "stop")])
    var harness = try Harness.opened { $0.policy = policy }
    let failure = LinkFailure.protocolError(detail: "a service is missing")
    #expect(!harness.model.status.isFinal)
    harness.give(.undiscovered(harness.attempt, failure))
    #expect(harness.model.status.isFinal)
    #expect(
      harness.model.status.description
        == "disconnected: the protocol was violated: a service is missing")
    for state in [AdapterState.off, .on] {
      harness.give(.central(.adapter(state)))
      #expect(harness.model.status.isFinal)
      #expect(harness.model.status.failure == failure)
    }
    harness.give(.start)
    #expect(!harness.model.status.isFinal)
    #expect(harness.model.status.failure == nil)
  }

  @Test func `a failure that is retried is shown, but is not final`() throws {
    var harness = try Harness.opened()
    harness.give(.undiscovered(harness.attempt, .timeout(.response)))
    #expect(harness.model.status.failure == .timeout(.response))
    #expect(!harness.model.status.isFinal)
    harness.pass(.seconds(60))
    #expect(!harness.model.status.isFinal)
    for state in [AdapterState.off, .on] {
      harness.give(.central(.adapter(state)))
      #expect(!harness.model.status.isFinal)
    }
  }

  @Test
  func `a chunk missing for 30 s ends the synchronization, which begins again after a second`()
    throws
  {
    var harness = try Self.held(unsynced: 40)
    harness.chunk(0, of: 3, [Harness.record(1)])
    harness.committed([Harness.drink(1)])
    harness.written()
    var effects = harness.pass(.milliseconds(24_999))
    if !effects.writes.isEmpty { harness.written() }
    effects = harness.pass(.milliseconds(5_000))
    if !effects.writes.isEmpty { harness.written() }
    #expect(harness.model.sync.isRunning)
    #expect(harness.pass(.milliseconds(1)).notices == [.syncFailed(.silence)])
    #expect(!harness.model.sync.isRunning)
    #expect(harness.pass(.milliseconds(999)).writes == [])
    #expect(harness.pass(.milliseconds(1)).writes == [Self.start(40)])
  }

  @Test func `requests a first chunk that does not come in 5 s once more`() throws {
    var harness = try Self.held(unsynced: 2)
    #expect(harness.pass(.milliseconds(4_999)) == [])
    #expect(harness.model.sync.isRunning)
    #expect(harness.pass(.milliseconds(1)) == [])
    #expect(!harness.model.sync.isRunning)
    #expect(harness.pass(.milliseconds(999)).writes == [])
    #expect(harness.pass(.milliseconds(1)).writes == [Self.start(2)])
    harness.written()
    #expect(harness.pass(.milliseconds(4_999)).notices == [])
    #expect(harness.pass(.milliseconds(1)).notices == [.nothingCame(said: 2)])
    #expect(harness.say(.state(Harness.state(2, level: 490))).writes == [], "it was asked twice")
    #expect(harness.say(.state(Harness.state(3))).writes == [Self.start(3)])
    harness.written()
    #expect(harness.pass(.seconds(5)).notices == [], "the count of silences started over")
  }

  @Test func `requests as many records again once the bottle has reported another count`() throws {
    var harness = try Self.held(unsynced: 2)
    harness.pass(.seconds(6))
    harness.written()
    harness.pass(.seconds(5))
    #expect(harness.say(.state(Harness.state(2, level: 490))).writes == [])
    #expect(harness.say(.state(Harness.state(0))).writes == [])
    #expect(harness.say(.state(Harness.state(2))).writes == [Self.start(2)])
  }

  @Test func `a complete synchronization resets the count of silences`() throws {
    var harness = try Self.held(unsynced: 1)
    harness.pass(.seconds(6))
    harness.written()
    harness.chunk(0, of: 1, [Harness.record(1)])
    harness.committed([Harness.drink(1)])
    harness.written()
    harness.say(.state(Harness.state(0)))
    harness.say(.state(Harness.state(1)))
    harness.written()
    #expect(harness.pass(.seconds(5)).notices == [])
  }

  @Test func `begins again after 1, 5 and 15 s, and then no more`() throws {
    var harness = try Self.held(unsynced: 1)
    for wait in [1, 5, 15] {
      #expect(harness.chunk(0, of: 1, [Harness.record(1)]).count == 1)
      let failed = harness.give(.uncommitted(harness.commit, .full(detail: "full")))
      #expect(failed.notices == [.syncFailed(.store(.full(detail: "full")))])
      #expect(harness.say(.state(Harness.state(1, level: UInt16(wait)))).writes == [], "it waits")
      #expect(Self.asked(&harness, within: wait) == [wait: [Self.start(1)]])
    }
    harness.chunk(0, of: 1, [Harness.record(1)])
    harness.give(.uncommitted(harness.commit, .full(detail: "full")))
    #expect(Self.asked(&harness, within: 40) == [:])
    #expect(
      harness.say(.state(Harness.state(1, level: 15))).writes == [], "nothing new was reported")
    #expect(harness.say(.state(Harness.state(1, level: 14))).writes == [Self.start(1)])
    harness.written()
    harness.chunk(0, of: 1, [Harness.record(1)])
    harness.give(.uncommitted(harness.commit, .full(detail: "full")))
    #expect(Self.asked(&harness, within: 2) == [1: [Self.start(1)]], "all waits start over")
  }

  @Test func `a success resets the count of failures`() throws {
    var harness = try Self.held(unsynced: 1)
    for wait in [1, 5] {
      harness.chunk(0, of: 1, [Harness.record(1)])
      harness.give(.uncommitted(harness.commit, .full(detail: "full")))
      _ = Self.asked(&harness, within: wait)
      harness.written()
    }
    harness.chunk(0, of: 1, [Harness.record(1)])
    harness.committed([Harness.drink(1)])
    harness.written()
    harness.say(.state(Harness.state(0)))
    harness.say(.state(Harness.state(1)))
    harness.chunk(0, of: 1, [Harness.record(2)])
    harness.give(.uncommitted(harness.commit, .full(detail: "full")))
    #expect(Self.asked(&harness, within: 4) == [1: [Self.start(1)]])
  }

  @Test func `each broken chunk halves the size of the next ones, down to 20 bytes`() throws {
    var harness = try Self.held(unsynced: 50)
    var sizes: [[UInt8]] = []
    for wait in [1, 5, 15] {
      let failed = harness.say(.brokenChunk(detail: "cut"))
      #expect(failed.notices == [.syncFailed(.malformed(detail: "cut"))])
      sizes += Self.asked(&harness, within: wait)[wait] ?? []
      harness.written()
    }
    #expect(sizes == [122, 61, 30].map { Self.start(50, longest: $0) })
    harness.say(.brokenChunk(detail: "cut"))
    harness.give(.refresh(1))
    harness.say(.brokenChunk(detail: "cut"))
    #expect(Self.asked(&harness, within: 1)[1] == [Self.start(50, longest: 20)])
  }

  @Test func `a first chunk other than number 0 is a failure, unless number 0 follows`() throws {
    var harness = try Self.held(unsynced: 3)
    for wait in [1, 5, 15] {
      #expect(harness.chunk(1, of: 3, [Harness.record(2)]) == [])
      #expect(harness.chunk(2, of: 3, [Harness.record(3)]) == [])
      #expect(harness.pass(.milliseconds(4_999)).notices == [])
      #expect(
        harness.pass(.milliseconds(1)).notices == [
          .syncFailed(.missingChunk(expected: 0, found: 1))
        ])
      #expect(Self.asked(&harness, within: wait) == [wait: [Self.start(3)]])
      harness.written()
    }
    #expect(harness.chunk(1, of: 3, [Harness.record(2)]) == [])
    harness.chunk(0, of: 1, [Harness.record(1)])
    harness.committed([Harness.drink(1)])
    #expect(harness.written().notices == [])
  }

  @Test func `a chunk out of order ends the synchronization`() throws {
    var harness = try Self.held(unsynced: 3)
    harness.chunk(0, of: 3, [Harness.record(1)])
    #expect(
      harness.chunk(1, of: 3, [Harness.record(2)]).notices
        == [.syncFailed(.missingChunk(expected: 0, found: 1))])
    #expect(!harness.model.sync.isRunning)
    #expect(harness.committed([Harness.drink(1)]).writes == [], "nothing is acknowledged any more")
  }

  @Test func `failed writes end a synchronization in progress`() throws {
    var harness = try Harness.ready(unsynced: 1)
    let start = harness.write
    #expect(
      harness.give(.unwritten(start, .reset)).notices == [.syncFailed(.write(.reset))])
    harness.pass(.seconds(1))
    harness.written()
    harness.chunk(0, of: 2, [Harness.record(1)])
    harness.committed([Harness.drink(1)])
    let acknowledgement = harness.write
    #expect(
      harness.give(.unwritten(acknowledgement, .reset)).notices == [.syncFailed(.write(.reset))])
    #expect(harness.give(.unwritten(acknowledgement, .reset)) == [], "reported twice")
  }

  @Test func `a write that fails after its synchronization has ended changes nothing`() throws {
    var harness = try Harness.ready(unsynced: 1)
    let start = harness.write
    harness.say(.brokenChunk(detail: "cut"))
    #expect(harness.give(.unwritten(start, .reset)) == [])
  }

  @Test func `a last acknowledgement that is refused fails the synchronisation`() throws {
    var harness = try Harness.ready(unsynced: 1)
    harness.chunk(0, of: 1, [Harness.record(1)])
    harness.committed([Harness.drink(1)])
    #expect(
      harness.give(.unwritten(harness.write, .refused)).notices == [.syncFailed(.write(.refused))])
    #expect(!harness.model.sync.isRunning)
  }

  @Test func `reports a failed commit without drinks, which ends nothing`() throws {
    var harness = try Harness.ready(unsynced: 1)
    let effects = harness.give(.uncommitted(1, .full(detail: "full")))
    #expect(effects.notices == [.notStored(detail: StoreFailure.full(detail: "full").description)])
    #expect(harness.model.sync.isRunning)
  }

  @Test func `a loss ends a synchronization and is reported`() throws {
    var harness = try Harness.ready(unsynced: 1)
    let lost = harness.give(.central(.disconnected(harness.attempt, .reset)))
    #expect(lost.notices == [.syncFailed(.disconnected)])
    var idle = try Harness.ready()
    #expect(idle.give(.central(.disconnected(idle.attempt, .reset))).notices == [])
  }

  @Test func `a ping that the bottle refuses ends the connection`() throws {
    var harness = try Harness.ready()
    harness.give(.hold(true))
    harness.written()
    #expect(harness.pass(.seconds(25)).writes == [BottleCommand.ping.bytes])
    let effects = harness.give(.unwritten(harness.write, .refused))
    #expect(effects.contains(.cancel(harness.attempt, .rejected)))
    #expect(harness.model.status.phase == .disconnected)
    var woken = try Harness.ready()
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
