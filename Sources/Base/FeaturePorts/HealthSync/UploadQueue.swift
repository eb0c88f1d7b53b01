public import HoldfastCore
public import HoldfastPorts
public import HoldfastSyncData
public import HoldfastUploads

/// A queue of file uploads. Uploads may continue while the process is not running.
///
/// It is implemented as a background session of the system, or by tasks of this process.
///
/// Contract: each enqueued upload ends with exactly one event, unless the queue is stopped before.
/// If the upload outlives the process, a later process receives the event. The queue neither
/// changes nor deletes files.
public protocol UploadQueue: Sendable {
  /// The identifier of the system's session that makes the uploads; `nil` if the system makes none.
  ///
  /// The cause of a wake for ended uploads names its session. A wake of another session does not
  /// concern the queue. The default is `nil`.
  var session: String? { get }

  /// Begins to deliver the outcomes of uploads. It is called before any other method except `woken`
  /// and `cancelAll`, and again after `stop` when the sync is opened again.
  ///
  /// The queue waits for each call of `deliver` before it gives a wake back. Ends that came after
  /// `stop` are delivered first.
  func events(_ deliver: @escaping @Sendable (UploadEvent) async -> Void) async

  /// Returns the file names of earlier processes' uploads that are still running.
  func running() async -> Set<String>

  /// Starts all of these uploads.
  func enqueue(_ uploads: [FileUpload]) async

  /// Returns the identity of the server that the progress belongs to, even if the server sends
  /// none.
  ///
  /// - Throws: An error if there was no response or the secret was rejected.
  func identify() async throws(LinkFailure) -> SyncIdentity

  /// Reads the secret again for later uploads. Returns whether it differs from the secret that the
  /// server rejected.
  func renewSecret() async -> Bool

  /// Notifies the server that all data was sent. Returns a failure if the server did not complete
  /// its part.
  func refresh() async -> LinkFailure?

  /// Passes a wake for the ends of uploads that the system made while the app was not running.
  ///
  /// The queue gives the wake back after it has delivered all of these ends, at the latest at the
  /// expiry of the wake. A call before `events` is allowed: the queue keeps the wake until then.
  /// The default implementation gives the wake back at once.
  func woken(_ wake: Wake) async

  /// Ends the delivery. Nothing is delivered after this method has returned.
  ///
  /// Uploads that the system makes continue, and a later process receives their ends. Uploads of
  /// this process are cancelled. A wake that the queue still has is given back.
  func stop() async

  /// Cancels all uploads, also those that an earlier process began. It is called after `stop`, when
  /// the user signs out, or without `events`.
  ///
  /// The ends of these uploads, and those that arrived after `stop`, are never delivered, even after
  /// a later call of `events`. The default implementation does nothing, for a queue whose uploads end
  /// with `stop`.
  func cancelAll() async
}

extension UploadQueue {
  /// `nil`.
  public var session: String? { nil }

  /// Gives the wake back at once.
  public func woken(_ wake: Wake) async { wake.giveBack(.done) }

  /// Does nothing.
  public func cancelAll() async {}
}

/// The end of an upload.
public struct UploadEvent: Sendable, Hashable {
  /// The name of the upload's file.
  public var file: String
  /// The outcome.
  public var outcome: UploadOutcome
  /// The epoch in the response (see `SyncIdentity.epoch(field:)`); `nil` if there is none.
  public var epoch: String?

  /// Creates an event.
  public init(file: String, outcome: UploadOutcome, epoch: String? = nil) {
    (self.file, self.outcome, self.epoch) = (file, outcome, epoch)
  }
}
