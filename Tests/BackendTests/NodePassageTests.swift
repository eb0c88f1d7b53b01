import HoldfastCore
import HoldfastProtocols
import HoldfastServerParts
import HoldfastServerSockets
import Synchronization
import Testing

@testable import HoldfastBackend

/// Tests of requests that nodes pass on, and of what comes in at the address for nodes.
@Suite struct NodePassageTests {
  /// A clock of a test.
  private final class Time: Sendable {
    private let seconds = Mutex<Int64>(1_800_000_000)

    var now: Timestamp { Timestamp(nanoseconds: seconds.withLock { $0 } * 1_000_000_000) }

    func pass(_ count: Int64) { seconds.withLock { $0 += count } }
  }

  private let time = Time()

  private func passage(_ secret: UInt8 = 1) throws -> NodePassage {
    let tokens = try #require(Tokens(secret: [UInt8](repeating: secret, count: 32)))
    return NodePassage(tokens, TrustedProxies(), clock: { [time] in time.now }) { nil }
  }

  /// Returns the request that the other node reads.
  private func read(_ message: [UInt8]) throws -> (HTTPRequestHead, [UInt8]?) {
    var reader = HTTPRequestReader(limits: HTTPLimits())
    unsafe message.withUnsafeBytes { unsafe reader.receive($0.bytes) }
    guard case .request(let head, let body) = reader.next() else { throw Unreadable() }
    return (head, head.asksForWebSocket ? nil : body)
  }

  private struct Unreadable: Error {}

  private func head(
    _ method: String = "POST", minorVersion: Int = 1, fields: [(String, String)] = []
  ) throws -> HTTPRequestHead {
    try HTTPRequestHead(
      method: method, target: "/mcp?a=b", minorVersion: minorVersion,
      headers: fields.map { HTTPField(name: $0.0, value: $0.1) })
  }

  @Test(arguments: ["192.0.2.7", "2001:db8::7"])
  func `a passed request has the fields of the client, its address and a signature`(
    address: String
  ) throws {
    let client = try #require(NetworkAddress(address))
    let asked = try head(fields: [
      ("Host", "h"), ("Authorization", "Bearer t"), ("X-Forwarded-For", "192.0.2.99"),
      ("Forwarded", "for=192.0.2.99"), ("Connection", "keep-alive"), ("Expect", "100-continue"),
      ("Transfer-Encoding", "chunked"), ("X-Holdfast-Node", "1 2"),
    ])
    let (found, body) = try read(passage().message(asked, Array("xyz".utf8), of: client))
    #expect(found.method == "POST" && found.target == "/mcp?a=b" && found.minorVersion == 1)
    #expect(body == Array("xyz".utf8))
    #expect(found.first("host") == "h" && found.first("authorization") == "Bearer t")
    #expect(found.all("x-forwarded-for").map { NetworkAddress($0) } == [client])
    #expect(found.all("connection") == ["close"])
    #expect(found.first("forwarded") == nil && found.first("expect") == nil)
    #expect(try passage().origin(found, body) == .node)
  }

  @Test func `an upgrade stays one, and a request of HTTP 1.0 is passed on as such`() throws {
    let upgrade = try head(
      "GET",
      fields: [
        ("Host", "h"), ("Upgrade", "websocket"), ("Connection", "keep-alive, Upgrade"),
        ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
      ])
    let (found, body) = try read(passage().message(upgrade, nil, of: nil))
    #expect(found.asksForWebSocket && body == nil)
    #expect(try passage().origin(found, body) == .node)
    let old = try head("GET", minorVersion: 0)
    #expect(try read(passage().message(old, [], of: nil)).0.minorVersion == 0)
  }

  @Test func `a request that was changed, or that another key has signed, is refused`() throws {
    let client = try #require(NetworkAddress("192.0.2.7"))
    let (found, body) = try read(
      passage().message(head(fields: [("Host", "h")]), Array("xyz".utf8), of: client))
    #expect(try passage(2).origin(found, body) == .unknown)
    #expect(try passage().origin(found, Array("xyZ".utf8)) == .unknown)
    var other = found
    other.method = "PUT"
    #expect(try passage().origin(other, body) == .unknown)
    other = found
    other.target = "/mcp"
    #expect(try passage().origin(other, body) == .unknown)
    for (name, value) in [
      ("x-forwarded-for", "192.0.2.8"), ("x-holdfast-node", ""), ("x-holdfast-node", "1 2 3"),
      ("x-holdfast-node", "x y"),
    ] {
      var changed = found
      changed.headers.removeAll { $0.name == name }
      #expect(try passage().origin(changed, body) == .unknown)
      changed.headers.append(HTTPField(name: name, value: value))
      #expect(try passage().origin(changed, body) == .unknown)
    }
  }

  @Test(arguments: [(-61, false), (-60, true), (60, true), (61, false)])
  func `a signature holds for a minute`(seconds: Int64, isAccepted: Bool) throws {
    let (found, body) = try read(
      passage().message(head(fields: [("Host", "h")]), [], of: nil))
    time.pass(seconds)
    #expect(try passage().origin(found, body) == (isAccepted ? .node : .otherTime))
  }

  @Test func `the address for nodes refuses what is not signed`() async throws {
    try await BackendRig.run {
      $0.nodeAddress = "127.0.0.1:0"
    } _: { rig in
      let bound = try #require(rig.address.nodes)
      let port = try #require(bound.split(separator: ":").last.flatMap { UInt16($0) })
      for (method, path) in [("GET", "/healthz"), ("POST", "/mcp"), ("POST", "/api/sync/uploads")] {
        let client = try BackendClient(port: port)
        #expect(try await client.ask(method, path, body: method == "GET" ? "" : "{}").status == 403)
      }
    }
  }
}
