import LinkCore
import LinkWire
import Testing

@testable import MessageStream

/// What the invariants of a stream allow, next to what they find.
struct CursorInvariantTests {
  /// Connected and whole up to offset 10.
  private static var whole: StreamModel { Hand.connected(at: 10).model }

  /// What is broken once a model that is whole was changed.
  private static func broken(_ change: (inout StreamModel) -> Void) -> [String] {
    var model = whole
    change(&model)
    return model.brokenInvariants(.thorough)
  }

  /// The store is given a cursor, and this waits behind it.
  private static func waiting(
    _ next: Cursor?, _ message: Message, via: Via = .live, _ model: inout StreamModel
  ) {
    var batch = Writer.Batch()
    batch.change.cursor = Cursor(position: Hand.at(12))
    model.writer.inFlight = Writer.InFlight(id: CommitID(0), batch: batch)
    if let next { model.writer.set(cursor: next) }
    model.writer.add([message], via: via)
  }

  @Test func `so many offsets and messages may be remembered`() {
    let broken = Self.broken { model in
      model.recovery.ahead = Set(12...10_011)
      model.recovery.unplaced = Set((0..<10_000).map { UUID128(high: 1, low: $0) })
    }
    #expect(broken == [])
  }

  @Test(arguments: [0, 1])
  func `one malformed message ends a connection that bears none`(limit: Int) {
    var model = Hand.connected(at: 10) { $0.malformedLimit = limit }.model
    model.malformed = [.zero]
    let broken = model.brokenInvariants(.thorough)
    #expect(broken == ["stream: too many malformed messages end the connection"])
  }

  @Test func `the queue of an outbox is checked`() {
    let broken = Self.broken { model in
      for _ in 1...2 { _ = model.outbox.queue.add(Hand.entry("twice")) }
    }
    #expect(broken.contains("send queue: an item is in it once"))
  }

  @Test func `a cursor that waits covers no message that waits behind the one before it`() {
    let broken = Self.broken { model in
      model.recovery.cursor.position = Hand.at(12)
      Self.waiting(Cursor(position: Hand.at(12)), Hand.message(12), &model)
    }
    #expect(broken == ["stream: a cursor goes to the store with the messages that it covers"])
  }

  @Test func `a cursor that goes back may follow`() {
    let broken = Self.broken { model in
      Self.waiting(Cursor(position: Hand.at(5)), Hand.message(8), &model)
    }
    #expect(broken == [])
  }

  @Test func `what a page brought, or another log, may wait behind a cursor`() {
    var other = Hand.message(8)
    other.position = Position(epoch: "f", offset: 8)
    for (message, via) in [(Hand.message(8), Via.catchUp), (other, .live)] {
      let broken = Self.broken { model in
        model.recovery.cursor.position = Hand.at(12)
        Self.waiting(nil, message, via: via, &model)
      }
      #expect(broken == [])
    }
  }

  @Test func `a reader may wait for a change that waits for the store`() {
    let broken = Self.broken { model in
      model.history.isWanted = true
      model.writer.feedHistory()
    }
    #expect(broken == [])
  }

  @Test func `any position is beyond none`() {
    let broken = Self.broken { model in
      model.recovery.cursor.position = nil
      model.writer.set(cursor: Cursor(position: Hand.at(1)))
    }
    #expect(broken.contains("stream: the store is told no cursor beyond the known one"))
  }

  @Test func `a position of another log is not beyond one`() {
    let broken = Self.broken { model in
      model.writer.set(cursor: Cursor(position: Position(epoch: "f", offset: 20)))
    }
    #expect(broken == [])
  }

  @Test(arguments: [(false, 1), (true, 0)])
  func `a change is tried again only if it was refused`(isUnderWay: Bool, failures: Int) {
    let broken = Self.broken { model in
      let change = Writer.InFlight(id: CommitID(0), batch: Writer.Batch())
      model.writer.inFlight = isUnderWay ? change : nil
      model.writer.failures = failures
      model.writer.retryAt = .zero
    }
    #expect(broken == ["writer: only a refused change is tried again"])
  }

  @Test func `an edit of what is shown may wait behind a cursor`() {
    var edit = Hand.message(8)
    edit.updatedAt = edit.createdAt.advanced(by: .seconds(1))
    let broken = Self.broken { model in
      model.recovery.cursor.position = Hand.at(12)
      model.timeline.insert(Hand.message(8))
      Self.waiting(nil, edit, &model)
    }
    #expect(broken == [])
  }

  @Test func `arrears of another log do not end beyond the cursor`() {
    let broken = Self.broken { model in
      let end = Position(epoch: "f", offset: 11)
      model.recovery.isCurrent = false
      model.recovery.arrears = Recovery.Arrears(end: end, until: .zero)
    }
    #expect(broken == ["recovery: arrears end beyond the cursor"])
  }
}
