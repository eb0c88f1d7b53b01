import HoldfastMessageData

/// A detector of servers that ignore the page number and return the same page again and again.
///
/// A correct server can also repeat a page, if new messages arrive as fast as pages are requested.
/// However, a server that ignores the page number always returns its newest page. If a page lacks
/// the newest message that was known when it was requested, the server honored the page number.
struct Repetition: Sendable, Hashable {
  private var last: [MessageID] = []
  private var count = 0
  /// The number of consecutive pages without a readable message.
  private var unreadable = 0
  /// The newest message known when the page was requested.
  private var known: TimelineKey?

  /// Records that a page is requested.
  mutating func ask(knowing newest: TimelineKey?) { known = newest }

  /// Records a page. Returns true if further pages are not expected to contain new messages.
  ///
  /// A single repetition can be a coincidence: a whole page of messages may have arrived between
  /// two responses.
  mutating func note(_ page: Page) -> Bool {
    if page.isUnreadable {
      unreadable += 1
      return unreadable >= Self.maxRepetitions
    }
    unreadable = 0
    let ids = page.messages.map(\.id)
    count = ids == last || Set(last).isSuperset(of: ids) ? count + 1 : 0
    last = ids
    return ids.isEmpty || count >= (isNewest(page) ? 2 : Self.maxRepetitions)
  }

  /// The number of consecutive pages without new messages after which no new ones are expected.
  private static let maxRepetitions = 10

  private func isNewest(_ page: Page) -> Bool {
    guard let known, let newest = page.messages.map(\.key).max() else { return true }
    return newest >= known
  }
}

extension Page {
  /// Whether the page has entries but no valid message.
  var isUnreadable: Bool { messages.isEmpty && rejected > 0 }

  /// Returns the position up to which messages are complete after the page that follows `position`.
  ///
  /// Each entry has its own offset, so unreadable entries count too.
  func end(after position: ShopPosition) -> ShopPosition {
    if let through {
      let moves = through.epoch == position.epoch && through.offset > position.offset
      return moves ? through : position
    }
    if let last = messages.last?.position { return last }
    let (sum, overflows) = position.offset.addingReportingOverflow(UInt64(max(0, rejected)))
    return ShopPosition(epoch: position.epoch, offset: overflows ? position.offset : sum)
  }
}
