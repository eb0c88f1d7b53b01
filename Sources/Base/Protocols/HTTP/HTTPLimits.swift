/// The limits on the size of one request.
public struct HTTPLimits: Sendable, Equatable {
  /// The maximum size of the request line and all header fields in bytes (RFC 9112 section 2.1).
  public var maxHeadBytes: Int
  /// The maximum number of header fields. The same limit applies separately to trailer fields.
  public var maxHeaderCount: Int
  /// The maximum size of the request target in bytes (RFC 9112 section 3.2).
  public var maxTargetBytes: Int
  /// The maximum size of the body in bytes, after its chunks are joined.
  public var maxBodyBytes: Int
  /// The body limits of individual paths, which replace `maxBodyBytes`. The paths are
  /// percent-encoded.
  public var bodyBytesByPath: [String: Int] = [:]
  /// The paths whose request heads are reported before their bodies are complete. The paths are
  /// percent-encoded.
  public var announcedPaths: Set<String> = []

  /// Creates limits. The defaults are 16 KiB for the head, 100 fields, 8 KiB for the target and 64
  /// KiB for the body.
  public init(
    maxHeadBytes: Int = 16_384, maxHeaderCount: Int = 100, maxTargetBytes: Int = 8_192,
    maxBodyBytes: Int = 65_536
  ) {
    self.maxHeadBytes = maxHeadBytes
    self.maxHeaderCount = maxHeaderCount
    self.maxTargetBytes = maxTargetBytes
    self.maxBodyBytes = maxBodyBytes
  }

  /// Returns the limits that apply to the body after a head.
  func forBody(of head: HTTPRequestHead) -> HTTPLimits {
    guard let own = bodyBytesByPath[head.path] else { return self }
    var limits = self
    limits.maxBodyBytes = own
    return limits
  }
}

/// The reason why a request is refused, with the status of the response.
public struct HTTPError: Error, Equatable, Sendable {
  /// The status: 400, 413, 414, 417, 431, 501 or 505 (RFC 9110 section 15, RFC 6585 section 5).
  public var status: Int
  /// A human-readable description of the problem, which never contains bytes of the request.
  public var detail: String

  /// Creates an error with the status of the response.
  public init(status: Int, detail: String) {
    self.status = status
    self.detail = detail
  }

  static func bad(_ detail: String) -> HTTPError {
    HTTPError(status: 400, detail: detail)
  }
}
