/// Reads response heads strictly (RFC 9112 section 4), one at a time.
struct ResponseHeadReader: Sendable {
  private var buffer: [UInt8] = []
  private var scanner = HeadScanner()
  private let limits = HTTPLimits()

  mutating func receive(_ bytes: [UInt8]) {
    buffer.append(contentsOf: bytes)
  }

  mutating func takeRest() -> [UInt8] {
    defer { buffer = [] }
    return buffer
  }

  /// The next head; `nil` asks for more bytes.
  mutating func next() throws(HTTPError) -> HTTPResponseHead? {
    let progress = try scanner.scan(
      buffer, from: 0, limit: limits.maxHeadBytes, maxLines: limits.maxHeaderCount + 1)
    switch progress {
    case .incomplete: return nil
    case .overflow: throw .bad("a response head beyond the limits")
    case .complete(let end):
      let lines = scanner.lines
      guard let first = lines.first else { throw .bad("a response without a status line") }
      var head = try Self.statusLine(buffer[first])
      for line in lines.dropFirst() { head.headers.append(try FieldLines.parse(buffer[line])) }
      buffer.removeFirst(end)
      scanner = HeadScanner()
      return head
    }
  }

  /// `HTTP/1.1 SP 3DIGIT SP reason`; a missing last space is forgiven, as most readers do.
  private static func statusLine(_ line: ArraySlice<UInt8>) throws(HTTPError) -> HTTPResponseHead {
    let bytes = Array(line)
    guard bytes.count >= 12, bytes.starts(with: "HTTP/1.".utf8), bytes[8] == Text.space,
      bytes[7] == 0x30 || bytes[7] == 0x31
    else { throw .bad("not a status line of HTTP/1") }
    let digits = bytes[9..<12]
    guard digits.allSatisfy(Text.isDigit), bytes.count == 12 || bytes[12] == Text.space,
      bytes.dropFirst(13).allSatisfy(Text.isFieldContent)
    else { throw .bad("a malformed status line") }
    let status = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    guard 100...599 ~= status else { throw .bad("a status that does not exist") }
    return HTTPResponseHead(
      status: status, reason: String(decoding: bytes.dropFirst(13), as: UTF8.self),
      minorVersion: Int(bytes[7] - 0x30), headers: [])
  }
}
