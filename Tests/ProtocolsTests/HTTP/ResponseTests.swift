import Testing

@testable import HoldfastProtocols

@Suite struct ResponseTests {
  static func text(
    _ status: Int, _ headers: [(String, String)] = [], _ body: String = "", keepAlive: Bool = true,
    omitsBody: Bool = false
  ) -> String {
    String(
      decoding: HTTPResponseWriter.bytes(
        status: status, headers: headers, body: octets(body), keepAlive: keepAlive,
        omitsBody: omitsBody), as: UTF8.self)
  }

  @Test func `a response is written with its fields, length and body`() {
    let expected =
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n"
      + "Connection: keep-alive\r\n"
      + "\r\nhi"
    #expect(Self.text(200, [("Content-Type", "text/plain")], "hi") == expected)
    let closing = "HTTP/1.1 599 \r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    #expect(Self.text(599, keepAlive: false) == closing)
  }

  @Test func `a status without a body omits it, a response to HEAD states only the length`() {
    for status in [100, 204, 304] {
      let written = Self.text(status, [], "hi")
      #expect(written.hasSuffix("Connection: keep-alive\r\n\r\n"))
      #expect(!written.contains("Content-Length"))
    }
    let head = Self.text(200, [], "hi", omitsBody: true)
    #expect(head.hasSuffix("Content-Length: 2\r\nConnection: keep-alive\r\n\r\n"))
  }

  @Test func `a field cannot end its line or change the framing of the body`() {
    let written = Self.text(
      200,
      [
        ("X", "a\r\nSet-Cookie: b"), ("Y\r\nZ", "c"), ("", "d"), ("W W", "e"),
        ("content-length", "99"), ("Transfer-Encoding", "chunked"), ("CONNECTION", "upgrade"),
        ("V", " \u{0}ä\u{7F} "),
      ], "hi")
    let expected =
      "HTTP/1.1 200 OK\r\nX: aSet-Cookie: b\r\nV: ä\r\nContent-Length: 2\r\n"
      + "Connection: keep-alive\r\n\r\nhi"
    #expect(written == expected)
  }

  @Test func `a refused upgrade names Upgrade in Connection`() {
    #expect(Self.text(426, [("Upgrade", "websocket")]).contains("Connection: keep-alive, Upgrade"))
  }

  @Test(arguments: [(-5, "100 Continue"), (99, "100 Continue"), (1000, "999 ")])
  func `a status is clamped to three digits`(_ status: Int, _ line: String) {
    #expect(Self.text(status).hasPrefix("HTTP/1.1 \(line)\r\n"))
  }

  @Test func `a response that was written is read back unchanged`() throws {
    var reader = ResponseHeadReader()
    let bytes = HTTPResponseWriter.bytes(
      status: 503, headers: [("Retry-After", "5")], body: octets("later"), keepAlive: false)
    reader.receive(bytes)
    let head = try reader.next()
    let expected = HTTPResponseHead(
      status: 503, reason: "Service Unavailable",
      headers: [
        HTTPField(name: "Retry-After", value: "5"), HTTPField(name: "Content-Length", value: "5"),
        HTTPField(name: "Connection", value: "close"),
      ])
    #expect(head == expected)
    #expect(head?.first("retry-after") == "5")
    #expect(reader.takeRest() == octets("later"))
  }

  @Test func `the bytes after a head can be taken once`() throws {
    var reader = ResponseHeadReader()
    reader.receive(octets("HTTP/1.1 200 OK\r\n\r\nrest"))
    #expect(try reader.next() != nil)
    #expect(reader.takeRest() == octets("rest"))
    #expect(reader.takeRest() == [])
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK", "HTTP/1.1 200", "HTTP/1.0 200 ", "HTTP/1.1 599 a b ä", "HTTP/1.1 100 x",
  ])
  func `a valid status line is read`(_ line: String) throws {
    var reader = ResponseHeadReader()
    reader.receive(octets(line + "\r\n\r\n"))
    #expect(try reader.next() != nil)
  }

  @Test(arguments: [
    "", "HTTP/1.1", "HTTP/2 200 OK", "HTTP/1.2 200 OK", "HTTP/1.1  200 OK", "HTTP/1.1 20 OK",
    "HTTP/1.1 2000 OK", "HTTP/1.1 +20 OK", "HTTP/1.1 099 OK", "HTTP/1.1 600 OK", "ICY 200 OK",
    "HTTP/1.1 200OK", "HTTP/1.1 200 O\u{0}K", "http/1.1 200 OK", " HTTP/1.1 200 OK",
    "HTTP/1.1x200 OK", "HTTP/1.1 200 O\u{7F}K",
  ])
  func `an invalid status line is rejected`(_ line: String) {
    var reader = ResponseHeadReader()
    reader.receive(octets(line + "\r\n\r\n"))
    #expect(throws: HTTPError.self) { try reader.next() }
  }

  @Test(arguments: [(99, true), (100, true), (101, false)])
  func `a response head with more than 100 fields is rejected`(_ count: Int, _ isRead: Bool) {
    var reader = ResponseHeadReader()
    let lines = String(repeating: "X: y\r\n", count: count)
    reader.receive(octets("HTTP/1.1 200 OK\r\n\(lines)\r\n"))
    let head = try? reader.next()
    #expect(head?.headers.count == (isRead ? count : nil))
  }
}

@Suite struct StreamedResponseTests {
  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test func `a body of unknown length is framed by chunks, or by the end of the connection`() {
    let fields = [("X", "y"), ("Content-Length", "7"), ("Transfer-Encoding", "gzip")]
    #expect(
      text(
        HTTPResponseWriter.streamHead(
          status: 200, headers: fields, isChunked: true, keepAlive: true))
        == "HTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n"
    )
    #expect(
      text(
        HTTPResponseWriter.streamHead(
          status: 200, headers: fields, isChunked: false, keepAlive: false))
        == "HTTP/1.1 200 OK\r\nX: y\r\nConnection: close\r\n\r\n")
  }

  @Test(arguments: [(0, ""), (1, "1\r\na\r\n"), (16, "10\r\naaaaaaaaaaaaaaaa\r\n")])
  func `a chunk states its size in hexadecimal, and no bytes make no chunk`(
    count: Int, text: String
  ) {
    #expect(self.text(HTTPResponseWriter.chunk([UInt8](repeating: 0x61, count: count))) == text)
    #expect(self.text(HTTPResponseWriter.lastChunk) == "0\r\n\r\n")
  }
}
