import Foundation
import Holdfast
import HoldfastMessageData
import HoldfastMessageStream

extension ShopMessages {
  /// Sends a text, and waits until the server has it or `waiting` shows what became of it.
  ///
  /// - Throws: An error only if the text was not accepted.
  func send(
    accepting text: String, image: Data? = nil, replyingTo parent: MessageRow? = nil
  ) async throws {
    let image = try image.map { data throws(ShopStream.ImageFailure) in try ShopStream.Image(data) }
    if phase.error == .closed { throw OpenError.closed }
    if opening.isPreview {
      enqueue(MessageContent(text, parent: parent?.id))
      return
    }
    // A model that is closed before it opens accepts nothing, and the draft stays.
    _ = try await opening.opened()
    do {
      if let image {
        try await send(text, image: image, replyingTo: parent)
      } else {
        _ = try await delivered { try await $0.send(text, parent: parent?.id) }
      }
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
