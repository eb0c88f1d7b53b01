public import HoldfastCore
public import HoldfastMessageData

/// The settings of one shop's stream: its policy and its limits.
public struct StreamSettings: Sendable, Hashable, Codable {
  /// The shop of the stream.
  public var shop: ShopID
  /// The policy of the link.
  public var policy: LinkPolicy
  /// The author of messages sent from here, if known. It helps to find the user's own messages on a
  /// basic server.
  public var user: String?
  /// The number of messages in the first load and in each page of older messages.
  public var historyPage = 50
  /// The number of messages in each page of a catch-up, also after an hour's absence.
  public var catchUpPage = 100
  /// The absence after which the newest page is fetched instead of all missed messages.
  public var longAbsence = Duration.seconds(3600)
  /// The overlap of a catch-up by time. It finds messages with earlier timestamps than messages
  /// already received.
  public var overlap = Duration.seconds(120)
  /// The maximum number of messages in memory. All messages stay in the store.
  public var memory = 1000
  /// The time-out of a request for a page.
  public var fetchTimeout = Duration.seconds(10)
  /// The number of malformed frames within a minute that ends the connection.
  public var malformedLimit = 5
  /// The maximum number of pages that one catch-up fetches. Beyond the limit the reader sees a gap.
  public var catchUpPages = 1000
  /// The waits between attempts to send: 1, 2, 4, 8 and 16 s, then 30 s. After ten attempts the
  /// user decides.
  public var sendRetries = Schedule.exponential(
    first: .seconds(1), factor: 2, cap: .seconds(30), jitter: 0, floor: .zero, attempts: 9)
  /// The maximum number of messages that may wait to be sent. Further messages are refused at once.
  public var outboxLimit = 1000
  /// Whether the stream only sends. It then fetches only the messages that show whether an
  /// unconfirmed message arrived.
  public var sendsOnly = false
  /// Whether the server is asked for edits and deletions as events with positions.
  ///
  /// A server without events ignores the request.
  public var wantsEvents = false

  /// The maximum size of the messages in memory in bytes, regardless of their number.
  ///
  /// A thousand messages of 10 kB would take 10 MB.
  public static let memoryBytes = 2_000_000
  /// The number of messages that are read from the store at once while a stream opens.
  public static let loadPage = 100
  /// The maximum number of messages that may wait for the store. Further messages are left to a
  /// later catch-up.
  public static let unstored = 2000
  /// The maximum size of these messages in bytes. A page that begins below the limit is accepted
  /// whole.
  public static let unstoredBytes = 1_000_000
  /// The maximum number of parts of a timeline, covered by pages of another log, that may wait for
  /// the store. Further pages are left to a later catch-up.
  public static let coveredRanges = 100
  /// The number of edits and deletions from which on further ones are left to a later catch-up
  /// while a request is open.
  public static let unsettled = 2000
  /// The maximum number of known offsets beyond the cursor. Further offsets are left to the
  /// catch-up.
  public static let offsetsAhead = 10_000

  public init(shop: ShopID, policy: LinkPolicy, user: String? = nil) {
    self.shop = shop
    self.policy = policy
    self.user = user
  }

}
