import HoldfastTestKit
import LinkHealth
import LinkWire
import Testing

@testable import HealthRelay
@testable import LinkCore

/// Tests that the invariant checks of a relay and of its parts detect broken states.
@Suite struct RelayInvariantTests {
  /// A running relay that is sending the answer to the first of two questions, in two parts.
  private static var sending: RelayModel {
    var harness = RelayHarness.running()
    harness.answersPings = false
    harness.ask("a")
    harness.ask("b")
    harness.prepare(parts: 2)
    return harness.model
  }

  private static let plants: [PlantedFault<RelayModel>] = [
    ("relay: the link is wanted only after the user's start", { $0.phase = .quiet }),
    ("relay: connected means that a code came", { $0.welcome = nil }),
    (
      "relay: a session that is over has no questions",
      { $0.link = HeldLink(policy: .healthRelayService, seed: 1) }
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
    (
      "request line: it holds no more than its limits",
      { model in
        for number in 0...RelaySettings.lineLimit { model.line.items.append(item("n\(number)")) }
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
    ("request line: the part that is sent is one of the answer", { send(part: -1, of: &$0) }),
    ("request line: the part that is sent is one of the answer", { send(part: 2, of: &$0) }),
    ("request line: a question is in it once", { $0.line.items.append(item("b")) }),
    ("request line: an answered question is no longer in it", { $0.line.noteAnswered(.of("b")) }),
  ]

  private static func item(_ id: String) -> RequestLine.Item {
    RequestLine.Item(id: .of(id), question: .steps, attempt: AttemptID(1), askedAt: .zero)
  }

  private static func send(part: Int, of model: inout RelayModel) {
    guard case .sending(let work, let answer, _, let ping) = model.line.items[0].progress else {
      return
    }
    model.line.items[0].progress = .sending(work, answer, part: part, ping: ping)
  }

  @Test func `the invariants detect every broken relay state`() {
    #expect(unnoticed(Self.plants, in: Self.sending) == [])
  }
}
