import HoldfastCore
import HoldfastMessageData

/// The uploads of images in an outbox, with the data that is not stored with the entries.
struct OutboxUploads: Sendable, Hashable {
  /// The attempts under way that upload an image instead of sending an entry.
  private var tries: [UUID128: TryID] = [:]
  /// The entries whose image has a URL that is not stored yet.
  private var unstored: Set<UUID128> = []
  /// For each image with an old URL, the instant at which it was last found on the server.
  private var found: [UUID128: Instant] = [:]

  /// The age of an upload after which the server may have removed the image. A server keeps an
  /// image without a message for a day.
  static let oldAge = Duration.seconds(20 * 3600)
  /// The time for which an image that was found on the server is not looked up again.
  static let lookup = Duration.seconds(60)

  /// Returns whether an entry has an image that must be uploaded, or looked up on the server,
  /// before the entry is sent.
  func isNeeded(for entry: OutboxEntry, at now: Instant, _ wall: Timestamp) -> Bool {
    guard let image = entry.image else { return false }
    guard image.url != nil, let uploadedAt = image.uploadedAt else { return true }
    if let last = found[entry.id], last.duration(to: now) < Self.lookup { return false }
    // If the clock was set back, the age is not known.
    let age = uploadedAt.duration(to: wall)
    return age < .zero || age >= Self.oldAge
  }

  /// Returns whether an entry may be sent.
  ///
  /// A URL is stored first. After the end of the process, the entry would otherwise be sent with
  /// another URL and the same key.
  func allow(_ entry: OutboxEntry) -> Bool { !unstored.contains(entry.id) }

  /// Records that an attempt uploads the image of an entry.
  mutating func begin(_ id: UUID128, _ number: TryID) { tries[id] = number }

  /// Returns whether an attempt uploads the image of its entry.
  func isUploading(_ sending: SendQueue<OutboxEntry>.Try?) -> Bool {
    guard let sending else { return false }
    return tries[sending.id] == sending.number
  }

  /// Records that an image has a new URL, which must be stored now.
  mutating func end(_ id: UUID128) {
    tries[id] = nil
    unstored.insert(id)
  }

  /// Records that an image is still on the server.
  mutating func noteFound(_ id: UUID128, at now: Instant) {
    tries[id] = nil
    found[id] = now
  }

  /// Records that entries were stored.
  mutating func noteStored(_ stored: [OutboxEntry], now entries: [OutboxEntry]) {
    guard !unstored.isEmpty else { return }
    for entry in stored where unstored.contains(entry.id) {
      let current = entries.first { $0.id == entry.id }
      if current?.image?.url == entry.image?.url { unstored.remove(entry.id) }
    }
  }

  /// Forgets an entry that left the outbox.
  mutating func remove(_ id: UUID128) {
    (tries[id], found[id]) = (nil, nil)
    unstored.remove(id)
  }
}

extension OutboxUploads {
  /// Checks that nothing is known of entries that left the outbox.
  func check(_ check: inout InvariantCheck, _ ids: Set<UUID128>) {
    check.require(
      ids.isSuperset(of: tries.keys) && ids.isSuperset(of: found.keys)
        && unstored.isSubset(of: ids), "outbox uploads: they know nothing of entries that are gone")
  }
}
