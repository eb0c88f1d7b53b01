public import HoldfastCore
public import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastOwnerFiles
public import HoldfastPorts
import HoldfastSQLiteStores
public import HoldfastSocket

#if os(Linux)
  import HoldfastBlueZ
  public import HoldfastBottleData
  import HoldfastMessageData
  import HoldfastLinuxDevice
  import HoldfastLinuxDevice
  import HoldfastRadioSocket
  import HoldfastLinuxDevice
#else
#endif

/// Adapters for features that store data or use other parts of a device.
extension HoldfastPlatform {
  /// Returns a monitor of signals and of the system's login manager, if there is one.
  ///
  /// - Parameters:
  ///   - hangup: Whether SIGHUP requests another attempt. Otherwise it ends the process.
  ///   - note: A function that is called once if a source is not available.
  public static func lifecycle(
    hangup: Bool = false, note: @escaping @Sendable (String) -> Void = { _ in }
  ) -> any LifecycleMonitor {
    #if os(Linux)
      SystemLifecycle(hangup: hangup, note: note)
    #else
      // Apple's systems report the lifecycle to an application, which `ApplicationLifecycle` needs.
      // An app without it reports changes through `setLifecycle(_:)`.
      AlwaysForeground()
    #endif
  }

  /// Returns a monitor of the network path to a host, and of the cost of that path.
  ///
  /// On Linux, the cost is known if NetworkManager runs. Apple's platforms always report it.
  public static func meteredReachability(of host: String) -> any ReachabilityMonitor {
    let monitor = reachability(of: host)
    #if os(Linux)
      return CostedReachability(monitor)
    #else
      return monitor
    #endif
  }

  /// Opens the timelines stored in a directory. The directory is created with mode 0700 if it is
  /// missing.
  ///
  /// - Throws: `.locked` while another process writes to it, `.denied`, `.corrupt`, or
  ///   `.fromTheFuture`.
  public static func store(
    in directory: String, forReading: Bool = false
  ) async throws(StoreFailure) -> any TimelineStore {
    try await SQLiteTimelineStore.open(in: directory, access: forReading ? .read : .write)
  }

  /// Throws `.denied` if a directory contains no timelines. Creates no files.
  public static func expectStore(in directory: String) throws(StoreFailure) {
    try SQLiteTimelineStore.expect(in: directory)
  }

  /// Opens the health samples stored in a directory.
  ///
  /// The directory is created with mode 0700 if it is missing, unless it is opened for reading.
  ///
  /// - Throws: `.locked` while another process writes to it, `.denied`, `.corrupt`, or
  ///   `.fromTheFuture`.
  public static func healthStore(
    in directory: String, forReading: Bool = false
  ) async throws(StoreFailure) -> any HealthStore {
    try await SQLiteHealthStore.open(in: directory, access: forReading ? .read : .write)
  }

  /// Opens the health samples for reading, even while another process writes. Creates an empty
  /// store if the store is missing.
  ///
  /// - Throws: `.denied`, `.corrupt`, `.fromTheFuture`, or `.full`.
  public static func readableHealthStore(
    in directory: String
  ) async throws(StoreFailure) -> any HealthStore {
    do throws(StoreFailure) {
      return try await SQLiteHealthStore.open(in: directory, access: .read)
    } catch {
      // If the store is missing, an empty one is created. If an existing store caused the error,
      // the second attempt throws it again.
      if let made = try? await SQLiteHealthStore.open(in: directory) { await made.close() }
      return try await SQLiteHealthStore.open(in: directory, access: .read)
    }
  }

  /// Opens the durable outbox of one held socket. Each outbox needs its own directory.
  ///
  /// The directory is created with mode 0700 if it is missing.
  ///
  /// - Throws: `.locked` while another process uses it, `.denied`, `.corrupt`, `.fromTheFuture`, or
  ///   `.full`.
  public static func outbox(in directory: String) async throws(StoreFailure) -> any OutboxStore {
    try await SQLiteOutbox.open(in: directory)
  }

