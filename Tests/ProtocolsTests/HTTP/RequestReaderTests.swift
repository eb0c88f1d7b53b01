import Testing

@testable import HoldfastProtocols

@Suite struct RequestReaderTests {
  @Test func `all parts of a request are read`() throws {
    let text =
      "POST /a%20b//c?x=1&y=%C3%A4+z&x&=e HTTP/1.1\r\nHOST: example.org:8080\r\n"
      + "X-Two:  \t b c \t\r\n"
      + "x-empty:\r\nContent-Length: 3\r\n\r\nabcGET"
    var reader = HTTPRequestReader()
    reader.receive(octets(text))
    guard case .request(let head, let body)? = reader.next() else {
      Issue.record("no request")
      return
    }
    let expected = try HTTPRequestHead(
      method: "POST", target: "/a%20b//c?x=1&y=%C3%A4+z&x&=e",
      headers: [
        HTTPField(name: "host", value: "example.org:8080"), HTTPField(name: "x-two", value: "b c"),
        HTTPField(name: "x-empty", value: ""), HTTPField(name: "content-length", value: "3"),
      ])
    #expect(head == expected)
    #expect(head.path == "/a%20b//c")
    #expect(head.segments == ["a b", "", "c"])
    #expect(
      head.query == [
        HTTPQueryItem(name: "x", value: "1"), HTTPQueryItem(name: "y", value: "ä z"),
        HTTPQueryItem(name: "x", value: ""), HTTPQueryItem(name: "", value: "e"),
      ])
    #expect(head.firstQuery("x") == "1" && head.first("x-two") == "b c")
    #expect(body == octets("abc"))
    #expect(reader.next() == nil)
    #expect(reader.takeRest() == octets("GET"))
    #expect(reader.isIdle && reader.bufferedBytes == 0)
  }

  @Test func `pipelined requests are read in order`() {
    let text =
      get(target: "/1") + post("Content-Length: 2\r\n", "hi")
      + post("Transfer-Encoding: chunked\r\n", "2\r\nyo\r\n0\r\n\r\n") + "\r\n" + get(target: "/4")
    let bodies = requests(text).map { event -> String in
      guard case .request(let head, let body) = event else { return "\(event)" }
      return head.target + String(decoding: body, as: UTF8.self)
    }
    #expect(bodies == ["/1", "/phi", "/pyo", "/4"])
  }

  @Test func `bytes behind an upgrade are left for the new protocol`() {
    var reader = HTTPRequestReader()
    reader.receive(octets(get("Upgrade: websocket\r\n")) + [0x81, 0x0A, 0x0D])
    guard case .request(let head, _)? = reader.next() else {
      Issue.record("no request")
      return
    }
    #expect(head.asksForWebSocket)
    #expect(reader.takeRest() == [0x81, 0x0A, 0x0D])
  }

  @Test func `a reader is idle only between requests`() {
    var reader = HTTPRequestReader()
    #expect(reader.isIdle)
    reader.receive(octets("GET / HT"))
    #expect(reader.next() == nil)
    #expect(!reader.isIdle)
    reader.receive(octets("TP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n"))
    #expect(reader.next() == nil)
    #expect(!reader.isIdle)
    reader.receive([0x61])
    #expect(reader.next() != nil)
    #expect(reader.isIdle)
  }

  @Test func `a reader reports whether it is within a request and within its body`() {
    var reader = HTTPRequestReader()
    var states: [[Bool]] = []
    let rest = " HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n"
    for piece in ["", "POST /p", rest, "x", "GET / HTTP/9.9\r\nHost: a\r\n\r\n"] {
      reader.receive(octets(piece))
      _ = reader.next()
      states.append([!reader.isIdle, reader.isReadingBody])
    }
    // The last request is refused, so nothing is read after it.
    #expect(
      states == [[false, false], [true, false], [true, true], [false, false], [false, false]])
  }

  @Test func `one empty line before each request is ignored, also before the first`() {
    let text = "\r\n" + get(target: "/1") + "\r\n" + get(target: "/2")
    #expect(heads(text).map(\.target) == ["/1", "/2"])
  }

  /// Returns the number of octets that a reader holds in memory, whether they have been read or
  /// not.
  private static func held(_ reader: HTTPRequestReader) -> Int? {
    (Mirror(reflecting: reader).descendant("buffer") as? [UInt8])?.count
  }

  @Test func `a request that was read is not held in memory`() {
    var reader = HTTPRequestReader()
    let text = post("Content-Length: 2\r\n", "hi")
    reader.receive(octets(text))
    #expect(Self.held(reader) == text.utf8.count)
    #expect(reader.next() != nil)
    #expect(Self.held(reader) == 0)
  }

  @Test func `bytes after a request are counted and left unread`() {
    var reader = HTTPRequestReader()
    reader.receive(octets(get() + "GET"))
    #expect(reader.next() != nil)
    #expect(reader.bufferedBytes == 3)
    #expect(reader.takeRest() == octets("GET"))
  }

  @Test func `a long request is not held in memory while the next one arrives`() throws {
    var reader = HTTPRequestReader(limits: HTTPLimits(maxHeadBytes: 100))
    let body = String(repeating: "x", count: 200)
    reader.receive(octets(post("Content-Length: 200\r\n", body) + "GET"))
    #expect(reader.next() != nil)
    try #require(reader.bufferedBytes == 3)
    #expect(Self.held(reader) == 3)
    #expect(reader.takeRest() == octets("GET"))
  }

  @Test(arguments: [false, true])
  func `chunks that were read are not held in their raw form`(areSpans: Bool) {
    var reader = HTTPRequestReader()
    let head = octets(post("Transfer-Encoding: chunked\r\n"))
    let chunk = octets("400\r\n" + String(repeating: "x", count: 0x400) + "\r\n")
    var most = 0
    for piece in [head] + [[UInt8]](repeating: chunk, count: 20) {
      let slice = piece[...]
      if areSpans { unsafe reader.receive(slice.span.bytes) } else { reader.receive(piece) }
      #expect(reader.next() == nil)
      most = max(most, Self.held(reader) ?? .max)
    }
    #expect(most == chunk.count)
  }

  @Test func `a refused request is not held in memory`() {
    var reader = HTTPRequestReader()
    reader.receive(octets("GET / HTTP/9.9\r\nHost: a\r\n\r\nmore"))
    let error = HTTPError(status: 505, detail: "only HTTP/1.0 and HTTP/1.1 are supported")
    #expect(reader.next() == .failed(error))
    #expect(reader.bufferedBytes == 0)
    let more = octets("and more")
    reader.receive(more)
    let slice = more[...]
    unsafe reader.receive(slice.span.bytes)
    #expect(reader.bufferedBytes == 0)
  }

  @Test func `a plus is a space in a query only`() {
    let head = heads(get(target: "/a+b?c+d=e+f")).first
    #expect(head?.segments == ["a+b"])
    #expect(head?.query == [HTTPQueryItem(name: "c d", value: "e f")])
    let blank = heads(get(target: "/?+=++")).first
    #expect(blank?.query == [HTTPQueryItem(name: " ", value: "  ")])
  }

  @Test(arguments: [("%01", "\u{1}"), ("%0a", "\n"), ("%7F", "\u{7F}"), ("%C3%80", "\u{C0}")])
  func `a percent-encoding stands for any octet but NUL`(_ encoded: String, _ decoded: String) {
    #expect(heads(get(target: "/\(encoded)")).map(\.segments) == [[decoded]])
  }

  @Test func `a target may contain any visible character but a fragment or a lone percent sign`() {
    let refused = (UInt8(0x20)...0x7F).filter { byte in
      refusal(get(target: "/a" + String(Character(Unicode.Scalar(byte))))) != nil
    }
    #expect(refused == [0x20, 0x23, 0x25, 0x7F])
  }

  @Test func `only the letters A to Z are lowercased`() {
    let letters = UInt8(ascii: "A")...UInt8(ascii: "Z")
    let expected = (UInt8.min...UInt8.max).map { letters.contains($0) ? $0 + 32 : $0 }
    let lowered = (UInt8.min...UInt8.max).map { Text.lowercased($0) }
    #expect(lowered == expected)
  }

  @Test(arguments: [
    ("Content-Length: 1\r\n", "a"), ("Transfer-Encoding: chunked\r\n", "1\r\na\r\n0\r\n\r\n"),
  ])
  func `a request that expects 100 is reported before its body`(_ framing: String, _ body: String) {
    let events = requests(post("Expect: 100-Continue\r\n\(framing)", body))
    #expect(events.count == 2)
    guard case .needsContinue(let head)? = events.first else {
      Issue.record("no wait")
      return
    }
    #expect(events.last == .request(head, body: octets("a")))
  }

  @Test func `an empty body needs no 100, and any other expectation is refused with 417`() {
    #expect(requests(post("Expect: 100-continue\r\nContent-Length: 0\r\n")).count == 1)
    #expect(refusal(post("Expect: a-miracle\r\n")) == 417)
  }

  @Test(arguments: ["100-continue", "a-miracle"])
  func `an expectation in HTTP 1.0 is ignored`(_ expected: String) {
    let text = "POST /p HTTP/1.0\r\nExpect: \(expected)\r\nContent-Length: 1\r\n\r\na"
    #expect(heads(text).map(\.expectsContinue) == [false])
    #expect(requests(text).count == 1)
  }

  @Test func `fields of one name are returned in order, and a lone field is found`() {
    let head = heads(get("X: 1\r\nY: 2\r\nx: 3\r\n")).first
    #expect(head?.all("x") == ["1", "3"])
    let only = heads("GET / HTTP/1.0\r\nUpgrade: websocket\r\n\r\n")
    #expect(only.map(\.asksForWebSocket) == [true])
  }

  @Test func `a tab within the value of a field is preserved`() {
    #expect(heads(get("X: a\tb\r\n")).map { $0.all("x") } == [["a\tb"]])
  }

  @Test(arguments: [
    ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", true),
    ("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", false),
    ("GET / HTTP/1.0\r\n\r\n", false), ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", false),
  ])
  func `a connection is persistent unless the request is HTTP 1.0 or asks to close it`(
    _ text: String, _ isKeptAlive: Bool
  ) {
    #expect(heads(text).map(\.keepAlive) == [isKeptAlive])
  }

  @Test(arguments: [
    ("http://b.org/x?y=1", "/x?y=1", "b.org"), ("HTTPS://b.org:81", "/", "b.org:81"),
    ("http://b.org?y", "/?y", "b.org"), ("/x", "/x", "a"),
  ])
  func `an absolute target is reduced to its path and query and replaces the host`(
    _ target: String, _ origin: String, _ host: String
  ) {
    let found = heads(get(target: target))
    #expect(found.map(\.target) == [origin])
    #expect(found.map { $0.headers.values("host") } == [[host]])
  }

  @Test func `a chunk size is hexadecimal, in either case, with optional leading zeros`() {
    let first = String(repeating: "a", count: 0x1A)
    let second = String(repeating: "b", count: 0x10B)
    let text = "1a\r\n\(first)\r\n00010B;x=y\r\n\(second)\r\n000\r\n\r\n"
    let events = requests(post("Transfer-Encoding: chunked\r\n", text))
    guard case .request(_, let body)? = events.first else {
      Issue.record("no request")
      return
    }
    #expect(body == octets(first + second))
  }

  @Test func `field names are case-insensitive, and their other characters are unchanged`() {
    let head = heads("GET / HTTP/1.1\r\nHOST: a\r\nX_^`|~Z: 1\r\n\r\n").first
    #expect(head?.headers.values("host") == ["a"])
    #expect(head?.headers.values("x_^`|~z") == ["1"])
  }

  @Test func `only OPTIONS may have an asterisk as its target`() {
    let found = heads("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(found.map(\.path) == ["*"])
    #expect(refusal(get(target: "*")) == 400)
  }

  @Test(arguments: [
    "a", "a.b-c_d", "127.0.0.1:80", "[::1]", "[fe80::1]:65535", "[fe80::1%250]", "a:",
    "[::ffff:192.0.2.1]:80", "[v1.fe:1]",
  ])
  func `a host is a name or an address with an optional port`(_ host: String) {
    #expect(refusal("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n") == nil)
  }

  @Test(arguments: [
    "", "a b", "a,b", "a/b", "a@b", "a:x", "a:123456", "[::1", "[]", "[::1]x", "[::1]:x", "a%41",
    "é", "[::1/64]",
  ])
  func `an invalid host is refused with 400`(_ host: String) {
    #expect(refusal("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n") == 400)
  }
}
