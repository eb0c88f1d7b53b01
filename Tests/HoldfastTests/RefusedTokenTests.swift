import Foundation
import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import Testing

@testable import Holdfast

/// Tests of a held socket whose server refuses its token.
@Suite(.timeLimit(.minutes(60))) struct RefusedTokenTests {
  private let clock = TestClock()
  private let network: FakeNetwork

  init() { network = FakeNetwork(clock: clock) }

  private func make(_ tokens: TokenSource) async throws -> HeldSocket {
    var configuration = SocketConfiguration("ws://127.0.0.1:1/feed")
    configuration.ports = DevicePorts(
      network: network, reachability: AlwaysReachable(), clock: clock)
    configuration.tokens = tokens
    return try await HeldSocket(configuration)
  }

  private static func token(of socket: FakeSocket) -> [String] {
    socket.request.headers.map(\.value)
  }

  @Test func `a refused token is not sent while the source fails, and the status says why`()
    async throws
  {
    let account = Account("one")
    let socket = try await make(account.source)
    let first = try await network.nextSocket()
    #expect(Self.token(of: first) == ["Bearer one"])
    await account.change(to: .failure(AccountError()))
    await first.reject(status: 401)
    let failure = LinkFailure.local(detail: "there is no token: the account is locked")
    for await case .status(let status) in socket where status.failure == failure { break }
    await account.change(to: .success("two"))
    let second = try await network.nextSocket(advancing: clock)
    #expect(Self.token(of: second) == ["Bearer two"])
    await socket.close()
  }

  @Test func `after the user signed in, a reconnect does not send a refused token first`()
    async throws
  {
    let account = Account("one")
    let socket = try await make(account.source)
    for token in ["one", "two"] {
      let refused = try await network.nextSocket()
      #expect(Self.token(of: refused) == ["Bearer \(token)"])
      await account.change(to: .success("two"))
      await refused.reject(status: 401)
    }
    for await _ in socket {}
    await account.change(to: .success("three"))
    socket.reconnect()
    #expect(Self.token(of: try await network.nextSocket()) == ["Bearer three"])
    await socket.close()
  }

  @Test func `a user can have a fixed token tried again`() async throws {
    let socket = try await make(.fixed("one"))
    try await network.nextSocket().reject(status: 401)
    for await _ in socket {}
    socket.reconnect()
    #expect(Self.token(of: try await network.nextSocket()) == ["Bearer one"])
    await socket.close()
  }

  @Test func `if the source asks for a sign-in, the failure mentions no status of a server`()
    async throws
  {
    let socket = try await make(TokenSource { throw TokenFailure.rejected })
    for await _ in socket {}
    let failure = try #require(socket.failure)
    #expect("\(failure)" == "the user must sign in")
    #expect(failure.failureClass == .unauthorized)
    await socket.close()
  }
}

/// The account of a user, which supplies a token or an error.
private actor Account {
  private var answer: Result<String, AccountError>

  init(_ token: String) { answer = .success(token) }

  nonisolated var source: TokenSource { TokenSource { try await self.token() } }

  func change(to answer: Result<String, AccountError>) { self.answer = answer }

  private func token() throws -> String { try answer.get() }
}

private struct AccountError: LocalizedError {
  var errorDescription: String? { "the account is locked" }
}
