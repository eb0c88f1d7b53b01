import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastPorts
import HoldfastSessionData
import HoldfastTestKit
import Testing

/// Tests of a session whose key is a token of an identity provider.
@Suite(.timeLimit(.minutes(60))) struct SessionTokenTests {
  private let clock = TestClock()

  /// Returns the fields of the upgrade and the `connect` of a session with a key.
  private func connection(
    key: String, challenge: String?
  ) async throws -> (fields: [String], connect: SessionConnect) {
    let network = FakeNetwork(clock: clock)
    var configuration = SessionConfiguration(
      "ws://127.0.0.1:1/session", storage: .memory, tokens: .fixed(key))
    configuration.ports = DevicePorts(
      network: network, reachability: AlwaysReachable(), clock: clock)
    let session = try await HeldSession(configuration)
    let socket = try await network.nextSocket()
    await socket.accept()
    await socket.send(
      text: SessionServerMessage.hello(SessionHello(message: "hi", challenge: challenge)).bytes)
    let message = try SessionClientMessage.read(Array(try await socket.nextText().utf8))
    await session.close()
    guard case .connect(let connect) = message else {
      throw SessionConnectMissing()
    }
    return (socket.request.headers.map { "\($0.name): \($0.value)" }, connect)
  }

  private struct SessionConnectMissing: Error {}

  @Test(arguments: [nil, "0123456789abcdef0123456789abcdef"])
  func `a token is sent in the upgrade, and nowhere else`(challenge: String?) async throws {
    let (fields, connect) = try await connection(key: "eyJhbGciOi.e30.AA", challenge: challenge)
    #expect(fields == ["Authorization: Bearer eyJhbGciOi.e30.AA"])
    #expect(connect.key == nil && connect.proof == nil)
  }

  @Test(arguments: ["holdfast-00", "eyJ.a", "eyJ.a.b.c", "a.b.c"])
  func `a key is never sent in the upgrade`(key: String) async throws {
    let (fields, connect) = try await connection(key: key, challenge: nil)
    #expect(fields == [])
    #expect(connect.key?.text == key)
  }
}
