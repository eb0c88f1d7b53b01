import HoldfastCore
import HoldfastRelayData
import HoldfastServerParts

/// The socket of a phone.
private struct RelaySocket: Sendable {
  let address: String
  /// The phone on this socket, from its identification until it moves to another socket.
  var phone: PhoneID?
  /// The arrival of a phone that has no id yet.
  var arrival: RelayServer.Arrival?
  /// The number of questions to a plain phone that ended before the phone answered.
  ///
  /// The answers may still arrive, and a plain phone's errors do not name their question.
  var pendingAnswers = 0
  var life: SocketLife
}

/// The sockets of phones, including closing ones.
struct RelaySockets: Sendable {
  private let timing: SocketLife.Timing
  private var all: [ConnectionID: RelaySocket] = [:]
  private var addresses: [String: Int] = [:]

  init(_ timing: SocketLife.Timing) {
    self.timing = timing
  }

  var count: Int { all.count }
  var isEmpty: Bool { all.isEmpty }

  /// The ids of the connections, sorted.
  var connections: [ConnectionID] { all.keys.sorted() }

  /// Returns the number of sockets of an address.
  func count(of address: String) -> Int { addresses[address, default: 0] }

  /// The number of sockets of the address that has most.
  var mostOfAddress: Int { addresses.values.max() ?? 0 }

  func isOpen(_ id: ConnectionID) -> Bool { all[id]?.life.isOpen == true }

  func phone(on id: ConnectionID) -> PhoneID? { all[id]?.phone }

  // MARK: From the upgrade to the end

  mutating func open(_ id: ConnectionID, from address: String, at now: Instant) {
    addresses[address, default: 0] += 1
    all[id] = RelaySocket(address: address, life: SocketLife(at: now, timing))
  }

  /// Stores the arrival of a phone that needs an id first.
  mutating func wait(_ arrival: RelayServer.Arrival, on id: ConnectionID) {
    all[id]?.arrival = arrival
  }

  /// Removes and returns the arrival that waits for an id on an open socket.
  mutating func takeArrival(on id: ConnectionID) -> RelayServer.Arrival? {
    guard let arrival = all[id]?.arrival else { return nil }
    all[id]?.arrival = nil
    return isOpen(id) ? arrival : nil
  }

  mutating func assign(_ id: ConnectionID, to phone: PhoneID) {
    all[id]?.phone = phone
  }

  mutating func received(_ id: ConnectionID, at now: Instant) {
    all[id]?.life.received(at: now)
  }

  /// Returns when the last byte arrived on an open socket, or `nil` if the socket is not open.
  func lastReceived(_ id: ConnectionID) -> Instant? { all[id]?.life.lastReceived }

  /// Returns the action that is due on a socket, or `nil` if the socket is unknown.
  mutating func alarm(_ id: ConnectionID, at now: Instant) -> SocketLife.Alarm? {
    all[id]?.life.alarm(at: now, timing)
  }

  /// Starts to close a socket. Returns false if it is not open.
  mutating func close(_ id: ConnectionID, at now: Instant) -> Bool {
    all[id]?.life.close(at: now, timing) == true
  }

  /// Returns the next instant at which the alarm of a socket must fire.
  func wake(_ id: ConnectionID) -> Instant? { all[id]?.life.wake(timing) }

  /// Removes a socket. Returns false if it is unknown.
  mutating func remove(_ id: ConnectionID) -> Bool {
    guard let socket = all.removeValue(forKey: id) else { return false }
    let left = addresses[socket.address, default: 1] - 1
    addresses[socket.address] = left > 0 ? left : nil
    return true
  }

  // MARK: Answers of plain phones

  /// Returns whether a plain phone may still answer a question that has ended.
  func hasPendingAnswers(_ id: ConnectionID) -> Bool {
    all[id].map { $0.pendingAnswers != 0 } ?? true
  }

  /// Records that an answer to a question that has ended may still arrive.
  mutating func addPendingAnswer(_ id: ConnectionID) {
    all[id]?.pendingAnswers += 1
  }

  /// Counts a message that belongs to no open question as one of these answers.
  mutating func takePendingAnswer(_ id: ConnectionID) {
    if let pending = all[id]?.pendingAnswers, pending > 0 { all[id]?.pendingAnswers = pending - 1 }
  }
}

extension RelaySockets: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      addresses.count <= all.count,
      "relay sockets: addresses are counted only while they have sockets")
    guard check.isThorough else { return }
    let counts = all.values.reduce(into: [String: Int]()) { $0[$1.address, default: 0] += 1 }
    check.require(
      counts == addresses, "relay sockets: an address's count is that of its sockets")
    check.require(
      all.values.allSatisfy { $0.arrival == nil || $0.phone == nil },
      "relay sockets: only a socket whose phone has no name has an arrival")
    check.require(
      all.values.allSatisfy { $0.pendingAnswers >= 0 },
      "relay sockets: a plain phone owes no less than nothing")
  }
}
