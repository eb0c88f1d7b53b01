import HeldSocket
import HoldfastTestKit
import LinkCore
import LinkRuntime
import Synchronization
import Testing

@testable import Holdfast

/// The shell of a held socket between an app and a network that the test leads.
@Suite(.timeLimit(.minutes(1))) struct HeldSocketShellTests {
  private let network = FakeNetwork(clock: BootClock())

  private var options: SocketOptions {
    var options = SocketOptions()
    options.network = network
    options.reachability = AlwaysReachable()
    return options
  }

  @Test func `a failure that echoes the query of the URL does not show it`() async throws {
    let socket = try await HeldSocket("ws://127.0.0.1:1/feed?key=SEKRIT-QUERY", options: options)
    let echo = "cannot GET /feed?key=SEKRIT-QUERY"
    await network.sockets.next()?.fail(.http(status: 403, retryAfter: nil, detail: echo))
    var reason: LinkStatus.Reason?
    for await case .status(let status) in socket where status.reason != nil {
      reason = status.reason
      break
    }
    let clean = LinkFailure.http(status: 403, retryAfter: nil, detail: "cannot GET /feed?[token]")
    #expect(reason == .failure(clean))
    await socket.close()
  }

  @Test func `changes of a stored outbox are made one after the other, before the end`()
    async throws
  {
    let store = LedOutbox()
    var options = options
    options.outbox = .durable(store)
    let socket = try await HeldSocket("ws://127.0.0.1:1/feed", options: options)
    let far = await network.sockets.next()
    socket.send("a")
    socket.send("b")
    _ = await store.asked.next()
    let closing = Task {
      await socket.close()
      store.log.put("closed")
    }
    #expect(await far?.actions.next() == .closed(code: 1000, reason: ""))
    // Whatever does not wait for the store has the time to overtake it.
    for _ in 0..<1_000 { await Task.yield() }
    for _ in 0..<2 { store.answers.put(()) }
    await closing.value
    #expect(store.log.takeAll() == ["begins 1", "stored 1", "begins 2", "stored 2", "closed"])
  }

  @Test func `a socket that failed during its dial is not kept`() async {
    let dialer = FailingDialer()
    let desk = SocketDesk(dialer, policy: .socket)
    let request = SocketRequest(
      url: "ws://127.0.0.1:1/", openTimeout: .seconds(1),
      maxMessageBytes: 1)
    await desk.open(AttemptID(1), request) { _, _ in }
    await desk.stop()
    #expect(dialer.closes.takeAll() == [])
  }
}

/// An outbox whose changes wait for the test.
private final class LedOutbox: OutboxStore {
  let asked = Mailbox<Void>()
  let answers = Mailbox<Void>()
  let log = Mailbox<String>()

  func load() async throws(StoreFailure) -> [ProvenQueue.Entry] { [] }

  func add(_ entry: ProvenQueue.Entry) async throws(StoreFailure) {
    log.put("begins \(entry.id)")
    asked.put(())
    _ = await answers.next()
    log.put("stored \(entry.id)")
  }

  func remove(_ ids: [UInt64]) async throws(StoreFailure) {}
  func check() async throws(StoreFailure) {}
  func close() async {}
}

/// Sockets that fail before their dial returns.
private final class FailingDialer: SocketDialer, HTTPClient, SocketHandle {
  let closes = Mailbox<UInt16>()

  func open(
    _ request: SocketRequest, deliver: @escaping @Sendable (SocketEvent) async -> Void
  ) async -> any SocketHandle {
    await deliver(.failed(.reset))
    return self
  }

  func send(_ request: HTTPRequest) async throws(LinkFailure) -> HTTPResponse { throw .reset }
  func forgetConnections() async {}
  func send(text: [UInt8]) async -> SocketSending { .closed }
  func send(binary: [UInt8]) async -> SocketSending { .closed }
  func ping(id: UInt64) async {}
  func close(code: UInt16, reason: String) async { closes.put(code) }
}
