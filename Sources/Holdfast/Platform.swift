public import LinkCore
public import LinkRuntime
public import LinkWire
import CurlNetwork
import StoreSQLite

#if os(Linux)
  import LifecycleSystem
  import NotificationsDBus
  import ReachabilityNetlink
#endif

/// This platform's own adapters, put together.
public enum Platform {
  /// Dials and speaks REST through the system's HTTP library.
  ///
  /// - Parameters:
  ///   - authorities: a PEM file of certificate authorities trusted beside the system's.
  ///   - proxy: a proxy's URL; `nil` reads the environment, "" means none.
  ///   - allowsPlaintext: whether `http` may leave this device.
  /// - Throws: `.local` when the process has no descriptors or threads left.
  public static func network(
    authorities: String? = nil, proxy: String? = nil, allowsPlaintext: Bool = false
  ) throws(LinkFailure) -> any SocketDialer & HTTPClient {
    try CurlNetwork(
      CurlConfiguration(
        authorities: authorities, proxy: proxy, allowsPlaintext: allowsPlaintext))
  }

  /// The timelines kept in a directory; made with mode 0700 when it is not there.
  ///
  /// - Throws: `.locked` while another process writes there, `.denied`, `.corrupt`,
  ///   `.fromTheFuture`.
  public static func store(
    in directory: String, forReading: Bool = false
  ) async throws(StoreFailure) -> any TimelineStore {
    try await SQLiteTimelineStore.open(in: directory, access: forReading ? .read : .write)
  }

  /// Timelines that are kept while the process lives, and no longer.
  public static func memoryStore() -> any TimelineStore { MemoryStore() }

  /// Watches the way to a host.
  public static func reachability(of host: String) -> any ReachabilityMonitor {
    #if os(Linux)
      NetlinkReachability(target: NetlinkReachability.Target(host: host))
    #else
      AlwaysReachable()
    #endif
  }

  /// Shows notifications on the desktop, and otherwise where the app says.
  ///
  /// - Parameters:
  ///   - application: Who notifies, for people.
  ///   - other: Shows them while there is no desktop.
  public static func notifier(
    application: String, otherwise other: any Notifier
  ) -> any Notifier {
    #if os(Linux)
      FallbackNotifier(DesktopNotifier(application: application), otherwise: other)
    #else
      other
    #endif
  }

  /// Watches the app's lifecycle by signals and, where there is one, the system's login manager.
  ///
  /// - Parameter note: told once when a source is not there.
  public static func lifecycle(
    note: @escaping @Sendable (String) -> Void = { _ in }
  ) -> any LifecycleMonitor {
    #if os(Linux)
      SystemLifecycle(note: note)
    #else
      AlwaysForeground()
    #endif
  }
}

/// Says that there is a way out, where no monitor exists yet.
public struct AlwaysReachable: ReachabilityMonitor {
  public init() {}

  /// One element: reachable.
  public func changes() -> AsyncStream<Reachability> {
    AsyncStream { $0.yield(.reachable(path: PathID("unknown"))) }
  }
}

/// Says nothing: the app is in front until it says otherwise itself.
public struct AlwaysForeground: LifecycleMonitor {
  public init() {}

  /// Nothing, for ever.
  public func changes() -> AsyncStream<LifecycleEvent> {
    AsyncStream { _ in }
  }
}
