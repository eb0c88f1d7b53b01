import HoldfastCore
import HoldfastServerParts

/// The counters of the shop server since its start.
struct ShopMetrics: Sendable, Hashable, Codable {
  var refusals = RefusalCounts()
  var refusedUpgrades: [Int: UInt64] = [:]
  /// The number of closed sockets by close code. The key 0 combines all unregistered codes.
  var closes: [UInt16: UInt64] = [:]
  var acceptedUpgrades: UInt64 = 0
  var accepted: UInt64 = 0
  var repeated: UInt64 = 0
  var edited: UInt64 = 0
  var deleted: UInt64 = 0
  var broadcasts: UInt64 = 0
  var frames: UInt64 = 0
  var slowReaders: UInt64 = 0
  var silent: UInt64 = 0
  var authFailures: UInt64 = 0
  var storeFailures: UInt64 = 0
  var pings: UInt64 = 0

  mutating func refusedUpgrade(status: Int) {
    refusedUpgrades[status, default: 0] += 1
  }

  /// Counts a close code. Peers may send any code, so only known codes have separate counters.
  mutating func closed(code: UInt16) {
    closes[Self.isKnown(code) ? code : 0, default: 0] += 1
  }

  /// Returns whether RFC 6455 section 7.4.1, the IANA registry (1012 to 1014) or this package
  /// defines a code.
  private static func isKnown(_ code: UInt16) -> Bool {
    switch code {
    case 1000...1003, 1005...1015, 4401, 4403: true
    case _: false
    }
  }

  /// Adds the counters and the current state of the server to a page.
  func report(connections: Int, shops: Int, uptime: Duration, to page: inout MetricsPage) {
    page.one("connections", .gauge, "Open sockets.", UInt64(connections))
    page.one("shops", .gauge, "Shops with an open socket.", UInt64(shops))
    page.one("uptime_seconds", .gauge, "Since the start.", UInt64(uptime.components.seconds))
    page.counters(
      of: self,
      [
        ("messages_accepted", "Messages made durable.", \.accepted),
        ("messages_repeated", "Posts with a known key.", \.repeated),
        ("messages_edited", "Edits made durable.", \.edited),
        ("messages_deleted", "Deletions made durable.", \.deleted),
        ("broadcasts", "Messages, edits and deletions sent to a room.", \.broadcasts),
        ("frames", "Frames of these handed to sockets.", \.frames),
        ("upgrades", "Upgrades accepted.", \.acceptedUpgrades),
      ])
    page.counters("upgrades_refused", "Upgrades refused.", by: "status", refusedUpgrades)
    page.many(
      "closes_total", .counter, "Sockets that ended, by close code.",
      closes.sorted { $0.key < $1.key }.map {
        ("code=\"\($0.key == 0 ? "other" : String($0.key))\"", $0.value)
      })
    page.refusals.add(refusals)
    page.refusals.add(.unauthorized, authFailures)
    page.refusals.add(.store, storeFailures)
    page.counters(
      of: self,
      [
        ("slow_readers", "Sockets cut for reading slowly.", \.slowReaders),
        ("silent", "Sockets dropped for silence.", \.silent),
        ("auth_failures", "Tokens missing, invalid or expired.", \.authFailures),
        ("store_failures", "Store requests that failed.", \.storeFailures),
        ("pings", "Pings sent.", \.pings),
      ])
  }
}
