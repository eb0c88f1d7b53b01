package import HoldfastCore

/// A server's response to a request of a sync or of another upload.
package struct UploadAnswer: Sendable, Hashable {
  /// The HTTP status code.
  package var status: Int
  /// The header fields, keyed by their lowercase names.
  package var headers: [String: String]
  /// The body.
  package var body: [UInt8]
  /// The failure that the response represents if it is not a success.
  package var failure: LinkFailure

  /// Whether the body does not contradict a status that is a success.
  private let confirms: Bool

  /// Creates a response.
  ///
  /// - Parameter confirms: A closure that returns whether a body does not contradict a status that is
  ///   a success. By default, it is that of a sync.
  package init(
    _ status: Int, _ headers: [String: String], _ body: [UInt8], _ failure: LinkFailure,
    confirms: ([UInt8]) -> Bool = SyncReply.isSuccess
  ) {
    (self.status, self.headers, self.body, self.failure) = (status, headers, body, failure)
    self.confirms = confirms(body)
  }

  /// Whether the status is a success and the body does not contradict it.
  package var isSuccess: Bool { (200..<300).contains(status) && confirms }

  /// The failure that the response represents; `nil` for a success.
  package var refusal: LinkFailure? { isSuccess ? nil : failure }

  /// Whether the response offers to accept bodies compressed with gzip (RFC 9110 section 12.5.3).
  package var offersGzip: Bool {
    let offered = (headers["accept-encoding"] ?? "").lowercased().split(separator: ",")
    return offered.contains { coding in
      let parts = coding.split(separator: ";").map { $0.filter { !$0.isWhitespace } }
      return parts.first == "gzip" && !parts.contains("q=0")
    }
  }

  /// Decodes the header fields of an upload.
  package func reply(_ dialect: UploadDialect, of url: String) -> UploadReply {
    UploadReply(status, dialect, of: url, isSuccess: confirms) { headers[$0.lowercased()] }
  }
}

/// The upload features that a server has reported in this process.
package struct UploadSupport: Sendable, Hashable {
  /// The server's support for resumable uploads.
  package enum Resumption: Sendable, Hashable {
    case absent
    case offered(UploadOffer)
  }

  /// The support for resumption; `nil` until the server has responded.
  package var resumption: Resumption?
  /// Whether bodies may be compressed with gzip; `nil` until the server has responded.
  package var takesGzip: Bool?

  /// Creates the features of a server. The defaults describe a server that has not responded.
  package init(resumption: Resumption? = nil, takesGzip: Bool? = nil) {
    (self.resumption, self.takesGzip) = (resumption, takesGzip)
  }

  /// Handles the response to `OPTIONS`. A transient failure changes nothing.
  package mutating func offered(_ answer: UploadAnswer) {
    guard !UploadReply.isTransient(answer.status) else { return }
    guard (200..<300).contains(answer.status),
      let offer = UploadOffer(options: { answer.headers[$0.lowercased()] })
    else { return resumption = .absent }
    resumption = .offered(offer)
  }
}

/// The secret used for requests, and the most recent secret that the server refused.
package struct UploadSecret<Value: Sendable & Hashable>: Sendable, Hashable {
  /// The secret in use; `nil` until it was read.
  package private(set) var current: Value?
  private var refused: Value?

  /// Creates the state of a process that uses this secret.
  package init(_ current: Value? = nil) { self.current = current }

  /// Sets a secret that was read again. Returns whether it differs from the refused secret.
  package mutating func renew(_ value: Value) -> Bool {
    current = value
    return value != refused
  }

  /// Records the failure of a request that used a secret.
  package mutating func note(_ failure: LinkFailure, of value: Value) {
    if case .http(401, _, _) = failure { refused = value }
  }
}
