import LinkRuntime

/// The services of a backend, in the order in which their routes are tried.
let backendServices: [any Service.Type] = [
  ShopService.self,
  RelayService.self,
  AssistantService.self,
]

/// What services are opened with.
struct BackendSetup: Sendable {
  var configuration: BackendConfiguration
  var tokens: Tokens
  var log: BackendLog
  /// Takes the place of the SQLite file of the messages.
  var messages: (any MessageLog)?
  /// Takes the place of the SQLite file of the relay.
  var relay: (any RelayStore)?
  /// Wakes phones in background.
  var pushes: (any PushSender)?

  /// Opens the stores and makes the rules of all services; if one fails, the others are closed.
  func open() async throws(BackendError) -> [any Service] {
    var opened: [any Service] = []
    do throws(BackendError) {
      for service in backendServices { opened.append(try await service.open(self)) }
      return opened
    } catch {
      for service in opened { await service.close() }
      throw error
    }
  }
}

extension BackendConfiguration {
  /// The most sockets that the services hold at once.
  var maxSockets: Int { backendServices.reduce(0) { $0 + $1.maxSockets(self) } }

  /// The longest bodies, by path, where they differ from the backend's bound.
  var maxBodyBytes: [String: Int] {
    backendServices.reduce(into: [:]) { $0.merge(Self.bodies(of: $1)) { _, last in last } }
  }

  private static func bodies<S: Service>(of service: S.Type) -> [String: Int] {
    S.Route.maxBodyBytes
  }
}
