import Testing

@testable import HoldfastProtocols

/// Tests of heads that are announced before their bodies are complete, and of the partial body
/// after a cut.
@Suite struct AnnouncedRequestTests {
  private static func reader() -> HTTPRequestReader {
    var limits = HTTPLimits()
    limits.announcedPaths = ["/p"]
    return HTTPRequestReader(limits: limits)
  }

  @Test func `a head on an announced path is reported before its body`() {
    var reader = Self.reader()
    reader.receive(octets(post("Content-Length: 3\r\n", "ab")))
    guard case .announced(let head)? = reader.next() else {
      Issue.record("no head")
      return
    }
    #expect(head.path == "/p")
    #expect(reader.next() == nil)
    reader.receive(octets("c"))
    #expect(reader.next() == .request(head, body: octets("abc")))
  }

  @Test(arguments: ["", "ab", "abc"])
  func `the received part of a body that is cut off can be taken once`(text: String) {
    var reader = Self.reader()
    reader.receive(octets(post("Content-Length: 4\r\n", text)))
    _ = reader.next()
    #expect(reader.next() == nil)
    #expect(reader.takePart()?.body == octets(text))
    #expect(reader.takePart() == nil)
    #expect(reader.bufferedBytes == 0)
    reader.receive(octets("defg"))
    #expect(reader.next() == nil)
  }

  @Test func `the received chunks of a body that is cut off are joined`() {
    var reader = Self.reader()
    reader.receive(octets(post("Transfer-Encoding: chunked\r\n", "2\r\nab\r\n3\r\nc")))
    _ = reader.next()
    #expect(reader.next() == nil)
    #expect(reader.takePart()?.body == octets("abc"))
  }

  @Test func `bytes after a body are not part of it`() {
    var reader = Self.reader()
    reader.receive(octets(post("Content-Length: 2\r\n", "abGET")))
    _ = reader.next()
    #expect(reader.takePart()?.body == octets("ab"))
  }

  @Test func `requests without a body, awaiting 100, or on other paths are not announced`() {
    for text in [post("Content-Length: 0\r\n"), get(target: "/p"), get(target: "/q")] {
      var reader = Self.reader()
      reader.receive(octets(text))
      guard case .request? = reader.next() else {
        Issue.record("no request")
        continue
      }
    }
    var waiting = Self.reader()
    waiting.receive(octets(post("Expect: 100-continue\r\nContent-Length: 1\r\n")))
    guard case .needsContinue? = waiting.next() else {
      Issue.record("no wait")
      return
    }
    #expect(waiting.takePart()?.body == [])
    var idle = Self.reader()
    #expect(idle.takePart() == nil)
  }

  @Test func `an interim response has only a head`() {
    let bytes = HTTPResponseWriter.interim(
      status: 104, headers: [("Location", "/up\r\nX: y"), ("Content-Length", "3")])
    #expect(
      String(decoding: bytes, as: UTF8.self)
        == "HTTP/1.1 104 Upload Resumption Supported\r\nLocation: /upX: y\r\n\r\n")
  }

  @Test(arguments: [(101, 102), (102, 102), (199, 199), (200, 199)])
  func `the status of an interim response is clamped to 102 to 199`(_ asked: Int, _ sent: Int) {
    let bytes = HTTPResponseWriter.interim(status: asked, headers: [])
    #expect(bytes == octets("HTTP/1.1 \(sent) \r\n\r\n"))
  }
}
