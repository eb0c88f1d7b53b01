import LinkCore

/// Every number of the backend's side of health sync.
public struct SyncServerPolicy: Sendable, Hashable {
  /// Requests that may wait for the store at once; further ones are refused with 503.
  public var maxRequests = 64
  /// When a refused request may come again while too many wait.
  public var busyRetry = Duration.seconds(2)
  /// When a request may come again after the store failed: long enough to make room on a disk.
  public var storeRetry = Duration.seconds(30)
  /// From the start of a drain to the end of waiting.
  public var drainLimit = Duration.seconds(10)
  /// The names of this server and the origins that browsers may use.
  public var doors = WebDoors()

  /// The longest body in bytes, compressed or not: 4 MiB, about 10,000 records.
  public static let maxBodyBytes = 4 << 20

  /// The numbers in use.
  public init() {}
}
