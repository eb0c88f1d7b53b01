import LinkCore
import LinkHealth
import LinkJSON
import LinkWire
import Testing

@testable import HealthRelay

struct RelayRequestTests {
  private let first = AttemptID(1)

  @Test func `a question is read and answered, and ends when a pong confirms the answer`() {
    var bench = RelayBench.running()
    bench.answersPings = false
    bench.ask("a")
    #expect(bench.take() == [.read(WorkID(1), .of("a"), .steps, inParts: true)])
    bench.pass(.milliseconds(250))
    bench.prepare()
    #expect(bench.log.prefix(2) == [.send(first, WorkID(1), part: 0), .ping(first, ping(1))])
    #expect(bench.receipts == [])
    bench.pass(.milliseconds(50))
    bench.forget()
    bench.give(.pong(first, ping(1)))
    #expect(bench.take() == [.discard(WorkID(1))])
    #expect(
      bench.receipts == [
        receipt("a", .answered(points: 3, isTruncated: false), .milliseconds(300))
      ])
  }

  @Test func `the last 256 answered questions are remembered`() {
    var line = RequestLine()
    for number in 0...256 { line.noteAnswered(.of("n\(number)")) }
    let known = (1...256).map { RelayRequestID.of("n\($0)") }
    #expect(line.answered == known)
  }

  @Test func `questions are answered one at a time, in the order in which they came`() {
    var bench = RelayBench.running()
    for id in ["a", "b", "c"] { bench.ask(id) }
    #expect(bench.take() == [.read(WorkID(1), .of("a"), .steps, inParts: true)])
    for _ in 0..<3 { bench.prepare() }
    #expect(bench.receipts.map(\.id.text) == ["a", "b", "c"])
    #expect(
      bench.take() == [
        .send(first, WorkID(1), part: 0), .discard(WorkID(1)),
        .read(WorkID(2), .of("b"), .steps, inParts: true),
        .send(first, WorkID(2), part: 0), .discard(WorkID(2)),
        .read(WorkID(3), .of("c"), .steps, inParts: true),
        .send(first, WorkID(3), part: 0), .discard(WorkID(3)),
      ])
  }

  @Test func `each part of a long answer waits until a pong confirms the previous part`() {
    var bench = RelayBench.running()
    bench.answersPings = false
    bench.ask("a")
    bench.prepare(parts: 3)
    #expect(sent(&bench) == [0])
    bench.give(.pong(first, ping(2)))
    #expect(sent(&bench) == [])
    bench.give(.pong(first, ping(1)))
    #expect(sent(&bench) == [1])
    bench.give(.pong(first, ping(1)))
    bench.give(.pong(first, ping(2)))
    #expect(sent(&bench) == [2])
    bench.give(.pong(first, ping(3)))
    #expect(bench.receipts.count == 1)
  }

  @Test func `a repeated question is answered once`() {
    var bench = RelayBench.asked()
    bench.ask("a")
    bench.ask("b")
    bench.ask("b")
    bench.prepare()
    bench.ask("a")
    bench.prepare()
    bench.ask("a")
    bench.ask("b")
    #expect(bench.receipts.map(\.id.text) == ["a", "b"])
    #expect(bench.work == nil)
  }

  @Test func `the opening of an unknown connection does not cause a question to be answered again`()
  {
    var bench = RelayBench.asked()
    bench.prepare()
    bench.give(.opened(AttemptID(99)))
    bench.ask("a")
    #expect(bench.receipts.map(\.id.text) == ["a"])
    #expect(bench.work == nil)
  }

  @Test func `a backend that does not announce support for parts gets the answer in one message`() {
    var bench = RelayBench.asked(.service, .plain)
    #expect(bench.take() == [.read(WorkID(1), .of("a"), .steps, inParts: false)])
  }

  @Test func `a cancelled question is not answered, whether queued, being read or already sent`() {
    var bench = RelayBench.running()
    bench.answersPings = false
    for id in ["a", "b", "c"] { bench.ask(id) }
    bench.say(.cancelled(.of("b")))
    bench.say(.cancelled(.of("nobody's")))
    #expect(bench.receipts.map(\.id.text) == ["b"])
    bench.say(.cancelled(.of("a")))
    bench.prepare()
    bench.forget()
    bench.say(.cancelled(.of("c")))
    #expect(bench.take() == [.discard(WorkID(2))])
    bench.give(.pong(first, ping(1)))
    #expect(bench.receipts.map(\.outcome) == [.cancelled])
    #expect(bench.model.line.items == [])
  }

  @Test func `a cancelled question can be asked again`() {
    var bench = RelayBench.asked()
    bench.say(.cancelled(.of("a")))
    bench.ask("a")
    bench.prepare()
    #expect(
      bench.receipts.map(\.outcome) == [.cancelled, .answered(points: 3, isTruncated: false)])
  }

  @Test func `an answer prepared after its question was cancelled is discarded`() {
    var bench = RelayBench.asked()
    bench.say(.cancelled(.of("a")))
    bench.forget()
    let answer = RelayModel.Prepared(parts: 1, content: .points(1, isTruncated: false))
    bench.give(.prepared(WorkID(1), answer))
    bench.give(.prepared(WorkID(9), answer))
    #expect(bench.take() == [.discard(WorkID(1)), .discard(WorkID(9))])
  }

  @Test func `32 questions can be queued, and the next is refused at once`() {
    var bench = RelayBench.running()
    for number in 1...32 { bench.ask("\(number)") }
    #expect(bench.model.line.items.count == 32)
    #expect(bench.problems == [])
    _ = bench.take()
    bench.ask("33")
    bench.ask("33")
    #expect(
      bench.take() == [
        .refuse(
          first, .of("33"), .healthData, reason: "too many questions wait for this phone")
      ])
    #expect(bench.problems == [.busy])
    bench.prepare()
    bench.ask("34")
    #expect(bench.model.line.items.count == 32)
  }

  @Test func `a store that does not answer within 40 s fails its question, not the next`() {
    var bench = RelayBench.asked()
    bench.ask("b")
    bench.pass(.milliseconds(39_999))
    #expect(bench.receipts == [])
    _ = bench.take()
    bench.pass(.milliseconds(1))
    let reason = "the health data could not be read in time"
    #expect(
      bench.take() == [
        .discard(WorkID(1)), .fail(WorkID(2), .of("a"), .healthData, reason: reason),
        .send(first, WorkID(2), part: 0), .discard(WorkID(2)),
        .read(WorkID(3), .of("b"), .steps, inParts: true),
      ])
    #expect(bench.receipts.map(\.outcome) == [.refused(reason: reason)])
    #expect(bench.problems == [.unreadable(reason)])
    bench.prepare()
    #expect(bench.receipts.map(\.id.text) == ["a", "b"])
  }

  @Test func `a failed question is refused with its reason, and only a store failure is a problem`()
  {
    var bench = RelayBench.asked()
    bench.give(
      .prepared(WorkID(1), RelayModel.Prepared(parts: 1, content: .refused(reason: "start > end"))))
    bench.ask("b")
    bench.give(
      .prepared(WorkID(2), RelayModel.Prepared(parts: 1, content: .unreadable(reason: "locked"))))
    #expect(
      bench.receipts.map(\.outcome) == [
        .refused(reason: "start > end"), .refused(reason: "locked"),
      ]
    )
    #expect(bench.problems == [.unreadable("locked")])
  }

  @Test func `unknown and malformed messages are refused with their ID, and the session goes on`() {
    var bench = RelayBench.running()
    bench.say(.unknown(type: "news", .of("n")))
    bench.say(
      .malformed(RelayWireError(.badDate(field: "start_time"), id: .of("m"), kind: .summary)))
    bench.say(.malformed(RelayWireError(.malformed(detail: "no JSON"))))
    #expect(
      bench.take() == [
        .refuse(first, .of("n"), nil, reason: "messages of this type are not understood"),
        .refuse(
          first, .of("m"), .summary,
          reason: "the message cannot be read: start_time is not an ISO 8601 date"),
        .refuse(first, nil, nil, reason: "the message cannot be read: no JSON"),
      ])
    #expect(bench.state == .running)
    bench.ask("a")
    bench.prepare()
    #expect(bench.receipts.map(\.id.text) == ["a"])
  }

  @Test func `at most 20 refusals are sent a minute, so two ends cannot refuse each other forever`()
  {
    var bench = RelayBench.running()
    for _ in 0..<21 { bench.say(.unknown(type: "error", nil)) }
    #expect(bench.take().count == 20)
    bench.pass(.milliseconds(59_999))
    bench.say(.unknown(type: "error", nil))
    #expect(bench.take().count == 0)
    bench.pass(.milliseconds(1))
    bench.say(.unknown(type: "error", nil))
    #expect(bench.take().count == 1)
  }

  private func ping(_ number: UInt64) -> UInt64 { 1 << 63 | number }

  private func receipt(
    _ id: String, _ outcome: RelayReceipt.Outcome, _ took: Duration
  ) -> RelayReceipt {
    var item = RequestLine.Item(id: .of(id), question: .steps, attempt: first, askedAt: .zero)
    item.progress = .waiting
    return RelayReceipt(item, outcome, at: .zero.advanced(by: took))
  }

  private func sent(_ bench: inout RelayBench) -> [Int] {
    bench.take().compactMap { if case .send(_, _, let part) = $0 { part } else { nil } }
  }
}
