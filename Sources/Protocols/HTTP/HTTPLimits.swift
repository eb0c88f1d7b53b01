/// The limits on the size of one request.
public struct HTTPLimits: Sendable, Equatable {
  /// The most bytes of the request line and all header fields (RFC 9112 section 2.1).
  public var maxHeadBytes: Int
  /// The most header fields; trailer fields have the same limit separately.
  public var maxHeaderCount: Int
  /// The most bytes of the request target (RFC 9112 section 3.2).
  public var maxTargetBytes: Int
  /// The most bytes of the body after its chunks are joined.
  public var maxBodyBytes: Int
  /// The body limits of single paths, still percent-encoded, which replace `maxBodyBytes`.
  public var bodyBytesByPath: [String: Int] = [:]
  /// The paths, still percent-encoded, whose heads are reported before their bodies are complete.
  public var announcedPaths: Set<String> = []

  /// Creates limits, by default 16 KiB of head, 100 fields, 8 KiB of target and 64 KiB of body.
  public init(
    maxHeadBytes: Int = 16_384, maxHeaderCount: Int = 100, maxTargetBytes: Int = 8_192,
    maxBodyBytes: Int = 65_536
  ) {
    self.maxHeadBytes = maxHeadBytes
    self.maxHeaderCount = maxHeaderCount
    self.maxTargetBytes = maxTargetBytes
    self.maxBodyBytes = maxBodyBytes
  }

  /// Returns the limits for the body after a head.
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
  /// A description of the problem for people, which never contains bytes of the request.
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
