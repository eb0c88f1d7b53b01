import HoldfastPorts
import HoldfastSocket
import Testing

/// A test with the code of an app that uses only a held socket and needs only this import.
///
/// The test also checks that this code compiles.
@Suite(.timeLimit(.minutes(10))) struct OneSocketImportTests {
  @Test func `a socket, its policy, its options and its events`() async throws {
    let outbox: any OutboxStore = MemoryOutbox()
    var options = SocketOptions()
    options.network = try HoldfastPlatform.network()
    options.reachability = AlwaysReachable()
    options.tokens = FixedToken("a.good.token")
    options.outbox = .durable(outbox)
    options.language.hello = { greeting in greeting.token.map { .text($0) } }
    let policy: LinkPolicy = try .socket.setting([("retry.first", "30s")])
    let socket = try await HeldSocket("ws://127.0.0.1:1/feed", policy: policy, options: options)
    socket.send("hello")
    var phases: [LinkStatus.Phase] = []
    for await case .status(let status) in socket {
      phases.append(status.phase)
      if case .failure(let failure) = status.reason {
        #expect(failure == .refused)
        break
      }
    }
    #expect(!phases.contains(.connected))
    await socket.close()
    let stored: [ProvenQueue.Entry] = try await outbox.load()
    #expect(stored.map(\.message.text) == ["hello"])
  }
}
