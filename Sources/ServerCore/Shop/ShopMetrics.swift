import LinkCore

/// The counters of the shop's server since its start.
struct ShopMetrics: Sendable, Hashable, Codable {
  var requests = RequestCounts()
  var refusedUpgrades: [Int: UInt64] = [:]
  /// By close code; under 0 stand the codes that a peer made up.
  var closes: [UInt16: UInt64] = [:]
  var acceptedUpgrades: UInt64 = 0
  var accepted: UInt64 = 0
  var repeated: UInt64 = 0
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

  /// A peer may send any code: only those that mean something have a counter of their own.
  mutating func closed(code: UInt16) {
    closes[Self.isKnown(code) ? code : 0, default: 0] += 1
  }

  /// RFC 6455 section 7.4.1, the IANA registry for 1012 to 1014, and ours.
  private static func isKnown(_ code: UInt16) -> Bool {
    switch code {
    case 1000...1003, 1005...1015, 4401, 4403: true
    case _: false
    }
  }

  /// Adds the counters, and the state that the server is in, to a page.
  func report(connections: Int, shops: Int, uptime: Duration, to page: inout MetricsPage) {
    page.one("connections", .gauge, "Open sockets.", UInt64(connections))
    page.one("shops", .gauge, "Shops with an open socket.", UInt64(shops))
    page.one("uptime_seconds", .gauge, "Since the start.", UInt64(uptime.components.seconds))
    page.one("messages_accepted_total", .counter, "Messages made durable.", accepted)
    page.one("messages_repeated_total", .counter, "Posts with a known key.", repeated)
    page.one("broadcasts_total", .counter, "Messages sent to a room.", broadcasts)
    page.one("frames_total", .counter, "Message frames handed to sockets.", frames)
    page.one("upgrades_total", .counter, "Upgrades accepted.", acceptedUpgrades)
    page.many(
      "upgrades_refused_total", .counter, "Upgrades refused.",
      refusedUpgrades.sorted { $0.key < $1.key }.map { ("status=\"\($0.key)\"", $0.value) })
    page.many(
      "closes_total", .counter, "Sockets that ended, by close code.",
      closes.sorted { $0.key < $1.key }.map {
        ("code=\"\($0.key == 0 ? "other" : String($0.key))\"", $0.value)
      })
    page.requests.add(requests)
    page.one("slow_readers_total", .counter, "Sockets cut for reading slowly.", slowReaders)
    page.one("silent_total", .counter, "Sockets dropped for silence.", silent)
    page.one("auth_failures_total", .counter, "Tokens missing, invalid or expired.", authFailures)
    page.one("store_failures_total", .counter, "Questions the store failed.", storeFailures)
    page.one("pings_total", .counter, "Pings sent.", pings)
  }
}
