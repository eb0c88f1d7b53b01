/// A scanner that finds the end of a head that arrives in pieces, and rejects lines without CRLF.
///
/// Octets are validated in order, so the result does not depend on how the bytes were split.
struct HeadScanner: Sendable {
  private var scanned = 0
  private var lineStart = 0
  private(set) var lines: [Range<Int>] = []

  enum Overflow {
    case firstLine, fields, count
  }

  enum Progress {
    case incomplete
    /// The head ends before this offset. `lines` contains the ranges of its lines without their
    /// CRLF.
    case complete(end: Int)
    case overflow(Overflow)
  }

  /// Continues the scan. Offsets are relative to `start`.
  mutating func scan(
    _ bytes: [UInt8], from start: Int, limit: Int, maxLines: Int
  ) throws(HTTPError) -> Progress {
    let end = min(bytes.count - start, limit)
    let slice = bytes[...]
    let octets = slice.span
    while scanned < end {
      let byte = octets[start + scanned]
      scanned += 1
      // Every byte after a CR must be LF, and every LF must follow a CR.
      let afterCR = scanned - 2 >= lineStart && octets[start + scanned - 2] == Text.cr
      guard afterCR == (byte == Text.lf) else {
        throw .bad(afterCR ? "a CR without LF" : "an LF without CR")
      }
      guard afterCR else {
        // The byte is rejected immediately, not at the end of the line, since a TLS hello may have
        // no line end.
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
