public import LinkCore
public import MessageStream

extension StreamModel: StreamClient {
  /// What its user is told about the link.
  public var status: LinkStatus { link.status }
  /// The attempt or connection that counts now.
  public var currentAttempt: AttemptID? { link.currentAttempt }
  /// How much it holds in memory.
  public var backlog: Backlog {
    Backlog(
      shown: timeline.messages.count, unsent: outbox.entries.count, unstored: unstoredCount,
      ahead: aheadCount)
  }
}
