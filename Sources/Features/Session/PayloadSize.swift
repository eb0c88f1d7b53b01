import LinkCore

/// The longest message that the server is asked to send, adapted to what gets through.
///
/// Sizes and numbers are seed 003's: the last 20 outcomes count; 3 large failures shrink it to
/// three quarters, 10 successes in a row let it grow by a tenth.
struct PayloadSize: Sendable, Hashable {
  /// In units of 1,024 bytes.
  var kilobytes = Self.usual
  /// The last outcomes of large messages, oldest first; true for one that came whole.
  var outcomes: [Bool] = []

  static let usual = 200
  static let range = 50...250
  static let window = 20
  /// What servers send that were told nothing.
  static let untold = 100

  /// Notes a message that came; one far below the limit says nothing about it.
  mutating func noteArrival(bytes: Int) {
    guard bytes * 2 >= kilobytes * 1_024 else { return }
    note(true)
  }

  /// Notes a connection that was lost while a large answer was awaited.
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

/// The pieces of responses that are not complete.
///
/// The response that follows them may hold only the beginning and the end of the text.
struct ResponsePieces: Sendable, Hashable {
  /// Bytes of all pieces together; a response whose pieces do not fit is shown as it comes.
  static let limit = 16 << 20
  private var texts: [String: [String]] = [:]
  private(set) var bytes = 0

  /// Notes a piece; one that is not the next ends the row.
  mutating func add(_ text: String, at index: Int, of key: String) {
    let row = texts[key] ?? []
    guard index == row.count, index == 0 || texts[key] != nil else { return drop(key) }
    guard bytes + text.utf8.count <= Self.limit else { return drop(key) }
    bytes += text.utf8.count
    texts[key, default: []].append(text)
  }

  /// Returns the text of so many pieces if all of them came, and forgets them.
  mutating func take(_ count: Int?, of key: String?) -> String? {
    guard let key, let row = texts[key] else { return nil }
    drop(key)
    return row.count == count ? row.joined() : nil
  }

  private mutating func drop(_ key: String) {
    bytes -= texts.removeValue(forKey: key)?.reduce(0) { $0 + $1.utf8.count } ?? 0
  }
}
