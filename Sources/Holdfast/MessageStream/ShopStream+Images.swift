public import Foundation
public import HoldfastCore
package import HoldfastFeaturePorts
package import HoldfastMessageData
import HoldfastOwnerFiles
import HoldfastSocket

// Messages with images.
extension ShopStream {
  /// An image that can be sent with a message.
  public struct Image: Sendable, Hashable {
    /// The bytes of the image.
    public let bytes: [UInt8]
    /// The type, as the first bytes say.
    public let type: ImageType

    /// Creates an image from its bytes.
    public init(_ bytes: [UInt8]) throws(ImageFailure) {
      guard bytes.count <= ShopImage.mostBytes else { throw .tooLarge }
      guard let type = ImageType(content: bytes) else {
        throw bytes.isEmpty ? .empty : .unknownType
      }
      (self.bytes, self.type) = (bytes, type)
    }

    /// Creates an image from its bytes, for example those that a picker of photos returns.
    public init(_ data: Data) throws(ImageFailure) {
      guard data.count <= ShopImage.mostBytes else { throw .tooLarge }
      try self.init(Array(data))
    }

    /// Creates an image from a file. No more than an image's maximum size is read.
    public init(contentsOf url: URL) throws(ImageFailure) {
      let path = url.path(percentEncoded: false)
      let found: [UInt8]?
      do throws(OwnerFileError) {
        found = try OwnerFile(path, maxBytes: ShopImage.mostBytes, isSecret: false).read()
      } catch {
        if case .tooLarge = error { throw .tooLarge }
        throw .unreadable(detail: error.description)
      }
      guard let found else { throw .unreadable(detail: "the file does not exist") }
      try self.init(found)
    }
  }

  /// The reason why an image cannot be sent.
  public enum ImageFailure: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
    /// The image has no bytes.
    case empty
    /// The image has more bytes than 5 MiB.
    case tooLarge
    /// The bytes are no JPEG, PNG, GIF, WebP or HEIC image.
    case unknownType
    /// The file cannot be read.
    case unreadable(detail: String)

    /// A sentence that says what is wrong.
    public var description: String {
      switch self {
      case .empty: "the image is empty"
      case .tooLarge: "the image has more than \(ShopImage.mostBytes) bytes (5 MiB)"
      case .unknownType: "it is no JPEG, PNG, GIF, WebP or HEIC image"
      case .unreadable(let detail): "the image cannot be read: \(detail)"
      }
    }

    /// The same text as `description`.
    public var errorDescription: String? { description }
  }

  /// Sends a message with an image later. Both are kept until the server has stored them.
  ///
  /// The image is uploaded first, and the upload resumes after a loss of the connection and after a
  /// new start of the app. The text of the server's message then has a reference to the image, which
  /// `ShopMessage.images` returns. If the server takes no images, or refuses this one, an outbox
  /// update reports the message as failed.
  ///
  /// - Parameter text: The text; it may be empty.
  /// - Returns: The id of the message's entry in the outbox.
  /// - Throws: The failure of the store if the image cannot be stored on this device. Nothing is sent
  ///   then.
  @discardableResult
  public func enqueue(
    _ text: String = "", image: Image, parent: MessageID? = nil
  ) async throws(StoreFailure) -> UUID128 {
    let id = UUID128.random()
    try await enqueue(MessageContent(text, parent: parent), id: id, image: image)
    return id
  }

  /// Sends a message with an image, and waits until the server has stored it. The wait is that of
  /// `send` without an image.
  ///
  /// - Returns: The id of the message on the server.
  @discardableResult
  public func send(
    _ text: String = "", image: Image, parent: MessageID? = nil, within limit: Duration? = nil
  ) async throws(SendError) -> MessageID {
    let id = UUID128.random()
    do throws(StoreFailure) {
      try await keep(image, of: id)
    } catch {
      throw SendError(id: id, .notStored(error))
    }
    return try await outcome(of: text, id: id, within: limit) {
      enqueue(MessageContent(text, parent: parent), id: $0, image: OutboxImage(of: image))
    }
  }

  /// Sends a message with an image later, with an id that no other message has.
  package func enqueue(
    _ content: MessageContent, id: UUID128, image: Image
  ) async throws(StoreFailure) {
    try await keep(image, of: id)
    enqueue(content, id: id, image: OutboxImage(of: image))
  }

  /// The progress of the uploads of images from now on. Of an image that is sent whole, because it is
  /// small or the server takes no pieces, only the beginning is reported.
  public var imageProgress: AsyncStream<ImageProgress> {
    runtime.effectHandler.uploads.progress.values()
  }

  /// The treatment of the images of a message when its text is replaced.
  public enum EditedImages: Sendable, Hashable {
    /// The new text has the references of the present text, unless it has a reference itself.
    case keep
    /// The new text is used as it is. The images to which it does not refer are deleted.
    case remove
  }

  /// Returns a new text of a message with the references to images of its present text, unless it has
  /// a reference itself.
  ///
  /// - Throws: The failure of the requests for a message that is not in memory.
  package func text(
    _ text: String, keepingImagesOf message: MessageID
  ) async throws(LinkFailure) -> String {
    guard ImageReference.urls(in: text).isEmpty else { return text }
    await runtime.waitUntil(\.hasRead)
    var present = await runtime.snapshot.presentText(of: message)
    if present == nil { present = try await runtime.effectHandler.api.message(message)?.text }
    return present.map { ImageReference.text(text, keepingThoseOf: $0) } ?? text
  }

  /// Returns the bytes of an image to which a message refers.
  ///
  /// The request has the user's token, and goes to the server of the stream only.
  ///
  /// - Throws: The failure of the request, such as `.http` with 404 for an image whose message was
  ///   deleted; `.local` if the address is not that of an image on a server of messages.
  public func image(at url: String) async throws(LinkFailure) -> [UInt8] {
    guard let id = ShopImage.id(in: url) else {
      throw .local(detail: "the address is not that of an image on this server")
    }
    return try await image(id)
  }

  /// Returns the bytes of an image. The wait and the failures are those of `image(at:)`.
  public func image(_ id: MessageID) async throws(LinkFailure) -> [UInt8] {
    try await runtime.effectHandler.api.images.bytes(of: id)
  }

  /// Removes the image of an entry that was removed from a store without a stream. The next stream
  /// with the store deletes the server's copy.
  package static func removeImage(of entry: OutboxEntry, in store: any TimelineStore) {
    guard entry.image != nil else { return }
    let images = OutboxImages(of: entry.shop, in: store.directory)
    images.removeUnread(entry)
  }

  /// Stores an image without blocking the caller's actor.
  @concurrent private func keep(_ image: Image, of id: UUID128) async throws(StoreFailure) {
    try runtime.effectHandler.images.keep(image.bytes, of: id)
  }
}

extension OutboxImage {
  fileprivate init(of image: ShopStream.Image) {
    self.init(type: image.type, size: image.bytes.count)
  }
}

extension ShopMessage {
  /// The addresses of the images to which the text refers, in order. `ShopStream.image(at:)` fetches
  /// them.
  public var images: [String] { ImageReference.urls(in: text).map(String.init) }
}
