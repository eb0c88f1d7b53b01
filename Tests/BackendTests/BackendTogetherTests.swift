import HoldfastTestKit
import LinkCore
import LinkRuntime
import LinkWire
import Testing

/// Posts that come while the store works share its next commit, whatever their shops.
@Suite(.timeLimit(.minutes(1))) struct BackendTogetherTests {
  private static let third = BackendRig.id("dairy")

  @Test func `what comes while the store works goes to it together, in the order of each shop`()
    async throws
  {
    let store = GatedLog()
    try await BackendRig.run(store: store) { rig in
      let clients = try await Self.post(into: rig)
      for _ in 0..<4 { await store.pass() }
      for client in clients { #expect(try await client.speak("").status == 201) }
      #expect(await store.lists == [["1"], ["3", "5"], ["2"], ["4"]])
    }
  }

  @Test func `a commit that fails is answered to each of its posts, and the others go on`()
    async throws
  {
    let store = GatedLog()
    try await BackendRig.run(store: store) { rig in
      let clients = try await Self.post(into: rig)
      await store.pass()
      await store.pass(failing: .full(detail: "disk"))
      for _ in 0..<2 { await store.pass() }
      var statuses: [Int] = []
      for client in clients { statuses.append(try await client.speak("").status) }
      #expect(statuses == [201, 201, 503, 201, 503])
    }
  }

  /// Lets five clients post, each after the one before it was read; the store has the first.
  private static func post(into rig: BackendRig) async throws -> [BackendClient] {
    let shops = [
      BackendRig.shop, BackendRig.shop, BackendRig.other, BackendRig.other, third,
    ]
    let watcher = try rig.client()
    var clients: [BackendClient] = []
    // The server knows the head of a shop once somebody has followed it.
    for shop in Set(shops) { _ = try await rig.follower("eve", shop: shop) }
    for (number, shop) in shops.enumerated() {
      let token = try await rig.token("user-\(number)", shops: [shop])
      let body = String(
        decoding: NewMessage(shop: shop, text: "\(number + 1)").encode(), as: UTF8.self)
      let client = try rig.client()
      try await client.tell(
        "POST \(ShopRoute.send.path) HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer \(token)\r\n"
          + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
      // What was sent before is read in the same turn of the loop at the latest.
      _ = try await watcher.ask("GET", ShopRoute.health.path)
      clients.append(client)
    }
    return clients
  }
}

/// A log that keeps each list until a test lets it pass.
private actor GatedLog: MessageLog {
  private let log = MemoryMessageLog()
  private var held: CheckedContinuation<StoreFailure?, Never>?
  private var comer: CheckedContinuation<Void, Never>?
  /// The texts of each list, in the order in which they came.
  private(set) var lists: [[String]] = []

  func append(_ entries: [LogEntry]) async -> [Result<Appended, StoreFailure>] {
    lists.append(entries.map(\.message.text))
    let failure = await withCheckedContinuation { caller in
      held = caller
      comer?.resume()
      comer = nil
    }
    if let failure { return entries.map { _ in .failure(failure) } }
    return await log.append(entries)
  }

  /// Waits for the next list, and lets it go or fail.
  func pass(failing failure: StoreFailure? = nil) async {
    if held == nil { await withCheckedContinuation { comer = $0 } }
    held?.resume(returning: failure)
    held = nil
  }

  func page(_ query: PageQuery, of shop: ShopID) async throws(StoreFailure) -> Page {
    try await log.page(query, of: shop)
  }

  func count(_ query: PageQuery, of shop: ShopID) async throws(StoreFailure) -> UInt64 {
    try await log.count(query, of: shop)
  }

  func head(of shop: ShopID) async throws(StoreFailure) -> Position {
    try await log.head(of: shop)
  }

  func close() async { await log.close() }
}
