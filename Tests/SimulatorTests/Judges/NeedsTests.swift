import LinkCore
import LinkWire
import MessageStream
import Testing

@testable import LinkSimulator

struct NeedsTests {
  private var script = Script(Needs())
  private let one = AttemptID(1)
  private let all = (1...5).map { Message.number($0) }
  private static let detail = "a catch-up was asked for, and nothing was missing"

  private func after(_ offset: UInt64) -> StreamModel.Effect {
    .fetch(FetchID(9), .after(Position(epoch: "e", offset: offset), limit: 100))
  }

  /// Everything is kept, and the cursor stands at an offset.
  private mutating func keep(cursor: Int = 5) {
    script.accept(all)
    script.store(TimelineChange(messages: all, cursor: Cursor(position: all[cursor - 1].position)))
    script.see(.fact(.stated(one, head: all[4].position)))
  }

  @Test(arguments: [(4, 0), (5, 1)])
  mutating func `an open at the head needs no catch-up`(cursor: Int, count: Int) {
    keep(cursor: cursor)
    script.facts.own.isWhole = false
    script.tell(.opened(one, head: nil), at: 1, [after(UInt64(cursor))])
    #expect(
      script.findings
        == Array(repeating: Finding(.needless, at: .second(1), Self.detail), count: count))
  }

  @Test(arguments: [(5, 0), (6, 1)])
  mutating func `a post that gets the position of another message is a reason to ask`(
    offset: UInt64, count: Int
  ) {
    keep()
    script.facts.own.isWhole = false
    var own = Message.number(9)
    own.position = Position(epoch: "e", offset: offset)
    script.tell(.posted(UUID128(high: 0, low: 9), own), at: 1)
    script.tell(.opened(one, head: nil), at: 2, [after(0)])
    #expect(script.findings.count == count)
  }

  @Test mutating func `it does while a fetch is under way, or one failed`() {
    keep()
    script.facts.own.isWhole = false
    script.tell(.refresh, at: 1, [after(5)])
    script.tell(.opened(one, head: nil), at: 2, [after(5)])
    script.tell(.fetchFailed(FetchID(9), .reset), at: 3)
    script.tell(.opened(one, head: nil), at: 4, [after(5)])
    #expect(script.findings == [])
    script.tell(.fetched(FetchID(9), Page(messages: [], hasNext: false)), at: 5)
    script.tell(.opened(one, head: nil), at: 6, [after(5)])
    #expect(script.findings.map(\.at) == [.second(6)])
  }

  @Test(arguments: [(13.9, 1), (14, 0)])
  mutating func `an answer that comes too late says nothing`(second: Double, count: Int) {
    keep()
    script.facts.own.isWhole = false
    script.tell(.refresh, at: 4, [after(5)])
    script.tell(.fetched(FetchID(9), Page(messages: [], hasNext: false)), at: second)
    script.tell(.opened(one, head: nil), at: 20, [after(5)])
    #expect(script.findings.count == count)
  }

  @Test(arguments: [(5, 1), (6, 0)])
  mutating func `a head behind an answer is a reason to ask`(answered: UInt64, count: Int) {
    keep()
    script.facts.own.isWhole = false
    let head = Position(epoch: "e", offset: answered)
    script.tell(.refresh, at: 1, [after(5)])
    script.tell(
      .fetched(FetchID(9), Page(messages: [], hasNext: false, head: head)), at: 2)
    script.tell(.opened(one, head: all[4].position), at: 3, [after(5)])
    #expect(script.findings.count == count)
  }

  @Test mutating func `a stream that is whole asks for nothing by itself`() {
    keep()
    script.tick(at: 1)
    script.tick(at: 2, [after(5)])
    #expect(script.findings == [Finding(.needless, at: .second(2), Self.detail)])
  }

  @Test(arguments: [
    StreamModel.Input.refresh, .reader(isBehind: false), .oversized(AttemptID(1), bytes: 1),
    .lifecycle(.foreground, at: Message.start), .open(at: Message.start),
  ])
  mutating func `a reason is a reason`(input: StreamModel.Input) {
    keep()
    script.tick(at: 1)
    script.tell(input, at: 2, [after(5)])
    #expect(script.findings == [])
  }

  @Test(arguments: [(4, 1), (5, 0)])
  mutating func `a message in turn leaves no hole`(number: Int, count: Int) {
    script.accept(all)
    script.store(
      TimelineChange(messages: Array(all[..<3]), cursor: Cursor(position: all[2].position)))
    script.tick(at: 1)
    script.tell(.frame(one, .message(all[number - 1])), at: 2, [after(3)])
    #expect(script.findings.count == count)
  }

  @Test mutating func `a plain server shows no head, and is asked`() {
    script.facts.own.server = .plain
    keep()
    script.tell(.opened(one, head: nil), at: 1, [.fetch(FetchID(1), .page(number: 1, limit: 50))])
    #expect(script.findings == [])
  }

  /// The last two are kept; the reader scrolls up from the one of a number.
  private mutating func scroll(from number: Int, gaps: [Gap] = [], waits: Bool = true) -> [String] {
    script.accept(all)
    script.store(TimelineChange(messages: Array(all[3...]), gaps: gaps))
    if waits { script.tell(.loadOlder, at: 1) }
    let before = Position(epoch: "e", offset: UInt64(number))
    script.tell(.older([]), at: 2, [.fetch(FetchID(1), .before(before, limit: 50))])
    return script.findings.map(\.detail)
  }

  @Test mutating func `a page that is not kept may be asked for`() {
    #expect(scroll(from: 4) == [])
  }

  @Test mutating func `one that is kept may not, but at a gap`() {
    #expect(scroll(from: 5) == ["a page was asked for that is kept: m4"])
    script = Script(Needs())
    #expect(scroll(from: 5, gaps: [Gap(after: all[3].key, before: all[4].key)]) == [])
  }

  @Test mutating func `a gap below a message that the log forgot is one, too`() {
    script.accept(all)
    let forgotten = Message(
      id: UUID128(high: 8, low: 5), shop: Facts.shop, user: "you", username: nil, text: "old",
      createdAt: all[4].createdAt, position: all[4].position)
    let gap = Gap(after: all[3].key, before: forgotten.key)
    script.store(TimelineChange(messages: Array(all[3...]) + [forgotten], gaps: [gap]))
    script.tell(.loadOlder, at: 1)
    let before = Position(epoch: "e", offset: 5)
    script.tell(.older([]), at: 2, [.fetch(FetchID(1), .before(before, limit: 50))])
    #expect(script.findings == [])
  }

  @Test(arguments: [(true, [String]()), (false, ["a page was asked for that is kept: m4"])])
  mutating func `an edge of a gap that was kept before its log began anew is one, too`(
    isEdge: Bool, found: [String]
  ) {
    script.accept(all)
    var edge = all[4]
    edge.position = Position(epoch: "d", offset: 9)
    let gaps = isEdge ? [Gap(after: all[3].key, before: edge.key)] : []
    script.store(TimelineChange(messages: [all[3], edge], gaps: gaps))
    script.tell(.loadOlder, at: 1)
    let before = Position(epoch: "e", offset: 5)
    script.tell(.older([]), at: 2, [.fetch(FetchID(1), .before(before, limit: 50))])
    #expect(script.findings.map(\.detail) == found)
  }

  /// Everything is kept, and the reader scrolls up at a message that the log forgot; what memory
  /// holds goes down to m3.
  @Test(arguments: [
    (3, true, [String]()), (4, true, ["a page was asked for that is kept: m2"]),
    (3, false, ["a page was asked for that is kept: m2"]),
  ])
  mutating func `what lies below the top and is no longer in memory may be asked for`(
    memory: Int, isShown: Bool, found: [String]
  ) {
    script.facts.own.settings.memory = memory
    script.accept(all)
    let forgotten = Message(
      id: UUID128(high: 8, low: 9), shop: Facts.shop, user: "you", username: nil, text: "old",
      createdAt: Message.start, position: Position(epoch: "e", offset: 9))
    script.store(TimelineChange(messages: [forgotten] + all))
    let shown: [Message] = (isShown ? [forgotten] : []) + Array(all[2...])
    script.tick(at: 1, [.update(.messages(shown, via: .history))])
    script.tell(.loadOlder, at: 1)
    let before = Position(epoch: "e", offset: 3)
    script.tell(.older([]), at: 2, [.fetch(FetchID(1), .before(before, limit: 50))])
    #expect(script.findings.map(\.detail) == found)
  }

  @Test mutating func `nobody asks before the beginning`() {
    #expect(scroll(from: 1) == ["older messages were asked for where history begins"])
  }

  @Test(arguments: ["e", "d"])
  mutating func `where history begins is known once the cursor is of that log`(epoch: String) {
    script.store(TimelineChange(cursor: Cursor(position: Position(epoch: epoch, offset: 5))))
    #expect(scroll(from: 1).isEmpty == (epoch == "d"))
  }

  @Test mutating func `without a reader none is asked for`() {
    #expect(scroll(from: 4, waits: false) == ["older messages were asked for, and no reader waits"])
  }
}

