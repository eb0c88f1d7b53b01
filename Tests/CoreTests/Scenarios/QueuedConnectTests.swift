import HoldfastTestKit
import Testing

@testable import HoldfastCore

/// Tests of the system's queued connect during tries, waits and losses.
@Suite struct QueuedConnectTests {
  /// Returns how many times a queued connect was armed during `steps`.
  private static func arms(
    _ harness: inout LinkHarness, during steps: (inout LinkHarness) -> Void
  ) -> Int {
    harness.log = []
    steps(&harness)
    return harness.log.count { if case .arm = $0 { true } else { false } }
  }

  private static func queued(_ harness: LinkHarness) -> AttemptID? {
    guard case .queued(let attempt) = harness.link.standby.state else { return nil }
    return attempt
  }

  @Test func `a queued connect is armed whenever the link waits or makes an attempt`() {
    var harness = LinkHarness.wanted(.bottleLink)
    #expect(Self.queued(harness) != nil, "during the first burst")
    harness.pass(.seconds(5))
    #expect(Self.queued(harness) != nil, "after it")
    var lost = LinkHarness.connected(.bottleLink)
    #expect(Self.queued(lost) == nil, "not while connected")
    lost.give(.lost(lost.attempt, .reset))
    #expect(Self.queued(lost) != nil, "3 s before the burst")
    lost.pass(.seconds(4))
    #expect(Self.queued(lost) != nil, "during the burst")
    lost.pass(.seconds(5))
    #expect(Self.queued(lost) != nil, "after it")
  }

  /// Returns the time for which the system ignores the peer after the latest queued connect.
  private static func rest(_ harness: LinkHarness) -> Duration? {
    harness.log.compactMap { if case .arm(_, let rest) = $0 { rest } else { nil } }.last
  }

  @Test func `a link that is idle or in background is closed and its connect queued again`() {
    for leaves in [false, true] {
      var harness = LinkHarness.connected(.bottleLink)
      if leaves { harness.give(.lifecycle(.background)) }
      harness.pass(leaves ? .seconds(5) : .seconds(60))
      #expect(harness.link.status.phase == .standby)
      #expect(Self.queued(harness) != nil)
      #expect(Self.rest(harness) == .seconds(30), "a peer that is awake may fall asleep first")
    }
  }

  @Test func `only a link that closed as idle leaves its peer a rest before the next connect`()
    throws
  {
    var lost = LinkHarness.connected(.bottleLink)
    lost.give(.lost(lost.attempt, .reset))
    #expect(Self.rest(lost) == .zero)
    var off = LinkHarness.connected(.bottleLink)
    off.pass(.seconds(60))
    off.give(.reachability(.unreachable))
    off.give(.reachability(.reachable(path: PathID("radio"))))
    #expect(Self.rest(off) == .zero)
    var next = LinkHarness.connected(.bottleLink)
    next.pass(.seconds(60))
    let queued = try #require(Self.queued(next))
    next.give(.opened(queued))
    next.give(.established(queued))
    next.give(.validData(queued))
    next.pass(.seconds(10))
    next.give(.lost(queued, .reset))
    #expect(Self.rest(next) == .zero, "only the previous link was closed as idle")
  }

  @Test func `a link from the queued connect stays open when the live link is wanted again`() throws
  {
    var harness = LinkHarness.wanted(.bottleLink)
    harness.give(.setIntent(.standbyOnly))
    let queued = try #require(Self.queued(harness))
    harness.give(.opened(queued))
    harness.give(.established(queued))
    let effects = harness.give(.setIntent(.live))
    #expect(effects == [])
    #expect(harness.link.currentAttempt == queued)
    #expect(harness.link.status.phase == .connected)
  }

  @Test func `a link that the user ends queues no connect`() {
    var harness = LinkHarness.connected(.bottleLink)
    harness.give(.setIntent(.none))
    #expect(harness.link.standby.state == .off)
    #expect(harness.link.deadline == nil)
  }

  @Test func `the first link that ends early does not count as a fast failure`() throws {
    var harness = LinkHarness.wanted(.bottleLink)
    let queued = try #require(Self.queued(harness))
    harness.give(.opened(queued))
    harness.give(.established(queued))
    harness.pass(.seconds(1))
    #expect(harness.link.status.phase == .connected)
    harness.give(.lost(queued, .ended))
    #expect(Self.queued(harness) != nil, "queued again at once")
  }

  @Test func `a queued connect that fails 2 s after it was armed is armed again 1 s later`() throws
  {
    var harness = LinkHarness.wanted(.bottleLink)
    harness.pass(.seconds(2))
    let first = try #require(Self.queued(harness))
    harness.give(.lost(first, .reset))
    #expect(harness.link.standby.state == .rearming(at: .second(3)))
    harness.pass(.seconds(1))
    #expect(Self.queued(harness) != nil)
  }

