import HoldfastCore
import HoldfastMessageData

/// The pages of a log of another epoch, from the newest one down.
///
/// Positions and events of the earlier log say nothing about this one: any message may have been
/// edited or deleted. The pages go down to the oldest message on the screen, and a gap hides what
/// is stored below them until the reader's pages come there. A stored message that is on none of
/// the pages that cover its place is removed.
struct NewLog: Sendable, Hashable {
  /// The epoch of the log.
  let epoch: String
  /// Whether a page had a message that the phone keeps from another log. Otherwise the log may be
  /// another history, which says nothing about the messages above and below its own.
  var isShared = false
  /// The oldest message of the pages.
  var lowest: TimelineKey?

  /// The maximum number of pages of a catch-up.
  static let pages = 10

  init(epoch: String) { self.epoch = epoch }
}

extension StreamModel {
  /// Returns whether a message has a position in another log than its known version.
  func isOfOtherLog(_ message: ShopMessage) -> Bool {
    commits.version(of: message.id).map(message.isOfOtherLog) ?? timeline.isOfOtherLog(message)
  }

  /// Returns whether a message has a position, and its known version has none.
  ///
  /// The positions in memory are forgotten when a log was restored to an earlier state. The store
  /// keeps them, so that it cannot tell such a message from one that the server does not have.
  func regainsPosition(_ message: ShopMessage) -> Bool {
    message.position != nil && known(message).map { $0.position == nil } ?? false
  }

  /// Returns whether a page has a message that is kept from another log than the page's.
  ///
  /// Messages of the page's log are no evidence: the socket may have delivered them.
  private func sharesKept(_ page: Page, of epoch: String) -> Bool {
    page.messages.contains { message in
      [timeline.version(of: message), commits.version(of: message.id)].contains {
        $0.map { $0.position?.epoch != epoch } ?? false
      }
    }
  }

  /// Records that the newest page belongs to a log of another epoch than the cursor.
  mutating func noteNewLog(_ page: Page, in run: inout Recovery.Run) {
    guard let head = page.head, let cursor = recovery.cursor.position,
      head.epoch != run.newLog?.epoch ?? cursor.epoch,
      !page.recovered || run.kind == .recent && run.pages == 1
    else { return }
    run.newLog = NewLog(epoch: head.epoch)
    run.firstHead = head
    run.kind = .recent
    recovery.removed = nil
    unsettled.forget(exceptOf: head.epoch)
    deletions = RecentDeletions()
  }

  /// Returns the query for the page below a page of a log of another epoch; `nil` if the catch-up
  /// is over.
  func nextOfNewLog(after page: Page, in run: Recovery.Run, repeats: Bool) -> PageQuery? {
    guard !repeats, !page.endsLog, run.pages < min(NewLog.pages, settings.catchUpPages),
      let oldest = history.oldest?.key
    else { return nil }
    guard let lowest = page.messages.compactMap(\.position).min(by: { $0.offset < $1.offset }),
      let reached = page.messages.map(\.key).min()
    else { return .page(number: run.pages + 1, limit: settings.catchUpPage) }
    return reached > oldest ? .before(lowest, limit: settings.catchUpPage) : nil
  }

  /// Removes the messages that a page of a log of another epoch shows to be gone. After the last
  /// page, a gap hides what lies below.
  mutating func coverNewLog(
    _ page: Page, in run: inout Recovery.Run, isLast: Bool, _ step: inout Step
  ) {
    guard var log = run.newLog else { return }
    // Messages that the server has removed may be kept here.
    let isEnd = isLast && page.endsLog && !page.hasRemovedBeginning
    let lowest = (page.messages.map(\.key) + [log.lowest].compactMap(\.self)).min()
    log.isShared = log.isShared || sharesKept(page, of: log.epoch)
    if page.rejected == 0, let lowest {
      let top = log.isShared && run.pages == 1 ? nil : page.messages.map(\.key).max()
      let start = isEnd && log.isShared ? nil : lowest
      commits.waiting.cover(
        CoveredRange(epoch: log.epoch, start: start, end: log.lowest ?? top),
        with: page.messages)
    }
    log.lowest = lowest
    run.newLog = log
    if isLast { noteGapOfNewLog(log, page, isEnd: isEnd, &step) }
  }

  private mutating func noteGapOfNewLog(
    _ log: NewLog, _ page: Page, isEnd: Bool, _ step: inout Step
  ) {
    guard log.isShared || !isEnd else {
      openGap(below: log.lowest, &step)
      return
    }
    // Without a message of the log, nothing shows where the gaps of the earlier log end.
    guard log.lowest != nil else { return awaitMessageAfterRemoved(page) }
    for gap in gaps { close(gap, &step) }
    if !isEnd { openGap(below: log.lowest, isBottomless: true, &step) }
  }

  /// Removes the messages that a page in a gap without a lower end shows to be gone. Such a gap
  /// hides messages of an earlier log.
  ///
  /// Page numbers count from a newest message that changes, so that pages found by number may not
  /// follow each other. Only the messages within such a page are known. Pages found by position
  /// follow each other, from the upper end of the gap down.
  mutating func cover(_ page: Page, _ fetch: History.Fetch) {
    guard let epoch = page.head?.epoch, page.rejected == 0,
      let gap = holes[before: fetch.below], gap.after == nil,
      let lowest = page.messages.map(\.key).min(), let highest = page.messages.map(\.key).max()
    else { return }
    let isBelow = if case .before = fetch.query { true } else { false }
    let isEnd = !page.hasNext && !page.hasRemovedBeginning && sharesKept(page, of: epoch)
    commits.waiting.cover(
      CoveredRange(
        epoch: epoch, start: isEnd ? nil : lowest, end: isBelow ? fetch.below : highest),
      with: page.messages)
  }

  /// Applies the positions that messages have in another log after a change was stored.
  mutating func takePositions(of batch: TimelineBatch) {
    guard !batch.change.covered.isEmpty else { return }
    for message in batch.change.messages { timeline.takePositions(of: message) }
    guard let oldest = history.oldest?.key, timeline.oldest.map({ $0 <= oldest }) ?? false else {
      return
    }
    history.oldest?.position = timeline.messages.first { $0.key >= oldest }?.position
  }
}

extension Page {
  /// Whether the log has no messages below the page.
  ///
  /// A page for an unknown position does not say what lies below it.
  fileprivate var endsLog: Bool {
    guard !recovered else { return !hasNext }
    let offsets = messages.compactMap { $0.position?.offset }
    return rejected == 0 && offsets.min() ?? 0 <= 1
  }
}
