import HoldfastHealthSync
import HoldfastSocket
public import HoldfastCore
public import HoldfastFeaturePorts
public import HoldfastPorts

/// The configuration of a sync, and the ports that it uses.
public struct SyncConfiguration: Sendable {
  /// The URL of the server: `https://HOST[:PORT][/PATH]`, or `http://` for this device.
  public var server: String
  /// A closure that returns the secret. It is called at the start and again after each refusal.
  public var secret: @Sendable () async throws(LinkFailure) -> String
  /// HealthKit's identifiers of the synced types.
  public var types = SyncTypes.usual
  /// The identifier of this phone.
  public var deviceID = "unknown"
  /// The source of the samples.
  public var source: any HealthSource
  /// The store of data that must not be lost. Only one sync may use it at a time.
  public var queue: any SyncQueueStore
  /// The directory of the queue. It contains the files of pending batches.
  public var directory: String
  /// The queue that uploads batches from their files concurrently. File names are relative to
  /// `directory`.
  ///
  /// If it is `nil`, this process uploads the batches, one at a time for each type.
  public var uploads: (any UploadQueue)?
  /// The rules for retries.
  public var policy = LinkPolicy.healthSync
  /// The minimum size, in bytes, of an upload that resumes after an interruption instead of
  /// starting again.
  ///
  /// If the server accepts compressed bodies, the compressed size is compared.
  public var resumesFrom = ResumableUpload.usualLeast
  /// The path of a journal that records every decision for `holdfast replay`, or `nil` for no
  /// journal.
  ///
  /// The journal contains no secrets and no samples.
  public var journal: String?

  /// The network that sends HTTP requests. `nil` selects the platform's network.
  public var network: (any SocketDialer & HTTPClient)?
  /// The monitor that reports reachability and the network path. `nil` selects the platform's
  /// monitor.
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
