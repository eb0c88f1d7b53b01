public import LinkCore
public import LinkWire

/// A radio that finds and connects peripherals: Core Bluetooth, BlueZ, or a radio on a socket.
///
/// Attempts are tickets. Several may ask for one peripheral: when its connection opens, each of
/// them is told, the oldest first, and the connection ends when its last ticket is cancelled. So a
/// queued connect survives a scan that finds the same peripheral and gives up.
///
/// A connect has no timeout: it stays until it opens, fails or is cancelled. For a peripheral that
/// is connected already, as after the system restored it, it opens at once. A connect that is asked
/// for while the peripheral is being disconnected begins behind that.
///
/// When the adapter is not on any more, all tickets are void without a word.
public protocol Central: Sendable {
  /// Begins to deliver events, in order; called once, before anything else.
  ///
  /// A closure, since a system that restores an app wants to be heard before it has launched. Must
  /// return quickly.
  func events(_ deliver: @escaping @Sendable (CentralEvent) -> Void)

  /// Looks for peripherals that advertise one of these services; a second scan replaces the first.
  func scan(for services: [GATTID])
  func stopScan()

  /// Queues a connect.
  ///
  /// - Parameters:
  ///   - isQueued: whether it may stay queued for ever; the system may then connect less eagerly,
  ///     and connects again after a loss where it can.
  ///   - rest: how long the peripheral is left alone before, also while the app is suspended
  ///     (`CBConnectPeripheralOptionStartDelayKey`). A connection that opens for another ticket, or
  ///     by a system that connects what it knows, opens for this one, too.
  func connect(_ id: PeripheralID, attempt: AttemptID, isQueued: Bool, after rest: Duration)
  /// Gives a ticket up; unknown ones are ignored.
  func cancel(_ attempt: AttemptID)

  /// Finds a service and these characteristics; throws if one is missing.
  func discover(
    _ service: GATTID, _ characteristics: [GATTID], of attempt: AttemptID
  ) async throws(LinkFailure)
  /// Subscribes, even if the system believes that it is subscribed already.
  func notify(_ characteristic: GATTID, of attempt: AttemptID) async throws(LinkFailure)
  func read(_ characteristic: GATTID, of attempt: AttemptID) async throws(LinkFailure) -> [UInt8]
  /// Writes with response.
  func write(
    _ bytes: [UInt8], to characteristic: GATTID, of attempt: AttemptID
  ) async throws(LinkFailure)
  /// The longest value that one notification carries: MTU - 3 bytes, at least 20.
  func longestValue(of attempt: AttemptID) async -> Int

  /// Ends everything; nothing is delivered any more.
  func close() async
}

extension Central {
  /// Queues a connect that begins at once.
  public func connect(_ id: PeripheralID, attempt: AttemptID, isQueued: Bool) {
    connect(id, attempt: attempt, isQueued: isQueued, after: .zero)
  }
}

/// The radio of a peripheral that runs on this host, for tests and demonstrations: the far end of a
/// ``Central``.
///
/// One central at a time is connected. Nothing here waits; events come in order.
package protocol Peripheral: Sendable {
  /// Begins or stops to advertise; a connection ends it, too.
  func advertise(_ isOn: Bool)
  /// Ends the connection.
  func disconnect()
  /// Notifies a value to the central that is connected.
  func notify(_ id: GATTID, _ bytes: [UInt8])
  /// Answers a request; `nil` refuses it.
  func reply(_ number: UInt16, _ bytes: [UInt8]?)
  /// Ends everything; centrals see a peripheral that is out of range.
  func close() async
}

/// What centrals do to a peripheral.
package enum PeripheralEvent: Sendable, Hashable {
  /// The longest value that a notification carries is MTU - 3.
  case connected(longestValue: Int)
  /// Both ends agreed on another length.
  case negotiated(longestValue: Int)
  case disconnected
  /// The number names the request in the reply.
  case read(UInt16, GATTID)
  case write(UInt16, GATTID, [UInt8])
}
