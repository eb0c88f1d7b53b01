import HoldfastCore
import HoldfastFeaturePorts
import HoldfastNodeBus
import HoldfastPorts
import Synchronization

/// The parameters for opening the services.
struct BackendSetup: Sendable {
  var configuration: BackendConfiguration
  var log: BackendLog
  /// The stores to use instead of the SQLite files. Each replaces the file of the service whose
  /// port it implements.
  var stores: [any SuspendableStore]
  /// The sender that wakes phones in the background; `nil` for none.
  var pushes: (any PushSender)?
  /// The contents of images; `nil` for files of the data directory.
  var storedImages: (any ImageContents)?
  /// The bus to the other nodes; `nil` if there are none.
  var nodes: NodeBus?
  /// Whether this node runs the services that run at one node at a time.
  var runsServicesOfOneNode = true
  /// The samples that phones have synced, for the service that answers while they are away.
  let synced = SyncedSamples()
  /// What tells the users of the backend.
  let access = BackendAccess()
  /// The log of messages, for the service of their images.
  let messages = Provided<any MessageLog>()

  /// The contents of images.
  var images: any ImageContents {
    storedImages ?? ImageFiles(in: configuration.dataDirectory)
  }

  /// Returns the supplied store for a port; if there is none, opens a store.
  func store<Port>(
    _ port: Port.Type, orOpen open: () async throws(StoreFailure) -> Port
  ) async throws(BackendError) -> Port {
    if let given = stores.lazy.compactMap({ $0 as? Port }).first { return given }
    do {
      return try await open()
    } catch {
      throw .store(error)
    }
  }

  /// Opens all services that this node runs. If one of them fails, the services that are already open
  /// are closed.
  func open() async throws(BackendError) -> [any Service] {
    try await open(backendServices.filter { runsServicesOfOneNode || !$0.runsAtOneNode })
  }

  /// Opens the services that run at one node at a time.
  func openServicesOfOneNode() async throws(BackendError) -> [any Service] {
    try await open(backendServices.filter { $0.runsAtOneNode })
  }

  private func open(
    _ types: [any Service.Type]
  ) async throws(BackendError) -> [any Service] {
    var opened: [any Service] = []
    do throws(BackendError) {
      for service in types { opened.append(try await service.open(self)) }
      return opened
    } catch {
      for service in opened { await service.close() }
      throw error
    }
  }
}

/// A value that one part of the backend provides to others, such as a service to those that open
/// after it.
final class Provided<Value: Sendable>: Sendable {
  private let stored = Mutex<Value?>(nil)

  /// The value, or `nil` if it was not provided.
  var value: Value? { stored.withLock { $0 } }

  func provide(_ value: Value) { stored.withLock { $0 = value } }
}

extension BackendConfiguration {
  /// The maximum number of sockets of all services together.
  var maxSockets: Int { backendServices.reduce(0) { $0 + $1.maxSockets(self) } }

  /// The size limits of request bodies, by path, where they differ from the backend's limit.
  var maxBodyBytes: [String: Int] {
    backendServices.reduce(into: [:]) { $0.merge(Self.bodies(of: $1)) { _, last in last } }
  }

  /// The paths whose requests are announced to the service before their bodies are complete.
  var announcedPaths: Set<String> {
    backendServices.reduce(into: []) { $0.formUnion(Self.announced(of: $1)) }
  }

  private static func announced<S: Service>(of service: S.Type) -> Set<String> {
    S.Route.announced
  }

  private static func bodies<S: Service>(of service: S.Type) -> [String: Int] {
    S.Route.maxBodyBytes
  }
}
