import LinkCore
import LinkWire
import MessageStream
import Testing

@testable import LinkSimulator

struct DurabilityTests {
  private var script = Script(Durability())
  private let all = (1...5).map { Message.number($0) }

  @Test mutating func `stored, then shown, sent and acknowledged is well`() {
    script.accept(all)
    script.store(
      TimelineChange(
        messages: all, cursor: Cursor(position: all[4].position), outboxPut: [.number(1)]))
    script.show(all)
    script.tick(at: 1, [.post(.number(1), try: TryID(1))])
    script.tick(at: 1, [.update(.outboxDone(OutboxEntry.number(1).id, message: all[0].id))])
    script.tick(at: 2, [.update(.outboxDone(OutboxEntry.number(2).id, message: nil))])
    script.see(.killed(.phone), at: 3)
    #expect(script.end() == [])
  }

  @Test mutating func `shown before it was stored is found`() {
    script.store(TimelineChange(messages: [all[0]]))
    script.show([all[0], all[1]], at: 1)
    #expect(
      script.end() == [Finding(.early, at: .second(1), "shown before it was stored: m2")])
  }

  @Test mutating func `sent before it was stored is found`() {
    script.store(TimelineChange(outboxPut: [.number(1)]))
    script.tick(at: 1, [.post(.number(1), try: TryID(1)), .post(.number(2), try: TryID(1))])
    #expect(
      script.end() == [Finding(.early, at: .second(1), "sent before it was stored: own 2")])
  }

  @Test mutating func `said to be sent before the server has it is found`() {
    script.tick(at: 1, [.update(.outboxDone(OutboxEntry.number(1).id, message: all[0].id))])
    let detail = "said to be sent before the server has it: \(all[0].id)"
    #expect(script.end() == [Finding(.early, at: .second(1), detail)])
  }

  /// Kept: the second and the last; the cursor stands at an offset.
  private mutating func findings(cursor: Int, gaps: [Gap] = []) -> [Finding] {
    script.accept(all)
    script.store(
      TimelineChange(
        messages: [all[1], all[4]], cursor: Cursor(position: all[cursor - 1].position),
        gaps: gaps), at: 6)
    script.see(.killed(.phone), at: 7)
    return script.findings
  }

  @Test mutating func `a cursor may stand before what is missing`() {
    #expect(findings(cursor: 2) == [])
  }

  @Test mutating func `a cursor at what is missing is found when it is written, and once`() {
    let detail = "the cursor is beyond 1 that are not kept (m3)"
    #expect(findings(cursor: 3) == [Finding(.early, at: .second(6), detail)])
  }

  @Test mutating func `a cursor beyond what is missing is found`() {
    let detail = "the cursor is beyond 2 that are not kept (m3, m4)"
    #expect(findings(cursor: 5) == [Finding(.early, at: .second(6), detail)])
  }

  @Test mutating func `a cursor that is beyond what is missing for a moment is found`() {
    script.accept(all)
    script.store(TimelineChange(messages: [all[1]], cursor: Cursor(position: all[1].position)))
    script.store(TimelineChange(messages: [all[3]], cursor: Cursor(position: all[3].position)))
    script.store(TimelineChange(messages: [all[2]]), at: 1)
    script.store(TimelineChange(messages: [all[0]]), at: 2)
    let detail = "the cursor is beyond 1 that are not kept (m3)"
    #expect(script.end() == [Finding(.early, at: .zero, detail)])
  }

  @Test mutating func `what a log that begins anew keeps is looked for at its new place`() {
    script.accept(all)
    script.store(TimelineChange(messages: all, cursor: Cursor(position: all[4].position)))
    var kept = all[4]
    kept.position = Position(epoch: "f", offset: 1)
    var next = Message.number(6)
    next.position = Position(epoch: "f", offset: 2)
    script.see(.fact(.beganAnew(epoch: "f", kept: [kept])), at: 1)
    script.accept([next], at: 2)
    script.store(TimelineChange(cursor: Cursor(position: kept.position)), at: 3)
    #expect(script.findings == [])
    script.store(TimelineChange(cursor: Cursor(position: next.position)), at: 4)
    let detail = "the cursor is beyond 1 that are not kept (m6)"
    #expect(script.findings == [Finding(.early, at: .second(4), detail)])
  }

  @Test(arguments: [(2, 0), (3, 1)])
  mutating func `a log that was put back ends before the cursor, until it is as long again`(
    length: Int, count: Int
  ) {
    script.accept(all)
    script.store(
      TimelineChange(
        messages: [all[0], all[1], all[2]], cursor: Cursor(position: all[2].position)))
    script.see(.fact(.beganAnew(epoch: "e", kept: [all[0]])), at: 1)
    for offset in 2...length {
      var other = Message.number(10 + offset)
      other.position = Position(epoch: "e", offset: UInt64(offset))
      script.accept([other], at: 2)
    }
    script.store(TimelineChange(outboxRemove: [OutboxEntry.number(1).id]), at: 3)
    #expect(script.findings.count == count)
  }

  @Test(arguments: [(2, 1), (3, 0)])
  mutating func `a cursor may go back among other messages while what is kept behind it tells`(
    kept: Int, count: Int
  ) {
    script.accept(Array(all.prefix(3)))
    let messages = Array(all.prefix(kept))
    script.store(
      TimelineChange(messages: messages, cursor: Cursor(position: all[kept - 1].position)))
    script.see(.fact(.beganAnew(epoch: "e", kept: [all[0]])), at: 1)
    for offset in 2...3 {
      var other = Message.number(10 + offset)
      other.position = Position(epoch: "e", offset: UInt64(offset))
      script.accept([other], at: 2)
    }
    script.store(TimelineChange(cursor: Cursor(position: all[1].position)), at: 3)
    #expect(script.findings.count == count)
  }

  /// The log was put back to the first message; of the two others that it has since, the first is
  /// stamped before what was kept at its position, the second is kept, and a gap may end there.
  @Test(arguments: [(true, 0), (false, 1)])
  mutating func `what lies below a gap of a log that was put back is found by the reader`(
    isEdge: Bool, count: Int
  ) {
    script.accept(Array(all.prefix(3)))
    script.store(
      TimelineChange(messages: Array(all.prefix(3)), cursor: Cursor(position: all[2].position)))
    script.see(.fact(.beganAnew(epoch: "e", kept: [all[0]])), at: 1)
    var others = [Message.number(12), Message.number(13)]
    others[0].createdAt = all[0].createdAt
    for place in 0...1 { others[place].position = all[place + 1].position }
    script.accept(others, at: 2)
    let gap = Gap(after: all[1].key, before: (isEdge ? others[1] : all[2]).key)
    script.store(
      TimelineChange(
        messages: [others[1]], cursor: Cursor(position: others[1].position), gaps: [gap]), at: 3)
    #expect(script.findings.count == count)
  }

  @Test(arguments: [("me", true, 0), ("me", false, 1), ("you", true, 1)])
  mutating func `an own message may fill up a log that was put back, until its answer comes`(
    user: String, isOwed: Bool, count: Int
  ) {
    script.accept(Array(all.prefix(2)))
    script.store(
      TimelineChange(
        messages: Array(all.prefix(2)), cursor: Cursor(position: all[1].position),
        outboxPut: [.number(1)]))
    script.see(.fact(.beganAnew(epoch: "e", kept: [all[0]])), at: 1)
    var own = Message(
      id: Message.number(9).id, shop: all[0].shop, user: user, username: nil, text: "own 1",
      createdAt: all[1].createdAt)
    own.position = all[1].position
    script.accept([own], at: 2)
    if !isOwed { script.store(TimelineChange(outboxRemove: [OutboxEntry.number(1).id]), at: 3) }
    script.store(TimelineChange(cursor: Cursor(position: own.position)), at: 4)
    #expect(script.findings.count == count)
  }

  @Test mutating func `an own message below the cursor of a log that was not put back is found`() {
    script.store(
      TimelineChange(
        messages: [all[0]], cursor: Cursor(position: all[0].position), outboxPut: [.number(1)]))
    script.accept([all[0]])
    var own = Message(
      id: Message.number(9).id, shop: all[0].shop, user: "me", username: nil, text: "own 1",
      createdAt: all[1].createdAt)
    own.position = all[1].position
    script.accept([own], at: 2)
    script.store(TimelineChange(cursor: Cursor(position: own.position)), at: 4)
    #expect(script.findings.count == 1)
  }

  @Test mutating func `a gap says what the cursor does not cover`() {
    #expect(findings(cursor: 5, gaps: [Gap(after: all[1].key, before: all[4].key)]) == [])
  }

  @Test
  mutating func `what is before all that is kept in the log is for the reader, whatever its stamp`()
  {
    var early = Message.number(5)
    early.createdAt = Message.start
    script.accept(Array(all.prefix(4)) + [early])
    script.store(
      TimelineChange(messages: [all[3], early], cursor: Cursor(position: early.position)))
    #expect(script.end() == [])
  }

  @Test mutating func `a hole behind the first that is kept is found, whatever its stamp`() {
    var early = Message.number(4)
    early.createdAt = Message.start
    script.accept(Array(all.prefix(3)) + [early, all[4]])
    script.store(
      TimelineChange(
        messages: [all[1], all[2], all[4]], cursor: Cursor(position: all[4].position)))
    let detail = "the cursor is beyond 1 that are not kept (m4)"
    #expect(script.end() == [Finding(.early, at: .zero, detail)])
  }

  @Test mutating func `a hole of a plain server is found, whatever came in before the first kept`()
  {
    let plain = (1...5).map { Message.number($0, isPlain: true) }
    script.facts.own.server = .plain
    // Stamped third and fourth, and first to come in.
    script.accept([plain[2], plain[3], plain[0], plain[1], plain[4]])
    let time = plain[4].createdAt.advanced(by: .seconds(200))
    script.store(
      TimelineChange(messages: [plain[0], plain[1], plain[4]], cursor: Cursor(time: time)))
    let detail = "the cursor is beyond 2 that are not kept (m3, m4)"
    #expect(script.end() == [Finding(.early, at: .zero, detail)])
  }

  @Test mutating func `a gap of a plain server speaks for all of the instant where it ends`() {
    script.facts.own.server = .plain
    script.facts.own.pages = .arrival
    var plain = (1...4).map { Message.number($0, isPlain: true) }
    // In one instant, and the one whose id comes first came in last.
    plain[1].createdAt = plain[2].createdAt
    script.accept([plain[0], plain[2], plain[1], plain[3]])
    let time = plain[3].createdAt.advanced(by: .seconds(200))
    script.store(
      TimelineChange(
        messages: [plain[0], plain[1]], cursor: Cursor(time: time),
        gaps: [Gap(after: plain[0].key, before: plain[1].key)]))
    let detail = "the cursor is beyond 1 that are not kept (m4)"
    #expect(script.end() == [Finding(.early, at: .zero, detail)])
  }

  @Test(arguments: [(120, 0), (121, 1)])
  mutating func `a gap of a plain server begins before its edge by the overlap`(
    seconds: Int, found: Int
  ) {
    script.facts.own.server = .plain
    let first = Message.number(1, isPlain: true)
    let edge = Message.number(200, isPlain: true)
    let missing = Message.number(200 - seconds, isPlain: true)
    let newest = Message.number(301, isPlain: true)
    script.accept([first, missing, edge, newest])
    let time = newest.createdAt.advanced(by: .seconds(200))
    script.store(
      TimelineChange(
        messages: [first, edge, newest], cursor: Cursor(time: time),
        gaps: [Gap(after: edge.key, before: newest.key)]))
    #expect(script.end().count == found)
  }

  @Test(arguments: [(true, 120, 0), (true, 121, 1), (false, 1, 1)])
  mutating func `a gap by arrival ends before what is stamped after its edge by the overlap`(
    stampsLate: Bool, seconds: Int, found: Int
  ) {
    script.facts.own.server = .plain
    (script.facts.own.pages, script.facts.own.stampsLate) = (.arrival, stampsLate)
    let (first, edge) = (Message.number(1, isPlain: true), Message.number(200, isPlain: true))
    let newest = Message.number(601, isPlain: true)
    script.accept([first, .number(200 + seconds, isPlain: true), edge, newest])
    let time = newest.createdAt.advanced(by: .seconds(200))
    script.store(
      TimelineChange(
        messages: [first, edge, newest], cursor: Cursor(time: time),
        gaps: [Gap(after: first.key, before: edge.key)]))
    #expect(script.end().count == found)
  }

  @Test(arguments: [(121, 0), (120, 1)])
  mutating func `what is stamped far back says nothing of where the reader is`(
    seconds: Int, found: Int
  ) {
    script.facts.own.server = .plain
    let newest = Message.number(1000, isPlain: true)
    let older = Message.number(900, isPlain: true)
    var own = Message.number(2, isPlain: true)
    own.createdAt = newest.createdAt.advanced(by: .seconds(-seconds))
    script.accept([older, newest, own])
    let time = newest.createdAt.advanced(by: .seconds(200))
    script.store(TimelineChange(messages: [newest, own], cursor: Cursor(time: time)))
    #expect(script.end().count == found)
  }

  @Test(arguments: [(120, 1), (121, 0)])
  mutating func `what is stamped before the overlap is not promised`(seconds: Int, found: Int) {
    script.facts.own.server = .plain
    let first = Message.number(1, isPlain: true)
    let newest = Message.number(1000, isPlain: true)
    var late = Message.number(2, isPlain: true)
    late.createdAt = newest.createdAt.advanced(by: .seconds(-seconds))
    script.accept([first, newest, late])
    script.store(
      TimelineChange(messages: [first, newest], cursor: Cursor(time: newest.createdAt)))
    #expect(script.end().count == found)
  }

  @Test mutating func `a cursor of another epoch says nothing`() {
    script.accept(all)
    script.store(
      TimelineChange(messages: [all[0]], cursor: Cursor(position: Position(epoch: "f", offset: 9))))
    #expect(script.end() == [])
  }

  /// Nothing but the first is kept; the cursor's time is so long after the second.
  private mutating func findings(secondsAfter seconds: Int) -> [Finding] {
    let plain = [Message.number(1, isPlain: true), Message.number(2, isPlain: true)]
    script.accept(plain)
    let time = plain[1].createdAt.advanced(by: .seconds(seconds))
    script.store(TimelineChange(messages: [plain[0]], cursor: Cursor(time: time)))
    return script.end()
  }

  @Test(arguments: [(119, false), (120, true), (121, true)])
  mutating func `a cursor by time speaks for what is older by the overlap`(
    seconds: Int, isFound: Bool
  ) {
    let finding = Finding(.early, at: .zero, "the cursor is beyond 1 that are not kept (m2)")
    #expect(findings(secondsAfter: seconds) == (isFound ? [finding] : []))
  }
}
