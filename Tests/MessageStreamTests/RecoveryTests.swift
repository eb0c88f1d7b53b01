import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of the range in which a timeline is complete, by positions and time stamps.
struct RecoveryTests {
  private static func recovery(at position: ShopPosition?, time: Timestamp? = nil) -> Recovery {
    var recovery = Recovery()
    recovery.cursor = ShopCursor(position: position, time: time, wholeAt: Harness.wall)
    return recovery
  }

  private static func later(_ seconds: Int64) -> Timestamp {
    Harness.wall.advanced(by: .seconds(seconds))
  }

  @Test(arguments: [(UInt64(5), Recovery.Reach.whole), (6, .whole), (7, .short)])
  func `a newest page is complete if it begins with what follows the cursor`(
    first: UInt64, reach: Recovery.Reach
  ) {
    let page = Harness.page(first...20, head: 20, hasNext: true)
    #expect(Self.recovery(at: Harness.at(5)).reach(of: page, overlap: .seconds(120)) == reach)
  }

  @Test(arguments: [
    (Int64(1), Recovery.Reach.short), (0, .touching), (-119, .touching), (-120, .whole),
  ])
  func `without positions its oldest stamp decides`(seconds: Int64, reach: Recovery.Reach) {
    var oldest = Harness.message(9, isPlain: true)
    oldest.createdAt = Self.later(seconds)
    let page = Page(messages: [oldest], hasNext: true)
    let recovery = Self.recovery(at: nil, time: Harness.wall)
    #expect(recovery.reach(of: page, overlap: .seconds(120)) == reach)
  }

  private static func other(_ offset: UInt64) -> ShopPosition {
    ShopPosition(epoch: "f", offset: offset)
  }

  private static let openings: [(ShopPosition, ShopPosition, Bool)] = [
    (Harness.at(5), Harness.at(6), true), (other(5), Harness.at(6), false),
    (Harness.at(5), other(6), false),
  ]

  @Test(arguments: openings)
  func `a cursor beyond a head moved there only if both are in one log`(
    opening: ShopPosition, cursor: ShopPosition, isWhole: Bool
  ) {
    var recovery = Self.recovery(at: cursor)
    recovery.connecting.open(AttemptID(1), at: opening)
    #expect(recovery.isWhole(at: Harness.at(5)) == isWhole)
  }

  private static let starts: [(ShopPosition, ShopPosition, Bool)] = [
    (Harness.at(4), Harness.at(7), true), (Harness.at(4), Harness.at(5), true),
    (Harness.at(4), Harness.at(4), false),
    (other(4), Harness.at(7), false), (Harness.at(4), other(7), false),
  ]

  @Test(arguments: starts)
  func `a backlog continues from the cursor only in one log`(
    start: ShopPosition, head: ShopPosition, goesOn: Bool
  ) {
    #expect(Self.recovery(at: Harness.at(5)).goesOn(from: start, to: head) == goesOn)
  }

  @Test func `a new log has no known position, and what was whole before is known by time`() {
    var recovery = Self.recovery(at: Harness.at(3))
    recovery.ahead = [5]
    recovery.awaitBacklog(to: Harness.at(6), until: .zero)
    recovery.beginNewLog(under: "e", wholeUntil: Harness.wall)
    var expected = Self.recovery(at: Harness.at(0))
    expected.cursor.time = Harness.wall
    expected.cursor.wholeAt = Timestamp(nanoseconds: 0)
    #expect(recovery == expected)
  }

  @Test(arguments: [(1, false), (-1, true)])
  func `a new log does not move back the time up to which all is known`(
    seconds: Int64, isEarlier: Bool
  ) {
    var recovery = Self.recovery(at: Harness.at(3))
    recovery.cursor.time = Harness.wall
    let newest = Harness.wall.advanced(by: .seconds(seconds))
    recovery.beginNewLog(under: "e", wholeUntil: newest)
    #expect(recovery.cursor.time == (isEarlier ? Harness.wall : newest))
  }

  private static let positions: [(ShopPosition, StreamUpdate.Via)] = [
    (Harness.at(7), .catchUp), (Harness.at(8), .live), (other(6), .live),
  ]

  @Test(arguments: positions)
  func `only messages up to the end of the backlog, in the same log, were missed`(
    position: ShopPosition, via: StreamUpdate.Via
  ) {
    var recovery = Self.recovery(at: Harness.at(5))
    recovery.awaitBacklog(to: Harness.at(7), until: .zero)
    var message = Harness.message(9)
    message.position = position
    #expect(recovery.via(of: message) == via)
  }

  @Test(arguments: [(UInt64(6), true), (7, false), (8, true)])
  func `a message of the backlog is no hole, but one out of turn shows a hole`(
    offset: UInt64, isWhole: Bool
  ) {
    var recovery = Self.recovery(at: Harness.at(5))
    recovery.awaitBacklog(to: Harness.at(7), until: .zero)
    let result = recovery.take(Harness.at(offset), advancing: true, isConnected: true)
    #expect(result == isWhole)
  }

  @Test func `remembers nothing without a socket while a fetch is under way`() {
    var recovery = Self.recovery(at: Harness.at(5))
    let result = recovery.take(Harness.at(6), advancing: false, isConnected: false)
    #expect(!result)
    #expect(recovery == Self.recovery(at: Harness.at(5)))
  }

  @Test func `remembers at most 10,000 offsets`() {
    var recovery = Self.recovery(at: Harness.at(5))
    recovery.ahead = Set(7...10_006)
    let full = recovery
    let result = recovery.take(Harness.at(20_000), advancing: true, isConnected: true)
    #expect(!result)
    #expect(recovery == full)
  }

  @Test func `remembers at most 10,000 messages without a position`() {
    var recovery = Recovery()
    recovery.unplaced = Set((0..<10_000).map { UUID128(high: 1, low: $0) })
    let full = recovery
    recovery.noteUnplaced(Harness.message(1, isPlain: true))
    #expect(recovery == full)
  }

  @Test func `does not remember a message with a position among those without`() {
    var recovery = Recovery()
    recovery.noteUnplaced(Harness.message(1))
    #expect(recovery == Recovery())
  }
}
