public import LinkCore
public import MessageStream

extension StreamModel: StreamClient {
  public var status: LinkStatus { link.status }
  public var currentAttempt: AttemptID? { link.currentAttempt }
  public var backlog: Backlog {
    Backlog(
      shown: timeline.messages.count, unsent: outbox.entries.count, unstored: unstoredCount,
      ahead: aheadCount)
  }
}