struct SendsTests {
  private var script = Script(Sends())
  private let id = OutboxEntry.number(1).id
  private var tries: UInt64 = 0

  private mutating func post(_ number: Int = 1, at second: Double) {
    tries += 1
    script.tick(at: second, [.post(.number(number), try: TryID(tries))])
  }

  @Test(arguments: [(19.9, true), (20, false)])
  mutating func `the next try comes once the last is given up`(second: Double, isFound: Bool) {
    post(at: 0)
    post(at: second)
    let detail = "own 1 was sent while a try of a message is under way"
    #expect(script.findings == (isFound ? [Finding(.storm, at: .second(second), detail)] : []))
  }

  @Test mutating func `another message waits for it, too`() {
    post(at: 0)
    post(2, at: 1)
    #expect(script.findings.count == 1)
  }

  @Test mutating func `an answer ends it`() {
    post(at: 0)
    script.tell(.postFailed(id, try: TryID(1), .reset), at: 1)
    post(at: 2)
    script.tell(.posted(id, .number(1)), at: 3)
    post(2, at: 4)
    #expect(script.findings == [])
  }

  @Test mutating func `the late failure of a try that was given up is not that of the present one`()
  {
    post(at: 0)
    post(at: 21)
    script.tell(.postFailed(id, try: TryID(1), .reset), at: 22)
    post(at: 23)
    #expect(script.findings.count == 1)
  }

