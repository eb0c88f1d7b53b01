public import LinkCore
public import LinkWire

/// A queue of file uploads, which may continue while the process does not run.
///
/// It is a background session of the system, or tasks of this process.
///
/// Contract: each enqueued upload ends with exactly one event, unless it is cancelled. If the
/// upload outlives the process, a later process receives the event. Files are neither changed nor
/// deleted.
public protocol UploadQueue: Sendable {
  /// Begins to deliver the ends of uploads. Called once, before any other method.
  func events(_ deliver: @escaping @Sendable (UploadEvent) async -> Void) async

  /// Returns the uploads of earlier processes that are still running, by file name.
  func running() async -> Set<String>

  /// Starts uploads, all at once.
  func enqueue(_ uploads: [FileUpload]) async

  /// Returns the identity of the server to which the progress belongs, also if the server sends
  /// none.
  ///
  /// - Throws: An error if there was no response or the secret was rejected.
  func identify() async throws(LinkFailure) -> SyncIdentity

  /// Reads the secret again for later uploads. Returns whether it differs from the one that the
  /// server rejected.
  func renewSecret() async -> Bool

  /// Notifies the server that everything was sent. Returns the failure if the server did not
  /// complete its part.
  func refresh() async -> LinkFailure?

  /// Cancels all uploads of this process. No event follows.
  func stop() async
}

/// The end of an upload.
public struct UploadEvent: Sendable, Hashable {
  /// The name of the upload's file.
  public var file: String
  /// The outcome.
  public var outcome: UploadOutcome
  /// The epoch in the response, see `SyncIdentity.epoch(field:)`; `nil` if there is none.
  public var epoch: String?

  /// Creates an event.
  public init(file: String, outcome: UploadOutcome, epoch: String? = nil) {
    (self.file, self.outcome, self.epoch) = (file, outcome, epoch)
  }
}
