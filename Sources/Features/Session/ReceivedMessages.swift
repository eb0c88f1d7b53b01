import LinkCore

/// The numbers of the server's messages that were received, and the acknowledgements that wait for
/// a connection.
struct ReceivedMessages: Sendable, Hashable {
  /// The number up to which all messages are stored or on their way to the store.
  private(set) var received: UInt64 = 0
  /// The number up to which all messages are stored, which `connect` reports to the server.
  private(set) var stored: UInt64 = 0
  /// Numbers beyond a missing one.
  private(set) var ahead: Set<UInt64> = []
  /// Whether the server said that messages are missing: its next number counts.
  private var skipsNumbers = false
  /// Stored messages that are not acknowledged on a connection.
  private(set) var pendingAcks: [String] = []

  /// Continues behind what an earlier run stored.
  mutating func restore(_ number: UInt64) { (received, stored) = (number, number) }

  /// Notes a number; returns the number up to which all are received, or nil if nothing changes.
  mutating func note(_ number: UInt64) -> UInt64? {
    if skipsNumbers, number > received {
      // What came beyond a hole before may come again under other numbers.
      (received, skipsNumbers, ahead) = (number - 1, false, [])
    }
    let isNext = number == received + 1
    guard number > received, isNext || ahead.count < SessionSettings.numbersAhead else {
      return nil
    }
    ahead.insert(number)
    while ahead.remove(received + 1) != nil { received += 1 }
    return received
  }

  /// Notes that the server no longer has messages; returns false if it said so before.
  mutating func skip() -> Bool {
    defer { skipsNumbers = true }
    return !skipsNumbers
  }

  /// Notes what the store has; beyond the bound the oldest acknowledgements are dropped, which the
  /// server's replay asks for again.
  mutating func committed(received number: UInt64?, acks: [String]) {
    stored = number ?? stored
    pendingAcks += acks
    if pendingAcks.count > SessionSettings.pendingAckLimit {
      pendingAcks.removeFirst(pendingAcks.count - SessionSettings.pendingAckLimit)
    }
  }

  /// Returns the acknowledgements that wait, and removes them.
  mutating func takeAcks() -> [String] {
    defer { pendingAcks = [] }
    return pendingAcks
  }
}

extension ReceivedMessages: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      pendingAcks.count <= SessionSettings.pendingAckLimit,
      "received messages: acknowledgements are bounded")
    check.require(
      ahead.count <= SessionSettings.numbersAhead, "received messages: numbers ahead are bounded")
    guard check.isThorough else { return }
    check.require(
      ahead.allSatisfy { $0 > received + 1 }, "received messages: the next number is not ahead")
  }
}
