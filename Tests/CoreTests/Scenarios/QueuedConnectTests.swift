import HoldfastTestKit
import Testing

@testable import LinkCore

/// The system's queued connect during tries, waits, and losses.
@Suite struct QueuedConnectTests {
  /// Returns how many times a queued connect was armed during `steps`.
  private static func arms(
    _ bench: inout LinkBench, during steps: (inout LinkBench) -> Void
  ) -> Int {
    bench.log = []
    steps(&bench)
    return bench.log.count { if case .arm = $0 { true } else { false } }
  }

  private static func queued(_ bench: LinkBench) -> AttemptID? {
    guard case .queued(let attempt) = bench.link.standby.state else { return nil }
    return attempt
  }

  @Test func `it is armed in every state in which the link waits or tries`() {
    var bench = LinkBench.wanted(.bottleLink)
    #expect(Self.queued(bench) != nil, "during the first burst")
    bench.pass(.seconds(5))
    #expect(Self.queued(bench) != nil, "after it")
    var lost = LinkBench.connected(.bottleLink)
    #expect(Self.queued(lost) == nil, "not while connected")
    lost.give(.lost(lost.attempt, .reset))
    #expect(Self.queued(lost) != nil, "3 s before the burst")
    lost.pass(.seconds(4))
    #expect(Self.queued(lost) != nil, "during the burst")
    lost.pass(.seconds(5))
    #expect(Self.queued(lost) != nil, "after it")
  }

  /// Returns how long the system leaves the peer alone before the most recently queued connect.
  private static func rest(_ bench: LinkBench) -> Duration? {
    bench.log.compactMap { if case .arm(_, let rest) = $0 { rest } else { nil } }.last
  }

  @Test func `an idle link is closed and queued again, and so is one that left`() {
    for leaves in [false, true] {
      var bench = LinkBench.connected(.bottleLink)
      if leaves { bench.give(.lifecycle(.background)) }
      bench.pass(leaves ? .seconds(5) : .seconds(60))
      #expect(bench.link.status.phase == .standby)
      #expect(Self.queued(bench) != nil)
      #expect(Self.rest(bench) == .seconds(30), "a peer that is awake may fall asleep first")
    }
  }

  @Test func `only a link that was closed because it was done leaves its peer alone`() throws {
    var lost = LinkBench.connected(.bottleLink)
    lost.give(.lost(lost.attempt, .reset))
    #expect(Self.rest(lost) == .zero)
    var off = LinkBench.connected(.bottleLink)
    off.pass(.seconds(60))
    off.give(.reachability(.unreachable))
    off.give(.reachability(.reachable(path: PathID("radio"))))
    #expect(Self.rest(off) == .zero)
    var next = LinkBench.connected(.bottleLink)
    next.pass(.seconds(60))
    let queued = try #require(Self.queued(next))
    next.give(.opened(queued))
    next.give(.established(queued))
    next.give(.validData(queued))
    next.pass(.seconds(10))
    next.give(.lost(queued, .reset))
    #expect(Self.rest(next) == .zero, "only the previous link was closed as idle")
  }

  @Test func `what the queue brought stays when the live link is wanted again`() throws {
    var bench = LinkBench.wanted(.bottleLink)
    bench.give(.want(.standbyOnly))
    let queued = try #require(Self.queued(bench))
    bench.give(.opened(queued))
    bench.give(.established(queued))
    let effects = bench.give(.want(.live))
    #expect(effects == [])
    #expect(bench.link.currentAttempt == queued)
    #expect(bench.link.status.phase == .connected)
  }

  @Test func `the user's end is the only one that queues nothing`() {
    var bench = LinkBench.connected(.bottleLink)
    bench.give(.want(.none))
    #expect(bench.link.standby.state == .off)
    #expect(bench.link.deadline == nil)
  }

  @Test func `the first link that ends early is no fast failure of the queue`() throws {
    var bench = LinkBench.wanted(.bottleLink)
    let queued = try #require(Self.queued(bench))
    bench.give(.opened(queued))
    bench.give(.established(queued))
    bench.pass(.seconds(1))
    #expect(bench.link.status.phase == .connected)
    bench.give(.lost(queued, .ended))
    #expect(Self.queued(bench) != nil, "queued again at once")
  }

  @Test func `what breaks 2 s after it was armed is armed again a second later`() throws {
    var bench = LinkBench.wanted(.bottleLink)
    bench.pass(.seconds(2))
    let first = try #require(Self.queued(bench))
    bench.give(.lost(first, .reset))
    #expect(bench.link.standby.state == .rearming(at: .second(3)))
    bench.pass(.seconds(1))
    #expect(Self.queued(bench) != nil)
  }

