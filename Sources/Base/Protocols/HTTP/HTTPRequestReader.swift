/// A strict reader of requests (RFC 9112), which returns them one at a time, in order.
///
/// Feed bytes, then call ``next()`` until it returns `nil`. Stop feeding while a request is being
/// answered. Bytes that were fed before are kept.
public struct HTTPRequestReader: Sendable {
  /// An event of the reader.
  public enum Event: Equatable, Sendable {
    /// A complete request. If it is an upgrade, call ``HTTPRequestReader/takeRest()`` instead of
    /// continuing.
    case request(HTTPRequestHead, body: [UInt8])
    /// The head of a request on an announced path, whose body follows. If the client waits for
    /// status 100, only `needsContinue` is reported.
    case announced(HTTPRequestHead)
    /// The client waits for ``HTTPResponseWriter/continueBytes`` before it sends the body.
    case needsContinue(HTTPRequestHead)
    /// The request is invalid. Respond with this status and close the connection. No more bytes are
    /// read.
    case failed(HTTPError)
  }

  private enum Phase: Sendable {
    case head(HeadScanner, isBehindBlank: Bool)
    case body(HTTPRequestHead, BodyReader)
    case failed
  }

  private let limits: HTTPLimits
  private var buffer: [UInt8] = []
  private var consumed = 0
  private var phase = Phase.head(HeadScanner(), isBehindBlank: false)

  /// Creates a reader for one connection.
  public init(limits: HTTPLimits = HTTPLimits()) {
    self.limits = limits
  }

  /// Feeds bytes. They are dropped if a request was refused.
  public mutating func receive(_ bytes: RawSpan) {
    guard !hasFailed else { return }
    compact()
    unsafe bytes.withUnsafeBytes { unsafe buffer.append(contentsOf: $0) }
  }

  /// Feeds bytes. They are dropped if a request was refused.
  public mutating func receive(_ bytes: [UInt8]) {
    guard !hasFailed else { return }
    compact()
    buffer.append(contentsOf: bytes)
  }

  /// The number of bytes that were fed and are not yet part of an event.
  public var bufferedBytes: Int { buffer.count - consumed }

  /// Whether the transport may end here without truncating a request.
  public var isIdle: Bool {
    switch phase {
    case .head: bufferedBytes == 0
    case .body: false
    case .failed: true
    }
  }

  private var hasFailed: Bool {
    if case .failed = phase { true } else { false }
  }

  /// Whether a head has been read whose body is not complete yet.
  public var isReadingBody: Bool {
    switch phase {
    case .body: true
    case .head, .failed: false
    }
  }

  /// Returns the bytes after the last request, for the protocol to which it upgraded.
  public mutating func takeRest() -> [UInt8] {
    defer { (buffer, consumed) = ([], 0) }
    return Array(buffer[consumed...])
  }

  /// Returns the next event; `nil` if more bytes are needed.
  public mutating func next() -> Event? {
    do throws(HTTPError) {
      return try step()
    } catch {
      (buffer, consumed) = ([], 0)
      return .failed(error)
    }
  }

  private mutating func step() throws(HTTPError) -> Event? {
    let current = phase
    // This is the phase during the step, and afterwards if the step throws. The assignment also
    // releases the reader's owned values, so that they grow in place.
    phase = .failed
    switch current {
    case .failed:
      return nil
    case .head(let scanner, let isBehindBlank):
      return try readHead(scanner, isBehindBlank: isBehindBlank)
    case .body(let head, let body):
      return try readBody(head, body)
    }
  }

  private mutating func readHead(
    _ previous: consuming HeadScanner, isBehindBlank: Bool
  ) throws(HTTPError) -> Event? {
    var scanner = previous
    let progress = try scanner.scan(
      buffer, from: consumed, limit: limits.maxHeadBytes, maxLines: limits.maxHeaderCount + 1)
    switch progress {
    case .incomplete:
      phase = .head(scanner, isBehindBlank: isBehindBlank)
      return nil
    case .overflow(.firstLine):
      throw HTTPError(status: 414, detail: "an endless request line")
    case .overflow(.fields), .overflow(.count):
      throw HTTPError(status: 431, detail: "header fields beyond the limit")
    case .complete(let end) where scanner.lines.isEmpty:
      // One empty line before a request is accepted (RFC 9112 section 2.2).
      guard !isBehindBlank else { throw .bad("empty lines before the request") }
      consumed += end
      return try readHead(HeadScanner(), isBehindBlank: true)
    case .complete(let end):
      let head = try QuestionQueue.head(
        scanner.lines.map { buffer[(consumed + $0.lowerBound)..<(consumed + $0.upperBound)] },
        limits: limits)
      consumed += end
      let body = try BodyReader(head, limits: limits.forBody(of: head))
      let waits = head.expectsContinue && body.expectsBytes
      phase = .body(head, body)
      if waits { return .needsContinue(head) }
      guard isAnnounced(head, body) else { return try step() }
      return .announced(head)
    }
  }

  private func isAnnounced(_ head: HTTPRequestHead, _ body: BodyReader) -> Bool {
    body.expectsBytes && limits.announcedPaths.contains(head.path)
  }

  /// Returns the head and the received part of the body that is being read; `nil` if there is none.
  ///
  /// No more bytes are read afterwards.
  public mutating func takePart() -> (head: HTTPRequestHead, body: [UInt8])? {
    guard case .body(let head, let reader) = phase else { return nil }
    defer { (buffer, consumed, phase) = ([], 0, .failed) }
    return (head, reader.part(buffer, from: consumed))
  }

  private mutating func readBody(
    _ head: HTTPRequestHead, _ reader: consuming BodyReader
  ) throws(HTTPError) -> Event? {
    var reader = reader
    guard let body = try reader.read(buffer, from: &consumed) else {
      phase = .body(head, reader)
      return nil
    }
    phase = .head(HeadScanner(), isBehindBlank: false)
    compact()
    return .request(head, body: body)
  }

  /// Frees the bytes that were read. If not all were read, this waits until moving the remaining
  /// bytes is worthwhile.
  private mutating func compact() {
    if consumed == buffer.count {
      (buffer, consumed) = ([], 0)
    } else if consumed > limits.maxHeadBytes {
      buffer.removeFirst(consumed)
      consumed = 0
    }
  }
}
