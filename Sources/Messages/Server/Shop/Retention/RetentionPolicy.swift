public import HoldfastCore
public import HoldfastMessageData

/// A setting with a value for all shops, and others for single shops.
public struct PerShop<Value: Sendable & Hashable>: Sendable, Hashable {
  /// The value for shops without one of their own; `nil` for no limit.
  public var usual: Value?
  /// The values for single shops; a `nil` value is no limit.
  public var shops: [ShopID: Value?] = [:]

  /// Creates a setting without a limit.
  public init(usual: Value? = nil) { self.usual = usual }

  /// Returns the value for a shop.
  public subscript(shop: ShopID) -> Value? { shops[shop] ?? usual }

  /// Whether any shop has a limit.
  public var isSet: Bool { usual != nil || shops.values.contains { $0 != nil } }
}

/// The limits on the age and the size of the messages of each shop.
public struct RetentionPolicy: Sendable, Hashable {
  /// The age from which a message is removed. It counts from its newest edit.
  public var age = PerShop<Duration>()
  /// The number of bytes of a shop's messages above which the oldest ones are removed.
  ///
  /// Each message counts with its text, the names of its author and 256 bytes.
  public var bytes = PerShop<UInt64>()
  /// The time between two looks at the logs, if only ages are limited.
  ///
  /// A message may be older by this time than its limit.
  public var interval = Duration.seconds(60)
  /// The same, if sizes are limited. 1,000 posts of 200 bytes a second add about 5 MB meanwhile.
  public var sizeInterval = Duration.seconds(10)
  /// The time after a post for which its key is remembered at least, also if its message is removed
  /// earlier. A key takes about 60 bytes.
  public var keyWindow = Duration.seconds(600)
  /// The number of shops that are looked at in one read.
  public var shopsAtOnce = 200
  /// The number of messages whose sizes are read at once, which takes about 5 ms.
  public var readAtOnce = 5_000
  /// The number of messages that are removed in one commit. It takes SQLite 6 ms and one sync.
  public var removedAtOnce = 500

  /// Creates a policy that keeps everything.
  public init() {}

  /// Whether anything is ever removed.
  public var isActive: Bool { age.isSet || bytes.isSet }

  /// The time until the next look.
  public var nextLook: Duration { bytes.isSet ? sizeInterval : interval }

  /// Returns the limits of a shop.
  public func limits(of shop: ShopID) -> RetentionLimits {
    RetentionLimits(age: age[shop], bytes: bytes[shop])
  }
}

/// The limits of the log of one shop.
public struct RetentionLimits: Sendable, Hashable {
  /// The age from which a message is removed; `nil` for no limit.
  public var age: Duration?
  /// The number of bytes above which the oldest messages are removed; `nil` for no limit.
  public var bytes: UInt64?

  /// Creates limits.
  public init(age: Duration? = nil, bytes: UInt64? = nil) { (self.age, self.bytes) = (age, bytes) }

  /// The number of bytes that are left when the oldest messages are removed: seven eighths of the
  /// limit, so that a removal does not follow each post.
  public var target: UInt64? { bytes.map { $0 - $0 / 8 } }

  /// Returns whether an event of a certain time has reached the maximum age.
  public func expires(_ time: Timestamp, at now: Timestamp) -> Bool {
    age.map { time.advanced(by: $0) <= now } ?? false
  }

  /// Returns the number of messages at the beginning of a log that are removed.
  ///
  /// A deletion has no time. It is removed together with a later event that has reached the maximum
  /// age.
  ///
  /// - Parameters:
  ///   - marks: The beginning of the log, in order.
  ///   - held: The number of bytes of the whole log.
  ///   - isTooLarge: Whether bytes are removed until the target is reached.
  ///   - newestPost: The offset of the newest post, which is never removed, nor anything after it.
  ///   - expired: An offset up to which all events have reached the maximum age.
  public func surplus(
    of marks: [LogMark], held: UInt64, isTooLarge: Bool, newestPost: UInt64,
    expired: UInt64 = 0, at now: Timestamp
  ) -> Int {
    let most = marks.prefix { $0.version < newestPost }
    var (old, large, left) = (0, 0, held)
    for (index, mark) in most.enumerated() {
      if mark.version <= expired {
        old = index + 1
      } else if let time = mark.time {
        guard expires(time, at: now) else { break }
        old = index + 1
      }
    }
    if isTooLarge, let target {
      for mark in most {
        guard left > target else { break }
        left -= min(left, mark.bytes)
        large += 1
      }
    }
    return max(old, large)
  }
}
