import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastTestKit
import Testing

/// Tests that posts to any shop share a commit if they arrive during the previous one.
@Suite(.timeLimit(.minutes(60))) struct BackendTogetherTests {
  private static let third = BackendRig.id("dairy")

  @Test func `stores posts that arrive during a commit together, in the order of each shop`()
    async throws
  {
    let store = GatedLog()
    try await BackendRig.run(store: store) { rig in
      let clients = try await post(into: rig)
      for _ in 0..<4 { await store.pass() }
      for client in clients { #expect(try await client.speak("").status == 201) }
      #expect(await store.lists == [["1"], ["3", "5"], ["2"], ["4"]])
    }
  }

  @Test func `a failed commit fails each of its posts and no others`()
    async throws
  {
    let store = GatedLog()
    try await BackendRig.run(store: store) { rig in
      let clients = try await post(into: rig)
      await store.pass()
      await store.pass(failing: .full(detail: "disk"))
      for _ in 0..<2 { await store.pass() }
      var statuses: [Int] = []
      for client in clients { statuses.append(try await client.speak("").status) }
      #expect(statuses == [201, 201, 503, 201, 503])
    }
  }

  @Test func `answers 503 for a post without a result from the log`() async throws {
    let store = GatedLog()
    try await BackendRig.run(store: store) { rig in
      let clients = try await post(into: rig)
      await store.pass()
      await store.pass(answering: 1)
      await store.open()
      var statuses: [Int] = []
      for client in clients { statuses.append(try await client.speak("").status) }
      #expect(statuses == [201, 201, 201, 201, 503])
    }
  }

  @Test func `a follower receives many large pending posts without being disconnected`()
    async throws
  {
    let store = GatedLog()
    try await BackendRig.run(store: store) { rig in
      let follower = try await rig.follower()
      let watcher = try rig.client()
      let tail = String(repeating: "a", count: 9_000)
      let texts = (0...30).map { "\($0) \(tail)" }
      var clients: [BackendClient] = []
      for text in texts {
        clients.append(try await post(text, to: BackendRig.shop, of: rig, beside: watcher))
      }
      await store.open()
      for text in texts {
        guard case .message(let message) = try await follower.message() else { break }
        #expect(message.text == text)
      }
      for client in clients { #expect(try await client.speak("").status == 201) }
      let lists = await store.lists.map(\.count)
      #expect(lists == [1, 7, 7, 7, 7, 2])
      let last = try await watcher.post("last", token: try await rig.token()).message()
      #expect(try await follower.message() == .message(last))
    }
  }

  /// Sends posts from five clients. Each post is sent after the server has read the previous one.
  ///
  /// The store delays the first post until the test releases it.
  private func post(into rig: BackendRig) async throws -> [BackendClient] {
    let shops = [
      BackendRig.shop, BackendRig.shop, BackendRig.other, BackendRig.other, Self.third,
    ]
    let watcher = try rig.client()
    var clients: [BackendClient] = []
    // The server knows the newest position of a shop once a client has followed the shop.
    for shop in Set(shops) { _ = try await rig.follower("eve", shop: shop) }
    for (number, shop) in shops.enumerated() {
      clients.append(try await post("\(number + 1)", to: shop, of: rig, beside: watcher))
    }
    return clients
  }

  /// Sends a post, and waits until the server has read it. Does not wait for the response.
  private func post(
    _ text: String, to shop: ShopID, of rig: BackendRig, beside watcher: BackendClient
  ) async throws -> BackendClient {
    let token = try await rig.token(shops: [shop])
    let body = String(decoding: NewMessage(shop: shop, text: text).encode(), as: UTF8.self)
    let client = try rig.client()
    // The server reads from a new connection only in the next turn of its loop. This request
    // ensures that the connection has been accepted before the post is sent.
    _ = try await client.ask("GET", "/healthz")
    try await client.tell(
      "POST \(ShopRoute.send.path) HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer \(token)\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    // The server reads the post in the same turn of its loop as this request, or earlier.
    _ = try await watcher.ask("GET", "/healthz")
    return client
  }
}

/// A log that delays each list of entries until a test releases it.
private actor GatedLog: ForwardingLog {
  let log: any MessageLog = MemoryMessageLog()
  /// The outcome of appending a list.
  private enum Fate {
    case taken
    case failing(StoreFailure)
    /// The list is stored, but at most this many results are returned.
    case answering(Int)
  }

  private var held: CheckedContinuation<Fate, Never>?
  private var comer: CheckedContinuation<Void, Never>?
  private var isOpen = false
  /// The texts of each list, in order of arrival.
  private(set) var lists: [[String]] = []

  func append(_ requests: [LogRequest]) async -> [Result<LogOutcome, StoreFailure>] {
    lists.append(
      requests.compactMap { if case .post(let entry) = $0 { entry.message.text } else { nil } })
    guard !isOpen else { return await log.append(requests) }
    let fate = await withCheckedContinuation { caller in
      held = caller
      comer?.resume()
      comer = nil
    }
    switch fate {
    case .taken: return await log.append(requests)
    case .failing(let failure): return requests.map { _ in .failure(failure) }
    case .answering(let count): return Array(await log.append(requests).prefix(count))
    }
  }

  /// Waits for the next list, and then stores it or fails it with `failure`.
  func pass(failing failure: StoreFailure? = nil) async {
    await pass(as: failure.map(Fate.failing) ?? .taken)
  }

  /// Waits for the next list, and then stores it, but returns only the first `count` results.
  func pass(answering count: Int) async {
    await pass(as: .answering(count))
  }

  private func pass(as fate: Fate) async {
    if held == nil { await withCheckedContinuation { comer = $0 } }
    held?.resume(returning: fate)
    held = nil
  }

  /// Releases the current list and all later lists.
  func open() {
    isOpen = true
    held?.resume(returning: .taken)
    held = nil
  }
}
