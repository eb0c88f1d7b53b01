import HoldfastCore

/// The maximum message size that the server is asked to use, adapted to the messages that arrive.
///
/// The values come from the original app. The last 20 outcomes count. Three losses of large
/// messages reduce the size to three quarters, and 10 consecutive successes increase it by a tenth.
struct PayloadSize: Sendable, Hashable {
  /// The size in units of 1,024 bytes.
  var kilobytes = Self.usual
  /// The most recent outcomes of large messages, oldest first. An outcome is true if the message
  /// arrived complete.
  var outcomes: [Bool] = []

  static let usual = 200
  static let range = 50...250
  static let window = 20
  /// The size that servers use if none was requested.
  static let untold = 100

  /// Records an arrived message. A message far below the limit does not count.
  mutating func noteArrival(bytes: Int) {
    guard bytes * 2 >= kilobytes * 1_024 else { return }
    note(true)
  }

  /// Records that the connection was lost while a large response was awaited.
  mutating func noteLoss() { note(false) }

  private mutating func note(_ isWhole: Bool) {
    outcomes.append(isWhole)
    if outcomes.count > Self.window { outcomes.removeFirst() }
    if outcomes.count(where: { !$0 }) >= 3 {
      change(to: kilobytes * 3 / 4)
    } else if outcomes.count >= 10, outcomes.suffix(10).allSatisfy(\.self) {
      change(to: kilobytes * 11 / 10)
    }
  }

  private mutating func change(to size: Int) {
    kilobytes = min(max(size, Self.range.lowerBound), Self.range.upperBound)
    outcomes = []
  }
}

extension PayloadSize: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      Self.range.contains(kilobytes), "payload size: it stays within its range")
    check.require(
      outcomes.count <= Self.window, "payload size: no more outcomes count than its window")
  }
}

/// The pieces of incomplete responses.
///
/// The response that follows its pieces may contain only the beginning and the end of the text.
struct ResponsePieces: Sendable, Hashable {
  /// The maximum size of all pieces together in bytes. If the pieces of a response exceed it, the
  /// response is shown as it was received.
  static let limit = 16 << 20
  private var texts: [String: [String]] = [:]
  private(set) var bytes = 0

  /// Adds a piece. A piece out of order discards the response's pieces.
  mutating func add(_ text: String, at index: Int, of key: String) {
    let row = texts[key] ?? []
    guard index == row.count, index == 0 || texts[key] != nil else { return drop(key) }
    guard bytes + text.utf8.count <= Self.limit else { return drop(key) }
    bytes += text.utf8.count
    texts[key, default: []].append(text)
  }

  /// Removes the pieces of a response. Returns the whole text if `count` pieces arrived.
  mutating func take(_ count: Int?, of key: String?) -> String? {
    guard let key, let row = texts[key] else { return nil }
    drop(key)
    return row.count == count ? row.joined() : nil
  }

  private mutating func drop(_ key: String) {
    bytes -= texts.removeValue(forKey: key)?.reduce(0) { $0 + $1.utf8.count } ?? 0
  }
}
