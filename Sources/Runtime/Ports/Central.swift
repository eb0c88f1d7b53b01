public import LinkCore
public import LinkWire

/// A radio that finds and connects peripherals: Core Bluetooth, BlueZ, or a radio on a socket.
///
/// An attempt is a ticket, and a peripheral can have several. When its connection opens, the open
/// is reported for each ticket, the oldest first. The connection ends when its last ticket is
/// cancelled. Thus a queued connect survives a scan that finds the same peripheral and is given up.
///
/// A connect has no time-out: it stays until it opens, fails or is cancelled. For a peripheral that
/// is already connected, for example after the system restored it, it opens at once. A connect
/// requested during a disconnect begins after the disconnect.
///
/// When the adapter is turned off, all tickets become invalid without an event.
public protocol Central: Sendable {
  /// Begins to deliver events, in order. Called once, before any other method.
  ///
  /// It takes a closure, since a system that restores an app delivers events before the launch has
  /// ended. The closure must return quickly.
  func events(_ deliver: @escaping @Sendable (CentralEvent) -> Void)

  /// Scans for peripherals that advertise one of these services. A second scan replaces the first.
  func scan(for services: [GATTID])
  func stopScan()

  /// Queues a connect.
  ///
  /// - Parameters:
  ///   - isQueued: Whether the connect may stay queued forever. The system may then connect more
  ///     slowly, and reconnects after a loss where it can.
  ///   - rest: How long the peripheral is ignored first, also while the app is suspended
  ///     (`CBConnectPeripheralOptionStartDelayKey`). A connection that opens for another ticket, or
  ///     that the system opens by itself, also opens for this one.
  func connect(_ id: PeripheralID, attempt: AttemptID, isQueued: Bool, after rest: Duration)
  /// Cancels a ticket; unknown tickets are ignored.
  func cancel(_ attempt: AttemptID)

  /// Discovers a service and these characteristics. Throws if one is missing.
  func discover(
    _ service: GATTID, _ characteristics: [GATTID], of attempt: AttemptID
  ) async throws(LinkFailure)
  /// Subscribes, even if the system reports an existing subscription.
  func notify(_ characteristic: GATTID, of attempt: AttemptID) async throws(LinkFailure)
  func read(_ characteristic: GATTID, of attempt: AttemptID) async throws(LinkFailure) -> [UInt8]
  /// Writes with response.
  func write(
    _ bytes: [UInt8], to characteristic: GATTID, of attempt: AttemptID
  ) async throws(LinkFailure)
  /// Returns the longest value of one notification: MTU - 3 bytes, at least 20.
  func longestValue(of attempt: AttemptID) async -> Int

  /// Ends all work. No event is delivered afterwards.
  func close() async
}

extension Central {
  /// Queues a connect that begins at once.
  public func connect(_ id: PeripheralID, attempt: AttemptID, isQueued: Bool) {
    connect(id, attempt: attempt, isQueued: isQueued, after: .zero)
  }
}

/// The radio of a peripheral that runs on this host, for tests and demonstrations. It is the peer
/// of a ``Central``.
///
/// At most one central is connected at a time. No method waits; events arrive in order.
package protocol Peripheral: Sendable {
  /// Starts or stops advertising; a connection also stops it.
  func advertise(_ isOn: Bool)
  /// Ends the connection.
  func disconnect()
  /// Sends a notification with a value to the connected central.
  func notify(_ id: GATTID, _ bytes: [UInt8])
  /// Answers a request; `nil` rejects it.
  func reply(_ number: UInt16, _ bytes: [UInt8]?)
  /// Ends all work; centrals see a peripheral that is out of range.
  func close() async
}

/// An event that a central causes at a peripheral.
package enum PeripheralEvent: Sendable, Hashable {
  /// A central connected; the longest value of a notification is MTU - 3.
  case connected(longestValue: Int)
  /// Both ends agreed on a new MTU.
  case negotiated(longestValue: Int)
  case disconnected
  /// A central reads a characteristic; the number identifies the request in `reply`.
  case read(UInt16, GATTID)
  case write(UInt16, GATTID, [UInt8])
}
