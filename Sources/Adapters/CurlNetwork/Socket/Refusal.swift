import LinkCore
import LinkProtocols

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An upgrade answered with another status, and as much of the body as came.
struct Refusal {
  let head: HTTPResponseHead
  var body: [UInt8]

  /// Enough for a sentence in JSON; what is longer is no message.
  private static let maxBodyBytes = 8_192
  /// Characters of a detail that people will look at.
  private static let maxDetail = 200

  init(head: HTTPResponseHead, body: [UInt8]) {
    self.head = head
    self.body = body
  }

  var isWhole: Bool {
    guard head.first("transfer-encoding") == nil else {
      return body.count >= Self.maxBodyBytes || body.suffix(5).elementsEqual("0\r\n\r\n".utf8)
    }
    let length = head.first("content-length").flatMap { Int($0) }
    return body.count >= min(length ?? Self.maxBodyBytes, Self.maxBodyBytes)
  }

  var failure: LinkFailure {
    let type = head.first("content-type")
    if LinkFailure.isLoginPage(status: head.status, contentType: type) { return .captivePortal }
    let retryAfter = RetryAfter.duration(
      head.first("retry-after"), date: head.first("date"), now: RetryAfter.now)
    return .http(status: head.status, retryAfter: retryAfter, detail: detail)
  }

  /// The body's `message` or `error` when it is JSON, else the reason phrase.
  private var detail: String {
    // Chunk sizes stand outside the braces.
    if let start = body.firstIndex(of: UInt8(ascii: "{")),
      let end = body.lastIndex(of: UInt8(ascii: "}")), start < end,
      let said = try? JSONDecoder().decode(Said.self, from: Data(body[start...end])),
      let text = said.message ?? said.error
    {
      return String(text.prefix(Self.maxDetail))
    }
    return String(head.reason.prefix(Self.maxDetail))
  }

  private struct Said: Decodable {
    var message: String?
    var error: String?

    private enum Key: String, CodingKey {
      case message, error
    }

    /// A member of another type counts as absent.
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      message = try? container.decode(String.self, forKey: .message)
      error = try? container.decode(String.self, forKey: .error)
    }
  }
}
