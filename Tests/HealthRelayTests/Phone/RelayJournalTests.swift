import Foundation
import HoldfastCore
import Testing

@testable import HoldfastHealthRelay

/// Tests of the contents of a relay's journal.
struct RelayJournalTests {
  @Test func `a journal preserves inputs and effects but not their secrets`() throws {
    let inputs: [RelayModel.Input] = [
      .start, .message(AttemptID(1), .paired(.first)),
      .message(AttemptID(1), .asked(.of("a"), .steps)),
      .prepared(WorkID(1), .init(parts: 2, content: .points(3, isTruncated: true))),
    ]
    let text = String(decoding: try JSONEncoder().encode(inputs), as: UTF8.self)
    for secret in ["123456", "harbour", "t1"] { #expect(!text.contains(secret)) }
    let back = try JSONDecoder().decode([RelayModel.Input].self, from: Data(text.utf8))
    #expect(back.count == 4)
    #expect(back[0] == .start && back[2] == inputs[2] && back[3] == inputs[3])
    #expect(String(describing: RelayModel.Welcome.first).contains("harbour") == false)
    var sender = RelayModel(settings: RelaySettings(.service), seed: 1)
    var receiver = sender
    for (was, now) in zip(inputs, back) {
      let effects = try JSONEncoder().encode(sender.handle(was, at: .zero))
      #expect(
        try JSONDecoder().decode([RelayModel.Effect].self, from: effects)
          == receiver.handle(now, at: .zero))
    }
  }
}
