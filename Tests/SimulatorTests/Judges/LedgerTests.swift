import LinkCore
import LinkWire
import MessageStream
import Testing

@testable import LinkSimulator

struct LedgerTests {
  private var script = Script(Ledger())
  private let one = Message.number(1)
  private let two = Message.number(2)

  @Test mutating func `everything accepted and shown once in order is well`() {
    script.accept([one, two])
    script.see(.launched(.phone, run: 1))
    script.show([one, two])
    script.see(.killed(.phone))
    script.see(.launched(.phone, run: 2))
    script.show([one])
    script.show([two])
    #expect(script.end() == [])
  }

  @Test mutating func `what was accepted and not shown in the last run is lost`() {
    script.accept([one, two])
    script.show([one, two])
    script.see(.launched(.phone, run: 2))
    script.show([two])
    #expect(script.end(at: 9) == [Finding(.lost, at: .second(9), "never shown: 1 (m1)")])
  }

  @Test mutating func `a gap says what was not shown, up to its edges`() {
    let all = (1...4).map { Message.number($0) }
    script.accept(all)
    script.show([all[0], all[3]])
    script.store(TimelineChange(gaps: [Gap(after: all[0].key, before: all[2].key)]))
    #expect(script.end() == [Finding(.lost, at: .zero, "never shown: 1 (m3)")])
  }

  @Test mutating func `a gap without a lower edge says everything before`() {
    script.accept([one, two])
    script.show([two])
    script.store(TimelineChange(gaps: [Gap(after: nil, before: two.key)]))
    #expect(script.end() == [])
  }

  @Test mutating func `shown twice in a run is found`() {
    script.accept([one])
    script.show([one], at: 1)
    script.show([one], at: 2)
    #expect(script.end() == [Finding(.duplicated, at: .second(2), "shown twice: m1")])
  }

  @Test mutating func `a batch without a message is found`() {
    script.show([], at: 1)
    let finding = Finding(.duplicated, at: .second(1), "shown without a message")
    #expect(script.end() == [finding])
  }

  @Test mutating func `shown and never accepted is found`() {
    script.show([one])
    #expect(script.end() == [Finding(.duplicated, at: .zero, "shown and never accepted: m1")])
  }

  @Test mutating func `a batch out of order is found`() {
    script.accept([one, two])
    script.show([two, one])
    #expect(script.end() == [Finding(.reordered, at: .zero, "m1 was shown after m2")])
  }

  @Test mutating func `an edit of what was never shown is found`() {
    script.accept([one])
    script.show([one])
    script.tick(at: 1, [.update(.edited([one]))])
    script.tick(at: 2, [.update(.edited([two]))])
    #expect(script.end() == [Finding(.reordered, at: .second(2), "edited and never shown: m2")])
  }

  @Test mutating func `what the log forgot may stay on the screen, and need not`() {
    script.accept([one, two])
    script.show([one])
    var kept = two
    kept.position = Position(epoch: "f", offset: 1)
    script.see(.fact(.beganAnew(epoch: "f", kept: [kept])))
    script.show([kept])
    #expect(script.end() == [])
  }

  private mutating func promise(_ numbers: Int...) {
    script.store(TimelineChange(outboxPut: numbers.map { .number($0) }))
  }

  private func own(_ number: Int, as message: Int) -> Message {
    .number(message, text: "own \(number)")
  }

  @Test mutating func `what was promised is accepted once, in the order of writing`() {
    promise(1)
    promise(1, 2)
    script.accept([own(1, as: 1), own(2, as: 2)])
    script.show([own(1, as: 1), own(2, as: 2)])
    script.see(.fact(.accepted(own(2, as: 2), isNew: false)))
    #expect(script.end() == [])
  }

  @Test mutating func `what was promised and never accepted is lost`() {
    promise(1)
    #expect(
      script.end() == [Finding(.lost, at: .zero, "promised and never accepted: own 1")])
  }

  @Test mutating func `what was written once and accepted twice is found`() {
    promise(1)
    script.accept([own(1, as: 1), own(1, as: 2)], at: 3)
    script.show([own(1, as: 1), own(1, as: 2)])
    #expect(
      script.end() == [Finding(.duplicated, at: .second(3), "own 1 was accepted 2 times")])
  }

  @Test(arguments: [(PageOrder.stamp, 120, 1), (.stamp, 121, 0), (.arrival, 121, 1)])
  mutating func `what a plain server stamped before the overlap is promised where it is on top`(
    pages: PageOrder, seconds: Int, lost: Int
  ) {
    script.facts.own.server = .plain
    script.facts.own.pages = pages
    let newest = Message.number(1000, isPlain: true)
    var late = Message.number(2, isPlain: true)
    late.createdAt = newest.createdAt.advanced(by: .seconds(-seconds))
    script.accept([newest, late])
    script.show([newest])
    #expect(script.end().count == lost)
  }

  @Test mutating func `what a log forgot may be accepted again, what it kept may not`() {
    promise(1)
    script.accept([own(1, as: 1)])
    script.see(.fact(.beganAnew(epoch: "f", kept: [])))
    script.accept([own(1, as: 2)], at: 1)
    script.see(.fact(.beganAnew(epoch: "g", kept: [own(1, as: 2)])))
    script.accept([own(1, as: 3)], at: 2)
    script.show([own(1, as: 2), own(1, as: 3)])
    #expect(
      script.end() == [Finding(.duplicated, at: .second(2), "own 1 was accepted 2 times")])
  }

  @Test mutating func `what went out of turn is found, unless it was given up in between`() {
    promise(1, 2)
    script.accept([own(2, as: 1), own(1, as: 2)])
    script.show([own(2, as: 1), own(1, as: 2)])
    let detail = "own 1 went out after what was written later"
    #expect(script.end() == [Finding(.reordered, at: .zero, detail)])
    script = Script(Ledger())
    promise(1, 2)
    script.store(TimelineChange(outboxPut: [.number(1, state: .failed(reason: "no answer"))]))
    script.accept([own(2, as: 1), own(1, as: 2)])
    script.show([own(2, as: 1), own(1, as: 2)])
    #expect(script.end() == [])
  }
}
