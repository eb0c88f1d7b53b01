import HoldfastCore
package import HoldfastProtocols

/// A stream over a transport. It holds the bytes of at most one read, and counts the bytes that the
/// transport has not sent.
final class TransportStream: SocketStream {
  let handshake: ClientHandshake
  let url: String
  /// The phase of the dial. A transport does not distinguish resolution, connection and TLS.
  let dialPhase = LinkFailure.Phase.connect
  private(set) var pendingBytes = 0

  private let transport: any SocketTransport
  private var report: @Sendable (TransportReport) -> Void = { _ in }
  private var isConnected = false
  private var isReceiving = false
  /// The bytes that were received and not read.
  private var held: [UInt8] = []
  private var hasEnded = false
  private var sendFailure: LinkFailure?
  private var failure: LinkFailure?

  /// The maximum number of bytes that the transport holds unsent: four writes of 64 KiB.
  private static let mostPending = 262_144
  /// The maximum number of bytes of a read.
  private static let mostReceived = 65_536

  init(_ dial: TransportDial) {
    (transport, handshake, url) = (dial.transport, dial.handshake, dial.url)
  }

  /// Starts the transport.
  func start(_ report: @escaping @Sendable (TransportReport) -> Void) {
    self.report = report
    transport.start(report)
  }

  deinit {
    transport.cancel()
  }

  func becomeReady() -> LinkFailure? { nil }

  func write(_ bytes: ArraySlice<UInt8>) -> StreamWriting {
    // A socket whose queue is full does not read, so it learns of the failure here.
    if !isReceiving, let failure = sendFailure ?? failure { return .failed(failure) }
    let room = Self.mostPending - pendingBytes
    // During a read, the read finds the bytes that arrived before a failure, and then reports it.
    guard room > 0, sendFailure == nil, failure == nil else { return .wouldBlock }
    let chunk = Array(bytes.prefix(room))
    pendingBytes += chunk.count
    transport.send(chunk, report)
    return .bytes(chunk.count)
  }

  func read(_ take: (RawSpan) -> Void) -> StreamReading {
    if !held.isEmpty {
      // `Array.span` needs a newer system than `ArraySlice.span`.
      let bytes = held[...]
      held = []
      unsafe take(bytes.span.bytes)
      return .bytes
    }
    if hasEnded { return .ended }
    if let failure { return .failed(failure) }
    guard !isReceiving else { return .wouldBlock }
    if let sendFailure { return .failed(sendFailure) }
    isReceiving = true
    transport.receive(atMost: Self.mostReceived, report)
    return .wouldBlock
  }

  /// Notes the consequences of a report for later calls.
  func note(_ report: TransportReport) {
    switch report {
    case .connected: isConnected = true
    case .received(let bytes):
      (held, isReceiving) = (bytes, false)
    case .ended(let bytes):
      (held, hasEnded, isReceiving) = (bytes, true, false)
    case .sent(let count): pendingBytes = max(0, pendingBytes - count)
    case .sendFailed(let failure):
      // The transport will not send what it holds.
      (sendFailure, pendingBytes) = (failure, 0)
    case .stalled: break
    case .failed(let failure):
      // Once connected, a time-out of the system means that the peer was silent.
      let isSilence = isConnected && failure == .timeout(.connect)
      self.failure = self.failure ?? (isSilence ? .timeout(.silence) : failure)
      (isReceiving, pendingBytes) = (false, 0)
    }
  }
}

/// A transport that has not been started, and the upgrade that it will carry.
package struct TransportDial: Sendable {
  /// The transport.
  package var transport: any SocketTransport
  /// The upgrade request and the parser of its response.
  package var handshake: ClientHandshake
  /// The URL, with the HTTP scheme.
  package var url: String

  /// Creates a dial from its parts.
  package init(transport: any SocketTransport, handshake: ClientHandshake, url: String) {
    (self.transport, self.handshake, self.url) = (transport, handshake, url)
  }
}
