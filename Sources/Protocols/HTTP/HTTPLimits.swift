/// How large one request may be.
public struct HTTPLimits: Sendable, Equatable {
  /// The request line and all header fields, in bytes (RFC 9112 section 2.1).
  public var maxHeadBytes: Int
  /// The number of header fields; trailer fields are counted apart with the same limit.
  public var maxHeaderCount: Int
  /// The request target, in bytes (RFC 9112 section 3.2).
  public var maxTargetBytes: Int
  /// The body in bytes, after the chunks are joined.
  public var maxBodyBytes: Int
  /// Paths, still percent-encoded, whose bodies have a limit of their own in the place of that.
  public var bodyBytesByPath: [String: Int] = [:]
  /// Paths, still percent-encoded, whose heads are told before their bodies are whole.
  public var announcedPaths: Set<String> = []

  /// 16 KiB of head, 100 fields, 8 KiB of target and 64 KiB of body unless told otherwise.
  public init(
    maxHeadBytes: Int = 16_384, maxHeaderCount: Int = 100, maxTargetBytes: Int = 8_192,
    maxBodyBytes: Int = 65_536
  ) {
    self.maxHeadBytes = maxHeadBytes
    self.maxHeaderCount = maxHeaderCount
    self.maxTargetBytes = maxTargetBytes
    self.maxBodyBytes = maxBodyBytes
  }

  /// The limits for the body behind a head.
  func forBody(of head: HTTPRequestHead) -> HTTPLimits {
    guard let own = bodyBytesByPath[head.path] else { return self }
    var limits = self
    limits.maxBodyBytes = own
    return limits
  }
}

/// Why a request is refused, as the status that answers it.
public struct HTTPError: Error, Equatable, Sendable {
  /// 400, 413, 414, 417, 431, 501 or 505 (RFC 9110 section 15, RFC 6585 section 5).
  public var status: Int
  /// What was wrong, for people; never holds bytes of the request.
  public var detail: String

  /// An error with the status that answers it.
  public init(status: Int, detail: String) {
    self.status = status
    self.detail = detail
  }

  static func bad(_ detail: String) -> HTTPError {
    HTTPError(status: 400, detail: detail)
  }
}
