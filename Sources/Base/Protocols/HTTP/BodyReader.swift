/// A reader of one request's body that also determines where the body ends (RFC 9112 sections 6 and
/// 7).
struct BodyReader: Sendable {
  private enum Framing {
    case length(Int)
    case chunked(ChunkedReader)
  }

  private var framing: Framing

  /// Whether the request has a body.
  var expectsBytes: Bool {
    switch framing {
    case .length(let count): count > 0
    case .chunked: true
    }
  }

  /// Creates a reader from the header fields that frame the body. Throws an error for ambiguous
  /// framing.
  init(_ head: HTTPRequestHead, limits: HTTPLimits) throws(HTTPError) {
    let codings = head.headers.values("transfer-encoding")
    let lengths = head.headers.values("content-length")
    if codings.isEmpty {
      framing = .length(try Self.length(lengths, limits: limits))
      return
    }
    guard lengths.isEmpty else { throw .bad("both a length and a transfer coding") }
    guard head.minorVersion >= 1 else { throw .bad("a transfer coding in HTTP/1.0") }
    guard codings.count == 1 else { throw .bad("more than one Transfer-Encoding") }
    guard codings[0].lowercased() == "chunked" else {
      throw HTTPError(status: 501, detail: "a transfer coding other than chunked")
    }
    framing = .chunked(ChunkedReader(limits: limits))
  }

  private static func length(
    _ values: [String], limits: HTTPLimits
  ) throws(HTTPError) -> Int {
    guard let value = values.first else { return 0 }
    guard values.count == 1 else { throw .bad("more than one Content-Length") }
    guard !value.isEmpty, value.utf8.allSatisfy(Text.isDigit) else {
      throw .bad("a Content-Length that is not digits")
    }
    // A number with more digits than an `Int` can have exceeds any limit.
    guard let length = Int(value), length <= limits.maxBodyBytes else {
      throw HTTPError(status: 413, detail: "a body beyond the limit")
    }
    return length
  }

  /// Returns the part of the body that has arrived.
  func part(_ buffer: [UInt8], from start: Int) -> [UInt8] {
    switch framing {
    case .length(let count): Array(buffer[start...].prefix(count))
    case .chunked(let reader): reader.body
    }
  }

  /// Reads from `start` and advances it. Returns the body once it is complete; `nil` before that.
  mutating func read(
    _ buffer: [UInt8], from start: inout Int
  ) throws(HTTPError) -> [UInt8]? {
    switch framing {
    case .length(let count):
      guard buffer.count - start >= count else { return nil }
      defer { start += count }
      return Array(buffer[start..<(start + count)])
    case .chunked(var reader):
      // The enum's reference to the reader is removed, so that the body grows in place.
      framing = .length(0)
      let whole = try reader.read(buffer, from: &start)
      if !whole { framing = .chunked(reader) }
      return whole ? reader.body : nil
    }
  }
}

/// A reader that joins chunks (RFC 9112 section 7.1). It validates and drops extensions and
/// trailers.
struct ChunkedReader: Sendable {
  private enum Step {
    case size
    case data(remaining: Int)
    case dataEnd
    case trailer
  }

  private(set) var body: [UInt8] = []
  private let limits: HTTPLimits
  private var step = Step.size
  /// The number of octets of the current line scanned so far.
  private var scanned = 0
  private var extensionBytes = 0
  private var trailerBytes = 0
  private var trailers = 0

  /// The maximum length of a size line: 16 hexadecimal digits and an extension of reasonable
  /// length.
  private static let longestSizeLine = 256

  init(limits: HTTPLimits) {
    self.limits = limits
  }

  /// Reads from `start` and advances it. Returns whether the body is complete.
  mutating func read(_ buffer: [UInt8], from start: inout Int) throws(HTTPError) -> Bool {
    while true {
      switch step {
      case .size:
        let limit = Self.longestSizeLine
        guard
          let line = try line(
            buffer, from: &start, limit: limit, overflow: .bad("an endless chunk size"))
        else { return false }
        let size = try size(line)
        step = size == 0 ? .trailer : .data(remaining: size)
      case .data(let remaining):
        let count = min(remaining, buffer.count - start)
        body.append(contentsOf: buffer[start..<(start + count)])
        start += count
        guard count == remaining else {
          step = .data(remaining: remaining - count)
          return false
        }
        step = .dataEnd
      case .dataEnd:
        // An empty line has two octets with its CRLF.
        let overflow = HTTPError.bad("a chunk longer than its size")
        guard try line(buffer, from: &start, limit: 2, overflow: overflow) != nil else {
          return false
        }
        step = .size
      case .trailer:
        guard let line = try trailerLine(buffer, from: &start) else { return false }
        if line.isEmpty { return true }
        _ = try FieldLines.parse(line)
      }
    }
  }

  /// Reads a line and removes its CRLF. The line must end within `limit` octets.
  private mutating func line(
    _ buffer: [UInt8], from start: inout Int, limit: Int, overflow: HTTPError
  ) throws(HTTPError) -> ArraySlice<UInt8>? {
    while start + scanned < buffer.count {
      guard scanned < limit else { throw overflow }
      let byte = buffer[start + scanned]
      scanned += 1
      let afterCR = scanned >= 2 && buffer[start + scanned - 2] == Text.cr
      guard afterCR == (byte == Text.lf) else { throw .bad("a line that does not end in CRLF") }
      guard afterCR else { continue }
      let line = buffer[start..<(start + scanned - 2)]
      start += scanned
      scanned = 0
      return line
    }
    return nil
  }

  private mutating func size(_ line: ArraySlice<UInt8>) throws(HTTPError) -> Int {
    let digits = line.prefix { Text.hexValue($0) != nil }
    let rest = line[digits.endIndex...]
    guard !digits.isEmpty, digits.count <= 16 else { throw .bad("a malformed chunk size") }
    guard rest.isEmpty || rest.first == 0x3B, rest.allSatisfy(Text.isFieldContent) else {
      throw .bad("a malformed chunk extension")
    }
    extensionBytes += rest.count
    guard extensionBytes <= limits.maxHeadBytes else { throw .bad("endless chunk extensions") }
    let size = digits.reduce(UInt64(0)) { $0 << 4 | UInt64(Text.hexValue($1) ?? 0) }
    guard size <= UInt64(limits.maxBodyBytes - body.count) else {
      throw HTTPError(status: 413, detail: "a body beyond the limit")
    }
    return Int(size)
  }

  private mutating func trailerLine(
    _ buffer: [UInt8], from start: inout Int
  ) throws(HTTPError) -> ArraySlice<UInt8>? {
    let overflow = HTTPError(status: 431, detail: "trailer fields beyond the limit")
    let left = limits.maxHeadBytes - trailerBytes
    guard let line = try line(buffer, from: &start, limit: left, overflow: overflow) else {
      return nil
    }
    trailerBytes += line.count + 2
    trailers += line.isEmpty ? 0 : 1
    guard trailers <= limits.maxHeaderCount else { throw overflow }
    return line
  }
}
