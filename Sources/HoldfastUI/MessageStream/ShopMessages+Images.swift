public import Holdfast

extension ShopMessages {
  /// Sends a message with an image, and waits until the server has stored it and `messages` contains
  /// it. The wait and the errors are those of `send` without an image.
  ///
  ///     let image = try ShopStream.Image(data)
  ///     try await shop.send("Fresh rye", image: image)
  ///
  /// - Parameter text: The text; it may be empty.
  /// - Returns: The row of the message.
  @discardableResult
  public func send(
    _ text: String = "", image: ShopStream.Image, replyingTo parent: MessageRow? = nil
  ) async throws -> MessageRow {
    try await delivered { try await $0.send(text, image: image, parent: parent?.id) }
  }
}
