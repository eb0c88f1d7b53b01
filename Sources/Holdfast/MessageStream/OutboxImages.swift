import HoldfastCore
import HoldfastMessageData
import HoldfastOwnerFiles
import HoldfastUploads
import Synchronization

/// The images of one shop's outbox, and the tickets of their uploads.
///
/// They are files beside the file of the store, which only their owner can read. If the store is in
/// memory, the images are too.
final class OutboxImages: Sendable {
  private struct State {
    /// The images in memory, if there are no files.
    var images: [UUID128: [UInt8]] = [:]
    var tickets: [UUID128: UploadTicket] = [:]
    /// The entries that may have an image.
    var known: Set<UUID128> = []
    /// The images on the server, by their entries. An image that a message may refer to is not among
    /// them.
    var uploaded: [UUID128: MessageID] = [:]
  }

  private let files: PayloadFiles?
  /// The file of the images on the server that must be deleted.
  private let list: OwnerFile?
  /// The thread of the network waits for this lock, so no file is read or written under it.
  private let state = Mutex(State())
  /// The images on the server that must be deleted; `nil` before the file was read.
  private let listed = Mutex<[MessageID]?>(nil)

  /// The maximum size of all images in memory, in bytes.
  static let memoryBytes = 64 << 20
  /// The age of a file without an entry from which it is removed. A younger one may belong to a
  /// message that is being stored.
  static let orphanAge = Duration.seconds(3_600)
  /// The maximum number of images on the server that wait to be deleted. Beyond it, the server deletes
  /// the oldest ones by itself, a day after their upload.
  static let mostAbandoned = 64

  /// Creates the images of a shop.
  ///
  /// - Parameter directory: The directory of the store; `nil` if it is in memory.
  init(of shop: ShopID, in directory: String?) {
    // File names may not distinguish the case of letters, which ids do.
    let name = String(FNV1a.hash(shop.text.utf8), radix: 16)
    files = directory.map {
      PayloadFiles(root: $0, folder: "outbox-images/\(name)", maxBytes: ShopImage.mostBytes)
    }
    list = files.map {
      OwnerFile("\($0.root)/\($0.path(Self.listName))", maxBytes: 1 << 16, isSecret: false)
    }
  }

  /// Stores the image of an entry. It is durable when the method returns.
  func keep(_ image: [UInt8], of id: UUID128) throws(StoreFailure) {
    // Otherwise, a store that is being read would find an image without an entry.
    state.withLock { _ = $0.known.insert(id) }
    if let files {
      _ = try files.write(image, as: "\(id)")
      return
    }
    let isFull = state.withLock { state in
      let bytes = state.images.values.reduce(image.count) { $0 + $1.count }
      guard bytes <= Self.memoryBytes else { return true }
      state.images[id] = image
      return false
    }
    if isFull { throw .full(detail: "too many images wait in memory") }
  }

  /// Returns the image of an entry; `nil` if there is none.
  func bytes(of id: UUID128) throws(StoreFailure) -> [UInt8]? {
    if let files { return try files.find(files.path("\(id)")) }
    return state.withLock { $0.images[id] }
  }

  /// Removes the image of an entry that left the outbox, if it has one.
  ///
  /// - Parameter isSent: Whether the server has the message. Otherwise, its copy of the image is
  ///   abandoned.
  func remove(_ id: UUID128, isSent: Bool) {
    let uploaded = isSent ? nil : state.withLock { $0.uploaded[id] } ?? storedImage(id)
    let isKnown = state.withLock { state in
      (state.images[id], state.tickets[id], state.uploaded[id]) = (nil, nil, nil)
      return state.known.remove(id) != nil
    }
    guard isKnown else { return }
    if let uploaded { abandon(uploaded) }
    if let files { files.delete([files.path("\(id)")]) }
  }

  /// Removes the image of an entry that was removed from the store before the store was read.
  func removeUnread(_ entry: OutboxEntry) {
    if let uploaded = entry.uploadedImage ?? storedImage(entry.id) { abandon(uploaded) }
    if let files { files.delete([files.path("\(entry.id)")]) }
  }

