public import Foundation
public import HoldfastCore
public import HoldfastSessionData

// Conversations are lower-case UUIDs in the protocol. Foundation's UUIDs are upper-case as text.
extension HeldSession {
  /// Sends a prompt without waiting. Its outcome is reported as events.
  ///
  /// - Returns: The key of the prompt, by which its events can be matched.
  @discardableResult
  public func prompt(_ text: String, in conversation: UUID) -> UUID128 {
    prompt(text, in: conversation.uuidString.lowercased())
  }

  /// Sends a prompt, and waits for its answer, as the method for a conversation's text does.
  public func answer(
    to text: String, in conversation: UUID, key: UUID128? = nil, within limit: Duration? = nil
  ) async throws(AnswerError) -> SessionEntry {
    try await answer(to: text, in: conversation.uuidString.lowercased(), key: key, within: limit)
  }

  /// Cancels the work in progress in a conversation.
  public func cancel(conversation: UUID) {
    cancel(conversation: conversation.uuidString.lowercased())
  }

  /// Follows another conversation. It becomes the default for later prompts.
  public func follow(conversation: UUID) {
    follow(conversation: conversation.uuidString.lowercased())
  }
}
