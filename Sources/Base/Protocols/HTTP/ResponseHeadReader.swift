/// A strict reader of response heads (RFC 9112 section 4), which returns them one at a time.
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

  /// Returns the next head; `nil` if more bytes are needed.
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

  /// Parses `HTTP/1.1 SP 3DIGIT SP reason`. As in most readers, the last space may be missing.
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

/// The head of a response (RFC 9112 section 4).
public struct HTTPResponseHead: Equatable, Sendable {
  /// The status code, from 100 to 599.
  public var status: Int
  /// The reason phrase, which may be empty.
  public var reason: String
  /// The minor version: 1 for HTTP/1.1, 0 for HTTP/1.0.
  public var minorVersion: Int
  /// The header fields in order, with names in lower case.
  public var headers: [HTTPField]

  /// Creates a head.
  public init(status: Int, reason: String, minorVersion: Int = 1, headers: [HTTPField]) {
    self.status = status
    self.reason = reason
    self.minorVersion = minorVersion
    self.headers = headers.map { HTTPField(name: $0.name.lowercased(), value: $0.value) }
  }

  /// Returns the value of the first field with a lower-case name.
  public func first(_ name: String) -> String? {
    headers.first(name)
  }

  /// The fields by name. The values of repeated fields are joined by a comma.
  public var fields: [String: String] {
    Dictionary(headers.map { ($0.name, $0.value) }, uniquingKeysWith: { "\($0), \($1)" })
  }
}
