public import LinkCore
public import LinkWire

/// Uploads of files, which may go on while the process does not: a background session of the
/// system, or tasks of this process.
///
/// Contract: each upload that was enqueued ends with exactly one event in the life of a process, in
/// this one or, if it outlives it, in a later one; unless it is cancelled. Files are not changed
/// and not deleted.
public protocol UploadQueue: Sendable {
  /// Tells the ends of uploads from now on; called once, before anything else.
  func events(_ deliver: @escaping @Sendable (UploadEvent) async -> Void) async

  /// Returns the uploads of earlier processes that still run, by their files.
  func running() async -> Set<String>

  /// Begins uploads, all at once.
  func enqueue(_ uploads: [FileUpload]) async

  /// Asks the server whose progress this is; answers also for a server that says nothing of itself.
  ///
  /// - Throws: If there was no answer, or the secret was refused.
  func identify() async throws(LinkFailure) -> SyncIdentity

  /// Reads the secret again for the uploads that follow; returns whether it is another one than the
  /// server refused.
  func renewSecret() async -> Bool

  /// Tells the server that all was sent; returns why it did not do its part.
  func refresh() async -> LinkFailure?

  /// Cancels all uploads of this process; no event follows.
  func stop() async
}

/// The end of an upload.
public struct UploadEvent: Sendable, Hashable {
  /// Names the upload.
  public var file: String
  /// How it ended.
  public var outcome: UploadOutcome
  /// The epoch that the answer names, see `SyncIdentity.epoch(field:)`; `nil` if it names none.
  public var epoch: String?

  /// An end from its parts.
  public init(file: String, outcome: UploadOutcome, epoch: String? = nil) {
    (self.file, self.outcome, self.epoch) = (file, outcome, epoch)
  }
}
