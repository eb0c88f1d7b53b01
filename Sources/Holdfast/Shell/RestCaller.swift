import HoldfastCore
import HoldfastPorts
import HoldfastSocket

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
    try response.refusePage(from: request.url, redaction, note: note)
    guard statuses.contains(response.status) else {
      throw response.failure(redaction, note: note)
    }
    do throws(Failure) {
      return try read(response.body)
    } catch {
      throw redaction.clean(.protocolError(detail: "\(name) could not be read: \(error)"))
    }
  }

  /// Makes an exchange. It is repeated once if the token was refused and a newer one is available.
  ///
  /// - Returns: The response, and a redaction that removes the tokens from its texts.
  func exchange(
    _ request: HTTPCall
  ) async throws(LinkFailure) -> (HTTPAnswer, Redaction) {
    var token = try await credentials.first()
    var seen = [token].compactMap(\.self)
    while true {
      let response = try await http.send(
        request, with: credentials.fields(token), Redaction(seen))
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
}
