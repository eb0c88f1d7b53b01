import Testing

@testable import HoldfastProtocols

@Suite struct HandshakeTests {
  /// The key and the accept value of RFC 6455 section 1.3.
  static let key = octets("the sample nonce")
  static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

  static func client(
    target: String = "/chat", headers: [(String, String)] = [], deflate: Bool = false,
    subprotocols: [String] = []
  ) -> ClientHandshake {
    ClientHandshake(
      host: "server.example.com", target: target, headers: headers, key: key,
      offersDeflate: deflate, subprotocols: subprotocols)
  }

  static func outcome(
    _ text: String, deflate: Bool = false, subprotocols: [String] = []
  ) -> ClientHandshake.Outcome? {
    var client = client(deflate: deflate, subprotocols: subprotocols)
    return client.receive(octets(text))
  }

  static func answer(_ lines: String = "", accept: String = accept) -> String {
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n"
      + "Sec-WebSocket-Accept: \(accept)\r\n\(lines)\r\n"
  }

  @Test func `the upgrade request contains all valid fields and omits invalid ones`() {
    let expected =
      "GET /chat HTTP/1.1\r\nHost: server.example.com\r\nUpgrade: websocket\r\n"
      + "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
      + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Extensions: permessage-deflate; "
      + "server_no_context_takeover; client_no_context_takeover; client_max_window_bits\r\n"
      + "Sec-WebSocket-Protocol: a, b\r\nAuthorization: Bearer x\r\n\r\n"
    let headers = [
      ("Authorization", "Bearer x"), ("Host", "evil"), ("sec-websocket-key", "evil"),
      ("Bad Name", "evil"),
    ]
    let client = Self.client(headers: headers, deflate: true, subprotocols: ["a", "no good", "b"])
    #expect(String(decoding: client.requestBytes, as: UTF8.self) == expected)
  }

  @Test(arguments: [
    ("", "/"), ("x", "/x"), ("/a b\r\nX: y#z", "/a%20b%0D%0AX:%20y%23z"), ("/ä", "/%C3%A4"),
  ])
  func `a target is percent-encoded so that it cannot end its line`(
    _ target: String, _ written: String
  ) {
    let request = String(decoding: Self.client(target: target).requestBytes, as: UTF8.self)
    #expect(request.hasPrefix("GET \(written) HTTP/1.1\r\nHost: "))
  }

  @Test(
    arguments: [
      ("X-Y:  z ", HTTPField(name: "x-y", value: "z")), ("Upgrade: h2c", nil), ("X Y: z", nil),
      ("X-Y", nil),
    ] as [(String, HTTPField?)])
  func `a field to send is accepted unless it is malformed or the handshake's own`(
    _ line: String, _ field: HTTPField?
  ) {
    #expect(ClientHandshake.field(line) == field)
  }

  @Test func `an upgrade is read together with the frames after it`() {
    let fields = [
      "upgrade": "WebSocket", "connection": "keep-alive, Upgrade",
      "sec-websocket-accept": Self.accept,
    ]
    let expected = ClientHandshake.Outcome.upgraded(headers: fields, extensions: nil, rest: [0x81])
    #expect(Self.outcome(Self.answer() + "\u{1}")?.rest == [1])
    var client = Self.client()
    #expect(client.receive(octets(Self.answer()) + [0x81]) == expected)
    #expect(client.receive(octets(Self.answer())) == nil)
  }

  @Test func `interim responses are skipped`() {
    let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    #expect(Self.outcome(text) == nil)
    #expect(Self.outcome(text + Self.answer())?.rest == [])
  }

  @Test(arguments: [(102, true), (199, true), (200, false), (500, false)])
  func `a status of 200 or above is final, one from 102 to 199 is interim`(
    _ status: Int, _ isInterim: Bool
  ) {
    let head = HTTPResponseHead(status: status, reason: "x", headers: [])
    let answer = ClientHandshake.Outcome.refused(head, bodyPrefix: [])
    #expect(Self.outcome("HTTP/1.1 \(status) x\r\n\r\n") == (isInterim ? nil : answer))
  }

