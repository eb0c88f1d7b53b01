import HoldfastProtocols
import Testing

/// Tests of the body of a response, in the framings of RFC 9112 section 6.
@Suite struct ResponseBodyTests {
  private static func head(_ name: String, _ value: String) -> HTTPResponseHead {
    HTTPResponseHead(
      status: 403, reason: "Forbidden", headers: [HTTPField(name: name, value: value)])
  }

  private struct Body: Equatable {
    var text: String
    var isWhole: Bool

    init(_ text: String, _ isWhole: Bool) { (self.text, self.isWhole) = (text, isWhole) }
  }

  private static func body(
    _ head: HTTPResponseHead, _ pieces: [String], maxBytes: Int = 100
  ) -> Body {
    var body = ResponseBody(of: head, maxBytes: maxBytes)
    for piece in pieces { body.receive(Array(piece.utf8)) }
    return Body(String(decoding: body.bytes, as: UTF8.self), body.isWhole)
  }

  /// The chunks of RFC 9112 section 7.1, with an extension and a trailer.
  private static let chunks =
    "4\r\nWiki\r\n5;a=b\r\npedia\r\nE\r\n in\r\n\r\nchunks.\r\n0\r\nT: x\r\n\r\n"

  @Test func `chunks are joined wherever the bytes are split`() {
    let head = Self.head("Transfer-Encoding", "gzip, Chunked")
    for cut in 0...Self.chunks.utf8.count {
      let first = String(decoding: Self.chunks.utf8.prefix(cut), as: UTF8.self)
      let rest = String(decoding: Self.chunks.utf8.dropFirst(cut), as: UTF8.self)
      let body = Self.body(head, [first, rest, "HTTP/1.1 200 OK"])
      #expect(body == Body("Wikipedia in\r\n\r\nchunks.", true), "\(cut)")
    }
    let bytes = Self.chunks.map { String($0) }
    #expect(Self.body(head, bytes).text == "Wikipedia in\r\n\r\nchunks.")
    #expect(Self.body(head, [String(Self.chunks.prefix(10))]) == Body("Wiki", false))
  }

  @Test func `a malformed chunk ends the body, and the bytes before it remain`() {
    let head = Self.head("transfer-encoding", "chunked")
    #expect(Self.body(head, ["4\r\nWiki\r\nx\r\n", "5\r\npedia\r\n"]) == Body("Wiki", true))
    #expect(Self.body(head, ["4\r\nWiki\r\n61\r\n"]) == Body("Wiki", true))
  }

  @Test func `a body ends at its length or at the byte limit`() {
    #expect(Self.body(Self.head("content-length", "4"), []) == Body("", false))
    #expect(Self.body(Self.head("content-length", "0"), []) == Body("", true))
    #expect(Self.body(Self.head("content-length", "4"), ["Wi", "kipedia"]) == Body("Wiki", true))
    #expect(Self.body(Self.head("content-length", "4"), ["Wik"]) == Body("Wik", false))
    let long = Self.head("content-length", "9")
    #expect(Self.body(long, ["Wikipedia"], maxBytes: 4) == Body("Wiki", true))
    for name in ["content-length", "x"] {
      #expect(Self.body(Self.head(name, "-"), ["Wiki"]) == Body("Wiki", false))
      #expect(Self.body(Self.head(name, "-"), ["Wiki"], maxBytes: 4) == Body("Wiki", true))
    }
  }
}
