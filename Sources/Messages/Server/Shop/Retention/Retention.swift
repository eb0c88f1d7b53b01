public import HoldfastCore
public import HoldfastMessageData
public import HoldfastServerParts

/// The rules by which the oldest messages are removed, as a machine without a clock.
///
/// A run looks at all shops. It asks for one step at a time, so that posts never wait for more than
/// one. The sizes of a log are read once, and then only those of new events. Since an edited message
/// counts twice meanwhile, they are read anew before a log with edits is shortened for its size.
public struct Retention: Sendable {
  /// A call of the store.
  public enum Step: Sendable, Hashable {
    /// Read the extents of the logs of the shops after one.
    case extents(after: ShopID?, limit: Int)
    /// Read marks of a shop's messages after an offset.
    case marks(ShopID, after: UInt64, limit: Int)
    /// Remove the beginning of a log.
    case remove(LogCut)
    /// Forget keys, and give room back.
    case tidy(keysBefore: Timestamp)
    /// Remove the texts and the images of removed messages from all files.
    case removeTraces
  }

  /// The result of a step.
  public enum Answer: Sendable, Hashable {
    case extents([LogExtent])
    case marks([LogMark])
    /// The number of removed messages.
    case removed(Int)
    /// Whether there is more to do.
    case tidied(Bool)
    case tracesRemoved
    /// The step had no effect. The run ends, and the next one begins anew.
    case failed
  }

  /// The numbers of a run.
  public struct Counts: Sendable, Hashable {
    /// The number of removed messages, deleted ones included.
    public var messages: UInt64 = 0
    /// The number of bytes that counted for them.
    public var bytes: UInt64 = 0
    /// The number of shops whose logs were shortened.
    public var shops: UInt64 = 0

    /// Creates empty counts.
    public init() {}
  }

  /// The known state of a log.
  private struct Log: Sendable {
    /// The offset of the oldest event that is kept.
    var oldest: UInt64
    /// The offset up to which the events were read.
    var through: UInt64
    /// The messages that were read and not removed, and their bytes.
    var messages: UInt64 = 0
    var bytes: UInt64 = 0
    /// Whether all events were read at least once.
    var isRead = false
    /// Whether some messages were counted twice.
    var isStale = false
    /// Whether messages are removed until the target is reached.
    var isTooLarge = false
    /// A time that no kept event precedes; `nil` if it is unknown.
    var noneBefore: Timestamp?
    /// An offset up to which all events have reached the maximum age.
    var expired: UInt64 = 0

    init(oldest: UInt64) { (self.oldest, through) = (oldest, oldest - 1) }
  }

  /// The purpose of a read of marks.
  private enum Reading: Sendable {
    case size
    case beginning
    /// The search for an event with a time, if a log begins with many deletions.
    case time
  }

  /// A removal that was asked for.
  private struct Removal: Sendable {
    var first: UInt64
    var messages: UInt64
    var bytes: UInt64
    var noneBefore: Timestamp?
  }

  private let policy: RetentionPolicy
  private var logs: [ShopID: Log] = [:]
  /// The shops of the run that are still to be looked at.
  private var queue: ArraySlice<LogExtent> = []
  private var hasMoreShops = false
  private var last: ShopID?
  private var reading = Reading.size
  private var removal: Removal?
  /// The shop whose sizes were read again in this run.
  private var readAgain: ShopID?
  /// The shop whose log was shortened last.
  private var shortened: ShopID?
  private var now = Timestamp(nanoseconds: 0)
  /// The time up to which removed keys may be remembered; `nil` if that is unknown.
  private var keysUntil: Timestamp?
  private var isTidied = false
  private var hasTraces = false
  /// The counts of the current or last run.
  public private(set) var counts = Counts()
  private var total = Counts()
  private var failures: UInt64 = 0
  private var lastRemoval: Timestamp?

  /// Creates rules that know no log yet.
  public init(_ policy: RetentionPolicy) { self.policy = policy }

  // MARK: - Steps