  @Test func `what breaks before that is armed again 30 s after it was armed`() throws {
    var bench = LinkBench.wanted(.bottleLink)
    bench.pass(.milliseconds(1999))
    let first = try #require(Self.queued(bench))
    bench.give(.lost(first, .reset))
    #expect(bench.link.standby.state == .rearming(at: .second(30)))
    bench.pass(.milliseconds(28_000))
    #expect(Self.queued(bench) == nil)
    bench.pass(.milliseconds(1))
    #expect(Self.queued(bench) != nil)
  }

  @Test(arguments: [(Lifecycle.foreground, 21), (.background, 76)])
  func `a peer that takes and drops every link cannot make it spin`(
    _ lifecycle: Lifecycle, _ expected: Int
  ) {
    var bench = LinkBench.wanted(.bottleLink)
    bench.pass(.seconds(5))
    bench.give(.lifecycle(lifecycle))
    let count = Self.arms(&bench) { bench in
      for _ in 0..<600 {
        if let attempt = Self.queued(bench) {
          bench.give(.opened(attempt))
          bench.give(.lost(attempt, .reset))
        }
        bench.pass(.seconds(1))
      }
    }
    #expect(count == expected, "one at once, and one every 30 s or 8 s for 10 minutes")
  }

  @Test(arguments: [(4_999, true), (5_000, false)])
  func `a link that was ready and ends early is queued again at once, and the next is not`(
    _ milliseconds: Int64, _ wasShort: Bool
  ) throws {
    var bench = LinkBench.wanted(.bottleLink)
    bench.pass(.seconds(5))
    func flash() throws -> Bool {
      let attempt = try #require(Self.queued(bench))
      bench.give(.opened(attempt))
      bench.give(.established(attempt))
      bench.give(.validData(attempt))
      bench.give(.lost(attempt, .reset))
      return Self.queued(bench) != nil
    }
    #expect(try flash(), "the connect armed 5 s ago")
    #expect(try !flash(), "the second in a row")
    bench.pass(.seconds(30))
    let attempt = try #require(Self.queued(bench))
    bench.give(.opened(attempt))
    bench.give(.established(attempt))
    bench.pass(.milliseconds(milliseconds))
    bench.give(.lost(attempt, .reset))
    #expect(try flash() == !wasShort, "the first after a link that lasted")
  }

  @Test func `a ready link that ends early again and again cannot spin`() {
    var bench = LinkBench.wanted(.bottleLink)
    bench.pass(.seconds(5))
    let count = Self.arms(&bench) { bench in
      for _ in 0..<600 {
        if let attempt = Self.queued(bench) {
          bench.give(.opened(attempt))
          bench.give(.established(attempt))
          bench.give(.lost(attempt, .reset))
        }
        bench.pass(.seconds(1))
      }
    }
    #expect(count == 21, "one at once, and one every 30 s for 10 minutes")
  }

  @Test(arguments: [(7_999, false), (8_000, true)])
  func `in background it is armed before the system suspends the app`(
    milliseconds: Int64, isArmed: Bool
  ) throws {
    var bench = LinkBench.wanted(.bottleLink)
    bench.pass(.seconds(5))
    bench.give(.lifecycle(.background))
    bench.pass(.seconds(60))
    let first = try #require(Self.queued(bench))
    bench.give(.opened(first))
    bench.give(.lost(first, .reset))
    let second = try #require(Self.queued(bench))
    bench.give(.lost(second, .reset))
    bench.pass(.milliseconds(milliseconds))
    #expect((Self.queued(bench) != nil) == isArmed)
  }

  @Test func `going to the background ends the wait after a fast failure`() throws {
    var bench = LinkBench.wanted(.bottleLink)
    let first = try #require(Self.queued(bench))
    bench.give(.lost(first, .reset))
    #expect(bench.link.standby.state == .rearming(at: .second(30)))
    bench.give(.lifecycle(.background))
    #expect(Self.queued(bench) != nil)
  }

  @Test func `an adapter that was switched off and on is no failure`() throws {
    var bench = LinkBench.wanted(.bottleLink)
    bench.give(.reachability(.unreachable))
    #expect(bench.link.standby.state == .off)
    bench.give(.reachability(.reachable(path: PathID("radio"))))
    #expect(Self.queued(bench) != nil, "armed at once")
  }

  @Test func `without the adapter a connected link is over`() {
    var bench = LinkBench.connected(.bottleLink)
    let attempt = bench.attempt
    #expect(bench.give(.reachability(.unreachable)).contains(.close(attempt, .networkChanged)))
    #expect(bench.link.status.phase == .held)
  }
}
