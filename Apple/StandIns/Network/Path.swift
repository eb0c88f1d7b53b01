import Synchronization

/// A network path.
public struct NWPath: Equatable, Sendable {
  public enum Status: Sendable {
    case satisfied, unsatisfied, requiresConnection
  }

  public let status: Status
  public let availableInterfaces: [NWInterface]
  public let isExpensive: Bool
  public let isConstrained: Bool
  public let gateways: [NWEndpoint]

  public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool {
    availableInterfaces.first?.type == type
  }

  @_spi(Script) public init(
    _ status: Status, _ interfaces: [NWInterface] = [], gateways: [NWEndpoint] = [],
    isExpensive: Bool = false, isConstrained: Bool = false
  ) {
    (self.status, availableInterfaces, self.gateways) = (status, interfaces, gateways)
    (self.isExpensive, self.isConstrained) = (isExpensive, isConstrained)
  }
}

/// A monitor of the device's path. It reports the current path after its start, and then each
/// update, even if the new path equals the one before.
public final class NWPathMonitor: Sendable {
  private struct State {
    var handler: (@Sendable (NWPath) -> Void)?
    var queue: DispatchQueue?
    var isCancelled = false
  }

  private struct Script {
    var path = NWPath(.unsatisfied)
    var monitors: [NWPathMonitor] = []
    var misuses: [String] = []
  }

  private static let script = Mutex(Script())
  private let state = Mutex(State())

  public init() {}

  public var currentPath: NWPath { Self.script.withLock(\.path) }

  public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)? {
    get { state.withLock(\.handler) }
    set { state.withLock { $0.handler = newValue } }
  }

  public var queue: DispatchQueue? { state.withLock(\.queue) }

  public func start(queue: DispatchQueue) {
    let misuse = state.withLock { state -> String? in
      defer { state.queue = queue }
      if state.isCancelled { return "A cancelled monitor was started." }
      if state.queue != nil { return "A monitor was started twice." }
      return state.handler == nil ? "A monitor without a handler was started." : nil
    }
    let path = Self.script.withLock { script in
      if let misuse { script.misuses.append(misuse) } else { script.monitors.append(self) }
      return script.path
    }
    if misuse == nil { report(path) }
  }

  public func cancel() {
    Self.script.withLock { script in script.monitors.removeAll { $0 === self } }
    state.withLock { ($0.handler, $0.isCancelled) = (nil, true) }
  }

  private func report(_ path: NWPath) {
    queue?.async { [self] in pathUpdateHandler?(path) }
  }

  /// Updates the path of all monitors.
  @_spi(Script) public static func update(_ path: NWPath) {
    let monitors = script.withLock { script in
      script.path = path
      return script.monitors
    }
    for monitor in monitors { monitor.report(path) }
  }

  /// The number of monitors that were started and not cancelled.
  @_spi(Script) public static var running: Int { script.withLock(\.monitors.count) }

  /// Returns the incorrect uses since the last call.
  @_spi(Script) public static func takeMisuses() -> [String] {
    script.withLock { script in
      defer { script.misuses = [] }
      return script.misuses
    }
  }
}
