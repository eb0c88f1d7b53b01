public import LinkCore
public import LinkHealth

// What the ports of a phone that syncs take and give.

/// Where a page begins.
public enum HealthPageStart: Sendable, Hashable, Codable {
  /// With the samples that begin in so much time before now, as the source knows it.
  case last(Duration)
  /// With the samples that begin at a time or later, or in so much time before now if that is
  /// earlier.
  case since(Timestamp, orLast: Duration)
  /// With the first change after an anchor.
  case after(HealthAnchor)
}

/// What changed at a source.
public struct SourcePage: Sendable, Hashable {
  /// Samples that were added, each with its UUID.
  public var added: [SourceSample]
  /// The UUIDs of samples that were deleted.
  public var deleted: [UUID128]
  /// Where the next page begins.
  public var anchor: HealthAnchor

  /// A page from its parts.
  public init(added: [SourceSample] = [], deleted: [UUID128] = [], anchor: HealthAnchor) {
    (self.added, self.deleted, self.anchor) = (added, deleted, anchor)
  }
}

/// A sample and the UUID by which its source knows it.
public struct SourceSample: Sendable, Hashable {
  /// By which it can be deleted.
  public var uuid: UUID128
  /// The sample.
  public var sample: HealthSample

  /// A sample with its UUID.
  public init(uuid: UUID128, sample: HealthSample) { (self.uuid, self.sample) = (uuid, sample) }
}

/// The reason why a source was not read.
public enum HealthSourceFailure: Error, Sendable, Hashable, Codable, CustomStringConvertible {
  /// The device is locked, or another process writes: later, and never "nothing".
  case locked(detail: String)
  /// Any other reason.
  case failed(detail: String)

  /// The reason in words for people.
  public var description: String {
    switch self {
    case .locked(let detail), .failed(let detail): detail
    }
  }
}

/// One file to be posted.
public struct FileUpload: Sendable, Hashable, Codable {
  /// The file, relative to the directory of payloads; names the upload.
  public var file: String
  /// HealthKit's identifier of what it holds.
  public var type: String
  /// Its size.
  public var bytes: Int

  /// An upload from its parts.
  public init(file: String, type: String, bytes: Int) {
    (self.file, self.type, self.bytes) = (file, type, bytes)
  }
}

/// How an upload ended.
public enum UploadOutcome: Sendable, Hashable, Codable {
  /// The server says that it has stored it.
  case accepted
  /// It was refused, or no answer came.
  case failed(LinkFailure)
  /// The file cannot be read, and why.
  case unreadable(detail: String)
}
