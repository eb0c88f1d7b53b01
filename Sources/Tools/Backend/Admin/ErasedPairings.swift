import HoldfastCore
import HoldfastCurlNetwork
import HoldfastFeaturePorts
import HoldfastPorts
import HoldfastProtocols
import HoldfastServerCore
import HoldfastServerSockets

/// The end of the pairings of a user's phones, at this node or at the one that runs the relay.
struct ErasedPairings: Sendable {
  /// The route at which a node takes erasures from the others.
  static let path = "/admin/pairings"
  /// The maximum time until the end is durable.
  private static let patience = Duration.seconds(10)

  let sockets: SocketServer<BackendHandler>
  /// The way to the other nodes; `nil` if there are none, or no address for them.
  let passage: NodePassage?

  /// Ends the pairings of a user, wherever the relay runs.
  ///
  /// - Throws: `.other` if the node that runs the relay cannot be asked now.
  func erase(_ user: String) async throws(StoreFailure) {
    if try await eraseHere(user) { return }
    guard let passage, let node = passage.holder() else {
      throw .other(detail: "No node that runs the relay can be reached. Start it.")
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

  /// Ends the pairings of a user at this node. Returns false if it does not run the relay.
  func eraseHere(_ user: String) async throws(StoreFailure) -> Bool {
    let store: (any RelayStore)? = await atRelay { $0.feed(.relay(.erased(user: user))) }
    guard let store else { return false }
    let end = BootClock().now.advanced(by: Self.patience)
    while try await store.stored().phones.contains(where: { $0.synced?.name == user }) {
      guard BootClock().now < end else {
        throw .other(detail: "The end of pairings is not durable yet.")
      }
      do throws(CancellationError) {
        try await BootClock().wait(until: BootClock().now.advanced(by: .milliseconds(50)))
      } catch {
        throw .closed
      }
    }
    return true
  }

  /// The store of the relay; `nil` if another node runs the relay.
  var store: (any RelayStore)? {
    get async { await atRelay { _ in } }
  }

  /// Runs `body` at the relay. Returns its store, or `nil` if another node runs the relay.
  private func atRelay(
    _ body: @Sendable (ServiceRunner<RelayService>) -> Void
  ) async -> (any RelayStore)? {
    await sockets.run { handler, hub in
      var store: (any RelayStore)?
      handler.turn(on: hub) { handler in
        handler.work(on: RelayService.self) { runner in
          body(runner)
          store = runner.store
        }
      }
      return store
    }
  }
}
