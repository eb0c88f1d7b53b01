import LinkWire

/// Sees a server that ignores the page number and answers the same again and again.
struct Repetition: Sendable, Hashable {
  private var last: Set<MessageID> = []
  private var count = 0

  /// Takes a page. True when pages bring nothing new: once can be chance, when a whole page of
  /// messages came between two answers.
  mutating func note(_ page: Page) -> Bool {
    let ids = Set(page.messages.map(\.id))
    count = ids.isSubset(of: last) ? count + 1 : 0
    last = ids
    return ids.isEmpty || count >= 2
  }
}
