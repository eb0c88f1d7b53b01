import HoldfastCore
import HoldfastMessageData

// Messages that the server does not keep any more. Nobody deleted them: what the phone has stays, and
// what it missed is a gap that no page can fill.

/// A part of the log that the server removed before the phone had read it.
struct RemovedPart: Sendable, Hashable {
  /// The last stored message before the part; `nil` if no older message is stored.
  var after: TimelineKey?
  /// The position of the oldest event that the server keeps.
  var oldest: ShopPosition
}

extension StreamModel {
  /// Goes on with the oldest event that the server keeps, if a page says that the server has removed
  /// events after the cursor.
  ///
  /// - Returns: Whether the page was replaced by another request.
  mutating func goOnAfterRemoved(
    _ page: Page, in before: Recovery.Run, _ step: inout Step
  ) -> Bool {
    guard before.kind == .position, !page.recovered, let asked = before.query.start,
      page.hasRemoved(after: asked), let oldest = page.oldest, page.head?.epoch == oldest.epoch,
      before.pages < settings.catchUpPages
    else { return false }
    var run = before
    run.removedBefore = oldest
    let last = ShopPosition(epoch: oldest.epoch, offset: oldest.offset - 1)
    goOn(run, with: before.query.beginning(after: last), &step)
    return true
  }

  /// Moves the cursor over what the server has removed, once a page has the events after that. The gap
  /// is stored together with the cursor. It opens at the first page with a message after that part,
  /// since the pages before may have changes of older messages alone.
  ///
  /// The gap begins where the catch-up began, although earlier pages of it may have been received:
  /// messages that were edited meanwhile were left to later pages, and are removed with them.
  mutating func passRemoved(_ page: Page, in run: inout Recovery.Run, _ step: inout Step) {
    if let oldest = run.removedBefore, page.recovered, let start = run.query.start {
      run.removedBefore = nil
      let after = lastComplete
      if page.through != nil { recovery.moveAlongEvents(to: start) }
      recovery.pass(RemovedPart(after: after, oldest: oldest), to: start)
    }
    noteRemoved(before: page.messages, &step)
  }

  /// Leaves the gap to the next message, if a newest page is empty because the server has removed what
  /// follows the cursor, or the beginning of a log of another epoch.
  mutating func awaitMessageAfterRemoved(_ page: Page) {
    guard recovery.removed == nil, page.messages.isEmpty, let oldest = page.oldest,
      let end = recovery.cursor.position, oldest.epoch != end.epoch || page.hasRemoved(after: end)
    else { return }
    recovery.removed = RemovedPart(after: lastComplete, oldest: oldest)
  }

  /// The last stored message up to which none is missing.
  private var lastComplete: TimelineKey? {
    (timeline.messages + commits.messages).filter { recovery.completes($0) }.map(\.key).max()
  }

  /// Opens the gap of removed messages below the first message after them.
  mutating func noteRemoved(before messages: [ShopMessage], _ step: inout Step) {
    guard let part = recovery.removed else { return }
    let later = messages.filter { message in
      message.position.map { $0.epoch == part.oldest.epoch && $0.offset >= part.oldest.offset }
        ?? false
    }
    guard let edge = later.map(\.key).min() else { return }
    recovery.removed = nil
    guard holes[before: edge] == nil else { return }
    show(ShopGap(after: part.after.flatMap { $0 < edge ? $0 : nil }, before: edge), &step)
  }

  /// Returns whether the messages of a gap that the pages have not reached were removed from the
  /// server, so that no page can close it.
  ///
  /// - Parameter reached: The oldest message on the pages, if they have any.
  func isRemoved(_ gap: ShopGap, _ page: Page, reached: TimelineKey?) -> Bool {
    guard page.oldest != nil else { return false }
    guard let after = gap.after else { return true }
    if let position = timeline[after.id]?.position, position.epoch == page.oldest?.epoch {
      return page.hasRemoved(after: position)
    }
    // Memory may not have the message before the gap, or its position may be one of an earlier log,
    // which says nothing about this one. If pages reach it, nothing after it is removed.
    return reached.map { $0 > after } ?? true
  }

  /// The gaps that pages of older messages may close.
  var openGaps: [ShopGap] { gaps.filter { !history.removed.contains($0.before) } }
}

extension Page {
  /// Whether the server has removed what lies below all of its pages.
  var hasRemovedBeginning: Bool { oldest != nil }
}
