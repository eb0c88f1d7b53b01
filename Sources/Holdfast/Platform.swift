public import HoldfastSocket
public import LinkCore
public import LinkRuntime
import LinkStorage
import OwnerFiles
import StoreSQLite

#if os(Linux)
  import BluetoothBlueZ
  public import LinkWire
  import NotificationsDBus
  import RadioSocket
#else
  import LinkWire
#endif

/// The adapters of the features that keep something, and of what they need of a device.
extension Platform {
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
  public static func memoryStore() -> any TimelineStore { MemoryStore(StoredTimelines()) }

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
}
