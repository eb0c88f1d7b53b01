import HoldfastJSON
import HoldfastPorts
import HoldfastPostgreSQLStores
import HoldfastServerCore
public import HoldfastWire
import HoldfastServerSockets

extension Backend {
  /// Returns a signed token for this backend.
  ///
  /// - Throws: `.notRunning` if the backend is not running.
  public func issueToken(
    user: String, name: String, shops: [ShopID], admin: [ShopID] = [], ttl: Duration
  ) throws(BackendError) -> String {
    _ = try sockets()
    return try Tokens.open(for: configuration).issue(
      user: user, name: name, shops: shops, admin: admin, ttl: ttl)
  }

  /// Removes a user from a shop, even if the user's token names the shop. The removal is stored on
  /// disk, and holds for all nodes.
  public func removeMember(_ user: String, of shop: ShopID) async throws(BackendError) {
    try await change { $0.insert(Membership(shop: shop, user: user)) }
  }

  /// Readmits a removed user to a shop.
  public func readmitMember(_ user: String, to shop: ShopID) async throws(BackendError) {
    try await change { $0.remove(Membership(shop: shop, user: user)) }
  }

  /// Reloads the list of removed members. With several nodes, it becomes the list of all of them.
  ///
  /// - Throws: `.file` if the list is invalid. The previous list then remains in force. `.store` if
  ///   the other nodes cannot be told; the list holds at this node then. Errors are logged.
  public func reload() async throws(BackendError) {
    _ = try sockets()
    do {
      let removed = Set(try removals.read()).sorted()
      try adopt(removed)
      try await share(removed)
    } catch {
      log.note(.reloadFailed, error.description)
      throw error
    }
  }

  private var removals: RemovalsFile { RemovalsFile(directory: configuration.dataDirectory) }

  private func change(_ body: (inout Set<Membership>) -> Void) async throws(BackendError) {
    _ = try sockets()
    var removed = Set(try removals.read())
    body(&removed)
    try removals.write(removed.sorted())
    try adopt(removed.sorted())
    try await share(removed.sorted())
  }

  private func adopt(_ removed: [Membership]) throws(BackendError) {
    log.note(.removed, count: UInt64(removed.count))
    try sockets().inject { handler, hub in
      handler.turn(on: hub) { handler in
        handler.work(on: ShopService.self) { $0.feed(.removals(removed)) }
        handler.work(on: ImageService.self) { $0.feed(.removals(removed)) }
      }
    }
  }

  // MARK: Several nodes

  /// Stores the list for all nodes.
  private func share(_ removed: [Membership]) async throws(BackendError) {
    guard let membership else { return }
    do throws(StoreFailure) {
      try await membership.node.publish(removals: RemovalsFile.encode(removed))
    } catch {
      throw .store(error)
    }
  }

  /// Adopts the list of all nodes, and writes it to the file of this one.
  func adopt(removals content: [UInt8]) {
    do {
      let removed: [Membership]
      do throws(JSONError) {
        removed = try RemovalsFile.decode(content)
      } catch {
        throw BackendError.file(path: "the list of removed members", detail: error.detail)
      }
      if (try? removals.read()).map({ Set($0) }) != Set(removed) { try removals.write(removed) }
      try adopt(removed)
    } catch {
      log.note(.reloadFailed, "\(error)")
    }
  }
}
