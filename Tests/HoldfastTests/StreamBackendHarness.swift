import Foundation
import Holdfast
import HoldfastBackend
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastPorts
import HoldfastTestKit
import Testing

/// A real backend, a real client, and a proxy between them that causes faults on request.
struct StreamBackendHarness {
  let backend: Backend
  let proxy: FaultProxy
  let directory: String
  let shop: ShopID
  let streams: ShopStreams
  let network: any SocketDialer & HTTPClient
  let tokens: TestTokens
  let reachability = FakeReachability()
  let lifecycle = FakeLifecycle()
  private let direct: String

  /// Settings that shorten the waits to a tenth or less.
  static let quick: [(key: String, value: String)] = [
    ("retry.first", "100ms,200ms,400ms"), ("retry.reconnect", "0s,100ms,200ms,400ms,800ms"),
    ("retry.windows", "100/1m"), ("retry.serverJitter", "200ms"), ("liveness.silence", "2s"),
    ("gate.debounce", "100ms"), ("standby.interval", "1s"), ("standby.probe", "1s"),
    ("standby.slowProbe", "1s"),
  ]

  static func make(
    policy serverPolicy: ShopServerPolicy = ShopServerPolicy(), ttl: Duration = .seconds(3600),
    retention: RetentionPolicy = RetentionPolicy()
  ) async throws -> StreamBackendHarness {
    let directory = NSTemporaryDirectory() + "holdfast-\(UUID().uuidString)"
    var configuration = BackendConfiguration(dataDirectory: directory + "/server")
    configuration.policy = serverPolicy
    configuration.policy.postInterval = .milliseconds(1)
    configuration.policy.postBurst = 10_000
    configuration.retention = retention
    let backend = Backend(configuration)
    let address = try await backend.start()
    let proxy = try FaultProxy(upstream: address.port)
    let shop = try #require(ShopID("550e8400-e29b-41d4-a716-446655440000"))
    let tokens = TestTokens(backend, shop: shop, ttl: ttl)
    let network = try HoldfastPlatform.network()
    return try await StreamBackendHarness(
      backend: backend, proxy: proxy, directory: directory, shop: shop, network: network,
      tokens: tokens, direct: address.url)
  }

  private init(
    backend: Backend, proxy: FaultProxy, directory: String, shop: ShopID,
    network: any SocketDialer & HTTPClient, tokens: TestTokens, direct: String
  ) async throws(OpenError) {
    self.backend = backend
    self.proxy = proxy
    self.directory = directory
    self.shop = shop
    self.network = network
    self.tokens = tokens
    self.direct = direct
    streams = try await ShopStreams(
      storage: .directory(directory + "/phone"), tokens: tokens.source,
      ports: DevicePorts(network: network, reachability: reachability, lifecycle: lifecycle))
  }

  func configuration(_ changes: [(key: String, value: String)] = []) throws -> StreamConfiguration {
    StreamConfiguration(
      server: "http://127.0.0.1:\(proxy.port)", shop: shop,
      policy: try LinkPolicy.messageStream.setting(Self.quick + changes))
  }

  /// Opens the shop through the proxy, and starts to read its stream.
  func follow(_ changes: [(key: String, value: String)] = []) async throws -> (ShopStream, Follower)
  {
    let stream = try await streams.open(try configuration(changes))
    let follower = Follower()
    follower.follow(stream)
    return (stream, follower)
  }

  /// Posts a message as another user, bypassing the proxy.
  func post(_ text: String) async throws {
    let token = try await backend.issueToken(
      user: "writer", name: "Writer", shops: [shop], ttl: .seconds(3600))
    let response = try await network.send(
      HTTPCall(
        method: "POST", url: direct + ShopRoute.send.path,
        headers: [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")],
        body: NewMessage(shop: shop, text: text).encode(), timeout: .seconds(600),
        maxBodyBytes: 65_536))
    #expect(response.status == 201)
  }

  /// Edits a message as the user `writer`, bypassing the proxy.
  func edit(_ id: MessageID, to text: String) async throws {
    try await change("PUT", ShopRoute.send.path, MessageEdit(id: id, text: text).encode())
  }

  /// Deletes a message as the user `writer`, bypassing the proxy.
  func delete(_ id: MessageID) async throws {
    try await change("DELETE", "\(ShopRoute.send.path)/\(id)", nil)
  }

  private func change(_ method: String, _ path: String, _ body: [UInt8]?) async throws {
    let token = try await backend.issueToken(
      user: "writer", name: "Writer", shops: [shop], ttl: .seconds(3600))
    var call = HTTPCall(
      method: method, url: direct + path, headers: [("Authorization", "Bearer \(token)")],
      timeout: .seconds(600), maxBodyBytes: 65_536)
    if let body {
      call.headers.append(("Content-Type", "application/json"))
      call.body = body
    }
    let response = try await network.send(call)
    #expect(response.status == 200)
  }

  func post(_ texts: [String]) async throws {
    for text in texts { try await post(text) }
  }

  /// Returns the newest page of the shop, bypassing the proxy.
  func page(limit: Int) async throws -> Page {
    let token = try await backend.issueToken(
      user: "writer", name: "Writer", shops: [shop], ttl: .seconds(3600))
    let response = try await network.send(
      HTTPCall(
        method: "GET", url: "\(direct)\(ShopRoute.paginated(shop).path)?page=1&limit=\(limit)",
        headers: [("Authorization", "Bearer \(token)")], timeout: .seconds(600),
        maxBodyBytes: 1 << 20))
    return try PageCodec.decode(response.body, shop: shop)
  }

  func end() async {
    await streams.close()
    await backend.kill()
    try? FileManager.default.removeItem(atPath: directory)
  }
}

/// The tokens of a source that obtains each of them directly from the backend.
///
/// Only the first token can have a short lifetime.
actor TestTokens {
  private let backend: Backend
  private let shop: ShopID
  private let ttl: Duration
  private(set) var given = 0
  /// The calls of the source, with one element for each call.
  nonisolated let asked = Mailbox<Void>()

  init(_ backend: Backend, shop: ShopID, ttl: Duration) {
    self.backend = backend
    self.shop = shop
    self.ttl = ttl
  }

  nonisolated var source: TokenSource { TokenSource { try await self.token() } }

  private func token() async throws -> String {
    given += 1
    asked.put(())
    // Two tokens issued in the same second would be equal, so the name contains a counter.
    return try await backend.issueToken(
      user: "phone", name: "Phone \(given)", shops: [shop],
      ttl: given == 1 ? ttl : .seconds(3600))
  }
}
