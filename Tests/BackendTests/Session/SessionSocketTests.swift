import Foundation
import HoldfastAssistants
import HoldfastCore
import HoldfastServerParts
import HoldfastSessionData
import HoldfastTestKit
import Testing

@testable import HoldfastBackend

/// Tests of sessions over real sockets, in which the test sends every message of the client.
@Suite(.offThePool, .timeLimit(.minutes(60))) struct SessionSocketTests {
  private static func replayed(_ messages: [SessionServerMessage]) -> [String] {
    messages.compactMap { if case .replay(let id, _, _) = $0 { id } else { nil } }
  }

  private static func codes(_ messages: [SessionServerMessage]) -> [String] {
    messages.compactMap { if case .error(let error) = $0 { error.code } else { nil } }
  }

  @Test func `a ping is answered before connect, and after it`() async throws {
    try await BackendRig.session { rig in
      let client = try SessionClient(port: rig.address.port)
      #expect(try client.rest() == [])
      try client.say(
        .connect(SessionConnect(session: "ann", key: Secret(BackendRig.sessionKey))))
      guard case .connected = try client.message() else { return #expect(Bool(false)) }
      #expect(try client.rest() == [])
    }
  }

  @Test func `anything else before connect is refused and ends the connection`() async throws {
    try await BackendRig.session { rig in
      let client = try SessionClient(port: rig.address.port)
      try client.prompt("hello", key: "k1")
      #expect(try client.message() == .authError(message: "Authentication failed"))
      #expect(try client.closeCode() == 4401)
    }
  }

  @Test(arguments: [
    ("", 101), ("Origin: http://localhost:5173\r\n", 101),
    ("Origin: https://app.example\r\n", 101), ("Origin: https://evil.example\r\n", 403),
    ("Origin: null\r\n", 403),
  ])
  func `a web page of a foreign origin cannot open a session`(field: String, status: Int)
    async throws
  {
    try await BackendRig.session({ $0.assistants.originPolicy.origins = ["https://app.example"] }) {
      rig in
      let answer = try SocketsClient(port: rig.address.port).upgrade("/session", field)
      #expect(answer.status == status)
      #expect(status == 101 || answer.body.contains("Web pages of this origin may not call."))
    }
  }

  @Test(arguments: [("https://relay.example", 101), ("https://elsewhere.example", 403)])
  func `a page of the server's own origin can open a session`(
    origin: String, status: Int
  ) async throws {
    try await BackendRig.session({ $0.assistants.originPolicy.hosts = ["relay.example", "test"] }) {
      rig in
      let client = try SocketsClient(port: rig.address.port)
      let answer = try client.upgrade("/session", "Origin: \(origin)\r\n")
      #expect(answer.status == status)
    }
  }

  @Test func `a request without an upgrade receives 426`() async throws {
    try await BackendRig.session { rig in
      let answer = try SocketsClient(port: rig.address.port).get("/session")
      #expect(answer.status == 426)
      #expect(answer.headers["upgrade"] == "websocket")
    }
  }

  /// Returns the head of a text frame that announces `count` bytes, masked with zeros.
  private static func head(_ count: UInt64) -> [UInt8] {
    [0x81, 0xFF] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
      + [0, 0, 0, 0]
  }

  @Test(arguments: [(1 << 20) - 1, 1 << 20])
  func `a frame of the maximum size is read`(size: Int) async throws {
    try await BackendRig.session { rig in
      let client = try rig.session()
      let ping = SessionClientMessage.ping.bytes
      let spaces = [UInt8](repeating: UInt8(ascii: " "), count: size - ping.count)
      try client.socket.send(Self.head(UInt64(size)) + ping + spaces)
      #expect(try client.message() == .pong)
    }
  }

  @Test(arguments: [(1 << 20) + 1, 1 << 32, 1 << 62])
  func `a frame above the limit closes only its own connection, and at once`(
    size: UInt64
  ) async throws {
    try await BackendRig.session { rig in
      let other = try rig.session(as: "ben")
      let same = try rig.session()
      let client = try rig.session()
      try client.socket.send(Self.head(size))
      #expect(try client.closeCode() == 1009)
      for one in [other, same] {
        #expect(try one.rest() == [])
        try one.prompt("hello", key: nil)
        #expect(try one.response().result == .success(text: "hello"))
      }
    }
  }

  @Test func `a response is replayed on each connection until it is acknowledged`() async throws {
    try await BackendRig.session { rig in
      let first = try rig.session()
      try first.prompt("hello", key: "k1")
      let id = try #require(try first.response().id)
      first.leave()
      for _ in 1...2 {
        let next = try rig.session()
        #expect(Self.replayed(try next.rest()) == [id])
        next.leave()
      }
      #expect(try rig.session(as: "ben").rest() == [])
      let last = try rig.session()
      #expect(Self.replayed(try last.rest()) == [id])
      try last.say(.messageAck(id))
      try last.say(.messageAck("stranger"))
      #expect(try last.rest() == [])
      last.leave()
      #expect(try rig.session().rest() == [])
    }
  }

  @Test func `up to 1,000 responses are kept for a client, and a loss beyond that is reported`()
    async throws
  {
    try await BackendRig.session { rig in
      var ids: [String] = []
      for count in [999, 1_000, 1_001] {
        let client = try rig.session()
        _ = try client.rest()
        while ids.count < count {
          let burst = min(100, count - ids.count)
          for number in ids.count..<ids.count + burst {
            try client.prompt("\(number)", key: "k\(number)")
          }
          for _ in 0..<burst { ids.append(try #require(try client.response().id)) }
        }
        client.leave()
        let next = try rig.session()
        let rest = try next.rest()
        #expect(Self.replayed(rest) == ids.suffix(1_000))
        #expect(Self.codes(rest) == (count > 1_000 ? ["not_recovered"] : []))
        next.leave()
      }
      let last = try rig.session()
      for id in ids { try last.say(.messageAck(id)) }
      _ = try last.rest()
      last.leave()
      #expect(try rig.session().rest() == [])
    }
  }
}
