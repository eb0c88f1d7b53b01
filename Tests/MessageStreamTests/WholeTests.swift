import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of the conditions under which a stream reports that its timeline is complete.
struct WholeTests {
  @Test func `a stream is whole when its store has everything received`() {
    var harness = Harness.connected(at: 5)
    harness.storesPromptly = false
    harness.receive(Harness.message(6))
    #expect(!harness.model.isWhole)
    harness.storeLast()
    #expect(harness.model.isWhole)
  }

  @Test func `a stream that only sends fetches no hole, and is not whole with one`() {
    var harness = Harness.connected(at: 5) { $0.sendsOnly = true }
    #expect(harness.model.isWhole)
    harness.receive(Harness.message(7))
    #expect(harness.fetches.isEmpty)
    #expect(!harness.model.isWhole)
    harness.receive(Harness.message(6))
    #expect(harness.model.isWhole)
  }

  @Test func `a log rolled back to its beginning is whole once the server was asked`() {
    var harness = Harness.connected(at: 0)
    for number in UInt64(1)...3 { harness.receive(Harness.message(number)) }
    #expect(harness.model.isWhole)
    harness.receive(Harness.other(1))
    #expect(harness.model.recovery.cursor.position == Harness.at(0))
    #expect(!harness.model.isWhole)
    harness.answer(Page(messages: [Harness.other(1)], hasNext: false, head: Harness.at(1)))
    #expect(harness.model.recovery.cursor.position == Harness.at(1))
    #expect(harness.model.isWhole)
  }

  @Test func `a closed stream stores the time up to which it was whole`() {
    var harness = Harness.connected(at: 5)
    harness.pass(60)
    harness.give(.close)
    let left = Harness.wall.advanced(by: .seconds(60))
    #expect(harness.commits.last?.cursor == ShopCursor(position: Harness.at(5), wholeAt: left))
  }

  @Test func `a stream that is about to ask again is not whole`() {
    var model = Harness.connected(at: 5).model
    #expect(model.isWhole)
    model.recovery.wait(until: .zero)
    #expect(!model.isWhole)
  }

  @Test(arguments: [true, false])
  func `the newest known message is stored, or on its way to the store`(isStored: Bool) {
    var harness = Harness.connected(at: 5)
    harness.storesPromptly = isStored
    harness.receive(Harness.message(6))
    #expect(harness.model.newestKnown == Harness.message(6).key)
  }
}
