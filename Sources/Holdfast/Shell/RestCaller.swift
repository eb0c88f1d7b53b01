import HoldfastSocket
import HoldfastCore
import HoldfastPorts

/// A client of a backend's JSON interface over HTTP.
///
/// It adds the token, retries once with a newer token, detects redirects and captive portals, and
/// redacts the errors that it throws.
struct RestCaller: Sendable {
  let http: any HTTPClient
  let credentials: RequestCredentials
  /// A closure that returns the server's description of a failure, given the body of the response.
  var note: @Sendable ([UInt8]) -> String? = { _ in nil }

  /// Sends a request and decodes the body of the response.
  ///
  /// - Parameters:
  ///   - request: The request, without the token and the media types.
  ///   - statuses: The statuses that indicate success.
  ///   - name: The name of the body in error messages, such as "the page".
  /// - Throws: `.captivePortal` for a login page (RFC 6585 section 6), `.http` for any other status
  ///   and for an HTML page, or `.protocolError` if `read` throws an error.
  func call<Value, Failure: Error>(
    _ request: HTTPCall, accepting statuses: ClosedRange<Int> = 200...299, _ name: String,
    read: ([UInt8]) throws(Failure) -> Value
  ) async throws(LinkFailure) -> Value {
    let (response, redaction) = try await exchange(request)
    try refusePage(response, of: request, redaction)
    guard statuses.contains(response.status) else { throw failure(response, redaction) }
    do throws(Failure) {
      return try read(response.body)
    } catch {
      throw redaction.clean(.protocolError(detail: "\(name) could not be read: \(error)"))
    }
  }

  /// Sends a request and returns the response, regardless of its status.
  ///
  /// - Returns: The response, and the failure that it represents if its status does not indicate
  ///   success.
  /// - Throws: `.captivePortal` for a login page, `.http` for a redirect and for an HTML page, or
  ///   another failure if no response arrived.
  func answer(
    to request: HTTPCall
  ) async throws(LinkFailure) -> (answer: HTTPAnswer, failure: LinkFailure) {
    let (response, redaction) = try await exchange(request)
    try refusePage(response, of: request, redaction)
    return (response, failure(response, redaction))
  }

  /// Returns the failure that an unsuccessful response represents, with the server's description.
  private func failure(_ response: HTTPAnswer, _ redaction: Redaction) -> LinkFailure {
    redaction.clean(
      .http(
        status: response.status, retryAfter: response.retryAfter,
        detail: response.head.summary ?? note(response.body) ?? ""))
  }

  /// Throws an error for an HTML page or a redirect.
  ///
  /// Redirects are not followed, because the token and the body are only for this server.
  private func refusePage(
    _ response: HTTPAnswer, of request: HTTPCall, _ redaction: Redaction
  ) throws(LinkFailure) {
    if response.head.isLoginPage(from: request.url) { throw .captivePortal }
    if response.head.isForPeople { throw failure(response, redaction) }
  }

  /// Makes an exchange. It is repeated once if the token was refused and a newer one is available.
  ///
  /// - Returns: The response, and a redaction that removes the tokens from its texts.
  private func exchange(
    _ request: HTTPCall
  ) async throws(LinkFailure) -> (HTTPAnswer, Redaction) {
    var token = try await credentials.first()
    var seen = [token].compactMap(\.self)
    while true {
      let response = try await send(request, token, Redaction(seen))
      guard response.status == 401 else { return (response, Redaction(seen)) }
      await credentials.refused(token)
      // The refusal of an older token does not apply to the current one.
      guard seen.count == 1, let newer = await credentials.present, newer != token else {
        return (response, Redaction(seen))
      }
      token = newer
      seen.append(newer)
    }
  }

  private func send(
    _ request: HTTPCall, _ token: String?, _ redaction: Redaction
  ) async throws(LinkFailure) -> HTTPAnswer {
    let fields = credentials.fields(token)
    var signed = request
    signed.headers = [("Accept", "application/json")]
    let hasType = request.headers.contains { $0.name.lowercased() == "content-type" }
    if !request.body.isEmpty, !hasType {
      signed.headers.append(("Content-Type", "application/json"))
    }
    signed.headers += request.headers + fields.headers
    signed.query += fields.query
    do throws(LinkFailure) {
      return try await http.send(signed)
    } catch {
      throw redaction.clean(error)
    }
  }
}

extension HTTPAnswer {
  /// The parts of the response that show whether it came from the backend or from the network, such
  /// as a captive portal.
  var head: AnswerHead {
    AnswerHead(
      status: status, contentType: headers["content-type"], location: headers["location"])
  }
}
