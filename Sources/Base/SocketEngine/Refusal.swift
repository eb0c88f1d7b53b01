package import HoldfastCore
package import HoldfastProtocols

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A response that refuses an upgrade, and the part of its body that was received so far.
package struct Refusal {
  private let head: HTTPResponseHead
  private let url: String
  private var body: ResponseBody

  /// The maximum size of the body in bytes. It is enough for a sentence in JSON; a longer body is
  /// not a message.
  private static let maxBodyBytes = 8_192
  /// The maximum length of a human-readable detail, in characters.
  private static let maxDetail = 200

  /// Creates a refusal from the head of the response.
  ///
  /// - Parameters:
  ///   - url: The URL of the request.
  ///   - prefix: The first bytes of the body.
  package init(head: HTTPResponseHead, from url: String, prefix: [UInt8]) {
    (self.head, self.url) = (head, url)
    body = ResponseBody(of: head, maxBytes: Self.maxBodyBytes)
    body.receive(prefix)
  }

  package var isWhole: Bool { body.isWhole }

  package mutating func receive(_ bytes: [UInt8]) { body.receive(bytes) }

  package var failure: LinkFailure {
    let answer = AnswerHead(
      status: head.status, contentType: head.first("content-type"),
      location: head.first("location"))
    if answer.isLoginPage(from: url) { return .captivePortal }
    let retryAfter = RetryAfter.duration(
      head.first("retry-after"), date: head.first("date"), now: RetryAfter.now)
    let detail = answer.summary ?? bodyMessage ?? head.reason
    return .http(
      status: head.status, retryAfter: retryAfter, detail: String(detail.prefix(Self.maxDetail)))
  }

  /// The `message` or `error` in the body if the body is JSON.
  private var bodyMessage: String? {
    let bodyMessage = try? JSONDecoder().decode(ErrorBody.self, from: Data(body.bytes))
    return bodyMessage?.message ?? bodyMessage?.error
  }

  private struct ErrorBody: Decodable {
    var message: String?
    var error: String?

    private enum Key: String, CodingKey {
      case message, error
    }

    /// Decodes the members. A member of another type is treated as absent.
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      message = try? container.decode(String.self, forKey: .message)
      error = try? container.decode(String.self, forKey: .error)
    }
  }
}
