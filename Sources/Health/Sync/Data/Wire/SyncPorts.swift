public import HoldfastCore
public import HoldfastHealthSamples

// The inputs and outputs of the ports of a phone that syncs.

/// The start of a page.
public enum HealthPageStart: Sendable, Hashable, Codable {
  /// The samples that begin within a duration before the current time of the source's clock.
  case last(Duration)
  /// The samples that begin at a time or later, or within a duration before now, whichever includes
  /// more.
  case since(Timestamp, orLast: Duration)
  /// The first change after an anchor.
  case after(HealthAnchor)
}

/// A page of changes at a source.
public struct SourcePage: Sendable, Hashable {
  /// The added samples, each with its UUID.
  public var added: [SourceSample]
  /// The UUIDs of the deleted samples.
  public var deleted: [UUID128]
  /// The anchor of the next page.
  public var anchor: HealthAnchor

  /// Creates a page.
  public init(added: [SourceSample] = [], deleted: [UUID128] = [], anchor: HealthAnchor) {
    (self.added, self.deleted, self.anchor) = (added, deleted, anchor)
  }
}

/// A sample with its UUID at the source.
public struct SourceSample: Sendable, Hashable {
  /// The UUID. It identifies the sample when the sample is deleted.
  public var uuid: UUID128
  /// The sample.
  public var sample: HealthSample

  /// Creates a sample with its UUID.
  public init(uuid: UUID128, sample: HealthSample) { (self.uuid, self.sample) = (uuid, sample) }
}

/// The reason why a source was not read.
public enum HealthSourceFailure: Error, Sendable, Hashable, Codable, CustomStringConvertible {
  /// The device is locked, or another process is writing. The source must be read again later, and
  /// must not be treated as empty.
  case locked(detail: String)
  /// Any other reason.
  case failed(detail: String)

  /// A human-readable reason.
  public var description: String {
    switch self {
    case .locked(let detail), .failed(let detail): detail
    }
  }
}

/// A file to be uploaded.
public struct FileUpload: Sendable, Hashable, Codable {
  /// The path of the file, relative to the payload directory. It identifies the upload.
  public var file: String
  /// HealthKit's identifier of the type in the file.
  public var type: String
  /// The size of the file, in bytes.
  public var bytes: Int

  /// Creates an upload.
  public init(file: String, type: String, bytes: Int) {
    (self.file, self.type, self.bytes) = (file, type, bytes)
  }
}
