import Testing

@testable import HoldfastProtocols

/// Tests of requests that two readers could interpret differently, or that violate the grammar of
/// RFC 9112.
@Suite struct SmugglingTests {
  static let malformedHeads: [String] = [
    "GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\nHost: a\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n\n", "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\r\n",
    get("X: a\r\n b\r\n"), get("X: a\r\n\tb\r\n"), "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost : a\r\n\r\n", get("X : b\r\n"), get("X\t: b\r\n"), get(": b\r\n"),
    get("X\r\n"), get("X y: b\r\n"), get("X(: b\r\n"), get("Ä: b\r\n"), get("X: a\u{0}b\r\n"),
    get("X: a\u{1}b\r\n"), get("X: a\u{7F}b\r\n"), get("X\u{0}: b\r\n"),
    "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
    " GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / \r\nHost: a\r\n\r\n", "GET /\r\nHost: a\r\n\r\n",
    "GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n", "G@T / HTTP/1.1\r\nHost: a\r\n\r\n",
    " / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / http/1.1\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.10\r\nHost: a\r\n\r\n", "GET / HTTP/11\r\nHost: a\r\n\r\n",
    "GET / HTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/+1.1\r\nHost: a\r\n\r\n",
    "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
    get(target: "a"), get(target: "//a/../b"), get(target: "/a/.."), get(target: "/./a"),
    get(target: "/%2e%2E/a"), get(target: "/a#b"), get(target: "/%"), get(target: "/%4"),
    get(target: "/%zz"), get(target: "/%00"), get(target: "/%FF"), get(target: "/?%ff"),
    get(target: "/\u{1}"), get(target: "/ä"), get(target: "/\u{7F}"), get(target: "ftp://a/"),
    get(target: "http://"), get(target: "http:///x"), get(target: "http://a@b/"),
    get("X: a\rYZ: b\r\n"), "GET / HTTP/1,1\r\nHost: a\r\n\r\n",
    "GET / HTTP/x.1\r\nHost: a\r\n\r\n",
  ]

  @Test(arguments: malformedHeads)
  func `a malformed head is refused with 400`(_ text: String) {
    #expect(refusal(text) == 400)
  }

  @Test func `the error for a folded field names the cause`() {
    let error = HTTPError(status: 400, detail: "a folded field")
    #expect(requests(get("X: a\r\n b: c\r\n")) == [.failed(error)])
  }

  @Test(arguments: [
    ("GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", "a CR without LF"),
    ("GET / HTTP/1.1\nHost: a\r\n\r\n", "an LF without CR"),
  ])
  func `the error for half of a line ending names the cause`(text: String, detail: String) {
    #expect(requests(text) == [.failed(HTTPError(status: 400, detail: detail))])
  }

  @Test(arguments: ["\u{16}", "\u{16}\u{3}\u{1}", "\n", "\nGET / HTTP/1.1\r\n"])
  func `a first byte that cannot begin a head is refused at once`(_ text: String) {
    #expect(refusal(text) == 400)
  }

  static let ambiguousBodies: [String] = [
    "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n",
    "Content-Length: 1\r\nContent-Length: 1\r\n", "Content-Length: 1\r\nContent-Length: 2\r\n",
    "Content-Length: 1, 1\r\n", "Content-Length: 1,2\r\n", "Content-Length: +1\r\n",
    "Content-Length: -1\r\n", "Content-Length: 0x1\r\n", "Content-Length: 1 1\r\n",
    "Content-Length: 1.0\r\n", "Content-Length:\r\n", "Content-Length: \u{661}\r\n",
    "Content-Length: 1;\r\n", "Content-Length : 1\r\n",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
    "Transfer-Encoding : chunked\r\n", "Transfer-Encoding\r\n: chunked\r\n",
    " Transfer-Encoding: chunked\r\n", "X: y\r\n Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding:\u{0B}chunked\r\n", "Transfer-Encoding: chunked\u{0}\r\n",
  ]

  @Test(arguments: ambiguousBodies)
  func `a body with an ambiguous length is refused with 400`(_ lines: String) {
    #expect(refusal(post(lines, "a")) == 400)
  }

  @Test(arguments: [
    "gzip", "gzip, chunked", "chunked, gzip", "identity", "xchunked", "chunked;q=1", "\"chunked\"",
    "chunked, chunked", "chunked,", "",
  ])
  func `a transfer coding other than chunked is refused with 501`(_ coding: String) {
    #expect(refusal(post("Transfer-Encoding: \(coding)\r\n")) == 501)
  }

  @Test func `a transfer coding in HTTP/1.0 is refused`() {
    #expect(refusal("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") == 400)
  }

  @Test(arguments: [
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.2\r\nHost: a\r\n\r\n", "GET / HTTP/0.9\r\nHost: a\r\n\r\n",
    "GET / HTTP/3.0\r\n\r\n",
  ])
  func `an unsupported HTTP version is refused with 505`(_ text: String) {
    #expect(refusal(text) == 505)
  }

  @Test func `a CONNECT request is refused with 501`() {
    #expect(refusal("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n") == 501)
  }

  static let goodChunks: [(String, String)] = [
    ("0\r\n\r\n", ""), ("3\r\nabc\r\n0\r\n\r\n", "abc"),
    ("A\r\n0123456789\r\n00\r\n\r\n", "0123456789"),
    ("1\r\na\r\n1\r\nb\r\n0\r\n\r\n", "ab"), ("0000000000000001\r\na\r\n0\r\n\r\n", "a"),
    ("1;x=y; z=\"q\"\r\na\r\n0;l\r\n\r\n", "a"), ("1\r\na\r\n0\r\nTrailer: x\r\nY: z\r\n\r\n", "a"),
    ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n"),
  ]

  @Test(arguments: goodChunks)
  func `chunks are joined`(_ chunks: String, _ body: String) {
    let events = requests(post("Transfer-Encoding: Chunked\r\n", chunks))
    guard case .request(_, let found)? = events.first else {
      Issue.record("no request: \(events)")
      return
    }
    #expect(found == octets(body) && events.count == 1)
  }

  @Test(arguments: [
    "\r\n", "x\r\n", "-1\r\n", "+1\r\na\r\n", "0x1\r\na\r\n", "1 \r\na\r\n", " 1\r\na\r\n",
    "1\na\r\n", "\n",
    "1\r\nab\r\n", "1\r\na\n", "1\r\na\r0\r\n", "1\r\na0\r\n", "00000000000000001\r\na\r\n",
    "1 ;x\r\na\r\n", "1,x\r\na\r\n", "1;x\u{0}\r\na\r\n", "1;x\ny\r\na\r\n", "1;x\ry\r\na\r\n",
    "0\r\n bad\r\n\r\n", "0\r\nX : y\r\n\r\n", "0\r\nX: y\n\r\n", "0\r\nno colon\r\n\r\n",
    "0\r\n\n",
  ])
  func `malformed chunks are refused with 400`(_ chunks: String) {
    #expect(refusal(post("Transfer-Encoding: chunked\r\n", chunks)) == 400)
  }

  @Test func `nothing is read after a refused request`() {
    let smuggled = "GET / HTTP/1.1\nHost: a\n\n" + get()
    #expect(requests(smuggled).count == 1)
  }
}
