public import HoldfastBottleData
public import HoldfastCore

/// A radio that finds and connects peripherals: Core Bluetooth, BlueZ, or a radio on a socket.
///
/// Each attempt is a ticket, and a peripheral can have several tickets. When its connection opens,
/// this is reported for each ticket, the oldest first. The connection ends when its last ticket is
/// cancelled. A queued connect therefore survives a scan that finds the same peripheral and cancels
/// its own ticket.
///
/// A connect has no time-out: it stays until the connection opens, fails or is cancelled. If the
/// peripheral is already connected, for example because the system restored it, the connection
/// opens at once. A connect that is requested during a disconnect begins after the disconnect.
///
/// When the adapter is turned off, all tickets become invalid without an event.
public protocol Central: Sendable {
  /// Begins to deliver events, in order. It is called once, before any other method, and again
  /// after `close()` to use the central further.
  ///
  /// The state of the adapter is reported as soon as it is known, and again after each later call.
  /// Only peripherals that the system restored are reported before it.
  ///
  /// Events are passed to a closure because a system that restores an app delivers events before
  /// the launch has ended. The closure must return quickly.
  func events(_ deliver: @escaping @Sendable (CentralEvent) -> Void)

  /// Scans for peripherals that advertise one of these services. A new scan replaces the previous
  /// one.
  func scan(for services: [GATTID])
  func stopScan()

  /// Queues a connect.
  ///
  /// - Parameters:
  ///   - isQueued: Whether the connect may stay queued indefinitely. The system may then take
  ///     longer to connect, and reconnects after a loss if it can.
  ///   - rest: The time for which the peripheral is ignored first, even while the app is suspended
  ///     (`CBConnectPeripheralOptionStartDelayKey`). A connection that opens for another ticket, or
  ///     that the system opens by itself, also opens for this ticket.
  func connect(_ id: PeripheralID, attempt: AttemptID, isQueued: Bool, after rest: Duration)
  /// Cancels a ticket. Unknown tickets are ignored.
  func cancel(_ attempt: AttemptID)

  /// Discovers a service and these characteristics. Throws an error if one is missing.
  func discover(
    _ service: GATTID, _ characteristics: [GATTID], of attempt: AttemptID
  ) async throws(LinkFailure)
  /// Subscribes to a characteristic, even if the system reports an existing subscription.
  func notify(_ characteristic: GATTID, of attempt: AttemptID) async throws(LinkFailure)
  func read(_ characteristic: GATTID, of attempt: AttemptID) async throws(LinkFailure) -> [UInt8]
  /// Writes a value, with a response.
  func write(
    _ bytes: [UInt8], to characteristic: GATTID, of attempt: AttemptID
  ) async throws(LinkFailure)
  /// Returns the maximum size of a notification's value: MTU - 3 bytes, and at least 20.
  func longestValue(of attempt: AttemptID) async -> Int

  /// Ends all work: the scan, the tickets, the requests and the connections. No event is delivered
  /// and every other call is ignored until `events` is called again.
  func close() async
}

extension Central {
  /// Queues a connect that begins without a delay.
  public func connect(_ id: PeripheralID, attempt: AttemptID, isQueued: Bool) {
    connect(id, attempt: attempt, isQueued: isQueued, after: .zero)
  }
}

/// The radio of a peripheral that runs on this host, for tests and demonstrations.
///
/// Its counterpart is ``Central``. At most one central is connected at a time. The methods do not
/// wait, and events arrive in order.
package protocol Peripheral: Sendable {
  /// Starts or stops advertising. A connection also stops it.
  func advertise(_ isOn: Bool)
  /// Ends the connection.
  func disconnect()
  /// Sends a notification of a value to the connected central.
  func notify(_ id: GATTID, _ bytes: [UInt8])
  /// Answers a request, or rejects it if the bytes are `nil`.
  func reply(_ number: UInt16, _ bytes: [UInt8]?)
  /// Ends all work. To centrals, the peripheral then appears to be out of range.
  func close() async
}

/// An event that a central causes on a peripheral.
package enum PeripheralEvent: Sendable, Hashable {
  /// A central connected. The maximum size of a notification's value is MTU - 3.
  case connected(longestValue: Int)
  /// Both ends agreed on a new MTU.
  case negotiated(longestValue: Int)
  case disconnected
  /// A central requests the value of a characteristic. The number identifies the request in
  /// `reply`.
  case read(UInt16, GATTID)
  case write(UInt16, GATTID, [UInt8])
}
