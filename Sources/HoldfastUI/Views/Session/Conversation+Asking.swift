import Holdfast
import HoldfastSession

extension Conversation {
  /// Whether an answer is being produced, which the user can end.
  var isAnswering: Bool { turns.last { $0.role == .user }?.state == .accepted }

  /// Sends a prompt, and waits until its answer is shown or its turn says why there is none.
  ///
  /// - Throws: An error only if the prompt was not accepted.
  func ask(_ text: String) async throws {
    if phase.error == .closed { throw OpenError.closed }
    if opening.isPreview {
      prompt(text)
      return
    }
    // A model that is closed before it opens accepts nothing, and the draft stays.
    _ = try await opening.opened()
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
