public import LinkCore
public import LinkWire

/// The settings of one shop's stream: its policy, its limits and the numbers of requirements 001.
public struct StreamSettings: Sendable, Hashable, Codable {
  /// The shop of the stream.
  public var shop: ShopID
  /// The policy of the link.
  public var policy: LinkPolicy
  /// The author of messages sent here, if known. It helps to find own messages on a plain server.
  public var user: String?
  /// The number of messages in the first load and in each page of older ones (requirements: 50).
  public var historyPage = 50
  /// The number of messages in each page of a catch-up (requirements: 100, also after an hour's
  /// absence).
  public var catchUpPage = 100
  /// The absence after which the newest page is fetched instead of all missed messages
  /// (requirements: 60 minutes).
  public var longAbsence = Duration.seconds(3600)
  /// The overlap of a catch-up by time, for messages stamped before those already seen.
  public var overlap = Duration.seconds(120)
  /// The most messages in memory (requirements: 1,000). All messages stay in the store.
  public var memory = 1000
  /// The time-out of a request for a page.
  public var fetchTimeout = Duration.seconds(10)
  /// The number of malformed frames within a minute that ends the connection (design: five are
  /// critical).
  public var malformedLimit = 5
  /// The most pages that one catch-up fetches. Beyond the limit the reader sees a gap.
  public var catchUpPages = 1000
  /// The waits between attempts to send: 1, 2, 4, 8 and 16 s, then 30 s. After ten attempts the
  /// user decides.
  public var sendRetries = Schedule.exponential(
    first: .seconds(1), factor: 2, cap: .seconds(30), jitter: 0, floor: .zero, attempts: 9)
  /// The most messages that may wait to be sent; a further one is refused at once.
  public var outboxLimit = 1000
  /// Whether the stream only sends. It then fetches only what shows whether an unanswered message
  /// arrived.
  public var sendsOnly = false

  /// The most bytes of the messages in memory, regardless of their number.
  ///
  /// The requirements allow a connection 5 MB in all, and 1,000 messages of 10 kB alone would take
  /// twice that.
  public static let memoryBytes = 2_000_000
  /// The number of messages that are read from the store at once while a stream opens.
  public static let loadPage = 100
  /// The most messages that may wait for the store. Further ones are left to a later catch-up.
  public static let unstored = 2000
  /// The most bytes of these messages. A page that begins below the limit is accepted whole.
  public static let unstoredBytes = 1_000_000
  /// The most offsets known beyond the cursor. Further ones are left to the catch-up.
  public static let offsetsAhead = 10_000

  public init(shop: ShopID, policy: LinkPolicy, user: String? = nil) {
    self.shop = shop
    self.policy = policy
    self.user = user
  }

}