  @Test func `a queued connect that fails within 2 s is armed again 30 s after it was armed`()
    throws
  {
    var harness = LinkHarness.wanted(.bottleLink)
    harness.pass(.milliseconds(1999))
    let first = try #require(Self.queued(harness))
    harness.give(.lost(first, .reset))
    #expect(harness.link.standby.state == .rearming(at: .second(30)))
    harness.pass(.milliseconds(28_000))
    #expect(Self.queued(harness) == nil)
    harness.pass(.milliseconds(1))
    #expect(Self.queued(harness) != nil)
  }

  @Test(arguments: [(AppLifecycle.foreground, 21), (.background, 76)])
  func `a peer that accepts and drops every link does not cause a busy loop`(
    _ lifecycle: AppLifecycle, _ expected: Int
  ) {
    var harness = LinkHarness.wanted(.bottleLink)
    harness.pass(.seconds(5))
    harness.give(.lifecycle(lifecycle))
    let count = Self.arms(&harness) { harness in
      for _ in 0..<600 {
        if let attempt = Self.queued(harness) {
          harness.give(.opened(attempt))
          harness.give(.lost(attempt, .reset))
        }
        harness.pass(.seconds(1))
      }
    }
    #expect(count == expected, "one at once, and one every 30 s or 8 s for 10 minutes")
  }

  @Test(arguments: [(4_999, true), (5_000, false)])
  func `only the first of several ready links that end early is queued again at once`(
    _ milliseconds: Int64, _ wasShort: Bool
  ) throws {
    var harness = LinkHarness.wanted(.bottleLink)
    harness.pass(.seconds(5))
    func flash() throws -> Bool {
      let attempt = try #require(Self.queued(harness))
      harness.give(.opened(attempt))
      harness.give(.established(attempt))
      harness.give(.validData(attempt))
      harness.give(.lost(attempt, .reset))
      return Self.queued(harness) != nil
    }
    #expect(try flash(), "the connect armed 5 s ago")
    #expect(try !flash(), "the second in a row")
    harness.pass(.seconds(30))
    let attempt = try #require(Self.queued(harness))
    harness.give(.opened(attempt))
    harness.give(.established(attempt))
    harness.pass(.milliseconds(milliseconds))
    harness.give(.lost(attempt, .reset))
    #expect(try flash() == !wasShort, "the first after a link that lasted")
  }

  @Test func `ready links that keep ending early do not cause a busy loop`() {
    var harness = LinkHarness.wanted(.bottleLink)
    harness.pass(.seconds(5))
    let count = Self.arms(&harness) { harness in
      for _ in 0..<600 {
        if let attempt = Self.queued(harness) {
          harness.give(.opened(attempt))
          harness.give(.established(attempt))
          harness.give(.lost(attempt, .reset))
        }
        harness.pass(.seconds(1))
      }
    }
    #expect(count == 21, "one at once, and one every 30 s for 10 minutes")
  }

  @Test(arguments: [(7_999, false), (8_000, true)])
  func `in background a connect is armed again before the system suspends the app`(
    milliseconds: Int64, isArmed: Bool
  ) throws {
    var harness = LinkHarness.wanted(.bottleLink)
    harness.pass(.seconds(5))
    harness.give(.lifecycle(.background))
    harness.pass(.seconds(60))
    let first = try #require(Self.queued(harness))
    harness.give(.opened(first))
    harness.give(.lost(first, .reset))
    let second = try #require(Self.queued(harness))
    harness.give(.lost(second, .reset))
    harness.pass(.milliseconds(milliseconds))
    #expect((Self.queued(harness) != nil) == isArmed)
  }

  @Test func `going to the background ends the wait after a fast failure`() throws {
    var harness = LinkHarness.wanted(.bottleLink)
    let first = try #require(Self.queued(harness))
    harness.give(.lost(first, .reset))
    #expect(harness.link.standby.state == .rearming(at: .second(30)))
    harness.give(.lifecycle(.background))
    #expect(Self.queued(harness) != nil)
  }

  @Test func `switching the adapter off and on does not count as a failure`() throws {
    var harness = LinkHarness.wanted(.bottleLink)
    harness.give(.reachability(.unreachable))
    #expect(harness.link.standby.state == .off)
    harness.give(.reachability(.reachable(path: PathID("radio"))))
    #expect(Self.queued(harness) != nil, "armed at once")
  }

  @Test func `switching the adapter off ends a connected link`() {
    var harness = LinkHarness.connected(.bottleLink)
    let attempt = harness.attempt
    #expect(harness.give(.reachability(.unreachable)).contains(.close(attempt, .networkChanged)))
    #expect(harness.link.status.phase == .held)
  }
}
