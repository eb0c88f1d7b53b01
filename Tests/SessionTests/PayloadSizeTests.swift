import HoldfastCore
import Testing

@testable import HoldfastSession

@Suite struct PayloadSizeTests {
  @Test func `three large failures reduce the size to three quarters, but never below 50 KiB`() {
    var size = PayloadSize()
    size.noteLoss()
    size.noteLoss()
    #expect(size.kilobytes == 200)
    size.noteLoss()
    #expect(size.kilobytes == 150)
    for _ in 0..<30 { size.noteLoss() }
    #expect(size.kilobytes == 50)
  }

  @Test func `ten large successes in a row increase the size by a tenth, up to 250 KiB`() {
    var size = PayloadSize()
    for _ in 0..<9 { size.noteArrival(bytes: 102_400) }
    #expect(size.kilobytes == 200)
    size.noteArrival(bytes: 102_399)
    #expect(size.kilobytes == 200)
    size.noteArrival(bytes: 102_400)
    #expect(size.kilobytes == 220)
    for _ in 0..<50 { size.noteArrival(bytes: 300_000) }
    #expect(size.kilobytes == 250)
  }

  /// Nine successes separate the losses. Ten successes in a row would let the size grow.
  @Test(arguments: [(8, 150), (9, 200)])
  func `three failures count among the last 20 outcomes`(successes: Int, kilobytes: Int) {
    var size = PayloadSize()
    size.noteLoss()
    for _ in 0..<9 { size.noteArrival(bytes: 200_000) }
    size.noteLoss()
    for _ in 0..<successes { size.noteArrival(bytes: 200_000) }
    size.noteLoss()
    #expect(size.kilobytes == kilobytes)
  }

  @Test func `outcomes counted for one change do not count for the next`() {
    var size = PayloadSize()
    for _ in 0..<5 { size.noteLoss() }
    #expect(size.kilobytes == 150)
    size.noteLoss()
    #expect(size.kilobytes == 112)
    for _ in 0..<19 { size.noteArrival(bytes: 200_000) }
    #expect(size.kilobytes == 123)
    size.noteArrival(bytes: 200_000)
    #expect(size.kilobytes == 135)
  }

  @Test(arguments: [
    (LinkFailure.reset, [false]), (.ended, [false]), (.timeout(.silence), [false]),
    (.unreachable(detail: ""), []),
  ])
  func `a broken connection counts as a large failure`(failure: LinkFailure, outcomes: [Bool]) {
    var harness = SessionHarness.connected()
    harness.prompt("one")
    harness.give(.link(.lost(harness.attempt, failure), at: harness.wall))
    #expect(harness.model.payload.outcomes == outcomes)
  }

  @Test func `a silent connection counts as a large failure, a closed one does not`() {
    var silent = SessionHarness.connected()
    silent.answersPings = false
    silent.prompt("one")
    silent.pass(.seconds(60))
    #expect(silent.model.payload.outcomes == [false])
    var left = SessionHarness.connected()
    left.prompt("one")
    left.give(.stop)
    #expect(!left.model.isConnected)
    #expect(left.model.payload.outcomes == [])
  }
}
