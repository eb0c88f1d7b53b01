import LinkCore
import LinkServerCore
import LinkWire

extension SessionHouse {
  /// The numbers that a server goes by, written out.
  struct Numbers: Sendable {
    var sockets = 2_000
    var socketsPerAddress = 256
    var socketsPerClient = 8
    var promptBytes = 524_288
    var systemBytes = 131_048
    var promptsOfTalk = 1_000
    var prompts = 10_000
    var promptsBytes = 67_108_864
    var running = 16
    var interval = Duration.milliseconds(1)
    var burst = 5_000
    var turn = Duration.seconds(300)
    var responseBytes = 1_048_576
    var answers: Int
    var entries: Int
    var window = 100
    var subscriptions = 1_000
    var longestMessage = 2_097_152
    var laneBytes = 262_144
    var parcels = 4_096
    var writes = 4_096
    var clients = 10_000
    var talks = 10_000
    var historyBytes = 67_108_864
    var answersBytes = 16_777_216
    var over = 20_000
    var overBytes = 67_108_864

    init(_ world: SessionsFeature.Numbers) {
      (answers, entries) = (world.kept, world.kept)
      if world.tight == 1 {
        (window, laneBytes, longestMessage, running, socketsPerClient) = (2, 2_000, 3_000, 1, 1)
        (interval, burst) = (.seconds(1), 3)
      }
      if world.strict == 1 {
        (sockets, socketsPerAddress, socketsPerClient) = (9, 5, 2)
        (promptBytes, systemBytes, responseBytes) = (100_000, 1_000, 4_000)
        (promptsOfTalk, prompts, promptsBytes) = (4, 7, 250_000)
        (turn, subscriptions) = (.seconds(60), 3)
      }
    }
  }

  /// What the server must count, by the names of its metrics.
  var page: [String: UInt64] {
    var page = counts
    page["session_sockets"] = UInt64(sockets.count)
    page["session_clients"] = UInt64(clients.count)
    page["session_prompts_open"] = UInt64(jobs.values.count { $0.answer == nil })
    page["session_handlers"] = UInt64(running)
    page["session_answers"] = UInt64(over.count)
    page["session_history_bytes"] = UInt64(talks.values.reduce(0) { $0 + $1.bytes })
    return page.filter { $0.value > 0 }
  }

  /// Returns the numbers of a page of metrics that are not zero.
  static func numbers(on page: String) -> [String: UInt64] {
    var found: [String: UInt64] = [:]
    for line in page.split(separator: "\n") where line.hasPrefix("holdfast_") {
      let words = line.dropFirst("holdfast_".count).split(separator: " ")
      if words.count == 2, let value = UInt64(words[1]), value > 0 {
        found[String(words[0])] = value
      }
    }
    return found
  }

  /// What is said of it to those who watch over it.
  var health: ServiceHealth {
    guard mode == .serves else { return .draining }
    guard let failure else { return .ok }
    switch failure {
    case .full: return .failing(reason: "the disk of the session store is full")
    case .locked: return .failing(reason: "another program holds the session store")
    case .corrupt: return .failing(reason: "the session store is damaged")
    case .fromTheFuture: return .failing(reason: "the session store is of a newer version")
    case .denied: return .failing(reason: "the session store cannot be written")
    case .other: return .failing(reason: "the session store failed")
    }
  }
}

/// A text that is too long for a message, cut in its middle.
enum SessionCut {
  /// The bytes of a text in JSON.
  static func length(_ text: String) -> Int {
    var sum = 0
    // An array is counted many bytes at a time.
    for byte in Array(text.utf8) { sum &+= cost(of: byte) }
    return sum
  }

  /// Whether a text fits into a message of so many bytes.
  static func fits(_ text: String, in limit: Int) -> Bool {
    let (count, room) = (text.utf8.count, limit - 700)
    return count <= room && (6 * count <= room || length(text) <= room)
  }

  private static func cost(of byte: UInt8) -> Int {
    1 &+ (byte < 32 ? 5 : 0) &+ (byte == 34 || byte == 92 ? 1 : 0)
  }

  /// Returns the beginning and the end of a text; `nil` if all of it fits.
  static func cut(_ text: String, to limit: Int) -> String? {
    if fits(text, in: limit) { return nil }
    let bytes = Array(text.utf8)
    let half = max((limit - 780) / 2, 0)
    var (begin, spent) = (0, 0)
    while begin < bytes.count {
      var next = begin + 1
      while next < bytes.count, bytes[next] >> 6 == 2 { next += 1 }
      spent += bytes[begin..<next].reduce(0) { $0 + cost(of: $1) }
      if spent > half { break }
      begin = next
    }
    var end = bytes.count
    spent = 0
    while end > 0 {
      var next = end - 1
      while next > 0, bytes[next] >> 6 == 2 { next -= 1 }
      spent += bytes[next..<end].reduce(0) { $0 + cost(of: $1) }
      if spent > half { break }
      end = next
    }
    guard begin <= end else { return nil }
    return String(decoding: bytes[..<begin], as: UTF8.self)
      + "\n\n[... \(end - begin) bytes left out ...]\n\n"
      + String(decoding: bytes[end...], as: UTF8.self)
  }
}
