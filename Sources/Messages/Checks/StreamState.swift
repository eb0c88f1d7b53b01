import HoldfastLinkChecks
public import HoldfastMessageData
public import HoldfastMessageStream

/// The feature's part of a phone's state. The checkers use it in addition to the link's state.
public struct StreamState: Sendable {
  /// The settings that the client should use.
  public var settings: StreamSettings
  /// The server's contract.
  public var server: ServerKind
  /// The order of a plain server's pages.
  public var pages = PageOrder.stamp
  /// Whether the server stamps some messages late.
  public var stampsLate = false
  /// The position of the oldest event that the server keeps; `nil` if it has removed none.
  public var oldest: ShopPosition?
  public var isWhole = false
  public var memoryUse: MemoryUse
  /// The durable data of the phone.
  public var disk = StoredTimeline()

  public init(settings: StreamSettings, server: ServerKind, memoryUse: MemoryUse) {
    self.settings = settings
    self.server = server
    self.memoryUse = memoryUse
  }
}

/// The contract of a world's server.
public enum ServerKind: String, Sendable, Hashable, Codable, CaseIterable {
  /// The contract of this package: positions, heads and idempotency keys.
  case positions
  /// The minimum that `docs/requirements/001.md` requires: times, page numbers, and the newest
  /// messages first.
  case plain
}

/// The order of a plain server's pages.
public enum PageOrder: String, Sendable, Hashable, Codable, CaseIterable {
  /// The order of the messages' stamps.
  case stamp
  /// The order of arrival.
  case arrival
}

/// The numbers of items that a client holds in memory. Each number is bounded.
public struct MemoryUse: Sendable, Hashable {
  /// The number of messages in the timeline.
  public var shown: Int
  /// The number of the user's messages that are waiting to be sent or have failed.
  public var unsent: Int
  /// The number of messages that are waiting to be stored.
  public var unstored: Int
  /// The number of offsets beyond the cursor that the client knows.
  public var ahead: Int

  public init(shown: Int, unsent: Int, unstored: Int, ahead: Int) {
    self.shown = shown
    self.unsent = unsent
    self.unstored = unstored
    self.ahead = ahead
  }
}
