import HoldfastCore
import HoldfastMessageServer
import HoldfastOperators
import HoldfastOwnerFiles
import HoldfastPostgreSQLStores
import HoldfastServerSockets
import Synchronization

extension Backend {
  /// Creates the directory of the socket for operators, before the data directory exists.
  func prepareAdminSocket() throws(BackendError) {
    guard case .unix(let path)? = configuration.furtherListeners[.admin],
      let end = path.lastIndex(of: "/"), end != path.startIndex
    else { return }
    do throws(OwnerFileError) {
      try OwnerFile.makeDirectory(String(path[..<end]))
    } catch {
      throw .file(path: path, detail: error.description)
    }
  }

  /// Returns where operators connect; `nil` if they cannot, or if the service manager has passed a
  /// Unix domain socket.
  func adminAddress(on port: borrowing BoundPort) -> String? {
    if case .unix(let path)? = configuration.furtherListeners[.admin] { return "unix:\(path)" }
    return port.endpoint(of: .admin).map { "http://\($0)" }
  }

  /// Reads the erasures and the token. Returns what serves operators, or `nil` if there is neither an
  /// address for them nor another node.
  func openAdmin() throws(BackendError) -> AdminDesk? {
    let hasAddress = configuration.admin != nil
    guard hasAddress || membership != nil else { return nil }
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
      token: token, hasAddress: hasAddress, answers: AdminAnswers(node: node), work: work,
      drain: drainOnce())
  }

  /// Returns a function whose first call begins the end of the process, unless it has begun.
  private func drainOnce() -> @Sendable () -> Void {
    return { [weak self] in
      guard let self, !isEnding.exchange(true, ordering: .relaxed) else { return }
      if let drain = configuration.drain { drain() } else { Task { await self.drainAndStop() } }
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
    await adminWork.begin(
      with: UserEraser(
        sockets: sockets, messages: messages.store, images: messages.images, samples: samples.store,
        uploads: [images.uploads, samples.uploads],
        secrets: SyncSecretFile(path: configuration.syncSecretPath) {
          setup.access.syncSecrets.value?.change($0)
        },
        role: RoleErasure(sockets: sockets, passage: membership?.passage),
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
