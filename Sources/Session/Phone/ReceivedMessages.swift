import HoldfastCore

/// The numbers of the received server messages, and the acknowledgements to send.
struct ReceivedMessages: Sendable, Hashable {
  /// The number up to which all messages are stored or are being stored.
  private(set) var received: UInt64 = 0
  /// The number up to which all messages are stored. `connect` reports it to the server.
  private(set) var stored: UInt64 = 0
  /// The received numbers that follow a missing number.
  private(set) var ahead: Set<UInt64> = []
  /// Whether the server reported missing messages, so that the numbering continues with the next
  /// message.
  private var skipsNumbers = false
  /// The stored messages that have not been acknowledged.
  private(set) var pendingAcks: [String] = []

  /// Sets the number of the last stored message of an earlier run.
  mutating func restore(_ number: UInt64) { (received, stored) = (number, number) }

  /// Records a number. Returns the number up to which all messages are received; `nil` if that does
  /// not change.
  mutating func note(_ number: UInt64) -> UInt64? {
    if skipsNumbers, number > received {
      // Messages received beyond a gap may arrive again with other numbers.
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

  /// Records that the server no longer has some messages. Returns false if that was already
  /// recorded.
  mutating func skip() -> Bool {
    defer { skipsNumbers = true }
    return !skipsNumbers
  }

  /// Records the number up to which messages are stored, and adds acknowledgements to send.
  ///
  /// Beyond the limit, the oldest acknowledgements are dropped. The server then replays those
  /// messages, and they are acknowledged again.
  mutating func committed(received number: UInt64?, acks: [String]) {
    stored = number ?? stored
    pendingAcks += acks
    if pendingAcks.count > SessionSettings.pendingAckLimit {
      pendingAcks.removeFirst(pendingAcks.count - SessionSettings.pendingAckLimit)
    }
  }

  /// Returns the pending acknowledgements, and removes them.
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
