import Foundation
import Holdfast
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastPorts
import HoldfastTestKit
import Testing

@testable import HoldfastUI

/// Tests of the models of shops, through the API that screens use.
@Suite(.timeLimit(.minutes(60))) @MainActor struct ShopMessagesTests {
  private func links(
    in scratch: Scratch, _ time: any BackgroundTime = UnlimitedTime(),
    clock: TestClock = TestClock()
  ) throws -> HoldfastLinks {
    return HoldfastLinks(
      server: try #require(URL(string: "https://shops.example")),
      directory: URL(filePath: scratch.path),
      ports: DevicePorts(
        network: FakeNetwork(clock: clock), reachability: FakeReachability(), clock: clock),
      backgroundTime: time
    ) { "token" }
  }

  @Test func `all screens of a shop share one model`() async throws {
    let scratch = try Scratch()
    let links = try links(in: scratch)
    let id = try #require(ShopID("bakery"))
    let first = links.shop(id)
    #expect(first.phase == .opening)
    await change(of: first) { $0.phase == .open }
    #expect(links.shop(id) === first)
    #expect(FileManager.default.fileExists(atPath: scratch("shops")))
    await first.close()
    #expect(links.shop(id) !== first)
  }

  @Test func `an edited message changes its row, and a deleted one leaves`() {
    let rows = (1...3).map { MessageRow.sample($0, "m\($0)") }
    let shop = ShopMessages.preview(rows.map(\.message))
    let edit = MessageRow.sample(2, "new", isEdited: true)
    shop.take(.edited([edit.message]))
    #expect(shop.messages == [rows[0], edit, rows[2]])
    let ids = [rows[0].id, UUID128(high: 9, low: 9)]
    shop.take(.deleted(ids.map { StreamUpdate.Deletion(id: $0) }))
    #expect(shop.messages == [edit, rows[2]])
    #expect(shop.messages.map(\.isEdited) == [true, false])
  }

  @Test func `the user's changes are shown at once, and rolled back if they are refused`() throws {
    let rows = (1...3).map { MessageRow.sample($0, "m\($0)") }
    let shop = ShopMessages.preview(rows.map(\.message))
    func entry(
      _ action: OutboxEntry.Action, _ text: String, _ state: OutboxEntry.State
    ) -> OutboxEntry {
      OutboxEntry(
        id: UUID128(high: 4, low: action.target?.low ?? 0), shop: shop.id, text: text,
        createdAt: rows[0].message.createdAt, state: state, action: action)
    }
    let edit = entry(.edit(rows[0].id), "new", .queued(tries: 0))
    let deletion = entry(.delete(rows[1].id), "", .queued(tries: 0))
    shop.take(.outbox(edit))
    shop.take(.outbox(deletion))
    #expect(shop.messages.map(\.text) == ["new", "m3"] && shop.messages[0].change == edit)
    #expect(shop.waiting == [])
    shop.take(.edited([MessageRow.sample(2, "elsewhere", isEdited: true).message]))
    #expect(shop.messages.map(\.text) == ["new", "m3"])
    shop.take(.outbox(entry(.edit(rows[0].id), "new", .failed(reason: "no"))))
    shop.take(.outbox(entry(.delete(rows[1].id), "", .failed(reason: "not yours"))))
    #expect(shop.messages.map(\.text) == ["m1", "elsewhere", "m3"])
    #expect(shop.messages.map(\.reason) == ["no", "not yours", nil])
    shop.take(.outboxDone(edit.id, message: nil))
    shop.take(.outboxDone(deletion.id, message: nil))
    #expect(shop.messages.map(\.change) == [nil, nil, nil])
    #expect(shop.messages[0] == rows[0])
  }

  @Test func `a confirmed change keeps the row as it was shown`() {
    let rows = (1...2).map { MessageRow.sample($0, "m\($0)") }
    let shop = ShopMessages.preview(rows.map(\.message))
    let entry = OutboxEntry(
      id: UUID128(high: 4, low: 1), shop: shop.id, text: "new",
      createdAt: rows[0].message.createdAt, action: .edit(rows[0].id))
    shop.take(.outbox(entry))
    let edit = MessageRow.sample(1, "new", isEdited: true)
    shop.take(.edited([edit.message]))
    shop.take(.outboxDone(entry.id, message: rows[0].id))
    #expect(shop.messages == [edit, rows[1]])
    shop.take(.outbox(entry))
    shop.take(.deleted([StreamUpdate.Deletion(id: rows[0].id)]))
    shop.take(.outboxDone(entry.id, message: nil))
    #expect(shop.messages == [rows[1]])
  }

  @Test func `suspended links hold no lock, and continue after a resume`() async throws {
    let scratch = try Scratch()
    let clock = TestClock()
    let links = try links(in: scratch, clock: clock)
    let shop = links.shop(try #require(ShopID("bakery")))
    let screen = Task { await shop.follow() }
    await change(of: shop) { $0.phase == .open }
    await links.suspend()
    let other = try await HoldfastPlatform.store(in: scratch("shops"))
    let locked = await #expect(throws: StoreFailure.self) { try await links.resume() }
    #expect(locked?.isLocked == true)
    await other.close()
    try await links.resume()
    // The first read of the store may have failed by now. In that case it is repeated after 1 s.
    await change(of: shop) { $0.connection.phase == .connecting || $0.notice != nil }
    clock.advance(by: .seconds(1))
    shop.post("Two rye loaves, please")
    await change(of: shop) { $0.waiting.count == 1 }
    await shop.close()
    await screen.value
  }

  @Test func `a model that cannot be opened says why, and is opened by a retry`() async throws {
    let scratch = try Scratch()
    let links = try links(in: scratch)
    let other = try await HoldfastPlatform.store(in: scratch("shops"))
    let shop = links.shop(try #require(ShopID("bakery")))
    let screen = Task { await shop.follow() }
    shop.post("Two rye loaves, please")
    #expect(shop.waiting.map(\.text) == ["Two rye loaves, please"])
    await change(of: shop) { $0.phase.error?.isLocked == true }
    await #expect(throws: OpenError.self) { try await shop.send("And a cake") }
    await other.close()
    shop.retry()
    await change(of: shop) { $0.phase == .open && $0.connection.phase == .connecting }
    #expect(shop.waiting.map(\.text) == ["Two rye loaves, please"])
    await shop.close()
    await screen.value
  }

  @Test func `after a sign-out nothing is stored, and models can be opened again`() async throws {
    let scratch = try Scratch()
    let links = try links(in: scratch)
    let id = try #require(ShopID("bakery"))
    let shop = links.shop(id)
    let screen = Task { await shop.follow() }
    shop.post("Two rye loaves, please")
    await change(of: shop) { $0.phase == .open && !$0.waiting.isEmpty }
    try await links.signOut()
    await screen.value
    #expect(shop.phase == .failed(.closed))
    #expect(!FileManager.default.fileExists(atPath: scratch("shops")))
    let next = links.shop(id)
    #expect(next !== shop)
    await change(of: next) { $0.phase == .open }
    #expect(next.waiting == [])
    await next.close()
  }

  @Test func `a wake is given back once, also if nothing is open or can be opened`() async throws {
    let scratch = try Scratch()
    let links = try links(in: scratch)
    #expect(await result(of: .push, links) == .done)
    #expect(await result(of: .task("other"), links) == .done)
    let other = try await HoldfastPlatform.syncQueue(in: scratch("sync"))
    #expect(await result(of: .task("other"), links) == .later)
    #expect(await result(of: .health(types: ["a"]), links) == .later)
    #expect(await result(of: .uploads(session: "s"), links) == .done, "nothing uploads in it")
    await other.close()
  }

  private func result(of cause: WakeCause, _ links: HoldfastLinks) async -> WakeResult? {
    let (results, continuation) = AsyncStream.makeStream(of: WakeResult.self)
    links.wake(
      cause,
      Wake(budget: .seconds(30)) { result in
        continuation.yield(result)
        continuation.finish()
      })
    var all: [WakeResult] = []
    for await result in results { all.append(result) }
    return all.count == 1 ? all.first : nil
  }

  @Test func `a router calls each handler once, also without links`() async {
    let router = LaunchRouter()
    let (results, continuation) = AsyncStream.makeStream(of: WakeResult.self)
    router.receivePush { continuation.yield($0) }
    router.finishLaunching()
    router.receivePush { continuation.yield($0) }
    router.uploadsEnded(session: "s") { continuation.finish() }
    var all: [WakeResult] = []
    for await result in results { all.append(result) }
    #expect(all == [.later, .later])
  }

  @Test func `a restarted task finds the complete model`() async throws {
    let scratch = try Scratch()
    let links = try links(in: scratch)
    let shop = links.shop(try #require(ShopID("bakery")))
    let screen = Task { await shop.follow() }
    shop.post("Two rye loaves, please")
    await change(of: shop) { !$0.waiting.isEmpty }
    screen.cancel()
    await screen.value
    shop.post("And a cake")
    await change(of: shop) { $0.waiting.count == 2 }
    let again = Task { await shop.follow() }
    #expect(shop.waiting.map(\.text) == ["Two rye loaves, please", "And a cake"])
    await shop.close()
    await again.value
  }

  @Test func `a message that is refused at once says why, and goes away when it is discarded`()
    async throws
  {
    let scratch = try Scratch()
    let shop = try links(in: scratch).shop(try #require(ShopID("bakery")))
    let screen = Task { await shop.follow() }
    shop.post("")
    await change(of: shop) { $0.waiting.first?.hasFailed == true }
    let row = try #require(shop.waiting.first)
    #expect(row.hasFailed)
    #expect(row.reason == "it is empty")
    shop.discard(row)
    await change(of: shop) { $0.waiting.isEmpty }
    await shop.close()
    await screen.value
  }

  @Test func `a notice goes away when its cause has ended, or is dismissed`() async throws {
    let scratch = try Scratch()
    let shop = try links(in: scratch).shop(try #require(ShopID("bakery")))
    let connected = StreamUpdate.status(StreamStatus(LinkStatus(phase: .connected, mode: .live)))
    let sent = StreamUpdate.outboxDone(UUID128(high: 0, low: 1), message: nil)
    let polled = StreamUpdate.messages([], via: .poll)
    // The notice, the update that ends it, and one that does not.
    let cases: [(StreamNotice, StreamUpdate, StreamUpdate)] = [
      (.fetchFailed(.reset), connected, sent), (.fetchFailed(.reset), polled, sent),
      (.sendFailed(.reset), sent, connected), (.signIn, connected, sent),
      (.store(.full(detail: "")), .notice(.storeRecovered), connected),
    ]
    for (notice, end, other) in cases {
      shop.take(.notice(notice))
      shop.take(other)
      #expect(shop.notice == notice)
      shop.take(end)
      #expect(shop.notice == nil)
    }
    shop.take(.notice(.unknownType("poll")))
    shop.take(connected)
    #expect(shop.notice == .unknownType("poll"))
    shop.dismissNotice()
    #expect(shop.notice == nil)
    await shop.close()
  }

  @Test func `following ends when the shop is closed, and immediately if it is closed already`()
    async throws
  {
    let scratch = try Scratch()
    let shop = try links(in: scratch).shop(try #require(ShopID("bakery")))
    let screens = [Task { await shop.follow() }, Task { await shop.follow() }]
    await shop.close()
    for screen in screens { await screen.value }
    await shop.follow()
  }

  @Test func `background time is requested on the way to the background, and returned`()
    async throws
  {
    let scratch = try Scratch()
    let time = FakeBackgroundTime()
    let shop = try links(in: scratch, time).shop(try #require(ShopID("bakery")))
    shop.post("Two rye loaves, please")
    shop.setLifecycle(.background)
    await time.allGivenBack()
    #expect(time.openGrants == 0)
    #expect(time.granted == 1)
    await shop.close()
  }

  @Test func `an instant is shown as a date`() {
    let clock = TestClock(wall: Timestamp(nanoseconds: 1_000_000_000))
    let dates = Dates(clock: clock)
    clock.advance(by: .seconds(10))
    let later = clock.now.advanced(by: .seconds(4))
    #expect(dates.date(of: later) == Date(timeIntervalSince1970: 15))
    let status = StreamStatus(LinkStatus(phase: .reconnecting, retryAt: later))
    #expect(
      ConnectionState(status, dates)
        == ConnectionState(
          phase: .reconnecting, retryAt: Date(timeIntervalSince1970: 15), text: "reconnecting"))
  }

  @Test func `a connection says why it has ended, and whether the foreground restarts it`() {
    let dates = Dates(clock: TestClock())
    func state(_ reason: LinkStatus.Reason) -> ConnectionState {
      ConnectionState(StreamStatus(LinkStatus(phase: .failed, reason: reason)), dates)
    }
    let forbidden = LinkFailure.http(status: 403, retryAfter: nil, detail: "")
    #expect(state(.failure(forbidden)).failure == forbidden)
    #expect(state(.failure(forbidden)).text == "failed: the server answered 403 (forbidden)")
    #expect(!state(.failure(forbidden)).isExhausted)
    #expect(state(.signIn).needsSignIn)
    #expect(state(.exhausted(.reset)).isExhausted)
    #expect(state(.exhausted(.reset)).reason == .interrupted)
    #expect(state(.blocked(.unreachable)).reason == .offline)
    #expect(state(.signIn).reason == .signIn)
    #expect(state(.exhausted(.reset)).failure == .reset)
  }
}

extension StoreFailure {
  fileprivate var isLocked: Bool {
    if case .locked = self { true } else { false }
  }
}

extension ShopMessages {
  /// Sends a message without waiting, also in an asynchronous function.
  func post(_ text: String) { send(text) }
}
