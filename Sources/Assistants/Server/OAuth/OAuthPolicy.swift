import HoldfastCore
import HoldfastServerParts

/// The numbers of the sign-in with OAuth. Those without a source were chosen for this package.
///
/// Durations below 1 ms are treated as 1 ms, and counts below 1 as 1.
public struct OAuthPolicy: Sendable, Hashable {
  /// The lifetime of a code. RFC 6749 section 4.1.2 allows at most 10 minutes.
  public var codeLife = Duration.seconds(60)
  /// The time for which a redeemed code is remembered, so that its second use ends the grant: the
  /// lifetime of an access token.
  public var codeMemory = Duration.seconds(3_600)
  /// The lifetime of an access token.
  public var accessLife = Duration.seconds(3_600)
  /// The lifetime of a refresh token. It equals `RelayServerPolicy.grantLife`.
  public var refreshLife = Duration.seconds(30 * 86_400)
  /// The maximum number of codes that are remembered. Beyond it, the redeemed code that ends first
  /// is forgotten. Sign-ins are refused while so many codes were not redeemed yet.
  public var maxCodes = 4_096
  /// The maximum number of codes of one phone that were not redeemed yet. Beyond it, the oldest one
  /// ends. It equals `RelayServerPolicy.tokensPerPhone`.
  public var codesPerPhone = 8
  /// The maximum number of requests that wait for the relay. Further ones are refused.
  public var maxWaiting = 1_024
  /// The maximum number of requests that wait for documents. Further ones are refused.
  public var maxDocumentWaiters = 64
  /// The maximum number of requests that wait for one document. Further ones are refused.
  public var waitersPerDocument = 16
  /// The maximum size of a request's body, in bytes.
  public var maxBodyBytes = 16_384
  /// The maximum number of parameters of a request.
  public var maxParameters = 32

  /// The time limit for the fetch of a client's metadata document.
  public var fetchLimit = Duration.seconds(5)
  /// The maximum size of a client's metadata document, in bytes.
  public var maxDocumentBytes = 65_536
  /// The maximum number of fetches at the same time. Further requests are refused.
  public var maxFetches = 16
  /// The maximum number of fetches at the same time for one address, and from one host.
  public var fetchesPerSource = 2
  /// The minimum average time between two requests of one address that wait for a document.
  public var fetchInterval = Duration.seconds(3)
  /// The number of such requests of one address in quick succession after a pause.
  public var fetchBurst = 10
  /// The maximum number of documents that are kept. Beyond it, the one that expires first is
  /// removed.
  public var maxDocuments = 256
  /// The time for which a document without `Cache-Control` is kept.
  public var documentLife = Duration.seconds(300)
  /// The maximum time for which a document is kept.
  public var maxDocumentLife = Duration.seconds(86_400)
  /// The time for which a failed fetch is remembered.
  public var failureLife = Duration.seconds(30)

  /// The value of `Retry-After` if a bound was reached.
  public var busyRetry = Duration.seconds(2)

  /// Creates a policy with the default values.
  public init() {}
}

extension OAuthPolicy: ServerPolicy {
  static var times: [WritableKeyPath<Self, Duration>] {
    [
      \.codeLife, \.codeMemory, \.accessLife, \.refreshLife, \.fetchLimit, \.fetchInterval,
      \.documentLife, \.maxDocumentLife, \.failureLife,
    ]
  }

  static var counts: [WritableKeyPath<Self, Int>] {
    [
      \.maxCodes, \.codesPerPhone, \.maxWaiting, \.maxDocumentWaiters, \.waitersPerDocument,
      \.maxBodyBytes, \.maxParameters, \.maxDocumentBytes, \.maxFetches, \.fetchesPerSource,
      \.fetchBurst,
      \.maxDocuments,
    ]
  }
}
