import Holdfast
import HoldfastBackend
import HoldfastCore
import HoldfastHealth
import HoldfastHealthRelay
import HoldfastPorts
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastTestKit
import Testing

/// Tests of a pull over real sockets: a phone pairs and goes to the background, a push announces a
/// question, and a pull answers it.
@Suite(.timeLimit(.minutes(60))) struct `A push wakes a phone in background` {
  /// A phone that paired over its socket and has closed it.
  private struct Phone {
    var pull: HealthPull
    var code: ConnectionCode
    var socket: any SocketHandle
  }

  /// An answer that exceeds the maximum size of a request.
  private static let answer = HealthObject.long(300_000)

  private func pair(
    _ address: BoundAddress, _ network: any SocketDialer & HTTPClient
  ) async throws -> Phone {
    let said = Mailbox<SocketEvent>()
    let request = SocketRequest(
      url: address.url.replacing("http", with: "ws") + "/ws/phone",
      headers: [("Holdfast-Device", "6f1c0f5e-52b7-4f0a-9a55-0d5d3a4f9b11")],
      openTimeout: .seconds(60), maxMessageBytes: 1 << 20)
    let socket = await network.open(request) { said.put($0) }
    while let event = await said.next() {
      guard case .text(let bytes) = event else { continue }
      guard case .connectionCode(let code) = try BackendMessage.read(bytes) else { continue }
      let pull = try HealthPull(
        server: address.url, token: Secret(try #require(code.resumeToken)),
        ports: DevicePorts(network: network)
      ) { _, _ in Self.answer }
      return Phone(pull: pull, code: code, socket: socket)
    }
    throw LinkFailure.ended
  }

  /// Creates a push hook that writes its input to a pipe, and returns its path.
  private func hook(_ scratch: Scratch) async throws -> String {
    try await Shell.run(
      ["sh", "-c", "cat > \"$0\" && chmod 700 \"$0\"", scratch("bell")],
      input: "#!/bin/sh\nexec cat > '\(scratch("rung"))'\n")
    try await Shell.run(["mkfifo", "-m", "600", scratch("rung")])
    return scratch("bell")
  }

  @Test func `a question waits, the push hook runs, and a pull delivers the answer`() async throws {
    let scratch = try Scratch()
    var push = PushConfiguration()
    push.hook = try await hook(scratch)
    let backend = Backend(
      BackendConfiguration(dataDirectory: scratch("data")), pushes: try push.open())
    let address = try await backend.start()
    let network = try HoldfastPlatform.network()
    let phone = try await pair(address, network)
    let login = try await backend.ask(.login(word: phone.code.word, code: phone.code.code))
    guard case .loggedIn(let grant) = login else {
      Issue.record("not paired: \(login)")
      return await backend.kill()
    }
    try await phone.pull.register(.hook("the phone of ann"))
    await phone.socket.close(code: 1001, reason: "")
    async let answer = backend.ask(
      .question(.healthData(PullRig.query)), bearer: grant.accessToken)
    let input = try await Shell.run(["cat", scratch("rung")])
    #expect(input.contains(#""address":"the phone of ann""#))
    #expect(!input.contains("STEPS"))
    var report = await phone.pull.run()
    // On a busy machine a pull may need more than its time. What is left is for the next one.
    while report.ending == .outOfTime { report = await phone.pull.run() }
    #expect(report == PullReport(answered: 1, ending: .finished))
    #expect(try await answer == .data(Self.answer))
    // A second pull finds no further question.
    #expect(await phone.pull.run() == PullReport(ending: .finished))
    await backend.kill()
  }

  @Test func `a pull with an unknown token is signed out`() async throws {
    let scratch = try Scratch()
    let backend = Backend(BackendConfiguration(dataDirectory: scratch("data")))
    let address = try await backend.start()
    let pull = try HealthPull(server: address.url, token: Secret("never-given-out")) { _, _ in
      .sample
    }
    #expect(await pull.run() == PullReport(ending: .signedOut))
    await backend.kill()
  }
}
