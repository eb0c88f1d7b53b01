public import HoldfastCore

/// The outcome of an upload.
public enum UploadOutcome: Sendable, Hashable, Codable {
  /// The server reported that it stored the file.
  case accepted
  /// The server rejected the upload, or no answer arrived.
  case failed(LinkFailure)
  /// The file cannot be read. `detail` is the reason.
  case unreadable(detail: String)
}
