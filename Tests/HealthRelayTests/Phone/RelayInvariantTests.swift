import HoldfastTestKit
import LinkHealth
import LinkWire
import Testing

@testable import HealthRelay
@testable import LinkCore

/// Each invariant of a relay and of its line can fail.
@Suite struct RelayInvariantTests {
  typealias Plant = PlantedFault<RelayModel>

  /// Runs; the first of two questions is on its way in two parts.
  private static var sending: RelayModel {
    var bench = RelayBench.running()
    bench.answersPings = false
    bench.ask("a")
    bench.ask("b")
    bench.prepare(parts: 2)
    return bench.model
  }

  private func check(_ plants: [Plant], _ model: RelayModel) {
    #expect(unnoticed(plants, in: model) == [])
  }

  @Test func `what a session is made of is checked`() {
    check(
      [
        ("relay: the link is wanted only after the user's start", { $0.phase = .quiet }),
        ("relay: connected means that a code came", { $0.welcome = nil }),
        (
          "relay: a session that is over has no questions",
          { $0.link = HeldLink(policy: .healthRelayService, seed: 1) }
        ),
        (
          "relay: a session that is over has no questions",
          {
            $0.link = HeldLink(policy: .healthRelayService, seed: 1)
            $0.welcome = nil
          }
        ),
        (
          "relay: a session that is over has no questions",
          {
            $0.link = HeldLink(policy: .healthRelayService, seed: 1)
            $0.line.items = []
          }
        ),
        (
          "relay: an answer is sent over the connection that waits for it",
          { $0.line.items[0].attempt = AttemptID(99) }
        ),
        ("relay: the user is shown the present state", { $0.status = RelayStatus(.error) }),
        ("gate: it is left only in the background", { $0.link.gate.leavesAt = .zero }),
        (
          "windows: events are remembered in order",
          {
            $0.refusals.note(at: .second(2))
            $0.refusals.note(at: .second(1))
          }
        ),
      ], Self.sending)
  }

  @Test func `no answer is sent before a code came`() {
    var bench = RelayBench.started(.service)
    bench.give(.opened(bench.attempt))
    bench.ask("a")
    let sending = RequestLine.Progress.sending(
      WorkID(1), RelayModel.Prepared(parts: 1, content: .points(1, isTruncated: false)), part: 0,
      ping: 1 << 63)
    check(
      [
        (
          "relay: an answer is sent over the connection that waits for it",
          { $0.line.items[0].progress = sending }
        )
      ], bench.model)
  }

  @Test func `of an answer in one message there is no second part`() {
    var bench = RelayBench.running()
    bench.answersPings = false
    bench.ask("a")
    bench.prepare(parts: 1)
    check(
      [("request line: the part that is sent is one of the answer", { $0.change(part: 1) })],
      bench.model)
  }

  @Test func `the line of questions is checked`() {
    check(
      [
        (
          "request line: it holds no more than its limits",
          { model in
            for number in 0...RelaySettings.lineLimit {
              model.line.items.append(Self.item("n\(number)"))
            }
          }
        ),
        (
          "request line: it holds no more than its limits",
          { $0.line.answered = (0...256).map { .of("n\($0)") } }
        ),
        (
          "request line: only the first is worked on",
          { $0.line.items[1].progress = .reading(WorkID(1), until: .zero) }
        ),
        ("request line: a reading was numbered", { $0.line.lastWork = 0 }),
        ("request line: the part that is sent is one of the answer", { $0.change(part: 2) }),
        ("request line: the part that is sent is one of the answer", { $0.change(part: -1) }),
        ("request line: the awaited pong is of the last ping", { $0.line.lastPing = 99 }),
        ("request line: a question is in it once", { $0.line.items.append(Self.item("b")) }),
        (
          "request line: what is answered is not in it any more",
          { $0.line.noteAnswered(.of("b")) }
        ),
      ], Self.sending)
  }

  private static func item(_ id: String) -> RequestLine.Item {
    RequestLine.Item(id: .of(id), question: .steps, attempt: AttemptID(1), askedAt: .zero)
  }
}

extension RelayModel {
  /// Has another part of the first answer on its way.
  fileprivate mutating func change(part: Int) {
    guard case .sending(let work, let prepared, _, let ping) = line.items[0].progress else {
      return
    }
    line.items[0].progress = .sending(work, prepared, part: part, ping: ping)
  }
}
