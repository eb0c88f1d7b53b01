import Foundation
import Observation

/// The text that the user writes, and the way of what was sent.
@MainActor @Observable final class Draft {
  /// The text of the field.
  var text: String
  /// Why the last text was not accepted; `nil` if it was. The field then has that text again.
  private(set) var failure: Phrase?

  init(_ text: String = "") { self.text = text }

  /// The image that is sent with the text; `nil` if there is none.
  private(set) var image: Data?

  /// Whether there is something to send.
  var canSend: Bool { image != nil || text.contains { !$0.isWhitespace } }

  /// Attaches the image that a closure returns, unless it returns `nil`.
  func attach(from source: @MainActor () async throws -> Data?) async {
    failure = nil
    do {
      if let picked = try await source() { image = picked }
    } catch is CancellationError {
      return
    } catch {
      failure = Phrase("compose.image.failed")
    }
  }

  /// Removes the image.
  func detach() { image = nil }

  /// Sends the text without the image, as the other method does.
  func send(with send: @escaping @MainActor (String) async throws -> Void) async {
    await self.send { text, _ in try await send(text) }
  }

  /// Sends the text and the image with a closure that waits for the result, and empties the field at
  /// once.
  ///
  /// The list shows what becomes of an accepted text. One that was not accepted returns to the field
  /// unless the user writes another one.
  ///
  /// - Parameter send: A closure that throws an error only if the text was not accepted.
  func send(with send: @escaping @MainActor (String, Data?) async throws -> Void) async {
    guard canSend else { return }
    let sent = (text: text, image: image)
    (text, image, failure) = ("", nil, nil)
    do {
      try await send(sent.text, sent.image)
    } catch is CancellationError {
      return
    } catch {
      failure = Phrase("compose.failed")
      if text.isEmpty, image == nil { (text, image) = sent }
    }
  }
}