  @Test func `a refusal contains its head and the received part of the body`() {
    let text = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\n\r\n{\"a\":"
    let head = HTTPResponseHead(
      status: 401, reason: "Unauthorized",
      headers: [HTTPField(name: "www-authenticate", value: "Bearer")])
    #expect(Self.outcome(text) == .refused(head, bodyPrefix: octets("{\"a\":")))
  }

  static let malformed: [String] = [
    answer(accept: "AAAAAAAAAAAAAAAAAAAAAAAAAAA="), answer("Sec-WebSocket-Accept: \(accept)\r\n"),
    answer("Sec-WebSocket-Protocol: a\r\n"), answer("Sec-WebSocket-Extensions: x\r\n"),
    answer("Sec-WebSocket-Extensions: permessage-deflate\r\n"), answer("X : y\r\n"),
    "HTTP/1.1 101 x\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: \(accept)\r\n\r\n",
    "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: \(accept)\r\n\r\n",
    "HTTP/1.1 101 x\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n"
      + "Sec-WebSocket-Accept: \(accept)\r\n\r\n",
    "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    answer().replacing("HTTP/1.1", with: "HTTP/1.0"), "SSH-2.0-OpenSSH\r\n\r\n", "\u{15}\u{3}\n",
    answer().replacing("\r\n", with: "\n"),
  ]

  @Test(arguments: malformed)
  func `an answer that is not a valid upgrade is malformed`(_ text: String) {
    guard case .malformed? = Self.outcome(text) else {
      Issue.record("\(String(describing: Self.outcome(text)))")
      return
    }
  }

  @Test func `nothing is read after a malformed response`() {
    var client = Self.client()
    guard case .malformed? = client.receive(octets("nonsense\r\n\r\n")) else {
      Issue.record("a verdict is missing")
      return
    }
    #expect(client.receive(octets(Self.answer())) == nil)
  }

  @Test func `a response head that reaches the byte limit is malformed`() {
    let head = "HTTP/1.1 200 OK\r\nX: "
    let room = HTTPLimits().maxHeadBytes - head.utf8.count
    #expect(Self.outcome(head + String(repeating: "x", count: room - 1)) == nil)
    let outcome = Self.outcome(head + String(repeating: "x", count: room))
    #expect(outcome == .malformed("a response head beyond the limits"))
  }

  @Test func `the server may choose an offered subprotocol and extension`() {
    let lines =
      "Sec-WebSocket-Protocol: b\r\nSec-WebSocket-Extensions: permessage-deflate; "
      + "server_no_context_takeover\r\n"
    let outcome = Self.outcome(Self.answer(lines), deflate: true, subprotocols: ["a", "b"])
    guard case .upgraded(let headers, let extensions, _)? = outcome else {
      Issue.record("\(String(describing: outcome))")
      return
    }
    #expect(headers["sec-websocket-protocol"] == "b")
    #expect(extensions == DeflateParameters())
  }

  @Test func `a response with two subprotocols is malformed even if both were offered`() {
    let lines = "Sec-WebSocket-Protocol: a\r\nSec-WebSocket-Protocol: b\r\n"
    let outcome = Self.outcome(Self.answer(lines), subprotocols: ["a", "b"])
    #expect(outcome == .malformed("a subprotocol that was not offered"))
  }

  @Test(arguments: [true, false], [true, false])
  func `client and server agree on the deflate parameters`(_ offers: Bool, _ allows: Bool) throws {
    var client = Self.client(deflate: offers)
    var reader = HTTPRequestReader()
    reader.receive(client.requestBytes)
    guard case .request(let head, _)? = reader.next() else {
      Issue.record("no request")
      return
    }
    let extra = [("X-Y", "z"), ("Upgrade", "evil")]
    let outcome = ServerHandshake.accept(head, allowsDeflate: allows, extraHeaders: extra)
    guard case .upgrade(let response, let deflate) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(deflate == (offers && allows ? DeflateParameters() : nil))
    guard case .upgraded(let headers, let extensions, let rest)? = client.receive(response) else {
      Issue.record("not upgraded")
      return
    }
    #expect(extensions == deflate && rest.isEmpty && headers["x-y"] == "z")
  }

  static let good = [
    HTTPField(name: "Host", value: "a"), HTTPField(name: "Upgrade", value: "h2c, WebSocket"),
    HTTPField(name: "Connection", value: "keep-alive, upgrade"),
    HTTPField(name: "Sec-WebSocket-Version", value: "13"),
    HTTPField(name: "Sec-WebSocket-Key", value: "dGhlIHNhbXBsZSBub25jZQ=="),
  ]

  static let refusals: [(String, String?, Int)] = [
    ("Upgrade", nil, 426), ("Upgrade", "h2c", 426), ("Connection", nil, 400),
    ("Connection", "close", 400), ("Sec-WebSocket-Version", nil, 426),
    ("Sec-WebSocket-Version", "12", 426), ("Sec-WebSocket-Version", "13, 8", 426),
    ("Sec-WebSocket-Key", nil, 400), ("Sec-WebSocket-Key", "short", 400),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=", 400),
  ]

  @Test(arguments: refusals)
  func `a request that is not a valid upgrade is refused`(
    _ name: String, _ value: String?, _ status: Int
  ) throws {
    var fields = Self.good.filter { $0.name != name }
    if let value { fields.append(HTTPField(name: name, value: value)) }
    let head = try HTTPRequestHead(method: "GET", target: "/", headers: fields)
    guard
      case .refuse(let found, let headers, _) = ServerHandshake.accept(head, allowsDeflate: true)
    else {
      Issue.record("accepted")
      return
    }
    #expect(found == status)
    let version = HTTPField(name: "Sec-WebSocket-Version", value: "13")
    #expect(headers.contains(version) == (name == "Sec-WebSocket-Version"))
  }

  @Test func `an upgrade with another method, another HTTP version or a second key is refused`()
    throws
  {
    let post = try HTTPRequestHead(method: "POST", target: "/", headers: Self.good)
    let old = try HTTPRequestHead(method: "GET", target: "/", minorVersion: 0, headers: Self.good)
    let twice = try HTTPRequestHead(
      method: "GET", target: "/", headers: Self.good + [Self.good[4]])
    let statuses = [post, old, twice].map { head -> Int in
      guard case .refuse(let status, _, _) = ServerHandshake.accept(head, allowsDeflate: false)
      else { return 101 }
      return status
    }
    #expect(statuses == [405, 426, 400])
  }
}

extension ClientHandshake.Outcome {
  var rest: [UInt8]? {
    guard case .upgraded(_, _, let rest) = self else { return nil }
    return rest
  }
}
