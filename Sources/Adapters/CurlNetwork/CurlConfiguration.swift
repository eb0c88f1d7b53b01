/// What a `CurlNetwork` may trust and through whom it goes.
public struct CurlConfiguration: Sendable, Equatable {
  /// A PEM file of authorities trusted besides the system's.
  public var authorities: String?
  /// A proxy URL as libcurl takes it; `nil` reads the environment, an empty text means none.
  ///
  /// What is meant for loopback never goes through it.
  public var proxy: String?
  /// Whether `ws` and `http` may leave this device; to loopback they always may.
  public var allowsPlaintext: Bool
  /// Bytes a socket queues for sending before `send` answers false.
  public var maxQueuedBytes: Int
  /// Frames that one message may come in; one of more is dropped unread as one too large.
  ///
  /// The default is 16 MiB in frames of 64 bytes, the smallest of Autobahn's case 9.3.
  public var maxFragments: Int
  /// Whether `permessage-deflate` (RFC 7692) is offered.
  public var offersDeflate: Bool

  /// The defaults trust the system's authorities alone and allow plaintext to loopback only.
  public init(
    authorities: String? = nil, proxy: String? = nil, allowsPlaintext: Bool = false,
    maxQueuedBytes: Int = 1_048_576, maxFragments: Int = 262_144, offersDeflate: Bool = true
  ) {
    self.authorities = authorities
    self.proxy = proxy
    self.allowsPlaintext = allowsPlaintext
    self.maxQueuedBytes = maxQueuedBytes
    self.maxFragments = maxFragments
    self.offersDeflate = offersDeflate
  }
}
