package import HoldfastCore

/// A connection whose calls return at once and report their completion later.
///
/// Contract: reports arrive in the order in which they occur, on the queue that the transport was
/// given, and never inside a call of the transport. The first is `.connected` or `.failed`. Each
/// `receive` is answered by one of `.received`, `.ended` and `.failed`, and each `send` by one of
/// `.sent` and `.sendFailed`.
package protocol SocketTransport: Sendable {
  /// Starts the connection, including TLS.
  func start(_ report: @escaping @Sendable (TransportReport) -> Void)
  /// Reads the bytes that arrive next, at most `count`. It is not called again before its report.
  func receive(atMost count: Int, _ report: @escaping @Sendable (TransportReport) -> Void)
  /// Sends bytes after those of earlier calls.
  func send(_ bytes: [UInt8], _ report: @escaping @Sendable (TransportReport) -> Void)
  /// Ends the connection. Later reports are ignored.
  func cancel()
}

/// A report of a `SocketTransport`.
package enum TransportReport: Sendable, Equatable {
  /// The connection is open.
  case connected
  /// Bytes were received.
  case received([UInt8])
  /// The peer has ended the stream after these bytes, possibly none.
  case ended([UInt8])
  /// The system has taken over this number of bytes, and no longer counts them as queued.
  case sent(Int)
  /// Bytes could not be sent. Bytes that the peer sent before may still arrive.
  case sendFailed(LinkFailure)
  /// The system can transfer no data for now, but the connection remains.
  case stalled
  /// The connection could not be opened, or is lost.
  case failed(LinkFailure)
}
