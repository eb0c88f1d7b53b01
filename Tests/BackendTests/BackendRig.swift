import Foundation
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastJSON
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastPorts
import HoldfastRelayServer
import HoldfastSessionServer
import HoldfastTestKit
import Synchronization

@testable import HoldfastBackend

/// A running backend with its own data directory.
struct BackendRig {
  static let shop = id("bakery")
  static let other = id("cellar")

  let backend: Backend
  let address: BoundAddress
  let configuration: BackendConfiguration
  /// The lines logged so far.
  let lines: LineLog

  static func id(_ text: String) -> ShopID {
    guard let id = ShopID(text) else { preconditionFailure("a shop id of a test is valid") }
    return id
  }

  /// Runs `body` against a backend. Afterwards kills the backend and removes its directory.
  static func run(
    store: (any MessageLog)? = nil, relay: (any RelayStore)? = nil,
    pushes: (any PushSender)? = nil,
    _ configure: (inout BackendConfiguration) -> Void = { _ in },
    _ body: (BackendRig) async throws -> Void
  ) async throws {
    let scratch = try Scratch()
    try await run(
      in: scratch("data"), store: store, relay: relay, pushes: pushes, configure, body)
  }

  /// Runs `body` against a backend, and keeps its directory.
  static func run(
    in directory: String, store: (any MessageLog)? = nil, relay: (any RelayStore)? = nil,
    more: [any SuspendableStore] = [], pushes: (any PushSender)? = nil,
    _ configure: (inout BackendConfiguration) -> Void = { _ in },
    _ body: (BackendRig) async throws -> Void
  ) async throws {
    let lines = LineLog()
    var configuration = BackendConfiguration(dataDirectory: directory)
    configuration.log = { lines.append($0) }
    // The limits are high so that checks and clients can answer on a busy machine.
    let long = Duration.seconds(3_600)
    (configuration.checkLimit, configuration.stepLimit) = (long, long)
    (configuration.policy.pongWait, configuration.relay.pongWait) = (long, long)
    (configuration.session.pongWait, configuration.session.connectWait) = (long, long)
    configuration.relay.callLimit = long
    configure(&configuration)
    let stores: [(any SuspendableStore)?] = [store, relay]
    let backend = Backend(
      configuration, stores: stores.compactMap(\.self) + more, pushes: pushes)
    let address = try await backend.start()
    do {
      try await body(
        BackendRig(
          backend: backend, address: address, configuration: configuration, lines: lines))
    } catch {
      await backend.kill()
      throw error
    }
    await backend.kill()
  }

  func client(receiveBuffer: Int32? = nil) throws -> BackendClient {
    try BackendClient(port: address.port, receiveBuffer: receiveBuffer)
  }

  func token(
    _ user: String = "ann", shops: [ShopID] = [shop], admin: [ShopID] = [],
    ttl: Duration = .seconds(3_600)
  ) async throws -> String {
    try await backend.issueToken(
      user: user, name: user.uppercased(), shops: shops, admin: admin, ttl: ttl)
  }

  /// Returns a client that follows the shop.
  func follower(
    _ user: String = "ann", shop: ShopID = shop, receiveBuffer: Int32? = nil
  ) async throws -> BackendClient {
    let client = try client(receiveBuffer: receiveBuffer)
    let answer = try await client.follow(
      shop, token: try await token(user, shops: [shop]))
    guard answer.status == 101 else { throw NotUpgraded(status: answer.status) }
    return client
  }

  struct NotUpgraded: Error {
    var status: Int
  }
}

/// A thread-safe list of log lines.
final class LineLog: Sendable {
  private let lines = Mutex<[String]>([])

  func append(_ line: String) {
    lines.withLock { $0.append(line) }
  }

  var all: [String] { lines.withLock(\.self) }

  /// Waits for a line. The log writes its lines on a thread of its own.
  func wait(for isWanted: (String) -> Bool) async {
    while !Task.isCancelled, !all.contains(where: isWanted) { await Task.yield() }
  }
}

extension SocketsClient.Response {
  /// Decodes the message in the response to a post.
  func message(of shop: ShopID = BackendRig.shop) throws -> ShopMessage {
    try Envelope.decodeMessage([UInt8](body.utf8), shop: shop)
  }

  func page(of shop: ShopID = BackendRig.shop) throws -> Page {
    try PageCodec.decode([UInt8](body.utf8), shop: shop)
  }
}
