package import LinkWire

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
