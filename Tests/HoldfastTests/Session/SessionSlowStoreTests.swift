import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastSessionData
import HoldfastTestKit
import Synchronization
import Testing

@testable import HoldfastSession

/// Tests of a session with a slow store.
@Suite(.timeLimit(.minutes(60))) struct SessionSlowStoreTests {
  private let clock = TestClock()
  private let network: FakeNetwork
  private let store = HeldSessionStore()

  init() {
    network = FakeNetwork(clock: clock)
  }

  @Test(arguments: [false, true])
  func `a store that stalls or refuses pauses reading, and nothing is lost`(
    refuses: Bool
  ) async throws {
    let sent = Mutex(0)
    let session = try await open()
    let server = await FakeSessionServer(accepting: try await network.nextSocket())
    await session.waitUntil { $0.isConnected && $0.isIdle }
    // The client acknowledges every message, but the server does not read the acknowledgements.
    server.socket.limitUnread(to: 4_000)
    await store.hold(refuses: refuses)
    let sending = Task {
      for number in 1...3_000 {
        await server.sendOther(number)
        sent.withLock { $0 += 1 }
      }
    }
    await session.waitUntil { $0.connection?.isPaused == true }
    // The silence does not end the link. The refused change is committed again.
    clock.advance(by: .seconds(600))
    await session.waitUntil { $0.deadline.map { $0 > clock.now } ?? true }
    #expect((1_000..<2_000).contains(sent.withLock(\.self)))
    #expect(await session.snapshot.link.status.phase == .connected)
    if refuses { await session.waitUntil { $0.commits.failures == 2 } }
    await store.release()
    clock.advance(by: .seconds(60))
    var shown: [String] = []
    for await update in session {
      guard case .message(let entry, _, let news) = update else { continue }
      session.markShown(through: news)
      shown.append(entry.text)
      if shown.count == 3_000 { break }
    }
    #expect(shown == (1...3_000).map { "\($0)" })
    await sending.value
    #expect(network.sockets.count == 0, "the session did not dial again")
    await session.close()
  }

  private func open() async throws -> HeldSession {
    var configuration = SessionConfiguration(
      "ws://127.0.0.1:1/session", storage: .store(store), tokens: .fixed("key"))
    configuration.ports = DevicePorts(
      network: network, reachability: AlwaysReachable(), clock: clock)
    return try await HeldSession(configuration)
  }
}

/// A store that delays or refuses commits on request.
private actor HeldSessionStore: ClientSessionStore {
  private let store = MemoryClientSessionStore()
  private var isHeld = false
  private var refuses = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func hold(refuses: Bool) { (isHeld, self.refuses) = (!refuses, refuses) }

  func release() {
    (isHeld, refuses) = (false, false)
    for continuation in waiting { continuation.resume() }
    waiting = []
  }

  func open(as client: UUID128) async throws(StoreFailure) -> ClientSessionSnapshot {
    try await store.open(as: client)
  }

  func commit(
    _ change: ClientSessionChange
  ) async throws(StoreFailure) -> [NumberedSessionNews] {
    if isHeld { await withCheckedContinuation { waiting.append($0) } }
    if refuses { throw .full(detail: "no room") }
    return try await store.commit(change)
  }

  func history(
    of conversation: String, before number: UInt64?, limit: Int
  ) async throws(StoreFailure) -> [NumberedSessionNews] {
    try await store.history(of: conversation, before: number, limit: limit)
  }

  func days() async throws(StoreFailure) -> [SessionDay] { try await store.days() }

  func check() async throws(StoreFailure) { try await store.check() }
  func close() async { await store.close() }
}
