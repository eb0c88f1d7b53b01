import LinkCore
import LinkStorage
import LinkWire

/// What servers without keys have shown of prompts, by conversation.
struct SessionEvidence: Sendable, Hashable {
  private var table: [String: PromptEvidence] = [:]

  /// The evidence of one conversation.
  subscript(_ conversation: String) -> PromptEvidence? { table[conversation] }

  /// Changes the evidence of a conversation, which is created if there is none; at the bound that
  /// of a conversation without a prompt under way is dropped.
  mutating func change<Value>(
    _ conversation: String, orCreate create: () -> PromptEvidence,
    _ body: (inout PromptEvidence) -> Value
  ) -> Value {
    // It is taken out, so that it is changed in place.
    var one = table.removeValue(forKey: conversation) ?? create()
    let value = body(&one)
    if table.count >= SessionSettings.weighedLimit,
      let idle = table.filter({ $0.value.key == nil }).keys.min()
    {
      table[idle] = nil
    }
    table[conversation] = one
    return value
  }

  /// Notes that the server has a prompt.
  mutating func accept(_ key: UUID128, in conversation: String) {
    table[conversation]?.accept(key)
  }

  /// Notes the stored end of a prompt.
  mutating func finish(_ ending: SessionEnding) {
    guard table[ending.conversation]?.key == ending.key else { return }
    table[ending.conversation]?.finish(by: ending.message)
  }

  /// Notes that the connection is gone.
  mutating func lose() {
    for conversation in Array(table.keys) { table[conversation]?.lose() }
  }
}

extension SessionEvidence: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    for one in table.values { one.check(&check) }
  }
}
