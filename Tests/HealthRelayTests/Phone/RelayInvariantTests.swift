import HoldfastTestKit
import Testing

@testable import HoldfastCore
@testable import HoldfastHealthRelay

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
      { $0.questions.items[0].attempt = AttemptID(99) }
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
      "question queue: its sizes are within the limits",
      { model in
        for number in 0...RelaySettings.queueLimit {
          model.questions.items.append(item("n\(number)"))
        }
      }
    ),
    (
      "question queue: its sizes are within the limits",
      { $0.questions.answered = (0...256).map { .of("n\($0)") } }
    ),
    (
      "question queue: only the first question is in progress",
      { $0.questions.items[1].progress = .reading(WorkID(1), until: .zero) }
    ),
    ("question queue: the part being sent belongs to the answer", { send(part: -1, of: &$0) }),
    ("question queue: the part being sent belongs to the answer", { send(part: 2, of: &$0) }),
    ("question queue: ids are unique", { $0.questions.items.append(item("b")) }),
    ("question queue: answered questions are removed", { $0.questions.noteAnswered(.of("b")) }),
  ]

  private static func item(_ id: String) -> QuestionQueue.Item {
    QuestionQueue.Item(id: .of(id), question: .steps, attempt: AttemptID(1), askedAt: .zero)
  }

  private static func send(part: Int, of model: inout RelayModel) {
    guard case .sending(let work, let answer, _, let ping) = model.questions.items[0].progress
    else {
      return
    }
    model.questions.items[0].progress = .sending(work, answer, part: part, ping: ping)
  }

  @Test func `the invariants detect every broken relay state`() {
    #expect(unnoticed(Self.plants, in: Self.sending) == [])
  }
}
