import LinkWire

/// Sees a server that ignores the page number and answers the same again and again.
///
/// While messages come as fast as pages, each page can hold what the one before it held. But a
/// server that ignores the number answers its newest page: one that lacks what was known to be
/// newer when it was asked for was found by its number.
struct Repetition: Sendable, Hashable {
  private var last: Set<MessageID> = []
  private var count = 0
  /// Pages in a row of which nothing could be read.
  private var unreadable = 0
  /// The newest message that was known when the page was asked for.
  private var known: TimelineKey?

  /// Notes that a page is asked for.
  mutating func ask(knowing newest: TimelineKey?) { known = newest }

  /// Takes a page. True when pages bring nothing new: once can be chance, when a whole page of
  /// messages came between two answers.
  mutating func note(_ page: Page) -> Bool {
    if page.isUnreadable {
      unreadable += 1
      return unreadable >= Self.patience
    }
    unreadable = 0
    let ids = Set(page.messages.map(\.id))
    count = ids.isSubset(of: last) ? count + 1 : 0
    last = ids
    return ids.isEmpty || count >= (isNewest(page) ? 2 : Self.patience)
  }

  /// Pages in a row that say nothing before that is taken for the server's way.
  private static let patience = 10

  private func isNewest(_ page: Page) -> Bool {
    guard let known, let newest = page.messages.map(\.key).max() else { return true }
    return newest >= known
  }
}

extension Page {
  /// It held entries, and none was a valid message.
  var isUnreadable: Bool { messages.isEmpty && rejected > 0 }

  /// The position up to which a page of those after another says all.
  ///
  /// Each entry has an offset of its own, so what could not be read counts, too.
  func end(after position: Position) -> Position {
    if let last = messages.last?.position { return last }
    let (sum, overflows) = position.offset.addingReportingOverflow(UInt64(max(0, rejected)))
    return Position(epoch: position.epoch, offset: overflows ? position.offset : sum)
  }
}
