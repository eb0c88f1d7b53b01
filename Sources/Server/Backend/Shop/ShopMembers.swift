import HoldfastJSON
public import HoldfastMessageData
import HoldfastMessageServer
import HoldfastPorts
import HoldfastPostgreSQLStores
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
  ///
  /// - Throws: `.store` if the other nodes cannot learn of the change now. It then holds at this node
  ///   alone, until the database is back.
  public func removeMember(_ user: String, of shop: ShopID) async throws(BackendError) {
    try await change(Membership(shop: shop, user: user), isRemoved: true)
  }

  /// Readmits a removed user to a shop, as `removeMember` removes one.
  public func readmitMember(_ user: String, to shop: ShopID) async throws(BackendError) {
    try await change(Membership(shop: shop, user: user), isRemoved: false)
  }

  /// Reloads the certificate, the list of removed members, the secrets of health sync, the key of
  /// sessions and the keys of an identity provider. With several nodes, what was changed in the list since this node
  /// has adopted the list of all nodes is changed in that list.
  ///
  /// - Throws: The first error: `.certificate` if its files cannot be used, or such as `.file` if the
  ///   list is invalid. What could not be read then remains in force. `.store` as `removeMember`. Errors
  ///   are logged.
  public func reload() async throws(BackendError) {
    var failure = reloadAccess(try access())
    do throws(BackendError) {
      try await reloadCertificate(isRequested: true)
    } catch {
      failure = failure ?? error
    }
    try await reloadRemovals()
    if let failure { throw failure }
  }

  private func reloadRemovals() async throws(BackendError) {
    adoptSharedRemovals()
    do {
      let change = try removals.change()
      try adopt(change.list.sorted())
      try await membership?.share(change)
    } catch {
      log.note(.reloadFailed, error.description)
      throw error
    }
  }

  private var removals: SharedRemovals { SharedRemovals(directory: configuration.dataDirectory) }

  private func change(
    _ member: Membership, isRemoved: Bool
  ) async throws(BackendError) {
    _ = try sockets()
    adoptSharedRemovals()
    var change = try removals.change()
    change.set(member, isRemoved: isRemoved)
    try removals.write(change)
    try adopt(change.list.sorted())
    try await membership?.share(change)
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

  /// Adopts the list of all nodes if it is new, and keeps what was changed here.
  func adoptSharedRemovals() {
    guard let content = membership?.node.removals else { return }
    let files = removals
    do throws(BackendError) {
      let list = try RemovalsFile.shared(content)
      if files.hasAdopted(list) { return }
      let change: RemovalsChange
      do throws(BackendError) {
        change = try files.change()
      } catch {
        try adopt(list.sorted())
        throw error
      }
      // The list holds even if it cannot be written.
      try adopt(change.applied(to: list).sorted())
      try files.adopt(list, with: change)
    } catch {
      log.note(.reloadFailed, error.description)
    }
  }
}

extension NodeMembership {
  /// Changes the list of removed members of all nodes. If the database is away, the change is stored
  /// when it is back.
  func share(_ change: RemovalsChange) async throws(BackendError) {
    do throws(StoreFailure) {
      try await node.changeRemovals { change.applied(to: $0) }
    } catch {
      throw .store(error)
    }
  }

  /// Shares what was changed in the file of this node while it was stopped, and brings the file up to
  /// date. At the first start in a directory, the members that the file names are added to the list.
  func shareRemovals(of directory: String) async throws(BackendError) {
    let files = SharedRemovals(directory: directory)
    let change = try files.change()
    try await share(change)
    guard let content = node.removals else { return }
    let list = try RemovalsFile.shared(content)
    try files.adopt(list, with: change)
  }
}

extension RemovalsFile {
  /// Returns the list of all nodes.
  fileprivate static func shared(_ content: [UInt8]) throws(BackendError) -> Set<Membership> {
    do throws(JSONError) {
      return Set(try decode(content))
    } catch {
      throw .file(path: "the list of removed members in the database", detail: error.detail)
    }
  }
}
