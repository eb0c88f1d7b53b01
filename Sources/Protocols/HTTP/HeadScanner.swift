/// Finds the end of a head in bytes that come in pieces, and refuses lines that do not end in CRLF.
///
/// Octets are judged in order, so how the bytes were split never changes the outcome.
struct HeadScanner: Sendable {
  private var scanned = 0
  private var lineStart = 0
  private(set) var lines: [Range<Int>] = []

  enum Overflow {
    case firstLine, fields, count
  }

  enum Progress {
    case incomplete
    /// The head ends before this offset; `lines` holds its lines without their CRLF.
    case complete(end: Int)
    case overflow(Overflow)
  }

  /// Goes on where it stopped; offsets count from `start`.
  mutating func scan(
    _ bytes: [UInt8], from start: Int, limit: Int, maxLines: Int
  ) throws(HTTPError) -> Progress {
    let end = min(bytes.count - start, limit)
    let slice = bytes[...]
    let octets = slice.span
    while scanned < end {
      let byte = octets[start + scanned]
      scanned += 1
      // Every byte behind a CR has to be LF, every LF has to have a CR before it.
      let afterCR = scanned - 2 >= lineStart && octets[start + scanned - 2] == Text.cr
      guard afterCR == (byte == Text.lf) else {
        throw .bad(afterCR ? "a CR without LF" : "an LF without CR")
      }
      guard afterCR else {
        // At once, not at the line's end: a TLS hello may never have one.
        guard byte >= 0x20 || byte == Text.cr || byte == Text.tab else {
          throw .bad("a control byte")
        }
        continue
      }
      let line = lineStart..<(scanned - 2)
      lineStart = scanned
      if line.isEmpty { return .complete(end: scanned) }
      guard lines.count < maxLines else { return .overflow(.count) }
      lines.append(line)
    }
    guard scanned >= limit else { return .incomplete }
    return .overflow(lines.isEmpty ? .firstLine : .fields)
  }
}
