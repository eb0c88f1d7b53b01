import HoldfastCore
import HoldfastOwnerFiles
import HoldfastPostgreSQLStores
import HoldfastServerCore
import HoldfastServerSockets
import Synchronization

extension Backend {
  /// Creates the directory of the socket for operators, before the data directory exists.
  func prepareAdminSocket() throws(BackendError) {
    guard case .unix(let path)? = configuration.admin?.place,
      let end = path.lastIndex(of: "/"), end != path.startIndex
    else { return }
    do throws(OwnerFileError) {
      try OwnerFile.makeDirectory(String(path[..<end]))
    } catch {
      throw .file(path: path, detail: error.description)
    }
  }

  /// Returns where operators connect; `nil` if they cannot.
  func adminAddress(on port: borrowing BoundPort) -> String? {
    switch configuration.admin?.place {
    case .unix(let path)?: "unix:\(path)"
    case .tcp(let address)?: "http://\(port.endpoint(of: .admin)?.description ?? address)"
    case nil: nil
    }
  }

  /// Reads the erasures and the token. Returns what serves operators, or `nil` if there is neither an
  /// address for them nor another node.
  func openAdmin() throws(BackendError) -> AdminDesk? {
    guard configuration.admin != nil || membership != nil else { return nil }
    let token = try configuration.admin?.tokenFile.map { path throws(BackendError) in
      try AdminToken.open(at: path)
    }
    let work = try AdminWork(in: configuration.dataDirectory, log: log)
    adminWork = work
    if configuration.admin?.isExposed == true {
      log.note(
        .exposed,
        "other machines can connect as operators, and nothing is encrypted there: use a private "
          + "network, or a Unix socket")
    }
    let node = membership == nil ? nil : configuration.nodeName ?? DatabaseNode.hostName
    return AdminDesk(
      token: token, visits: configuration.admin == nil ? nil : configuration.proxies,
      answers: AdminAnswers(node: node), work: work, drain: drainOnce())
  }

  /// Returns a function whose first call begins the end of the process.
  private func drainOnce() -> @Sendable () -> Void {
    let begun = Atomic(false)
    let drain = configuration.drain ?? { [self] in Task { await drainAndStop() } }
    return {
      guard !begun.exchange(true, ordering: .relaxed) else { return }
      drain()
    }
  }

  /// Begins to carry out the erasures that were accepted.
  func beginAdmin(
    _ sockets: SocketServer<BackendHandler>, _ services: [any Service], _ setup: BackendSetup
  ) async {
    guard let adminWork,
      let messages = services.lazy.compactMap({ $0 as? ShopService }).first,
      let images = services.lazy.compactMap({ $0 as? ImageService }).first,
      let samples = services.lazy.compactMap({ $0 as? SyncService }).first
    else { return }
    let onLoop: BackendHandler.Inject = { sockets.inject($0) }
    await adminWork.begin(
      with: UserEraser(
        onLoop: onLoop, messages: messages.store, images: messages.images, samples: samples.store,
        uploads: [images.uploads, samples.uploads],
        secrets: SyncSecretFile(path: configuration.syncSecretPath) { user in
          setup.synced.forget(user)
          await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            onLoop { handler, _ in
              handler.work(on: SyncService.self) { runner in
                runner.enter { service, _ in
                  service.secrets.change { $0.remove(user) }
                  return nil
                }
              }
              done.resume()
            }
          }
        },
        role: RoleErasure(onLoop: onLoop, passage: membership?.passage),
        readmit: { [weak self] user throws(StoreFailure) in try await self?.forgetRemovals(of: user)
        }
      ))
  }

  /// Removes a user from the list of removed members of all shops.
  private func forgetRemovals(of user: String) async throws(StoreFailure) {
    do throws(BackendError) {
      let list = try RemovalsFile(directory: configuration.dataDirectory).read()
      for member in list where member.user == user {
        try await readmitMember(user, to: member.shop)
      }
    } catch {
      if case .store(let failure) = error { throw failure }
      throw .other(detail: error.description)
    }
  }
}
