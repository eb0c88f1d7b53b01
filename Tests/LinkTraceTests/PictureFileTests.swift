import Foundation
import HoldfastLinkTrace
import HoldfastProtocols
import Testing

@Suite struct PictureFileTests {
  private static let plain = "<script type=\"application/x-trace\">\n"
  private static let packed = "<script type=\"application/x-trace+gzip\">\n"

  @Test(arguments: [-1, 0, 1])
  func `traces above the bound are compressed`(beyond: Int) throws {
    let first = Self.trace(of: 1_000)
    let second = Self.trace(of: PictureFile.largestPlain - 1_000 + beyond)
    let page = Self.page(of: [first, second])
    let parts = page.pieces(Self.packed)
    guard beyond > 0 else {
      #expect(parts.count == 1)
      #expect(page.pieces(Self.plain).count == 3)
      return
    }
    #expect(page.pieces(Self.plain).count == 1)
    #expect(parts.count == 3)
    #expect(page.utf8.count < 300_000)
    for (part, trace) in zip(parts.dropFirst(), [first, second]) {
      let text = String(part.prefix { $0 != "<" })
      let packed = try #require(Data(base64Encoded: text))
      #expect(try GzipBody.inflate(Array(packed), atMost: 8 << 20) == trace)
    }
  }

  @Test func `markup in a trace remains text`() {
    let page = Self.page(of: [Array("{\"name\":\"</script><!-- <b>\"}".utf8)])
    #expect(page.contains(#"{"name":"\u003c/script>\u003c!-- \u003cb>"}"#))
    #expect(!page.contains("</script><!--"))
  }

  @Test func `a page without traces has no element for them`() {
    let page = Self.page(of: [])
    #expect(page.contains("</html>"))
    #expect(!page.contains(Self.plain))
  }

  private static func page(of traces: [[UInt8]]) -> String {
    String(decoding: PictureFile.bytes(of: traces), as: UTF8.self)
  }

  /// Returns lines of this total size.
  private static func trace(of size: Int) -> [UInt8] {
    let line = Array(#"{"t":1,"lane":"traffic","kind":"in","say":"A message."}"#.utf8) + [0x0A]
    var bytes: [UInt8] = []
    while bytes.count + line.count <= size { bytes += line }
    return bytes + [UInt8](repeating: 0x20, count: size - bytes.count)
  }
}

extension String {
  fileprivate func pieces(_ separator: String) -> [Substring] {
    var (rest, parts) = (self[...], [Substring]())
    while let range = rest.firstRange(of: separator) {
      parts.append(rest[..<range.lowerBound])
      rest = rest[range.upperBound...]
    }
    return parts + [rest]
  }
}
