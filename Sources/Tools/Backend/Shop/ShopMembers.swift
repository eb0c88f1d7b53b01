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
  /// disk.
  public func removeMember(_ user: String, of shop: ShopID) throws(BackendError) {
    try change { $0.insert(Membership(shop: shop, user: user)) }
  }

  /// Readmits a removed user to a shop.
  public func readmitMember(_ user: String, to shop: ShopID) throws(BackendError) {
    try change { $0.remove(Membership(shop: shop, user: user)) }
  }

  /// Reloads the list of removed members.
  ///
  /// - Throws: `.file` if the list is invalid. The previous list then remains in force, and the
  ///   error is logged.
  public func reload() throws(BackendError) {
    _ = try sockets()
    do {
      try adopt(Set(removals.read()).sorted())
    } catch {
      log.note(.reloadFailed, error.description)
      throw error
    }
  }

  private var removals: RemovalsFile { RemovalsFile(directory: configuration.dataDirectory) }

  private func change(_ body: (inout Set<Membership>) -> Void) throws(BackendError) {
    _ = try sockets()
    var removed = Set(try removals.read())
    body(&removed)
    try removals.write(removed.sorted())
    try adopt(removed.sorted())
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
}
