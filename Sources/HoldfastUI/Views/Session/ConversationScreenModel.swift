import Holdfast
import HoldfastCore
import HoldfastSession

/// The part of a model that the screen of a conversation uses.
@MainActor protocol ConversationScreenModel: AnyObject, Sendable {
  var turns: [TurnRow] { get }
  var connection: ConnectionState { get }
  var quality: LinkQuality? { get }
  var gap: SessionGap? { get }
  var notice: SessionNotice? { get }
  var phase: OpeningPhase { get }

  func follow() async
  func retry()
  func ask(_ text: String) async throws
  func retry(_ row: TurnRow)
  func discard(_ row: TurnRow)
  func cancel()
  func reconnect()
}

extension ConversationScreenModel {
  /// Whether an answer is being produced, which the user can end.
  var isAnswering: Bool { turns.last { $0.role == .user }?.state == .accepted }
}

extension Conversation: ConversationScreenModel {
  /// Sends a prompt, and waits until its answer is shown or its turn says why there is none.
  ///
  /// - Throws: An error only if the prompt was not accepted.
  func ask(_ text: String) async throws {
    if phase.error == .closed { throw OpenError.closed }
    if opening.isPreview {
      prompt(text)
      return
    }
    do {
      _ = try await answer(to: text)
    } catch OpenError.closed {
      // The session was closed while the answer was awaited. The next run continues with the prompt.
      return
    } catch let error as AnswerError {
      // The turn of an accepted prompt says that it has failed.
      if !turns.contains(where: { $0.id == error.key.description }) { throw error }
    }
  }
}
