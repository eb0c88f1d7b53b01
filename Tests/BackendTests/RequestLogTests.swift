import HoldfastCore
import HoldfastMessageData
import HoldfastServerParts
import HoldfastTestKit
import Testing

@testable import HoldfastBackend

/// Tests of the log lines of requests and sockets of a running backend.
@Suite(.timeLimit(.minutes(60))) struct RequestLogTests {
  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let field = "traceparent: 00-\(trace)-00f067aa0ba902b7-01"

  /// Returns the lines of one route, after the backend has ended.
  private static func lines(_ route: String, of rig: BackendRig) async -> [String] {
    await rig.backend.kill()
    return rig.lines.all.filter { $0.contains(#""route":"\#(route)""#) }
  }

  @Test func `a request has its address, method, bytes, user and trace`() async throws {
    try await BackendRig.run { rig in
      let token = try await rig.token()
      let answer = try await rig.client().ask(
        "GET", ShopRoute.all(BackendRig.shop).path, token: token, fields: [Self.field])
      let line = try #require(await Self.lines("all", of: rig).first)
      #expect(
        line.contains(
          #""address":"127.0.0.0/24","method":"GET","route":"all","user":"ann","shop":"bakery","#
            + #""status":200,"bytes":\#(answer.body.utf8.count),"ms":"#))
      #expect(line.hasSuffix(#","trace_id":"\#(Self.trace)"}"#))
    }
  }

  @Test func `a response to HEAD has no bytes, and an unknown method no name`() async throws {
    try await BackendRig.run { rig in
      let client = try rig.client()
      #expect(try await client.ask("HEAD", "/healthz").status == 200)
      #expect(try await client.ask("SECRET", "/healthz").status == 405)
      let lines = await Self.lines("health", of: rig)
      #expect(lines[0].contains(#""method":"HEAD""#) && lines[0].contains(#""bytes":0,"#))
      #expect(lines[1].contains(#""method":"other""#))
      #expect(!lines.contains { $0.contains("SECRET") })
    }
  }

  @Test(arguments: [
    "00-\(trace)-0000000000000000-01", "\(trace)", "00-\(trace)-00f067aa0ba902b7-01\r\n\(field)",
  ])
  func `another trace field is ignored`(value: String) async throws {
    try await BackendRig.run { rig in
      let client = try rig.client()
      _ = try await client.ask("GET", "/healthz", fields: ["traceparent: \(value)"])
      let line = try #require(await Self.lines("health", of: rig).first)
      #expect(!line.contains("trace_id"))
    }
  }

  @Test func `a socket has its address and trace when it opens and when it ends`() async throws {
    try await BackendRig.run {
      $0.logAddresses = .full
    } _: { rig in
      let client = try rig.client()
      let path = ShopRoute.stream(BackendRig.shop).path
      let token = try await rig.token()
      let answer = try await client.upgrade(
        path, "Authorization: Bearer \(token)\r\n\(Self.field)\r\n")
      #expect(answer.status == 101)
      let lines = await Self.lines("stream", of: rig)
      #expect(lines.count == 2)
      for line in lines {
        #expect(line.contains(#""address":"127.0.0.1","method":"GET","route":"stream""#))
        #expect(line.contains(#""trace_id":"\#(Self.trace)""#))
      }
      withExtendedLifetime(client) {}
    }
  }

  @Test func `the address is that of the client behind a proxy`() async throws {
    let block = try #require(AddressBlock("127.0.0.0/8"))
    try await BackendRig.run {
      $0.logAddresses = .full
      $0.proxies.blocks = [block]
    } _: { rig in
      let fields = ["X-Forwarded-For: 203.0.113.9"]
      _ = try await rig.client().ask("GET", "/healthz", fields: fields)
      _ = try await rig.client().ask(
        "GET", ShopRoute.all(BackendRig.shop).path, token: "bad", fields: fields)
      let lines = await Self.lines("health", of: rig) + Self.lines("all", of: rig)
      #expect(lines.count == 2)
      #expect(lines.allSatisfy { $0.contains(#""address":"203.0.113.9""#) })
    }
  }

  @Test func `no line has an address if the operator wants none`() async throws {
    try await BackendRig.run {
      $0.logAddresses = .none
      $0.maxConnectionsPerAddress = 1
    } _: { rig in
      let first = try rig.client()
      #expect(try await first.ask("GET", "/healthz").status == 200)
      #expect(try await rig.client().isAtEnd())
      await rig.backend.kill()
      #expect(rig.lines.all.contains { $0.contains("crowded") })
      let lines = rig.lines.all.filter { !$0.contains("listening") }
      #expect(!lines.contains { $0.contains("address") || $0.contains("127.0.0") })
      withExtendedLifetime(first) {}
    }
  }
}