  /// Removes the images of entries that are not in the outbox, which has been read now.
  ///
  /// - Parameter now: The time by which the age of a file is known.
  func removeUnknown(keeping entries: [OutboxEntry], at now: Timestamp) {
    let known = state.withLock { state in
      for entry in entries where entry.image != nil && state.known.insert(entry.id).inserted {
        state.uploaded[entry.id] = entry.uploadedImage
      }
      return state.known
    }
    guard let files else { return }
    let named = Set(known.map { files.path("\($0)") } + [files.path(Self.listName)])
    _ = files.removeUnknown(named, before: now.advanced(by: .zero - Self.orphanAge))
  }

  /// Returns whether an entry is in the outbox and may have an image.
  func isKnown(_ id: UUID128) -> Bool { state.withLock { $0.known.contains(id) } }

  /// Returns the ticket of an interrupted upload; `nil` if there is no usable one.
  func ticket(of id: UUID128) -> UploadTicket? {
    if let files { return files.ticket(of: files.path("\(id)")) }
    return state.withLock { $0.tickets[id] }
  }

  /// Returns the id that the image of an entry has after its upload, according to the ticket; `nil`
  /// if that is unknown.
  func storedImage(_ id: UUID128) -> MessageID? {
    ticket(of: id)?.url.split(separator: "?id=").last.flatMap { MessageID($0) }
  }

  /// Changes the ticket of an upload.
  func change(_ change: UploadTry.TicketChange, of id: UUID128) {
    let ticket: UploadTicket?
    switch change {
    case .store(let new): ticket = new
    case .forget: ticket = nil
    }
    let isKnown = state.withLock { state in
      if files == nil { state.tickets[id] = ticket }
      return state.known.contains(id)
    }
    guard isKnown, let files else { return }
    if let ticket {
      files.keep(ticket, of: files.path("\(id)"))
    } else {
      files.forgetTicket(of: files.path("\(id)"))
    }
  }
}

// The images on the server to which no message will refer. Until they are deleted, they count against
// the user's limit.
extension OutboxImages {
  private static let listName = "abandoned"

  /// Records that the server has the image of an entry, or abandons the image if the entry was
  /// discarded.
  func noteUploaded(_ id: UUID128, url: String) {
    guard let image = ShopImage.id(in: url) else { return }
    let isKnown = state.withLock { state in
      guard state.known.contains(id) else { return false }
      state.uploaded[id] = image
      return true
    }
    if !isKnown { abandon(image) }
  }

  /// Records that the server may have the message of an entry, which then has the image.
  func noteSent(_ id: UUID128) { state.withLock { $0.uploaded[id] = nil } }

  /// The images on the server that must be deleted, oldest first.
  var abandoned: [MessageID] { listed.withLock { read(&$0) } }

  /// Records that an image on the server must be deleted.
  func abandon(_ image: MessageID) {
    change { images in
      images.removeAll { $0 == image }
      images.append(image)
      images.removeFirst(max(0, images.count - Self.mostAbandoned))
    }
  }

  /// Records that an abandoned image was deleted.
  func noteDeleted(_ image: MessageID) { change { images in images.removeAll { $0 == image } } }

  private func change(_ body: (inout [MessageID]) -> Void) {
    listed.withLock { listed in
      var images = read(&listed)
      body(&images)
      listed = images
      // Without the file, only the next process does not delete them.
      if images.isEmpty {
        try? list?.remove()
      } else {
        try? list?.replace(with: Array(images.map(\.description).joined(separator: "\n").utf8))
      }
    }
  }

  private func read(_ listed: inout [MessageID]?) -> [MessageID] {
    if let listed { return listed }
    let bytes = (try? list?.read()) ?? []
    let images = String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap {
      MessageID($0)
    }
    listed = images
    return images
  }
}

extension OutboxEntry {
  /// The image on the server; `nil` if the server may have the message that refers to it, which an
  /// earlier process may have sent.
  fileprivate var uploadedImage: MessageID? {
    guard case .failed = state else { return nil }
    return image?.url.flatMap { ShopImage.id(in: $0) }
  }
}
