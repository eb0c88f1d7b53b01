public import LinkCore
public import LinkWire

/// What one shop's stream is told once: its policy, its limits, its numbers from seed 001.
public struct StreamSettings: Sendable, Hashable, Codable {
  /// The shop that is followed.
  public var shop: ShopID
  /// How the link under it behaves.
  public var policy: LinkPolicy
  /// The author of what is sent here, where known; helps to find an own message on a plain server.
  public var user: String?
  /// Messages in the first load and in each page of older ones (seed: 50).
  public var historyPage = 50
  /// Messages in each page of a catch-up (seed: 100, also what an hour's absence brings).
  public var catchUpPage = 100
  /// After this long the newest page is fetched instead of everything missed (seed: 60 minutes).
  public var longAbsence = Duration.seconds(3600)
  /// How far a catch-up by time goes back, for messages stamped before what was already seen.
  public var overlap = Duration.seconds(120)
  /// Messages kept in memory (seed: 1,000); all stay on disk.
  public var memory = 1000
  /// A request for a page that takes longer has failed.
  public var fetchTimeout = Duration.seconds(10)
  /// This many malformed frames within a minute end the link (design: five count as critical).
  public var malformedLimit = 5
  /// Pages that one catch-up fetches at most; beyond, the reader sees a gap.
  public var catchUpPages = 1000
  /// Waits between tries to send: 1, 2, 4, 8, 16 s, then 30 s; ten tries, then the user is asked.
  public var sendRetries = Schedule.exponential(
    first: .seconds(1), factor: 2, cap: .seconds(30), jitter: 0, floor: .zero, attempts: 9)
  /// Messages that may wait to be sent; one more is refused at once.
  public var outboxLimit = 1000
  /// Whether it only sends: then it fetches nothing but what tells whether an unanswered message of
  /// the user arrived.
  public var sendsOnly = false

  /// The most bytes of the messages in memory, however many they are. The seed allows a connection
  /// 5 MB in all, and 1,000 messages of 10 kB alone would take twice that.
  public static let memoryBytes = 2_000_000
  /// Messages that are read from the store at once while a stream opens.
  public static let loadPage = 100
  /// Messages that may wait for the store; beyond, they are left to a later catch-up.
  public static let unstored = 2000
  /// The most bytes of such messages; a page that begins below is taken whole.
  public static let unstoredBytes = 1_000_000
  /// Offsets known beyond the cursor; those over it are left to the catch-up.
  public static let offsetsAhead = 10_000

  public init(shop: ShopID, policy: LinkPolicy, user: String? = nil) {
    self.shop = shop
    self.policy = policy
    self.user = user
  }

}