  @Test mutating func `a closed connection gives it up`() {
    post(at: 0)
    script.tick(at: 1, [.close(AttemptID(1), code: 1001)])
    post(at: 2)
    script.tell(.close, at: 3)
    post(at: 4)
    #expect(script.findings == [])
  }
}

struct LifetimesTests {
  private var script = Script(Lifetimes())
  private let one = AttemptID(1)

  private mutating func open() {
    script.see(.fact(.admitted(one, until: .second(100))))
    script.see(.upgraded(.phone, one, status: 101))
  }

  @Test(arguments: [(106.0, 0), (106.1, 1)])
  mutating func `a socket ends 6 s after its token`(second: Double, count: Int) {
    open()
    script.tick(at: second)
    #expect(script.findings.map(\.kind) == Array(repeating: .outlived, count: count))
  }

  @Test mutating func `one that was refused or lost does not stand`() {
    script.see(.fact(.admitted(one, until: .second(100))))
    script.see(.upgraded(.phone, one, status: 401))
    script.tick(at: 200)
    open()
    script.see(.serverLost(.phone, one), at: 50)
    script.tick(at: 200)
    #expect(script.findings == [])
  }
}

struct DepartureTests {
  private var script = Script(Departure())

  @Test mutating func `a stream that was left waits for nothing`() {
    script.facts.deadline = nil
    script.tell(.close, at: 1)
    #expect(script.findings == [])
    script.facts.deadline = .second(5)
    script.tick(at: 2)
    script.tick(at: 3)
    let detail = "was left, and still waits for something in 3.0 seconds"
    #expect(script.findings == [Finding(.storm, at: .second(2), detail)])
  }

