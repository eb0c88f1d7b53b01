import HoldfastAssistants
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastNodeBus
import HoldfastPorts
import HoldfastPostgreSQLStores
import HoldfastServerParts
import HoldfastServerSockets
import Synchronization

/// The membership of a backend in the nodes over one database.
final class NodeMembership: Sendable {
  let node: DatabaseNode
  let bus: NodeBus
  /// The way of requests to the node that runs the services of one node; `nil` without an address.
  let passage: NodePassage?
  private let followers = Mutex<[Task<Void, Never>]>([])
  /// The stores of services that are being opened.
  private let opening = Mutex<[any SuspendableStore]>([])

  private init(_ node: DatabaseNode, _ bus: NodeBus, _ passage: NodePassage?) {
    (self.node, self.bus, self.passage) = (node, bus, passage)
  }

  /// Connects to a database and takes a lease.
  ///
  /// - Parameter address: The address for other nodes; `nil` for none.
  static func open(
    _ url: String, _ configuration: BackendConfiguration, address: SocketEndpoint?
  ) async throws(BackendError) -> NodeMembership {
    let facts = NodeFacts(
      name: configuration.nodeName ?? DatabaseNode.hostName, secrets: try secrets(configuration),
      version: MCPResult.serverVersion, address: address?.description ?? "")
    let tokens = try Tokens.open(for: configuration)
    let membership: NodeMembership
    do throws(StoreFailure) {
      let nats = try configuration.bus.map { urls throws(StoreFailure) in try NATSSettings(urls) }
      let node = try await DatabaseNode.open(
        DatabaseSettings(url), in: configuration.dataDirectory, facts)
      let passage = NodePassage(tokens, configuration.proxies) {
        node.holder.flatMap { SocketEndpoint($0) }
      }
      membership = NodeMembership(
        node, try await bus(of: node, over: nats), address == nil ? nil : passage)
    } catch {
      throw .store(error)
    }
    do throws(BackendError) {
      try await membership.shareRemovals(of: configuration.dataDirectory)
      return membership
    } catch {
      await membership.close()
      throw error
    }
  }

  /// Opens a bus over NATS, or over the database if there are no settings.
  private static func bus(
    of node: DatabaseNode, over nats: NATSSettings?
  ) async throws(StoreFailure) -> NodeBus {
    guard let nats else { return NodeBus(of: node) }
    do throws(StoreFailure) {
      return NodeBus(of: node.run, over: nats, subject: try await node.subject())
    } catch {
      await node.close()
      throw error
    }
  }

  /// Returns a hash of the secrets that have to be equal at all nodes. It reveals none of them.
  private static func secrets(
    _ configuration: BackendConfiguration
  ) throws(BackendError) -> [UInt8] {
    let key = try SessionKey.open(at: configuration.sessionKeyPath)
    return try Tokens.open(for: configuration).sign(
      Array("holdfast node".utf8) + [0] + key.text)
  }

  /// Opens the stores of all services.
  func stores(
    newEpoch: Bool
  ) async throws(BackendError) -> ([any SuspendableStore], any ImageContents) {
    do throws(StoreFailure) {
      let log = try await PostgreSQLMessageLog(of: node, newEpoch: newEpoch, stampsPosts: true)
      let sync = try await PostgreSQLSyncStore(of: node, newEpoch: newEpoch)
      return ([log, sync] + storesOfOneNode(), DatabaseImages(log: log))
    } catch {
      throw .store(error)
    }
  }

  /// Opens the stores of the services that run at one node at a time.
  private func storesOfOneNode() -> [any SuspendableStore] {
    [PostgreSQLRelayStore(of: node), PostgreSQLSessionStore(of: node)]
  }

  /// A function that returns the state of the node.
  var figures: @Sendable () -> NodeFigures {
    { [node, bus] in
      NodeFigures(
        hasLease: node.reason == nil, hasRole: node.holdsRole, hearsOthers: bus.failure == nil)
    }
  }

  /// Passes reports of other nodes, and changes of what this node may do, to a backend.
  func follow(_ backend: Backend, _ setup: BackendSetup) {
    let reports = Task { [bus] in
      var isConnected: Bool?
      for await news in bus.news {
        if news == .connected, isConnected != true {
          isConnected = true
          backend.log.note(.busConnected)
        } else if news == .interrupted {
          isConnected = false
          backend.log.note(.busLost, bus.failure)
        }
        await backend.heard(news)
      }
    }
    let changes = Task { [self] in
      for await change in node.changes {
        switch change {
        case .lease(true):
          backend.log.note(.leaseTaken)
          await backend.heard(.admitted)
        case .lease(false):
          backend.log.note(.leaseLost, node.reason)
          await backend.heard(.cutOff)
        case .syncEpoch(let epoch): await backend.adopt(syncEpoch: epoch)
        case .removals: await backend.adoptSharedRemovals()
        case .role(true): await take(backend, setup)
        case .role(false): await backend.leaveServicesOfOneNode()
        }
      }
    }
    followers.withLock { $0 = [reports, changes] }
  }

  /// Opens the services that another node has run, as after a restart there.
  private func take(_ backend: Backend, _ setup: BackendSetup) async {
    guard await backend.lacksServicesOfOneNode else { return }
    var setup = setup
    while node.holdsRole, !Task.isCancelled {
      let stores = storesOfOneNode()
      setup.stores = stores
      opening.withLock { $0 = stores }
      defer { opening.withLock { $0 = [] } }
      do throws(BackendError) {
        return await backend.install(try await setup.openServicesOfOneNode())
      } catch {
        backend.log.note(.storeFailure, error.description)
        try? await BootClock().wait(until: BootClock().now.advanced(by: .seconds(1)))
      }
    }
  }

  /// Ends the reports to the backend.
  func stopFollowing() async {
    let tasks = followers.withLock { tasks in
      defer { tasks = [] }
      return tasks
    }
    for task in tasks { task.cancel() }
    // Ends their waits for the database.
    for store in opening.withLock({ $0 }) { await store.close() }
    for task in tasks { await task.value }
  }

  func close() async {
    await stopFollowing()
    await bus.close()
    await node.close()
  }
}

extension Backend {
  /// Whether another node runs the services that run at one node at a time.
  var lacksServicesOfOneNode: Bool {
    guard case .running(let running) = state else { return false }
    return !running.services.contains { type(of: $0).runsAtOneNode }
  }

  /// Runs services that another node has run.
  func install(_ services: [any Service]) async {
    guard case .running(var running) = state else {
      for service in services { await service.close() }
      return
    }
    running.services += services
    state = .running(running)
    log.note(.roleTaken)
    running.sockets.inject { handler, hub in
      handler.turn(on: hub) { handler in
        for service in services { handler.install(service, on: hub) }
      }
    }
  }

  /// Ends the services that another node may run now.
  func leaveServicesOfOneNode() async {
    guard case .running(var running) = state else { return }
    let ended = running.services.takeAll { type(of: $0).runsAtOneNode }
    guard !ended.isEmpty else { return }
    state = .running(running)
    log.note(.roleLost)
    await running.sockets.run { handler, hub in
      handler.turn(on: hub) { $0.removeServicesOfOneNode(on: hub) }
    }
    for service in ended { await service.close() }
  }
}
