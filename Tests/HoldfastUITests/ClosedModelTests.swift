import Foundation
import Holdfast
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastPorts
import HoldfastSyncData
import HoldfastTestKit
import Synchronization
import Testing

@testable import HoldfastUI

/// Tests of models that are closed while they open, of closed models, and of what a sign-out leaves
/// on a screen.
@Suite(.timeLimit(.minutes(60))) @MainActor struct ClosedModelTests {
  private let scratch: Scratch
  private let links: HoldfastLinks
  private let bakery: ShopID

  init() throws {
    scratch = try Scratch()
    let clock = BootClock()
    links = try HoldfastUITests.links(
      in: scratch, FakeNetwork(clock: clock), clock: clock, secrets: MemorySecretStore())
    bakery = try #require(ShopID("bakery"))
  }

  // MARK: Messages and prompts

  @Test func `a message that is sent while the shop opens outlives a close`() async throws {
    let shop = links.shop(bakery)
    shop.post("two rye")
    #expect(shop.phase == .opening)
    await shop.close()
    #expect(shop.waiting.map(\.hasFailed) == [false])
    let next = links.shop(bakery)
    let screen = Task { await next.follow() }
    await change(of: next) { $0.waiting.map(\.text) == ["two rye"] }
    await next.close()
    await screen.value
  }

  @Test func `a prompt that is sent while the session opens outlives a close`() async throws {
    let chat = links.conversation()
    chat.prompt("What is left?")
    #expect(chat.phase == .opening)
    await chat.close()
    #expect(chat.turns.map(\.state) == [.queued])
    let next = links.conversation()
    await change(of: next) { $0.phase == .open }
    #expect(next.turns.map(\.text) == ["What is left?"])
    await next.close()
  }

  @Test func `what a closed model is sent is shown as failed, and can be discarded`() async throws {
    let (shop, chat) = (links.shop(bakery), links.conversation())
    await change(of: shop) { $0.phase == .open }
    await change(of: chat) { $0.phase == .open }
    let closing = Task { await shop.close() }
    await closing.value
    await chat.close()
    shop.post("two rye")
    #expect(shop.waiting.map(\.reason) == ["the shop was closed before the message was stored"])
    shop.retry(try #require(shop.waiting.first))
    #expect(shop.waiting.map(\.hasFailed) == [true])
    shop.discard(try #require(shop.waiting.first))
    #expect(shop.waiting == [])
    chat.prompt("What is left?")
    #expect(chat.turns.map(\.state) == [.failed])
    #expect(chat.turns.first?.reason == "the session was closed before the prompt was stored")
    chat.discard(try #require(chat.turns.first))
    #expect(chat.turns == [])
  }

  @Test func `what waits for a model that cannot be opened fails when it is closed`() async throws {
    let shops = try await HoldfastPlatform.store(in: scratch("shops"))
    let sessions = try await HoldfastPlatform.sessionStore(in: scratch("session"))
    let (shop, chat) = (links.shop(bakery), links.conversation())
    shop.post("two rye")
    chat.prompt("What is left?")
    await change(of: shop) { $0.phase.error != nil }
    await change(of: chat) { $0.phase.error != nil }
    #expect(shop.waiting.map(\.hasFailed) == [false], "a retry sends it")
    #expect(chat.turns.map(\.hasFailed) == [false])
    await shop.close()
    await chat.close()
    #expect(shop.waiting.map(\.hasFailed) == [true])
    #expect(chat.turns.map(\.hasFailed) == [true])
    await shops.close()
    await sessions.close()
  }

  // MARK: A sign-out

  @Test func `a sign-out drops what waits for a model that is being opened`() async throws {
    let (shop, chat) = (links.shop(bakery), links.conversation())
    shop.post("two rye")
    chat.prompt("What is left?")
    try await links.signOut()
    #expect(shop.waiting == [] && chat.turns == [])
    #expect(!FileManager.default.fileExists(atPath: scratch("shops")))
    let (nextShop, nextChat) = (links.shop(bakery), links.conversation())
    let screen = Task { await nextShop.follow() }
    await change(of: nextShop) { $0.phase == .open }
    await change(of: nextChat) { $0.phase == .open }
    await nextShop.close()
    await screen.value
    #expect(nextShop.waiting == [] && nextChat.turns == [])
    await nextChat.close()
  }

  @Test func `a model that is requested while the old one closes is opened after the sign-out`()
    async throws
  {
    let queue = HeldQueue()
    links.parts.uploads = queue
    let old = links.healthSync(FakeHealthSource())
    await change(of: old) { $0.phase == .open }
    queue.hold()
    let leaving = Task { try await links.signOut() }
    _ = try await queue.stopping.next(within: .seconds(600))
    let new = links.healthSync()
    #expect(new !== old && new.phase == .opening)
    queue.release()
    try await leaving.value
    await change(of: new) { $0.phase == .open }
    // A closed model does not remove the one that followed it.
    await old.close()
    #expect(links.healthSync() === new)
    await new.close()
  }

  @Test func `a screen that stays shows nothing of the user after a sign-out`() async throws {
    let (shop, chat) = (links.shop(bakery), links.conversation())
    let (sync, relay) = (links.healthSync(FakeHealthSource()), links.healthRelay())
    let bottle = links.bottle(SilentRadio())
    let screens = [
      Task { await shop.follow() }, Task { await chat.follow() }, Task { await sync.follow() },
      Task { await relay.follow() }, Task { await bottle.follow() },
    ]
    shop.post("two rye")
    chat.prompt("What is left?")
    await change(of: shop) { $0.phase == .open && !$0.waiting.isEmpty }
    await change(of: chat) { $0.phase == .open && !$0.turns.isEmpty }
    shop.take(.notice(.unknownType("poll")))
    shop.take(.history(hasMore: false))
    chat.notice = .stale(UUID128(high: 0, low: 1))
    sync.types = [
      SyncTypeRow(
        SyncUpdate.TypeReport(
          type: "a", pending: 0, quarantined: 0, synced: 1, anchor: nil))
    ]
    (sync.lastSync, sync.needsSignIn) = (.now, true)
    relay.problem = .connection(.refused)
    bottle.drinks = BottleDrinks.preview().drinks
    bottle.state = BottleDrinks.preview().state

    try await links.signOut()
    #expect(shop.messages == [] && shop.waiting == [] && shop.gaps == [])
    #expect(shop.notice == nil && shop.hasOlder)
    #expect(chat.turns == [] && chat.notice == nil && chat.id == nil)
    #expect(sync.types == [] && sync.lastSync == nil && !sync.needsSignIn)
    #expect(relay.pair == nil && relay.receipts == [] && relay.problem == nil)
    #expect(bottle.drinks == [] && bottle.state == nil)
    for screen in screens { await screen.value }
  }

  // MARK: Other links and runs

  @Test func `links with one secret store keep their pairings apart`() async throws {
    let secrets = try #require(links.ports.secrets)
    let other = HoldfastLinks(
      server: links.server, directory: URL(filePath: scratch("other")), ports: links.ports
    ) { "token" }
    try secrets.write(Secret("resume-token"), scratch.pairing, access: .afterFirstUnlock)
    #expect(try other.pairing.read() == nil)
    try await other.signOut()
    #expect(try links.pairing.read() == Secret("resume-token"))
  }

  @Test func `a store that other links have open says what to do`() async throws {
    let remedy = "Use one HoldfastLinks for each directory."
    let shop = links.shop(bakery)
    await change(of: shop) { $0.phase == .open }
    let other = HoldfastLinks(
      server: links.server, directory: links.directory, ports: links.ports
    ) { "token" }
    let refused = other.shop(bakery)
    await change(of: refused) { $0.phase.error != nil }
    #expect(refused.phase.error?.description.hasSuffix(remedy) == true)
    await refused.close()
    // Without other links, it is another process that has the store open.
    let drinks = try await HoldfastPlatform.drinkStore(in: scratch("alone/bottle"))
    let alone = HoldfastLinks(
      server: links.server, directory: URL(filePath: scratch("alone")), ports: links.ports
    ) { "token" }
    let bottle = alone.bottle(SilentRadio())
    await change(of: bottle) { $0.phase.error != nil }
    #expect(bottle.phase.error?.description.contains(remedy) == false)
    await bottle.close()
    await drinks.close()
    await shop.close()
  }

  @Test func `wakes and later calls use the parts that a call has passed`() async throws {
    let (source, radio) = (FakeHealthSource(), SilentRadio())
    let zone = try #require(TimeZone(identifier: "Asia/Tokyo"))
    let (sync, bottle) = (links.healthSync(source), links.bottle(radio))
    let relay = links.healthRelay(zone: zone)
    await change(of: sync) { $0.phase == .open }
    #expect(links.parts.samples as? FakeHealthSource === source)
    #expect(links.parts.radio as? SilentRadio === radio)
    #expect(links.parts.zone == zone)
    await sync.close()
    await bottle.close()
    await relay.close()
    // A call without arguments changes nothing.
    let again = links.healthSync()
    #expect(again.canAsk && links.parts.samples != nil)
    try await links.signOut()
    #expect(source.prepared.last == [], "a sign-out ends its observers")
  }
}

/// A queue without uploads, whose `stop` waits for a test.
private final class HeldQueue: UploadQueue {
  /// The calls of `stop` that wait.
  let stopping = Mailbox<Void>()
  private let gate = Mailbox<Void>()
  private let isHeld = Mutex(false)

  func hold() { isHeld.withLock { $0 = true } }

  func release() {
    isHeld.withLock { $0 = false }
    gate.close()
  }

  func events(_ deliver: @escaping @Sendable (UploadEvent) async -> Void) async {}
  func running() async -> Set<String> { [] }
  func enqueue(_ uploads: [FileUpload]) async {}

  func identify() async throws(LinkFailure) -> SyncIdentity {
    SyncIdentity(SyncOwner(server: "https://server.example"))
  }

  func renewSecret() async -> Bool { false }
  func refresh() async -> LinkFailure? { nil }

  func stop() async {
    guard isHeld.withLock(\.self) else { return }
    stopping.put(())
    _ = await gate.next()
  }
}
