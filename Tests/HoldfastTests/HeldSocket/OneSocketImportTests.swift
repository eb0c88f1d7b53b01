import HoldfastPorts
import HoldfastSocket
import Testing

/// A test with the code of an app that uses only a held socket and needs only this import.
///
/// The test also checks that this code compiles.
@Suite(.timeLimit(.minutes(60))) struct OneSocketImportTests {
  @Test func `a socket, its configuration, its policy and its events`() async throws {
    let outbox: any OutboxStore = MemoryOutbox()
    var configuration = SocketConfiguration("ws://127.0.0.1:1/feed")
    configuration.policy = try .socket.setting([("retry.first", "30s")])
    configuration.ports.network = try HoldfastPlatform.network()
    configuration.ports.reachability = AlwaysReachable()
    configuration.tokens = .fixed("a.good.token")
    configuration.placement = .greeting
    configuration.outbox = .durable(outbox)
    configuration.messages.hello = { greeting in greeting.token.map { .text($0) } }
    configuration.messages.read = { message in
      SocketReading(position: message.text, refusal: message.text == "denied" ? .token : nil)
    }
    let socket = try await HeldSocket(configuration)
    let number = try await socket.send("hello")
    socket.setStanding("topic", .text("bread"))
    var phases: [LinkStatus.Phase] = []
    for await case .status(let status) in socket {
      phases.append(status.phase)
      // On a busy machine an attempt may also take too long.
      if case .failure(.refused) = status.reason { break }
    }
    #expect(!phases.contains(.connected))
    await socket.close()
    let stored: [OutboxMessage] = try await outbox.load()
    #expect(stored == [OutboxMessage(id: number, message: .text("hello"))])
  }
}
