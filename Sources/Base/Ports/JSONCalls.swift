package import HoldfastCore

/// The header field that contains the token of a request.
package enum Authorization {
  package static let name = "Authorization"
  private static let scheme = "Bearer "

  /// Returns the field's value for a token.
  package static func field(_ token: String) -> String { scheme + token }

  /// Returns the token of a field's value; `nil` if it contains none.
  package static func token(of field: String?) -> String? {
    guard let field, field.hasPrefix(scheme) else { return nil }
    return String(field.dropFirst(scheme.count))
  }
}

/// The fields of a request that contain its token.
package typealias TokenFields = (
  headers: [(name: String, value: String)], query: [(name: String, value: String)]
)

extension HTTPClient {
  /// Sends a request to a JSON interface.
  ///
  /// - Parameters:
  ///   - request: The request, without the token and the media types.
  ///   - fields: The fields that contain the token.
  ///   - redaction: A redaction that removes the token from the failure.
  package func send(
    _ request: HTTPCall, with fields: TokenFields, _ redaction: Redaction
  ) async throws(LinkFailure) -> HTTPAnswer {
    var signed = request
    signed.headers = [("Accept", "application/json")]
    let hasType = request.headers.contains { $0.name.lowercased() == "content-type" }
    if !request.body.isEmpty, !hasType {
      signed.headers.append(("Content-Type", "application/json"))
    }
    signed.headers += request.headers + fields.headers
    signed.query += fields.query
    do throws(LinkFailure) {
      return try await send(signed)
    } catch {
      throw redaction.clean(error)
    }
  }
}

extension HTTPAnswer {
  /// The parts of the response that show whether it came from the backend or from the network, such
  /// as a captive portal.
  package var head: AnswerHead {
    AnswerHead(
      status: status, contentType: headers["content-type"], location: headers["location"])
  }

  /// Throws an error for a response that is not the server's, but meant for a person.
  ///
  /// Redirects are not followed, because the token and the body are only for one server.
  ///
  /// - Parameters:
  ///   - url: The URL of the request.
  ///   - redaction: A redaction that removes the token from the failure.
  ///   - note: A closure that returns the server's description of a failure, given the body.
  /// - Throws: `.captivePortal` for a login page (RFC 6585 section 6), and `.http` for a redirect and
  ///   for an HTML page.
  package func refusePage(
    from url: String, _ redaction: Redaction, note: ([UInt8]) -> String?
  ) throws(LinkFailure) {
    if head.isLoginPage(from: url) { throw .captivePortal }
    if head.isForPeople { throw failure(redaction, note: note) }
  }

  /// Returns the failure that an unsuccessful response represents, with the server's description.
  package func failure(_ redaction: Redaction, note: ([UInt8]) -> String?) -> LinkFailure {
    redaction.clean(
      .http(status: status, retryAfter: retryAfter, detail: head.summary ?? note(body) ?? ""))
  }
}
