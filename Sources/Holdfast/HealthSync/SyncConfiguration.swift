import HealthSync
public import HoldfastSocket
public import LinkCore
public import LinkRuntime

/// What an app tells a sync once, and the ports that it stands on.
public struct SyncConfiguration: Sendable {
  /// The server: `https://HOST[:PORT][/PATH]`, or `http://` to this device.
  public var server: String
  /// Gives the secret: at the start, and again after each refusal.
  public var secret: @Sendable () async throws(LinkFailure) -> String
  /// HealthKit's identifiers of what is synced.
  public var types = SyncTypes.usual
  /// How the phone names itself.
  public var deviceID = "unknown"
  /// Where samples come from.
  public var source: any HealthSource
  /// Keeps what must not be lost; one sync uses it at a time.
  public var queue: any SyncQueueStore
  /// The directory of the queue, below which batches wait as files.
  public var directory: String
  /// Uploads the files of batches, which are named relative to `directory`, and is given all of
  /// them at once; `nil` for uploads by this process, of each type one after the other.
  public var uploads: (any UploadQueue)?
  /// When to try again.
  public var policy = LinkPolicy.healthSync
  /// From so many bytes on, compressed if the server takes that, uploads resume in the middle.
  public var resumesFrom = ResumableUpload.usualLeast
  /// A file that records every decision for `holdfast replay`, without secrets and samples; `nil`
  /// for none.
  public var journal: String?

  /// Speaks HTTP; `nil` for this platform's own network.
  public var network: (any SocketDialer & HTTPClient)?
  /// Reports whether and which way the server can be reached; `nil` for this platform's monitor.
  public var reachability: (any ReachabilityMonitor)?
  /// Reports whether the app is in front, and when the device sleeps.
  public var lifecycle: any LifecycleMonitor = AlwaysForeground()
  /// The time.
  public var clock: any LinkClock = BootClock()

  /// A configuration with the usual types and this platform's ports.
  public init(
    _ server: String, source: any HealthSource, queue: any SyncQueueStore, directory: String,
    secret: @escaping @Sendable () async throws(LinkFailure) -> String
  ) {
    (self.server, self.source, self.queue) = (server, source, queue)
    (self.directory, self.secret) = (directory, secret)
  }
}