  /// Begins a run. Returns its first step; `nil` if nothing is ever removed.
  public mutating func begin(at now: Timestamp) -> Step? {
    guard policy.isActive else { return nil }
    self.now = now
    (counts, queue, last, removal, readAgain) = (Counts(), [], nil, nil, nil)
    isTidied = keysUntil.map { $0 < now } ?? false
    return .extents(after: nil, limit: policy.shopsAtOnce)
  }

  /// Takes the result of a step. Returns the next one; `nil` at the end of the run.
  public mutating func take(_ answer: Answer) -> Step? {
    switch answer {
    case .extents(let found):
      hasMoreShops = found.count == policy.shopsAtOnce
      last = found.last?.shop
      queue = found[...]
      return work()
    case .marks(let marks): return take(marks)
    case .removed(let count): return removed(count)
    case .tidied(let hasMore):
      isTidied = !hasMore
      return finish()
    case .tracesRemoved:
      hasTraces = false
      return finish()
    case .failed:
      failures += 1
      // What a step has done is unknown.
      if let shop = queue.first?.shop { logs[shop] = nil }
      queue = []
      return nil
    }
  }

  /// Returns the next step for the first shop of the queue for which there is one.
  private mutating func work() -> Step? {
    while let extent = queue.first {
      if let step = look(at: extent) { return step }
      queue.removeFirst()
    }
    return hasMoreShops ? .extents(after: last, limit: policy.shopsAtOnce) : finish()
  }

  private mutating func look(at extent: LogExtent) -> Step? {
    let limits = policy.limits(of: extent.shop)
    guard limits != RetentionLimits(), extent.newestPost > 0 else {
      logs[extent.shop] = nil
      return nil
    }
    var log = logs[extent.shop] ?? Log(oldest: extent.oldest)
    // Another node has shortened the log.
    if log.oldest != extent.oldest { log = Log(oldest: extent.oldest) }
    if log.through >= extent.head, let most = limits.bytes {
      if log.bytes <= most - most / 8 {
        log.isTooLarge = false
      } else if log.bytes > most, !log.isTooLarge {
        // Events that arrive during the second read may count twice too. A third read would never end
        // while messages are edited all the time.
        if log.isStale, readAgain != extent.shop {
          readAgain = extent.shop
          log = Log(oldest: extent.oldest)
        } else {
          log.isTooLarge = true
        }
      }
    }
    logs[extent.shop] = log
    guard log.through >= extent.head else {
      reading = .size
      return .marks(extent.shop, after: log.through, limit: policy.readAtOnce)
    }
    let mayBeOld = log.noneBefore.map { limits.expires($0, at: now) } ?? (limits.age != nil)
    guard log.isTooLarge || mayBeOld, extent.oldest < extent.newestPost else { return nil }
    reading = .beginning
    return .marks(extent.shop, after: extent.oldest - 1, limit: policy.removedAtOnce)
  }

  private mutating func take(_ marks: [LogMark]) -> Step? {
    guard let extent = queue.first, var log = logs[extent.shop] else { return work() }
    switch reading {
    case .size:
      log.messages += UInt64(marks.count)
      log.bytes += marks.reduce(0) { $0 + $1.bytes }
      // Their earlier versions were read before.
      let repeats = marks.contains { $0.isChanged && (log.isRead || $0.version > extent.head) }
      log.isStale = log.isStale || repeats
      let isEnd = marks.count < policy.readAtOnce
      log.through = max(marks.last?.version ?? 0, isEnd ? extent.head : 0)
      log.isRead = log.isRead || log.through >= extent.head
      logs[extent.shop] = log
      return work()
    case .beginning: return shorten(extent, log, marks)
    case .time:
      guard let mark = marks.first(where: { $0.time != nil }), let time = mark.time else {
        guard marks.count == policy.removedAtOnce, let end = marks.last?.version else {
          return leave(extent, log, noneBefore: now)
        }
        return .marks(extent.shop, after: end, limit: policy.removedAtOnce)
      }
      guard policy.limits(of: extent.shop).expires(time, at: now) else {
        return leave(extent, log, noneBefore: time)
      }
      log.expired = mark.version
      logs[extent.shop] = log
      return work()
    }
  }

