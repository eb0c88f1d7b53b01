package import HoldfastCore
package import HoldfastMessageData

/// A note of one node to all: positions of shops. A note without positions shows that notes arrive.
package struct NodeNote: Equatable, Sendable {
  /// The maximum number of shops. A shop takes at most 128 bytes and its position 85.
  package static let most = 36
  /// The size of a note is below this limit, which is the one of `NOTIFY`.
  package static let maxBytes = 8_000

  package var sender: UUID128
  package var heads: [ShopID: ShopPosition]

  /// The note as it is sent.
  package var text: String {
    var lines = [sender.description]
    lines += heads.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    return lines.joined(separator: "\n")
  }

  /// Creates a note.
  package init(sender: UUID128, heads: [ShopID: ShopPosition]) {
    (self.sender, self.heads) = (sender, heads)
  }

  /// Reads a note. Lines that are no positions are ignored. Returns `nil` if there is no sender.
  package init?(_ text: String) {
    let lines = text.split(separator: "\n")
    guard let first = lines.first, let sender = UUID128(String(first)) else { return nil }
    self.sender = sender
    heads = [:]
    for line in lines.dropFirst() {
      let words = line.split(separator: " ", maxSplits: 1)
      guard words.count == 2, let shop = ShopID(words[0]), let head = ShopPosition(String(words[1]))
      else { continue }
      heads[shop] = head
    }
  }
}
