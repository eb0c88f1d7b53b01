import Holdfast
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData

/// A message as a command line names it: by its id or by the beginning of its id.
struct MessageName: Sendable, Hashable {
  /// The minimum number of characters of a beginning.
  static let shortest = 4

  private let text: String
  /// The id; `nil` if only its beginning is given.
  let id: MessageID?

  /// Creates a name. Returns `nil` if no id begins with the text.
  init?(_ text: String) {
    let text = text.lowercased()
    id = MessageID(text)
    self.text = text
    guard id == nil else { return }
    let dashes = [8, 13, 18, 23]
    guard (Self.shortest..<36).contains(text.utf8.count),
      text.utf8.enumerated().allSatisfy({ index, byte in
        dashes.contains(index) ? byte == UInt8(ascii: "-") : Self.isHex(byte)
      })
    else { return nil }
  }

  private static func isHex(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
    case _: false
    }
  }

  /// Returns the id, which the stored messages of a shop complete.
  func resolved(
    for call: Invocation, of shop: ShopID, in given: String?
  ) async throws(CommandFailure) -> MessageID {
    if let id { return id }
    let directory = if let given { given } else { try call.usualDirectory() }
    try call.demandOwned(directory)
    let found: [MessageID]
    do throws(StoreFailure) {
      let store = try await HoldfastPlatform.store(in: directory, forReading: true)
      found = try await store.closing { () throws(StoreFailure) in
        try await keys(of: shop, in: store).map(\.id)
      }
    } catch {
      throw CommandFailure(
        .failed, "\(text) is the beginning of an id, and cannot be completed: \(error)",
        remedy: "give the whole id, or the directory of its message with --data")
    }
    return try resolved(among: found, shop, directory)
  }

  /// Returns the key of the message, which is stored in a shop.
  func key(of shop: ShopID, in store: any TimelineStore) async throws(CommandFailure) -> TimelineKey
  {
    let found: [TimelineKey]
    do throws(StoreFailure) {
      found = try await keys(of: shop, in: store)
    } catch {
      throw CommandFailure(error)
    }
    let id = try resolved(among: found.map(\.id), shop, nil)
    guard let key = found.first(where: { $0.id == id }) else { throw missing(of: shop, nil) }
    return key
  }

  private func resolved(
    among found: [MessageID], _ shop: ShopID, _ directory: String?
  ) throws(CommandFailure) -> MessageID {
    guard let first = found.first else { throw missing(of: shop, directory) }
    guard found.count == 1 else {
      let ids = found.prefix(3).map(\.description).joined(separator: ", ")
      throw CommandFailure(
        .failed,
        "\(found.count) messages of shop \(shop) have an id that begins with \(text): "
          + ids + (found.count > 3 ? ", …" : ""), remedy: "give more of the id")
    }
    return first
  }

  private func missing(of shop: ShopID, _ directory: String?) -> CommandFailure {
    let place = directory.map { " in \($0)" } ?? ""
    guard id == nil else {
      return CommandFailure(
        .failed, "message \(text) is not stored\(place)",
        remedy: "use an id that `history --ids` shows")
    }
    return CommandFailure(
      .failed, "no message of shop \(shop) whose id begins with \(text) is stored\(place)",
      remedy: "use an id that `history --ids` shows, or the whole id")
  }

  private func keys(
    of shop: ShopID, in store: any TimelineStore
  ) async throws(StoreFailure) -> [TimelineKey] {
    var found: [TimelineKey] = []
    try await store.visit(shop) { message in
      if message.id == id || id == nil && message.id.description.hasPrefix(text) {
        found.append(message.key)
      }
      return message.id != id
    }
    return found
  }
}

extension Format<MessageName> {
  /// Returns the format for a message's id or its beginning.
  static func message(_ placeholder: String) -> Self {
    Format(
      placeholder: placeholder,
      expectation: "a message's id, a UUID, or its first \(MessageName.shortest) characters or more"
    ) {
      MessageName($0)
    }
  }
}

extension TimelineStore {
  /// Passes stored messages of a shop to `body`, newest first, until it returns false.
  ///
  /// - Parameters:
  ///   - key: The message before which to begin; `nil` to begin with the newest one.
  ///   - pages: The maximum number of pages of 1,000 messages that are read.
  func visit(
    _ shop: ShopID, before key: TimelineKey? = nil, pages: Int = .max,
    _ body: (ShopMessage) -> Bool
  ) async throws(StoreFailure) {
    let limit = 1_000
    var messages =
      if let key {
        try await older(than: key, in: shop, limit: limit)
      } else {
        try await load(shop, limit: limit).messages
      }
    var read = 1
    while let oldest = messages.first {
      for message in messages.reversed() where !body(message) { return }
      guard read < pages else { return }
      messages = try await older(than: oldest.key, in: shop, limit: limit)
      read += 1
    }
  }
}