  private mutating func shorten(_ extent: LogExtent, _ log: Log, _ marks: [LogMark]) -> Step? {
    let limits = policy.limits(of: extent.shop)
    let surplus = limits.surplus(
      of: marks, held: log.bytes, isTooLarge: log.isTooLarge, newestPost: extent.newestPost,
      expired: log.expired, at: now)
    let rest = marks[surplus...]
    let next = rest.lazy.compactMap(\.time).first
    guard surplus > 0, let end = marks[..<surplus].last?.version else {
      if next == nil, limits.age != nil, marks.count == policy.removedAtOnce,
        let last = marks.last?.version
      {
        reading = .time
        return .marks(extent.shop, after: last, limit: policy.removedAtOnce)
      }
      return leave(extent, log, noneBefore: next ?? now)
    }
    let first = min(rest.first?.version ?? end + 1, extent.newestPost)
    removal = Removal(
      first: first, messages: UInt64(surplus),
      bytes: marks[..<surplus].reduce(0) { $0 + $1.bytes }, noneBefore: next)
    return .remove(
      LogCut(
        shop: extent.shop, first: first, now: now,
        keysSince: now.advanced(by: .zero - policy.keyWindow)))
  }

  /// Goes on with the next shop.
  private mutating func leave(
    _ extent: LogExtent, _ log: Log, noneBefore time: Timestamp
  ) -> Step? {
    var log = log
    (log.noneBefore, log.isTooLarge) = (time, false)
    logs[extent.shop] = log
    queue.removeFirst()
    return work()
  }

  private mutating func removed(_ count: Int) -> Step? {
    guard var extent = queue.first, var log = logs[extent.shop], let removal else { return work() }
    self.removal = nil
    if counts.shops == 0 || shortened != extent.shop { counts.shops += 1 }
    shortened = extent.shop
    counts.messages += UInt64(count)
    counts.bytes += removal.bytes
    total.messages += UInt64(count)
    total.bytes += removal.bytes
    log.messages -= min(log.messages, removal.messages)
    log.bytes -= min(log.bytes, removal.bytes)
    (log.oldest, log.noneBefore) = (removal.first, removal.noneBefore)
    logs[extent.shop] = log
    extent.oldest = removal.first
    queue[queue.startIndex] = extent
    (lastRemoval, hasTraces, isTidied) = (now, true, false)
    keysUntil = now.advanced(by: policy.keyWindow)
    return work()
  }

  private mutating func finish() -> Step? {
    if !isTidied { return .tidy(keysBefore: now.advanced(by: .zero - policy.keyWindow)) }
    if hasTraces { return .removeTraces }
    if keysUntil == nil { keysUntil = now }
    return nil
  }

  // MARK: - Metrics

  /// Adds the metrics of the removal to a page. Sizes are those of shops with a limit.
  public func report(to page: inout MetricsPage) {
    let sums = logs.values.reduce(into: Counts()) {
      $0.messages += $1.messages
      $0.bytes += $1.bytes
    }
    page.one(
      "retained_messages", .gauge, "Messages of shops with a limit, as far as they were read.",
      sums.messages)
    page.one("retained_bytes", .gauge, "Bytes that count for these messages.", sums.bytes)
    page.one(
      "retention_removed_messages_total", .counter, "Messages removed for age or size.",
      total.messages)
    page.one(
      "retention_removed_bytes_total", .counter, "Bytes that counted for these messages.",
      total.bytes)
    page.one("retention_failures_total", .counter, "Runs that failed.", failures)
    page.one(
      "retention_last_removal_timestamp_seconds", .gauge, "Time of the last removal; 0 for none.",
      (lastRemoval?.nanoseconds ?? 0) / 1_000_000_000)
  }
}
