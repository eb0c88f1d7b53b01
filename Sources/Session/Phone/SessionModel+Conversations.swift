import HoldfastCore
import HoldfastSessionData

extension SessionModel {
  /// Returns the followed conversations that are wanted.
  func followed(where isWanted: (String) -> Bool) -> [String] {
    conversations.followed(
      with: outbox.queue, asking: connection?.isIdempotent == false, where: isWanted)
  }

  /// Whether an earlier step found that no conversation needs a subscription, and this still holds.
  var isSettled: Bool {
    connection?.subscriptions.isSettled(
      selected: conversations.selected, newest: outbox.lastNumber) ?? false
  }

  /// Whether the selected conversation or that of a prompt needs a subscription.
  var needsSubscription: Bool {
    guard let subscriptions = connection?.subscriptions else { return false }
    return subscriptions.needs(conversations.selected)
      || outbox.items.contains { subscriptions.needs($0.conversation) }
  }

  /// Subscribes to the followed conversations from the end of the stored messages.
  mutating func subscribe(_ step: inout Step) {
    guard !isSettled, let current = connection, current.mayUpload || !current.isIdempotent,
      !current.isDraining, !current.subscriptions.isWaiting
    else { return }
    guard needsSubscription else {
      connection?.subscriptions.settle(
        selected: conversations.selected, newest: outbox.lastNumber)
      return
    }
    let wanted = followed(where: current.subscriptions.needs)
    guard let first = wanted.first else { return }
    let isBatch = current.has(.batch) && wanted.count > 1
    let asked = isBatch ? Array(wanted.prefix(SessionSettings.subscriptionsTogether)) : [first]
    let until = step.now.advanced(by: SessionSettings.subscribeTimeout)
    let subscriptions = asked.map { conversation in
      connection?.subscriptions.subscribe(conversation, until: until)
      return SessionSubscription(
        conversation: conversation,
        cursor: conversations.cursor(of: conversation, current.version))
    }
    let message: SessionClientMessage =
      isBatch ? .subscribeBatch(subscriptions) : .subscribe(subscriptions[0])
    step.effects.append(.send(current.attempt, message))
  }

  /// Stores a window of a conversation and moves the cursor, in one change.
  mutating func apply(_ window: SessionHistory, _ step: inout Step) {
    let conversation = window.conversation
    guard var known = conversations[conversation], connection != nil else { return }
    let before = known
    if isAhead(window, of: known) { return takeAhead(window) }
    connection?.subscriptions.answered(conversation)
    let reach = known.advance(behind: window) {
      connection?.subscriptions.noteHole(conversation) ?? true
    }
    if case .gap(let gap) = reach {
      step.show(.gap(conversation: conversation, gap))
      if connection?.isIdempotent == false {
        skip(conversation, isReset: reach.isReset, step)
      }
    }
    let moves = known != before
    if moves { keep(known) }
    let isMore =
      !window.isComplete || reach == .hole || window.gap != nil || reach.isReset
    // A window that does not move the cursor would otherwise be requested forever.
    let isAskedAgain = isMore && (moves || reach == .hole)
    let isNew = moves && (reach == .whole || reach == .gap(.hole))
    if isNew || !isAskedAgain || connection?.isIdempotent == true {
      store(window, behind: before, step)
    }
    if isAskedAgain {
      connection?.subscriptions.repeatLater(conversation)
    } else {
      connection?.subscriptions.reach(conversation, isWhole: reach == .whole)
    }
    conclude(conversation, &step)
    if connection?.isIdempotent == false, !window.entries.isEmpty { touch(conversation, step) }
  }

  /// Stores a live message that arrived before the response to a subscription.
  ///
  /// The response will contain the messages before it. From a server without keys, the message is
  /// requested again, since the order of messages there is the evidence about prompts.
  private mutating func takeAhead(_ window: SessionHistory) {
    guard connection?.isIdempotent == true else {
      connection?.subscriptions.repeatLater(window.conversation)
      return
    }
    let via = via(window)
    commits.waiting.change.news += window.entries.map { .message($0, via: via) }
  }

  /// Returns whether a window of one message lies beyond the response to a pending subscription.
  private func isAhead(_ window: SessionHistory, of known: KnownConversation) -> Bool {
    guard let connection, window.entries.count == 1, let first = window.entries.first?.position,
      connection.subscriptions.isFetching(window.conversation),
      connection.isIdempotent || !connection.subscriptions.hasHole(window.conversation)
    else { return false }
    return known.leavesHole(before: first, of: window)
  }

  /// Stores messages. Those of a server without keys that repeat shown text are left out.
  private mutating func store(
    _ window: SessionHistory, behind known: KnownConversation, _ step: Step
  ) {
    let via = via(window)
    for entry in window.entries {
      let isNew = !known.isBehind(entry, of: window)
      guard connection?.isIdempotent == true || isNews(entry, isNew: isNew, step) else { continue }
      commits.waiting.change.news.append(.message(entry, via: via))
    }
  }

  /// Returns the way in which a window arrived. A window after the end of a conversation is live.
  private func via(_ window: SessionHistory) -> SessionVia {
    connection?.subscriptions.hasReached(window.conversation) == true && window.isComplete
      ? .live : .history
  }
}
