import Holdfast
import HoldfastMessageStream

extension ShopMessages {
  /// Sends a text, and waits until the server has it or `waiting` shows what became of it.
  ///
  /// - Throws: An error only if the text was not accepted.
  func send(accepting text: String) async throws {
    if phase.error == .closed { throw OpenError.closed }
    if opening.isPreview {
      enqueue(text)
      return
    }
    // A model that is closed before it opens accepts nothing, and the draft stays.
    _ = try await opening.opened()
    do {
      let _: MessageRow = try await send(text)
    } catch OpenError.closed {
      // The shop was closed while the message was on its way. It is not offered to be sent twice.
      return
    } catch let error as SendError {
      // The row of an accepted message says that it has failed.
      if !waiting.contains(where: { $0.id == error.id }), error.reason != .discarded {
        throw error
      }
    }
  }
}
