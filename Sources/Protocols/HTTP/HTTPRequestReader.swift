/// Reads requests strictly (RFC 9112), one at a time, in order.
///
/// Feed bytes, then ask ``next()`` until it has nothing. Stop feeding while a request is being
/// answered: what is fed is kept.
public struct HTTPRequestReader: Sendable {
  /// What the bytes meant.
  public enum Event: Equatable, Sendable {
    /// A whole request; behind an upgrade, call ``HTTPRequestReader/takeRest()`` instead of going on.
    case request(HTTPRequestHead, body: [UInt8])
    /// The client waits for ``HTTPResponseWriter/continueBytes`` before it sends the body.
    case needsContinue(HTTPRequestHead)
    /// Answer with this status and close; nothing more is read.
    case failed(HTTPError)
  }

  private enum Phase: Sendable {
    case head(HeadScanner)
    case body(HTTPRequestHead, BodyReader)
    case failed
  }

  private let limits: HTTPLimits
  private var buffer: [UInt8] = []
  private var consumed = 0
  private var phase = Phase.head(HeadScanner())

  /// A reader for one connection.
  public init(limits: HTTPLimits = HTTPLimits()) {
    self.limits = limits
  }

  /// Feeds bytes.
  public mutating func receive(_ bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { unsafe buffer.append(contentsOf: $0) }
  }

  /// Feeds bytes.
  public mutating func receive(_ bytes: [UInt8]) {
    buffer.append(contentsOf: bytes)
  }

  /// Bytes fed and not yet part of an event.
  public var bufferedBytes: Int { buffer.count - consumed }

  /// Whether the transport may end here without cutting a request.
  public var isIdle: Bool {
    switch phase {
    case .head: bufferedBytes == 0
    case .body: false
    case .failed: true
    }
  }

  /// The bytes behind the last request, for the protocol it upgraded to.
  public mutating func takeRest() -> [UInt8] {
    defer { (buffer, consumed) = ([], 0) }
    return Array(buffer[consumed...])
  }

  /// The next event; `nil` asks for more bytes.
  public mutating func next() -> Event? {
    nil
  }
}

/// The body of one request, by length or in chunks.
struct BodyReader: Sendable {
}
