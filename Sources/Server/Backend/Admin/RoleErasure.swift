import HoldfastCore
import HoldfastCurlNetwork
import HoldfastFeaturePorts
import HoldfastPorts
import HoldfastProtocols
import HoldfastRelayServer
import HoldfastServerSockets
import HoldfastSessionServer

/// The erasure of what only one node runs: the pairings of a user's phones, and the user's sessions.
struct RoleErasure: Sendable {
  /// The route at which a node takes erasures from the others.
  static let path = "/admin/pairings"
  /// The maximum time until each of both is durable.
  private static let patience = Duration.seconds(10)

  let sockets: SocketServer<BackendHandler>
  /// The way to the other nodes; `nil` if there are none, or no address for them.
  let passage: NodePassage?

  /// Ends the pairings and the sessions of a user, wherever they run.
  ///
  /// - Throws: `.other` if the node that runs them cannot be asked now.
  func erase(_ user: String) async throws(StoreFailure) {
    if try await eraseHere(user) { return }
    guard let passage, let node = passage.holder() else {
      throw .other(detail: "No node that runs the relay and sessions can be reached. Start it.")
    }
    do {
      let (target, body) = (Self.path, Array(user.utf8))
      let head = try HTTPRequestHead(method: "POST", target: target, headers: [])
      let network = try CurlNetwork(CurlConfiguration(proxy: "", allowsPlaintext: true))
      let answer = try await network.send(
        HTTPCall(
          method: "POST", url: "http://\(node)\(target)",
          headers: passage.fields(head, body, of: nil).map { (name: $0.0, value: $0.1) },
          body: body, timeout: .seconds(30), maxBodyBytes: 65_536))
      guard answer.status == 200 else {
        throw StoreFailure.other(
          detail: "The node that runs the relay answered with \(answer.status).")
      }
    } catch {
      throw error as? StoreFailure
        ?? .other(detail: "The node that runs the relay cannot be asked: \(error)")
    }
  }

  /// Ends the pairings and the sessions of a user at this node. Returns false if it does not run them.
  func eraseHere(_ user: String) async throws(StoreFailure) -> Bool {
    let relay = await at(RelayService.self) { $0.feed(.relay(.erased(user: user))) }
    guard let relay else { return false }
    try await wait(for: "The end of pairings") { () throws(StoreFailure) in
      try await !relay.stored().phones.contains { $0.synced?.name == user }
    }
    try await wait(for: "The end of sessions") { () throws(StoreFailure) in
      // A client whose token is valid may have come back.
      guard let store = await at(SessionService.self, { $0.feed(.erased(user: user)) }) else {
        throw .other(detail: "This node does not run sessions any more.")
      }
      return try await !store.stored().contain(user)
    }
    return true
  }

  /// The stores whose files named the user; none if another node runs the services.
  var stores: [any SuspendableStore] {
    get async {
      var stores: [any SuspendableStore] = []
      if let relay = await at(RelayService.self, { _ in }) { stores.append(relay) }
      if let sessions = await at(SessionService.self, { _ in }) { stores.append(sessions) }
      return stores
    }
  }

  /// Waits until something is durable.
  private func wait(
    for what: String, _ isDone: () async throws(StoreFailure) -> Bool
  ) async throws(StoreFailure) {
    let end = BootClock().now.advanced(by: Self.patience)
    while try await !isDone() {
      guard BootClock().now < end else { throw .other(detail: "\(what) is not durable yet.") }
      do throws(CancellationError) {
        try await BootClock().wait(until: BootClock().now.advanced(by: .milliseconds(50)))
      } catch {
        throw .closed
      }
    }
  }

  /// Runs `body` at a service. Returns the service's store, or `nil` if another node runs it.
  private func at<S: Service>(
    _ service: S.Type, _ body: @Sendable (ServiceRunner<S>) -> Void
  ) async -> S.Store? {
    await sockets.run { handler, hub in
      var store: S.Store?
      handler.turn(on: hub) { handler in
        handler.work(on: service) { runner in
          body(runner)
          store = runner.store
        }
      }
      return store
    }
  }
}
