public import LinkCore
public import LinkStorage
public import LinkWire

extension StreamModel {
  /// Everything a stream can ask for; carried out in order.
  public enum Effect: Sendable, Equatable, Codable {
    /// Open a socket; the server is asked to send first what lies after a position.
    case open(AttemptID, after: Position? = nil)
    /// Close the socket with a code of RFC 6455 section 7.4.
    case close(AttemptID, code: UInt16)
    case ping(AttemptID, UInt64)
    case refreshCredentials
    case fetch(FetchID, PageQuery)
    case post(OutboxEntry, try: TryID)
    /// Read what is kept: the newest `limit` messages and all beside them.
    case load(limit: Int)
    case commit(CommitID, TimelineChange)
    /// Read up to `limit` kept messages before `key`.
    case readOlder(TimelineKey, limit: Int)
    case update(StreamUpdate)
  }
}