  @Test mutating func `it waits for a store that refused, and while it is open`() {
    script.tell(.commitFailed(CommitID(1), .full(detail: "")), at: 0)
    script.tell(.close, at: 1)
    script.tell(.open(at: Message.start), at: 2)
    #expect(script.findings == [])
    script.tell(.committed(CommitID(2), TimelineCommit()), at: 3)
    script.tell(.close, at: 4)
    #expect(script.findings.count == 1)
  }
}

struct HeadsTests {
  private var script = Script(Heads())
  private let one = AttemptID(1)

  private mutating func open(at cursor: Position, head: Position?) -> [Finding] {
    script.store(TimelineChange(cursor: Cursor(position: cursor)))
    script.see(.fact(.stated(one, head: head)))
    script.tell(.opened(one, head: head), at: 1)
    return script.findings
  }

  @Test mutating func `whole at the head is well, and so is a plain server`() {
    let head = Position(epoch: "e", offset: 5)
    #expect(open(at: head, head: head) == [])
    #expect(open(at: head, head: nil) == [])
  }

  @Test(arguments: [Position(epoch: "f", offset: 5), Position(epoch: "e", offset: 6)])
  mutating func `whole at another position is found`(head: Position) {
    let detail = "says that it is whole, and the head is \(head)"
    #expect(
      open(at: Position(epoch: "e", offset: 5), head: head)
        == [Finding(.lost, at: .second(1), detail)])
  }

  @Test(arguments: [(UInt64(4), 1), (5, 0), (6, 0)])
  mutating func `whole beyond the head is well as far as the log goes`(end: UInt64, count: Int) {
    script.accept((1...Int(end)).map { .number($0) })
    let findings = open(
      at: Position(epoch: "e", offset: 5), head: Position(epoch: "e", offset: 3))
    #expect(findings.count == count)
  }

  @Test mutating func `a log that was put back holds less`() {
    script.accept((1...6).map { .number($0) })
    script.see(.fact(.beganAnew(epoch: "e", kept: (1...4).map { .number($0) })))
    let head = Position(epoch: "e", offset: 4)
    #expect(open(at: Position(epoch: "e", offset: 6), head: head).count == 1)
  }

  @Test mutating func `what is not said to be whole may still become so`() {
    script.facts.own.isWhole = false
    let head = Position(epoch: "f", offset: 5)
    #expect(open(at: Position(epoch: "e", offset: 5), head: head) == [])
  }
}

struct EditsTests {
  private var script = Script(Edits())

  private mutating func edit(memory: Int = 1000, isLate: Bool = false) -> Message {
    script.facts.own.settings.memory = memory
    script.store(TimelineChange(messages: (1...3).map { .number($0) }))
    var edited = Message.number(1, text: "m1 (edited)")
    edited.updatedAt = Message.start.advanced(by: .seconds(100))
    script.tell(.frame(AttemptID(1), .message(edited)), isLate: isLate, at: 1)
    return edited
  }

  @Test mutating func `an edit that is kept is well, and one that is not is found`() {
    let edited = edit()
    let detail = "edits that came were not kept: m1 (edited)"
    #expect(script.end(at: 2) == [Finding(.lost, at: .second(2), detail)])
    script = Script(Edits())
    _ = edit()
    script.store(TimelineChange(messages: [edited]), at: 2)
    #expect(script.end(at: 3) == [])
  }

  @Test(arguments: [(2, 0), (3, 1)])
  mutating func `what memory does not hold is not promised`(memory: Int, count: Int) {
    _ = edit(memory: memory)
    #expect(script.end().count == count)
  }

  @Test mutating func `nor is what came late, or before a launch`() {
    _ = edit(isLate: true)
    #expect(script.end() == [])
    _ = edit()
    script.see(.launched(.phone, run: 2))
    #expect(script.end() == [])
  }
}
