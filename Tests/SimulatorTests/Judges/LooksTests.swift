import LinkCore
import LinkWire
import MessageStream
import Testing

@testable import LinkSimulator

/// A plain server accepts twice what is sent twice: when that is nobody's fault.
struct LooksTests {
  private var script = Script(Ledger())
  private let entry = OutboxEntry.number(1)
  private let look = StreamModel.Effect.fetch(FetchID(1), .page(number: 1, limit: 50))
  private let nothing = StreamModel.Input.fetched(FetchID(1), Page(messages: [], hasNext: false))

  init() {
    script.facts.own.server = .plain
    script.store(TimelineChange(outboxPut: [entry]))
    script.tick(at: 1, [.post(entry, try: TryID(1))])
  }

  private func accepted(_ number: Int) -> Message {
    .number(number, text: entry.text, isPlain: true)
  }

  /// The look comes to nothing, and the entry goes out again.
  private mutating func looks() {
    script.tick(at: 2, [look])
    script.tell(nothing, at: 3, [.post(entry, try: TryID(1))])
  }

  private var twice: [Finding] {
    [Finding(.duplicated, at: .second(5), "own 1 was accepted 2 times")]
  }

  @Test mutating func `what came to the server after it was looked for may come twice`() {
    looks()
    script.accept([accepted(1)], at: 4)
    script.accept([accepted(2)], at: 5)
    #expect(script.findings == [])
  }

  @Test mutating func `what was there when it was looked for may not`() {
    script.accept([accepted(1)], at: 1.5)
    looks()
    script.accept([accepted(2)], at: 5)
    #expect(script.findings == twice)
  }

  @Test mutating func `what came over the socket may not`() {
    script.tick(at: 2, [look])
    script.accept([accepted(1)], at: 2)
    script.tell(.frame(AttemptID(1), .message(accepted(1))), at: 2)
    script.tell(nothing, at: 3, [.post(entry, try: TryID(1))])
    script.accept([accepted(2)], at: 5)
    #expect(script.findings == twice)
  }

  @Test mutating func `who does not look is not excused`() {
    script.tick(at: 3, [.post(entry, try: TryID(1))])
    script.accept([accepted(1)], at: 4)
    script.accept([accepted(2)], at: 5)
    #expect(script.findings == twice)
  }

  @Test mutating func `where there are keys nothing is excused`() {
    script.facts.own.server = .positions
    looks()
    script.accept([accepted(1)], at: 4)
    script.accept([accepted(2)], at: 5)
    #expect(script.findings == twice)
  }
}
