import HoldfastCore
import HoldfastHealth
import HoldfastJSON
import HoldfastRelayData
import Testing

@testable import HoldfastHealthRelay

struct RelayRequestTests {
  private let first = AttemptID(1)

  @Test func `a question is read and answered, and ends when a pong confirms the answer`() {
    var harness = RelayHarness.running()
    harness.answersPings = false
    harness.ask("a")
    #expect(harness.take() == [.read(WorkID(1), .of("a"), .steps, inParts: true)])
    harness.pass(.milliseconds(250))
    harness.prepare()
    #expect(harness.log.prefix(2) == [.send(first, WorkID(1), part: 0), .ping(first, ping(1))])
    #expect(harness.receipts == [])
    harness.pass(.milliseconds(50))
    harness.forget()
    harness.give(.pong(first, ping(1)))
    #expect(harness.take() == [.discard(WorkID(1))])
    #expect(
      harness.receipts == [
        receipt("a", .answered(points: 3, isTruncated: false), .milliseconds(300))
      ])
  }

  @Test func `the last 256 answered questions are remembered`() {
    var line = QuestionQueue()
    for number in 0...256 { line.noteAnswered(.of("n\(number)")) }
    let known = (1...256).map { RelayRequestID.of("n\($0)") }
    #expect(line.answered == known)
  }

  @Test func `questions are answered one at a time, in the order in which they came`() {
    var harness = RelayHarness.running()
    for id in ["a", "b", "c"] { harness.ask(id) }
    #expect(harness.take() == [.read(WorkID(1), .of("a"), .steps, inParts: true)])
    for _ in 0..<3 { harness.prepare() }
    #expect(harness.receipts.map(\.id.text) == ["a", "b", "c"])
    #expect(
      harness.take() == [
        .send(first, WorkID(1), part: 0), .discard(WorkID(1)),
        .read(WorkID(2), .of("b"), .steps, inParts: true),
        .send(first, WorkID(2), part: 0), .discard(WorkID(2)),
        .read(WorkID(3), .of("c"), .steps, inParts: true),
        .send(first, WorkID(3), part: 0), .discard(WorkID(3)),
      ])
  }

  @Test func `each part of a long answer waits until a pong confirms the previous part`() {
    var harness = RelayHarness.running()
    harness.answersPings = false
    harness.ask("a")
    harness.prepare(parts: 3)
    #expect(sent(&harness) == [0])
    harness.give(.pong(first, ping(2)))
    #expect(sent(&harness) == [])
    harness.give(.pong(first, ping(1)))
    #expect(sent(&harness) == [1])
    harness.give(.pong(first, ping(1)))
    harness.give(.pong(first, ping(2)))
    #expect(sent(&harness) == [2])
    harness.give(.pong(first, ping(3)))
    #expect(harness.receipts.count == 1)
  }

  @Test func `a repeated question is answered once`() {
    var harness = RelayHarness.asked()
    harness.ask("a")
    harness.ask("b")
    harness.ask("b")
    harness.prepare()
    harness.ask("a")
    harness.prepare()
    harness.ask("a")
    harness.ask("b")
    #expect(harness.receipts.map(\.id.text) == ["a", "b"])
    #expect(harness.work == nil)
  }

  @Test func `the opening of an unknown connection does not cause a question to be answered again`()
  {
    var harness = RelayHarness.asked()
    harness.prepare()
    harness.give(.opened(AttemptID(99)))
    harness.ask("a")
    #expect(harness.receipts.map(\.id.text) == ["a"])
    #expect(harness.work == nil)
  }

  @Test func `a backend that does not announce support for parts gets the answer in one message`() {
    var harness = RelayHarness.asked(.service, .plain)
    #expect(harness.take() == [.read(WorkID(1), .of("a"), .steps, inParts: false)])
  }

  @Test func `a cancelled question is not answered, whether queued, being read or already sent`() {
    var harness = RelayHarness.running()
    harness.answersPings = false
    for id in ["a", "b", "c"] { harness.ask(id) }
    harness.say(.cancelled(.of("b")))
    harness.say(.cancelled(.of("nobody's")))
    #expect(harness.receipts.map(\.id.text) == ["b"])
    harness.say(.cancelled(.of("a")))
    harness.prepare()
    harness.forget()
    harness.say(.cancelled(.of("c")))
    #expect(harness.take() == [.discard(WorkID(2))])
    harness.give(.pong(first, ping(1)))
    #expect(harness.receipts.map(\.outcome) == [.cancelled])
    #expect(harness.model.questions.items == [])
  }

  @Test func `a cancelled question can be asked again`() {
    var harness = RelayHarness.asked()
    harness.say(.cancelled(.of("a")))
    harness.ask("a")
    harness.prepare()
    #expect(
      harness.receipts.map(\.outcome) == [.cancelled, .answered(points: 3, isTruncated: false)])
  }

  @Test func `an answer prepared after its question was cancelled is discarded`() {
    var harness = RelayHarness.asked()
    harness.say(.cancelled(.of("a")))
    harness.forget()
    let answer = RelayModel.Prepared(parts: 1, content: .points(1, isTruncated: false))
    harness.give(.prepared(WorkID(1), answer))
    harness.give(.prepared(WorkID(9), answer))
    #expect(harness.take() == [.discard(WorkID(1)), .discard(WorkID(9))])
  }

  @Test func `32 questions can be queued, and the next is refused at once`() {
    var harness = RelayHarness.running()
    for number in 1...32 { harness.ask("\(number)") }
    #expect(harness.model.questions.items.count == 32)
    #expect(harness.problems == [])
    _ = harness.take()
    harness.ask("33")
    harness.ask("33")
    #expect(
      harness.take() == [
        .refuse(
          first, .of("33"), .healthData, reason: "too many questions wait for this phone")
      ])
    #expect(harness.problems == [.busy])
    harness.prepare()
    harness.ask("34")
    #expect(harness.model.questions.items.count == 32)
  }

  @Test func `a store that does not answer within 40 s fails its question, not the next`() {
    var harness = RelayHarness.asked()
    harness.ask("b")
    harness.pass(.milliseconds(39_999))
    #expect(harness.receipts == [])
    _ = harness.take()
    harness.pass(.milliseconds(1))
    let reason = "the health data could not be read in time"
    #expect(
      harness.take() == [
        .discard(WorkID(1)), .fail(WorkID(2), .of("a"), .healthData, reason: reason),
        .send(first, WorkID(2), part: 0), .discard(WorkID(2)),
        .read(WorkID(3), .of("b"), .steps, inParts: true),
      ])
    #expect(harness.receipts.map(\.outcome) == [.refused(reason: reason)])
    #expect(harness.problems == [.unreadable(reason)])
    harness.prepare()
    #expect(harness.receipts.map(\.id.text) == ["a", "b"])
  }

  @Test func `a failed question is refused with its reason, and only a store failure is a problem`()
  {
    var harness = RelayHarness.asked()
    harness.give(
      .prepared(WorkID(1), RelayModel.Prepared(parts: 1, content: .refused(reason: "start > end"))))
    harness.ask("b")
    harness.give(
      .prepared(WorkID(2), RelayModel.Prepared(parts: 1, content: .unreadable(reason: "locked"))))
    #expect(
      harness.receipts.map(\.outcome) == [
        .refused(reason: "start > end"), .refused(reason: "locked"),
      ]
    )
    #expect(harness.problems == [.unreadable("locked")])
  }

  @Test func `unknown and malformed messages are refused with their ID, and the session goes on`() {
    var harness = RelayHarness.running()
    harness.say(.unknown(type: "news", .of("n")))
    harness.say(
      .malformed(RelayWireError(.badDate(field: "start_time"), id: .of("m"), kind: .summary)))
    harness.say(.malformed(RelayWireError(.malformed(detail: "no JSON"))))
    #expect(
      harness.take() == [
        .refuse(first, .of("n"), nil, reason: "messages of this type are not understood"),
        .refuse(
          first, .of("m"), .summary,
          reason: "the message cannot be read: start_time is not an ISO 8601 date"),
        .refuse(first, nil, nil, reason: "the message cannot be read: no JSON"),
      ])
    #expect(harness.state == .running)
    harness.ask("a")
    harness.prepare()
    #expect(harness.receipts.map(\.id.text) == ["a"])
  }

  @Test func `at most 20 refusals are sent a minute, so two ends cannot refuse each other forever`()
  {
    var harness = RelayHarness.running()
    for _ in 0..<21 { harness.say(.unknown(type: "error", nil)) }
    #expect(harness.take().count == 20)
    harness.pass(.milliseconds(59_999))
    harness.say(.unknown(type: "error", nil))
    #expect(harness.take().count == 0)
    harness.pass(.milliseconds(1))
    harness.say(.unknown(type: "error", nil))
    #expect(harness.take().count == 1)
  }

  private func ping(_ number: UInt64) -> UInt64 { 1 << 63 | number }

  private func receipt(
    _ id: String, _ outcome: RelayReceipt.Outcome, _ duration: Duration
  ) -> RelayReceipt {
    var item = QuestionQueue.Item(id: .of(id), question: .steps, attempt: first, askedAt: .zero)
    item.progress = .waiting
    return RelayReceipt(item, outcome, at: .zero.advanced(by: duration))
  }

  private func sent(_ harness: inout RelayHarness) -> [Int] {
    harness.take().compactMap { if case .send(_, _, let part) = $0 { part } else { nil } }
  }
}
