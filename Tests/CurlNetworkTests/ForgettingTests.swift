import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import Testing

@testable import HoldfastCurlNetwork

@Suite(.timeLimit(.minutes(60)))
struct ForgettingTests {
  /// Returns a server that answers with the connection's number and counts the connections that
  /// have ended.
  private static func server(_ opened: Counter, _ ended: Counter) throws -> TestServer {
    try TestServer { peer in
      opened.add()
      let number = opened.value
      while peer.request() != nil { peer.answer(200, [], "\(number)") }
      ended.add()
    }
  }

  private static func ask(_ network: CurlNetwork, _ server: TestServer) async throws -> String {
    String(decoding: try await network.send(.to(server.url)).body, as: UTF8.self)
  }

  @Test func `after forgetting, the next request opens a connection that later ones share`()
    async throws
  {
    let (opened, ended) = (Counter(), Counter())
    let server = try Self.server(opened, ended)
    let network = try CurlNetwork()
    var answers: [String] = []
    for round in 0..<3 {
      if round > 0 { await network.forgetConnections() }
      for _ in 0..<3 { answers.append(try await Self.ask(network, server)) }
    }
    #expect(answers == ["1", "1", "1", "2", "2", "2", "3", "3", "3"])
  }

  @Test func `forgotten connections that are idle are closed`() async throws {
    let (opened, ended) = (Counter(), Counter())
    let server = try Self.server(opened, ended)
    let network = try CurlNetwork()
    _ = try await Self.ask(network, server)
    await network.forgetConnections()
    await ended.reach(1)
    #expect(opened.value == 1)
  }

  @Test func `a running request continues after its connection was forgotten`() async throws {
    let requests = Mailbox<FarRequest>()
    let server = try FarRequest.server(requests)
    let network = try CurlNetwork()
    async let first = network.send(.to(server.url + "/first"))
    let held = try #require(await requests.next())
    await network.forgetConnections()
    async let second = network.send(.to(server.url + "/second"))
    try #require(await requests.next()).respond(status: 201, headers: [:], body: [])
    #expect(try await second.status == 201)
    await network.forgetConnections()
    held.respond(status: 202, headers: [:], body: [])
    #expect(try await first.status == 202)
  }

  @Test func `a request under way can still be cancelled`() async throws {
    let requests = Mailbox<FarRequest>()
    let server = try FarRequest.server(requests)
    let network = try CurlNetwork()
    let task = Task {
      await failure { () async throws(LinkFailure) in try await network.send(.to(server.url)) }
    }
    let held = try #require(await requests.next())
    await network.forgetConnections()
    task.cancel()
    #expect(await task.value == .local(detail: "The request was cancelled."))
    held.drop()
  }

  @Test func `forgetting before the first request changes nothing`() async throws {
    let (opened, ended) = (Counter(), Counter())
    let server = try Self.server(opened, ended)
    let network = try CurlNetwork()
    await network.forgetConnections()
    for _ in 0..<2 { _ = try await Self.ask(network, server) }
    #expect(opened.value == 1)
  }
}
