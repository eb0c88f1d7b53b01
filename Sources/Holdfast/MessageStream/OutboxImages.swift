import HoldfastCore
import HoldfastStorage
import HoldfastWire
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
  }

  private let files: PayloadFiles?
  private let state = Mutex(State())

  /// The maximum size of all images in memory, in bytes.
  static let memoryBytes = 64 << 20

  /// Creates the images of a shop.
  ///
  /// - Parameter directory: The directory of the store; `nil` if it is in memory.
  init(of shop: ShopID, in directory: String?) {
    // File names may not distinguish the case of letters, which ids do.
    let name = String(FNV1a.hash(shop.text.utf8), radix: 16)
    files = directory.map {
      PayloadFiles(root: $0, folder: "outbox-images/\(name)", maxBytes: ShopImage.mostBytes)
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
  func remove(_ id: UUID128) {
    let isKnown = state.withLock { state in
      (state.images[id], state.tickets[id]) = (nil, nil)
      return state.known.remove(id) != nil
    }
    if isKnown, let files { files.delete([files.path("\(id)")]) }
  }

  /// Removes the image of an entry that was removed from the store before the store was read.
  func removeUnread(_ id: UUID128) {
    if let files { files.delete([files.path("\(id)")]) }
  }

  /// Removes the images of entries that are not in the outbox, which has been read now.
  func removeUnknown(keeping entries: [OutboxEntry]) {
    let known = state.withLock { state in
      state.known.formUnion(entries.lazy.filter { $0.image != nil }.map(\.id))
      return state.known
    }
    if let files { _ = files.removeUnknown(Set(known.map { files.path("\($0)") })) }
  }

  /// Returns the ticket of an interrupted upload; `nil` if there is no usable one.
  func ticket(of id: UUID128) -> UploadTicket? {
    if let files { return files.ticket(of: files.path("\(id)")) }
    return state.withLock { $0.tickets[id] }
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