  /// Opens the store of a session's client in a directory.
  ///
  /// The directory is created with mode 0700 if it is missing.
  ///
  /// - Throws: `.locked` while another process uses it, `.denied`, `.corrupt`, `.fromTheFuture`, or
  ///   `.full`.
  public static func sessionStore(
    in directory: String, forReading: Bool = false
  ) async throws(StoreFailure) -> any ClientSessionStore {
    try await SQLiteClientSessionStore.open(in: directory, access: forReading ? .read : .write)
  }

  /// Opens the drinks of one bottle in a directory.
  ///
  /// The directory is created with mode 0700 if it is missing, unless it is opened for reading.
  ///
  /// - Throws: `.locked` while another process uses it, `.denied`, `.corrupt`, `.fromTheFuture`, or
  ///   `.full`.
  public static func drinkStore(
    in directory: String, forReading: Bool = false
  ) async throws(StoreFailure) -> any DrinkStore {
    try await SQLiteDrinkStore.open(in: directory, access: forReading ? .read : .write)
  }

  #if os(Linux)
    /// Returns a radio that uses a Unix socket, for a simulated bottle on this machine.
    public static func radio(on path: String) -> any Central { SocketCentral(path: path) }

    /// Returns the Bluetooth radio of this machine, through BlueZ.
    ///
    /// - Parameters:
    ///   - adapter: The name of the adapter, such as `hci0`. `nil` selects the first one.
    ///   - services: The services that the requested peripherals advertise.
    ///   - standby: A closure that is called when the way of waiting for peripherals changes. Its
    ///     argument is `auto-connect`, `advertisement-monitor`, `paced-scan`, or `nil` for none. It
    ///     must return quickly.
    public static func bluetooth(
      adapter: String? = nil, services: [GATTID],
      standby: @escaping @Sendable (String?) -> Void = { _ in }
    ) -> any Central {
      BlueZCentral(adapter: adapter, services: services) { standby($0?.rawValue) }
    }
  #endif

  /// Opens the queue of a phone's sync in a directory.
  ///
  /// The directory is created with mode 0700 if it is missing, unless it is opened for reading.
  ///
  /// - Throws: `.locked` while another process uses it, `.denied`, `.corrupt`, `.fromTheFuture`, or
  ///   `.full`.
  public static func syncQueue(
    in directory: String, forReading: Bool = false
  ) async throws(StoreFailure) -> any SyncQueueStore {
    try await SQLiteSyncQueueStore.open(in: directory, access: forReading ? .read : .write)
  }

  /// Returns the id with which a phone identifies itself to a backend. Each directory has one id.
  ///
  /// The id is created if it is missing. Processes that call this method at the same time get the
  /// same id.
  ///
  /// - Throws: `.denied` or `.full` if the id cannot be stored, or `.corrupt` if the file contains
  ///   no valid id.
  public static func phoneName(in directory: String) throws(StoreFailure) -> UUID128 {
    // An id has 36 characters.
    let file = OwnerFile(directory + "/phone", maxBytes: 1_024, isSecret: false)
    let bytes: [UInt8]
    do throws(OwnerFileError) {
      bytes = try file.readOrCreate(Array("\(UUID128.random())\n".utf8))
    } catch {
      throw StoreFailure(error, at: file.path)
    }
    guard let name = UUID128(String(decoding: bytes, as: UTF8.self).prefix { !$0.isNewline })
    else { throw .corrupt(detail: "\(file.path) contains no valid id of a phone") }
    return name
  }

  /// Returns a store of timelines in memory. Its content is lost when the process ends.
  public static func memoryStore() -> any TimelineStore { MemoryStore(StoredTimelines()) }

  /// Returns a notifier that uses the desktop or, if there is no desktop, another notifier.
  ///
  /// - Parameters:
  ///   - application: The name of the application in notifications.
  ///   - other: The notifier that is used while there is no desktop.
  public static func notifier(
    application: String, otherwise other: any Notifier
  ) -> any Notifier {
    #if os(Linux)
      FallbackNotifier(DesktopNotifier(application: application), otherwise: other)
    #else
      other
    #endif
  }
}
