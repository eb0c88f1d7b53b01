import LinkCore
import LinkServerCore
import LinkWire

extension ShopHouse {
  /// The numbers that a server goes by, written out.
  struct Numbers: Sendable {
    var isPlain = false
    var offersStream = true
    var frameBytes = 10_240
    var arrears = 100
    var arrearsBytes = 131_072
    var socketsOfUser = 5
    var sockets = 10_000
    var requests = 1_024
    var postsOfShop = 256
    var commitBytes = 65_536
    var rooms = 4_096
    var postInterval = Duration.milliseconds(50)
    var burst = 40
    var users = 100_000
    var ping = Duration.seconds(54)
    var silence = Duration.seconds(60)
    var closing = Duration.seconds(5)
    var drainGrace = Duration.seconds(1)
    var drainLimit = Duration.seconds(10)
    var socketRetry = Duration.seconds(5)
    var busyRetry = Duration.seconds(2)
    var leeway = Duration.seconds(5)

    /// The same with times of 1 ms and counts of 1 at least, but for those that only name a time.
    var usable: Numbers {
      var numbers = self
      let ms = Duration.milliseconds(1)
      numbers.arrears = max(1, arrears)
      numbers.arrearsBytes = max(1, arrearsBytes)
      numbers.socketsOfUser = max(1, socketsOfUser)
      numbers.sockets = max(1, sockets)
      numbers.requests = max(1, requests)
      numbers.postsOfShop = max(1, postsOfShop)
      numbers.commitBytes = max(1, commitBytes)
      numbers.rooms = max(1, rooms)
      numbers.burst = max(1, burst)
      numbers.users = max(1, users)
      numbers.postInterval = max(ms, postInterval)
      numbers.ping = max(ms, ping)
      numbers.silence = max(ms, silence)
      numbers.closing = max(ms, closing)
      numbers.drainGrace = max(ms, drainGrace)
      numbers.drainLimit = max(ms, drainLimit)
      return numbers
    }
  }

  /// How many posts a user may make now.
  struct Bucket: Sendable {
    var left: Int
    /// Since when it fills.
    var since: Instant

    mutating func fill(to burst: Int, every interval: Duration, until now: Instant) {
      while left < burst, since.advanced(by: interval) <= now {
        left += 1
        since = since.advanced(by: interval)
      }
    }
  }

  /// Counts a post; returns how long to wait if it comes too soon.
  mutating func wait(of user: String) -> Duration? {
    for name in buckets.keys {
      buckets[name]?.fill(to: numbers.burst, every: numbers.postInterval, until: now)
    }
    if buckets[user] == nil, buckets.count >= numbers.users {
      buckets = buckets.filter { $0.value.left != numbers.burst }
      if buckets.count >= numbers.users { return numbers.postInterval * numbers.burst }
    }
    var bucket = buckets[user] ?? Bucket(left: numbers.burst, since: now)
    if bucket.left == 0 { return now.duration(to: bucket.since.advanced(by: numbers.postInterval)) }
    if bucket.left == numbers.burst { bucket.since = now }
    bucket.left -= 1
    buckets[user] = bucket
    return nil
  }

  /// Counts the end of a socket; codes that mean nothing are counted together.
  mutating func countEnd(_ code: UInt16) {
    let known: [ClosedRange<UInt16>] = [1000...1003, 1005...1015, 4401...4401, 4403...4403]
    count("closes \(known.contains { $0.contains(code) } ? code : 0)")
  }

  /// The page of metrics.
  var page: String {
    var page = PartsPage()
    let open = sockets.filter(\.isOpen)
    let uptime = startedAt.duration(to: now).components.seconds
    page.add("connections", "gauge", "Open sockets.", UInt64(open.count))
    page.add("shops", "gauge", "Shops with an open socket.", UInt64(Set(open.map(\.shop)).count))
    page.add("uptime_seconds", "gauge", "Since the start.", UInt64(uptime))
    let all: [(String, String, String)] = [
      ("accepted", "messages_accepted_total", "Messages made durable."),
      ("repeated", "messages_repeated_total", "Posts with a known key."),
      ("broadcasts", "broadcasts_total", "Messages sent to a room."),
      ("frames", "frames_total", "Message frames handed to sockets."),
      ("upgrades", "upgrades_total", "Upgrades accepted."),
    ]
    for (name, title, help) in all { page.add(title, "counter", help, counts[name] ?? 0) }
    let refused = [401, 403, 429, 503].map { ("status=\"\($0)\"", counts["refused \($0)"] ?? 0) }
    page.add(
      "upgrades_refused_total", "counter", "Upgrades refused.", refused.filter { $0.1 != 0 })
    let codes = [0] + Array(1000...1015) + [4401, 4403]
    let ends = codes.map { code in
      ("code=\"\(code == 0 ? "other" : "\(code)")\"", counts["closes \(code)"] ?? 0)
    }
    page.add(
      "closes_total", "counter", "Sockets that ended, by close code.", ends.filter { $0.1 != 0 })
    let rest: [(String, String, String)] = [
      ("slow_readers", "slow_readers_total", "Sockets cut for reading slowly."),
      ("silent", "silent_total", "Sockets dropped for silence."),
      ("strangers", "auth_failures_total", "Tokens missing, invalid or expired."),
      ("failures", "store_failures_total", "Questions the store failed."),
      ("pings", "pings_total", "Pings sent."),
    ]
    for (name, title, help) in rest { page.add(title, "counter", help, counts[name] ?? 0) }
    page.add(answers)
    return page.text
  }
}
