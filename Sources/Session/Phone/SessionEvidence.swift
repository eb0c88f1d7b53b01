import HoldfastCore
import HoldfastSessionData

/// The evidence about prompts on servers without keys, by conversation.
struct SessionEvidence: Sendable, Hashable {
  private var table: [String: PromptEvidence] = [:]

  /// Returns the evidence of one conversation.
  subscript(_ conversation: String) -> PromptEvidence? { table[conversation] }

  /// Changes the evidence of a conversation. Creates the evidence if necessary.
  ///
  /// At the limit, the evidence of a conversation without a current prompt is dropped.
  mutating func change<Value>(
    _ conversation: String, orCreate create: () -> PromptEvidence,
    _ body: (inout PromptEvidence) -> Value
  ) -> Value {
    // The value is removed from the table so that it can be changed in place.
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

  /// Records that the server has a prompt.
  mutating func accept(_ key: UUID128, in conversation: String) {
    table[conversation]?.accept(key)
  }

  /// Records the stored end of a prompt.
  mutating func finish(_ ending: SessionEnding) {
    guard table[ending.conversation]?.key == ending.key else { return }
    table[ending.conversation]?.finish(by: ending.message)
  }

  /// Records that the connection was lost.
  mutating func lose() {
    for conversation in Array(table.keys) { table[conversation]?.lose() }
  }
}

extension SessionEvidence: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    for one in table.values { one.check(&check) }
  }
}
