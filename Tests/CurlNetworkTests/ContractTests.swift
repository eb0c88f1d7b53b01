import HoldfastCore
import HoldfastTestKit
import Synchronization
import Testing

@testable import HoldfastCurlNetwork

/// Tests that run the contract suites of the ports over real sockets.
@Suite(.timeLimit(.minutes(60)))
struct ContractTests {
  let closed: Listener

  init() throws {
    closed = try Listener(backlog: nil)
  }

  @Test func `satisfies the contract of a dialer`() async throws {
    let sockets = Mailbox<FarPeer>()
    let server = try FarPeer.server(sockets)
    try await socketDialerContract(
      try CurlNetwork(),
      server: ContractServer(
        url: server.socketURL, refusingURL: "ws://127.0.0.1:\(closed.port)/",
        next: { try #require(await sockets.next()) }))
  }

  @Test func `satisfies the contract of an HTTP client`() async throws {
    let requests = Mailbox<FarRequest>()
    let server = try FarRequest.server(requests)
    // Each unanswered request blocks a thread until the request is dropped.
    let asked = Mutex<[FarRequest]>([])
    defer { asked.withLock(\.self).forEach { $0.drop() } }
    try await httpClientContract(
      try CurlNetwork(),
      server: ContractServer(
        url: server.url, refusingURL: "http://127.0.0.1:\(closed.port)/",
        next: {
          let request = try #require(await requests.next())
          asked.withLock { $0.append(request) }
          return request
        }))
  }
}
