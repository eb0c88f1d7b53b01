public import HoldfastCore

/// An image in a backend's log, without its content.
public struct StoredImage: Sendable, Hashable, Codable {
  /// The id of the image.
  public var id: MessageID
  /// The room for which the image was uploaded.
  public var shop: ShopID
  /// The user who uploaded the image.
  public var user: String
  /// The type of the content.
  public var type: ImageType
  /// The number of bytes of the content.
  public var size: Int
  /// The time of the upload.
  public var createdAt: Timestamp
  /// The message that claimed the image, or `nil` if it is unclaimed.
  public var message: MessageID?

  /// Creates an image. It is unclaimed unless a message is given.
  public init(
    id: MessageID, shop: ShopID, user: String, type: ImageType, size: Int, createdAt: Timestamp,
    message: MessageID? = nil
  ) {
    (self.id, self.shop, self.user, self.type) = (id, shop, user, type)
    (self.size, self.createdAt, self.message) = (size, createdAt, message)
  }
}

extension ImageReference {
  /// Returns the ids of the images to which a text refers.
  package static func ids(in text: String) -> [MessageID] {
    urls(in: text).compactMap { ShopImage.id(in: $0) }
  }
}

/// The images of a backend, as a value.
package struct StoredImages: Sendable, Hashable {
  private var images: [MessageID: StoredImage] = [:]
  /// The images of each message that has any.
  private var claims: [MessageID: Set<MessageID>] = [:]
  /// The deleted images whose content may remain.
  private(set) var deleted: Set<MessageID> = []

  package init() {}

  /// All images that are not deleted, ordered by id.
  package var all: [StoredImage] { images.values.sorted { $0.id < $1.id } }

  package subscript(id: MessageID) -> StoredImage? { images[id] }

  /// Adds an image. Returns false if its user already has `most` unclaimed images.
  package mutating func add(_ image: StoredImage, atMost most: Int) -> Bool {
    guard images[image.id] == nil else { return true }
    let own = images.values.lazy.filter { $0.user == image.user && $0.message == nil }.count
    guard own < most else { return false }
    images[image.id] = image
    return true
  }

  /// Returns the time of the oldest unclaimed image of a user.
  package func oldestUnclaimed(of user: String) -> Timestamp? {
    images.values.lazy.filter { $0.user == user && $0.message == nil }.map(\.createdAt).min()
  }

  /// Deletes an image.
  package mutating func delete(_ id: MessageID) {
    guard let image = images.removeValue(forKey: id) else { return }
    if let message = image.message { claims[message]?.remove(id) }
    deleted.insert(id)
  }

  /// Deletes the unclaimed images that were uploaded before a time.
  package mutating func deleteUnclaimed(before time: Timestamp) {
    for image in images.values where image.message == nil && image.createdAt < time {
      delete(image.id)
    }
  }

  /// Deletes the unclaimed images of a user.
  package mutating func deleteUnclaimed(of user: String) {
    for image in images.values where image.message == nil && image.user == user {
      delete(image.id)
    }
  }

  /// Forgets deleted images whose content was removed.
  package mutating func forget(_ ids: [MessageID]) { deleted.subtract(ids) }

  /// Updates the claims after a change of the log.
  package mutating func follow(_ outcome: LogOutcome) {
    switch outcome {
    case .posted(let message, true): claim(for: message)
    case .edited(let message, true):
      let named = Set(ImageReference.ids(in: message.text))
      for id in claims[message.id, default: []].subtracting(named) { delete(id) }
      claim(for: message)
    case .deleted(let deletion, true):
      for id in claims[deletion.id, default: []] { delete(id) }
      claims[deletion.id] = nil
    case .posted, .edited, .deleted, .refused: break
    }
  }

  /// Deletes the images of a message that was removed.
  package mutating func followRemoval(of message: MessageID) {
    for id in claims.removeValue(forKey: message) ?? [] { delete(id) }
  }

  private mutating func claim(for message: ShopMessage) {
    for id in ImageReference.ids(in: message.text) {
      guard let image = images[id], image.message == nil, image.user == message.user,
        image.shop == message.shop
      else { continue }
      images[id]?.message = message.id
      claims[message.id, default: []].insert(id)
    }
  }
}

extension StoredLogs {
  /// Returns an image, or `nil` if it is unknown or deleted.
  public func image(_ id: MessageID) -> StoredImage? { images[id] }

  /// Adds an image. Returns false if its user already has `most` unclaimed images.
  public mutating func addImage(_ image: StoredImage, atMost most: Int) -> Bool {
    images.add(image, atMost: most)
  }

  /// Returns the time of the oldest unclaimed image of a user.
  public func oldestUnclaimedImage(of user: String) -> Timestamp? {
    images.oldestUnclaimed(of: user)
  }

  /// Deletes an image.
  public mutating func deleteImage(_ id: MessageID) { images.delete(id) }

  /// Deletes the unclaimed images that were uploaded before a time.
  public mutating func deleteUnclaimedImages(before time: Timestamp) {
    images.deleteUnclaimed(before: time)
  }

  /// Deletes the unclaimed images of a user.
  public mutating func deleteUnclaimedImages(of user: String) { images.deleteUnclaimed(of: user) }

  /// The deleted images whose content may remain.
  public var deletedImages: [MessageID] { images.deleted.sorted() }

  /// Forgets deleted images whose content was removed.
  public mutating func forgetImages(_ ids: [MessageID]) { images.forget(ids) }
}
