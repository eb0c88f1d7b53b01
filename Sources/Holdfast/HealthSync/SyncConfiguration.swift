import HealthSync
public import HoldfastSocket
public import LinkCore
public import LinkRuntime

/// The configuration of a sync, and the ports that it uses.
public struct SyncConfiguration: Sendable {
  /// The URL of the server: `https://HOST[:PORT][/PATH]`, or `http://` to this device.
  public var server: String
  /// Returns the secret, at the start and again after each refusal.
  public var secret: @Sendable () async throws(LinkFailure) -> String
  /// The HealthKit identifiers of the synced types.
  public var types = SyncTypes.usual
  /// The name of this phone.
  public var deviceID = "unknown"
  /// The source of the samples.
  public var source: any HealthSource
  /// The store of data that must not be lost. Only one sync uses it at a time.
  public var queue: any SyncQueueStore
  /// The directory of the queue, which contains the files of pending batches.
  public var directory: String
  /// The queue that uploads batches from their files, named relative to `directory`, all at once.
  ///
  /// `nil` uploads in this process, one batch of each type after another.
  public var uploads: (any UploadQueue)?
  /// The rules for retries.
  public var policy = LinkPolicy.healthSync
  /// The size in bytes from which an interrupted upload resumes instead of starting again.
  ///
  /// It is compared after compression, if the server accepts compressed bodies.
  public var resumesFrom = ResumableUpload.usualLeast
  /// The path of a journal that records every decision for `holdfast replay`; `nil` for none.
  ///
  /// The journal contains no secrets and no samples.
  public var journal: String?

  /// The network that sends HTTP requests; `nil` for the platform's own.
  public var network: (any SocketDialer & HTTPClient)?
  /// The monitor that reports reachability and the network path; `nil` for the platform's own.
  public var reachability: (any ReachabilityMonitor)?
  /// The monitor that reports whether the app is in the foreground and when the device sleeps.
  public var lifecycle: any LifecycleMonitor = AlwaysForeground()
  /// The clock of the sync.
  public var clock: any LinkClock = BootClock()

  /// Creates a configuration with the default types and this platform's ports.
  public init(
    _ server: String, source: any HealthSource, queue: any SyncQueueStore, directory: String,
    secret: @escaping @Sendable () async throws(LinkFailure) -> String
  ) {
    (self.server, self.source, self.queue) = (server, source, queue)
    (self.directory, self.secret) = (directory, secret)
  }
}
