import LinkWire

/// Detects a server that ignores the page number and returns the same page again and again.
///
/// If messages arrive as fast as pages, each page may repeat the previous one. But a server that
/// ignores the number returns its newest page. So a page without the messages that were known to be
/// newer at the time of the request was found by its number.
struct Repetition: Sendable, Hashable {
  private var last: Set<MessageID> = []
  private var count = 0
  /// The number of consecutive pages without a readable message.
  private var unreadable = 0
  /// The newest message known when the page was requested.
  private var known: TimelineKey?

  /// Records that a page is requested.
  mutating func ask(knowing newest: TimelineKey?) { known = newest }

  /// Records a page; returns true if pages bring nothing new.
  ///
  /// A single repetition can be a coincidence, if a whole page of messages arrived between two
  /// responses.
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

  /// The number of consecutive pages without news that counts as the server's normal behavior.
  private static let patience = 10

  private func isNewest(_ page: Page) -> Bool {
    guard let known, let newest = page.messages.map(\.key).max() else { return true }
    return newest >= known
  }
}

extension Page {
  /// Whether the page had entries, but no valid message.
  var isUnreadable: Bool { messages.isEmpty && rejected > 0 }

  /// Returns the position up to which a page after `position` is complete.
  ///
  /// Each entry has its own offset, so unreadable entries count, too.
  func end(after position: Position) -> Position {
    if let last = messages.last?.position { return last }
    let (sum, overflows) = position.offset.addingReportingOverflow(UInt64(max(0, rejected)))
    return Position(epoch: position.epoch, offset: overflows ? position.offset : sum)
  }
}
