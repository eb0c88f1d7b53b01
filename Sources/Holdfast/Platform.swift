public import LinkCore
public import LinkRuntime
public import LinkWire
import Foundation
import OwnerFiles
import StoreSQLite

#if os(Linux)
  import BluetoothBlueZ
  import CurlNetwork
  import LifecycleSystem
  import NetworkCost
  import NotificationsDBus
  import RadioSocket
  import ReachabilityNetlink
#endif

/// This platform's own adapters, put together.
public enum Platform {
  #if os(Linux)
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
  #else
    @available(
      *, unavailable,
      message: """
        Holdfast has no network adapter for this platform yet; \
        pass a type of your own that conforms to SocketDialer and HTTPClient
        """
    )
    /// Opens sockets and sends requests; this platform has no adapter for it yet.
    public static func network(
      authorities: String? = nil, proxy: String? = nil, allowsPlaintext: Bool = false
    ) throws(LinkFailure) -> any SocketDialer & HTTPClient {
      throw .local(detail: "this platform has no network adapter yet")
    }
  #endif

  /// The network for an app that brings none.
  ///
  /// - Throws: `.local` as `network` does, and where this platform has no adapter for it.
  package static func ownNetwork() throws(LinkFailure) -> any SocketDialer & HTTPClient {
    #if os(Linux)
      return try network()
    #else
      throw .local(
        detail: "Holdfast has no network adapter for this platform yet; set `network` to a type of "
          + "your own that conforms to SocketDialer and HTTPClient")
    #endif
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

  /// Makes nothing, and throws `.denied` where no timelines are kept.
  public static func expectStore(in directory: String) throws(StoreFailure) {
    try SQLiteTimelineStore.expect(in: directory)
  }

  /// The health samples kept in a directory; made with mode 0700 when it is not there, but not for
  /// reading.
  ///
  /// - Throws: `.locked` while another process writes there, `.denied`, `.corrupt`,
  ///   `.fromTheFuture`.
  public static func healthStore(
    in directory: String, forReading: Bool = false
  ) async throws(StoreFailure) -> any HealthStore {
    try await SQLiteHealthStore.open(in: directory, access: forReading ? .read : .write)
  }

  /// Opens the same store for reading beside a writer; creates it if it is missing.
  ///
  /// - Throws: `.denied`, `.corrupt`, `.fromTheFuture`, `.full`.
  public static func readableHealthStore(
    in directory: String
  ) async throws(StoreFailure) -> any HealthStore {
    do throws(StoreFailure) {
      return try await SQLiteHealthStore.open(in: directory, access: .read)
    } catch {
      // There may be none yet: then it is empty. What is wrong with one that is there comes again.
      if let made = try? await SQLiteHealthStore.open(in: directory) { await made.close() }
      return try await SQLiteHealthStore.open(in: directory, access: .read)
    }
  }

  /// The durable outbox of one held socket, in a directory of its own, which is created with mode
  /// 0700 if it is missing.
  ///
  /// - Throws: `.locked` while another process uses it, `.denied`, `.corrupt`, `.fromTheFuture`,
  ///   `.full`.
  public static func outbox(in directory: String) async throws(StoreFailure) -> any OutboxStore {
    try await SQLiteOutbox.open(in: directory)
  }

  /// What a client of sessions keeps, in a directory, which is created with mode 0700 if it is
  /// missing.
  ///
  /// - Throws: `.locked` while another process uses it, `.denied`, `.corrupt`, `.fromTheFuture`,
  ///   `.full`.
  public static func sessionStore(
    in directory: String, forReading: Bool = false
  ) async throws(StoreFailure) -> any ClientSessionStore {
    try await SQLiteClientSessionStore.open(in: directory, access: forReading ? .read : .write)
  }

  /// The drinks of one bottle, in a directory, which is created with mode 0700 if it is missing,
  /// but not for reading.
  ///
  /// - Throws: `.locked` while another process uses it, `.denied`, `.corrupt`, `.fromTheFuture`,
  ///   `.full`.
  public static func drinkStore(
    in directory: String, forReading: Bool = false
  ) async throws(StoreFailure) -> any DrinkStore {
    try await SQLiteDrinkStore.open(in: directory, access: forReading ? .read : .write)
  }

  #if os(Linux)
    /// A radio on a Unix socket, for a bottle that runs on this machine.
    public static func radio(on path: String) -> any Central { SocketCentral(path: path) }

    /// Bluetooth of this machine, through BlueZ.
    ///
    /// - Parameters:
    ///   - adapter: such as `hci0`; `nil` is the first one.
    ///   - services: what the wanted peripherals advertise.
    ///   - standby: called when what waits for peripherals changes: `auto-connect`,
    ///     `advertisement-monitor`, `paced-scan`, or `nil` for nothing. Must return quickly.
    public static func bluetooth(
      adapter: String? = nil, services: [GATTID],
      standby: @escaping @Sendable (String?) -> Void = { _ in }
    ) -> any Central {
      BlueZCentral(adapter: adapter, services: services) { standby($0?.rawValue) }
    }
  #endif

  /// The queue of a phone that syncs, in a directory, which is created with mode 0700 if it is
  /// missing, but not for reading.
  ///
  /// - Throws: `.locked` while another process uses it, `.denied`, `.corrupt`, `.fromTheFuture`,
  ///   `.full`.
  public static func syncQueue(
    in directory: String, forReading: Bool = false
  ) async throws(StoreFailure) -> any SyncQueueStore {
    try await SQLiteSyncQueueStore.open(in: directory, access: forReading ? .read : .write)
  }

  /// The name by which a backend knows the phone of a directory, which is created if it is missing.
  ///
  /// Processes that ask at once agree on one name.
  ///
  /// - Throws: `.denied` or `.full` if it cannot be kept, `.corrupt` if the file holds no name.
  public static func phoneName(in directory: String) throws(StoreFailure) -> UUID128 {
    // A name has 36 characters.
    let file = OwnerFile(directory + "/phone", maxBytes: 1_024, isSecret: false)
    var generator = SystemRandomNumberGenerator()
    let bytes: [UInt8]
    do throws(OwnerFileError) {
      bytes = try file.readOrCreate(Array("\(UUID128.random(using: &generator))\n".utf8))
    } catch {
      throw StoreFailure(error, at: file.path)
    }
    guard let name = UUID128(String(decoding: bytes, as: UTF8.self).prefix { !$0.isNewline })
    else { throw .corrupt(detail: "\(file.path) holds no name of a phone") }
    return name
  }

  /// Timelines that are kept while the process lives, and no longer.
  public static func memoryStore() -> any TimelineStore { MemoryStore(KeptTimelines()) }

  /// Secrets in files of a directory that only their owner can read.
  public static func secrets(in directory: String) -> any SecretStore {
    SecretFiles(in: directory)
  }

  /// Time after the app left the foreground: without a limit where the system ends no app for it.
  public static func backgroundTime() -> any BackgroundTime { UnlimitedTime() }

  /// Wakes for tasks while the process lives.
  public static func wakes() -> any WakeSource { TimerWakes() }

  /// Watches the way to a host.
  public static func reachability(of host: String) -> any ReachabilityMonitor {
    #if os(Linux)
      CostedReachability(NetlinkReachability(target: NetlinkReachability.Target(host: host)))
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
  /// - Parameters:
  ///   - hangup: whether SIGHUP asks for another try; it ends the process otherwise.
  ///   - note: told once when a source is not there.
  public static func lifecycle(
    hangup: Bool = false, note: @escaping @Sendable (String) -> Void = { _ in }
  ) -> any LifecycleMonitor {
    #if os(Linux)
      SystemLifecycle(hangup: hangup, note: note)
    #else
      // An app gets signals of its own; it tells the front door when it is turned.
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
