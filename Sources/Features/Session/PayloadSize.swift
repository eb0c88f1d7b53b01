import LinkCore

/// The longest message that the server is asked to send, adapted to what gets through.
///
/// Sizes and numbers are seed 003's: the last 20 outcomes count; 3 large failures shrink it to
/// three quarters, 10 successes in a row let it grow by a tenth.
struct PayloadSize: Sendable, Hashable {
  /// In units of 1,024 bytes.
  private(set) var kilobytes = Self.usual
  /// The last outcomes of large messages, oldest first; true for one that came whole.
  private var outcomes: [Bool] = []

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
