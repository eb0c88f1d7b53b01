public import HoldfastCore
public import HoldfastFeaturePorts
import HoldfastHealthSync
public import HoldfastSocket
import HoldfastUploads

/// The configuration of a sync, with the parts of the device that it uses.
public struct SyncConfiguration: Sendable {
  /// The URL of the server: `https://HOST[:PORT][/PATH]`, or `http://` for this device.
  public var server: String
  /// Whether `http://` may be used for a server on another device. Everyone on the network path can
  /// then read the samples and the secret.
  ///
  /// Without it, such a URL is refused, also if the app supplies the network. A network that the
  /// app supplies can have a rule of its own, which must allow plaintext too.
  public var allowsPlaintext = false
  /// The source of the secret. It is called at the start, and again after each refusal.
  ///
  /// A sync differs from the links in three points. After `TokenFailure.rejected`, as after a
  /// refusal by the server, the source is called again: at once, then once a minute, and by
  /// `retryNow()`. An expiry is not observed: a secret is used until the server refuses it. A queue
  /// that the app supplies as `uploads` has a secret of its own. As usual, at most one call is
  /// waited for at a time, and it counts as failed after the policy's `gate.refreshTimeout`.
  public var tokens: TokenSource
  /// HealthKit's identifiers of the synced types.
  public var types = SyncTypes.usual
  /// The identifier of this phone.
  public var deviceID = "unknown"
  /// The source of the samples.
  public var source: any HealthSource
  /// The location of the queue, which must not be lost. Only one sync may use it at a time.
  public var storage: StorageLocation<any SyncQueueStore>
  /// The directory for the files of pending batches. If it is `nil`, they are in the directory of
  /// `storage`.
  ///
  /// A queue that is not in a directory needs one. The files that the queue does not name are
  /// deleted.
  public var directory: String?
  /// The queue that uploads batches from their files concurrently. File names are relative to the
  /// directory of the files.
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

  /// The parts of the device that the sync uses.
  public var ports = DevicePorts()

  /// Creates a configuration with the default types.
  ///
  /// - Parameters:
  ///   - directory: The directory for the files of pending batches. It is required unless `storage`
  ///     is a directory.
  ///   - tokens: The source of the secret.
  public init(
    _ server: String, source: any HealthSource, storage: StorageLocation<any SyncQueueStore>,
    directory: String? = nil, tokens: TokenSource
  ) {
    (self.server, self.source, self.storage) = (server, source, storage)
    (self.directory, self.tokens) = (directory, tokens)
  }

  /// Creates a configuration with the default types and a closure that returns the secret.
  ///
  /// - Parameters:
  ///   - directory: The directory for the files of pending batches. It is required unless `storage`
  ///     is a directory.
  ///   - secret: A closure that returns the secret, as for a `TokenSource`.
  public init(
    _ server: String, source: any HealthSource, storage: StorageLocation<any SyncQueueStore>,
    directory: String? = nil, secret: @escaping @Sendable () async throws -> String
  ) {
    self.init(
      server, source: source, storage: storage, directory: directory, tokens: TokenSource(secret))
  }

  /// Returns the files of pending batches.
  ///
  /// - Throws: `.configuration` if the configuration names no directory.
  func files() throws(OpenError) -> PayloadFiles {
    if let directory { return PayloadFiles(in: directory) }
    guard case .directory(let path) = storage else {
      throw .configuration(
        "the files of pending batches need a directory; set `directory`, or use `.directory` as "
          + "the storage")
    }
    return PayloadFiles(in: path)
  }

  /// The settings of the model. A queue of the app receives several batches at once.
  var settings: SyncSettings {
    SyncSettings(policy: policy, depth: uploads == nil ? 1 : SyncSettings.mostBatches)
  }
}

extension StorageLocation<any SyncQueueStore> {
  /// Returns the store, which is opened unless the app supplies it.
  func open() async throws(StoreFailure) -> any SyncQueueStore {
    switch self {
    case .directory(let path): return try await HoldfastPlatform.syncQueue(in: path)
    case .memory: return MemorySyncQueueStore()
    case .store(let own): return own
    }
  }
}
