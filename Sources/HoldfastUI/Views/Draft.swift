import Observation

/// The text that the user writes, and the way of what was sent.
@MainActor @Observable final class Draft {
  /// The text of the field.
  var text = ""
  /// Why the last text was not accepted; `nil` if it was. The field then has that text again.
  private(set) var failure: Phrase?

  /// Whether there is something to send.
  var canSend: Bool { text.contains { !$0.isWhitespace } }

  /// Sends the text with a closure that waits for the result, and empties the field at once.
  ///
  /// The list shows what becomes of an accepted text. One that was not accepted returns to the field
  /// unless the user writes another one.
  ///
  /// - Parameter send: A closure that throws an error only if the text was not accepted.
  func send(with send: @escaping @MainActor (String) async throws -> Void) async {
    guard canSend else { return }
    let sent = text
    (text, failure) = ("", nil)
    do {
      try await send(sent)
    } catch is CancellationError {
      return
    } catch {
      failure = Phrase("compose.failed")
      if text.isEmpty { text = sent }
    }
  }
}
