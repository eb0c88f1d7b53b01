import Holdfast
import HoldfastBackend
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastMessageStream
import HoldfastPorts
import HoldfastTestKit

/// A real backend and phones that follow its shops, all in this process.
struct Household {
  let backend: Backend
  let address: BoundAddress
  /// The shops. Their number is the maximum that an app may open at once.
  let shops: [ShopID]
  private let scratch: Scratch
  private let network: any SocketDialer & HTTPClient

  init(pingInterval: Duration = .seconds(54)) async throws {
    shops = (1...ShopStreams.limit).compactMap { ShopID("bench\($0)") }
    scratch = try Scratch()
    var configuration = BackendConfiguration(dataDirectory: scratch("server"))
    configuration.log = nil
    configuration.policy.pingInterval = pingInterval
    configuration.policy.pongWait = pingInterval + .seconds(10)
    configuration.policy.socketsPerUser = 1000
    configuration.policy.postInterval = .milliseconds(1)
    configuration.policy.postBurst = 100_000
    backend = Backend(configuration)
    address = try await backend.start()
    network = try HoldfastPlatform.network(proxy: "")
  }

  /// Returns the live stream of a phone that has its own store.
  func phone(_ name: String) async throws -> ShopStream {
    try await stream(of: 0, in: app(name))
  }

  /// Returns the streams of an app. They share a store.
  func app(_ name: String) async throws -> ShopStreams {
    let token = try await backend.issueToken(
      user: name, name: name, shops: shops, ttl: .seconds(3600))
    return try await ShopStreams(
      storage: .directory(scratch(name)), tokens: .fixed(token),
      ports: DevicePorts(network: network))
  }

  /// Opens another stream of an app, and returns it once it is live.
  func stream(of index: Int, in app: ShopStreams) async throws -> ShopStream {
    let stream = try await app.open(
      StreamConfiguration(server: address.url, shop: shops[index]))
    try await Self.untilLive(stream)
    return stream
  }

  static func untilLive(_ stream: ShopStream) async throws {
    for await case .status(let status) in stream where status.state == .connected { return }
    throw Unavailable("a phone never connected")
  }

  func close(_ phones: [ShopStream]) async {
    for phone in phones { await phone.close() }
    await backend.kill()
  }
}
