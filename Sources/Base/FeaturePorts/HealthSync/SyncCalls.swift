package import HoldfastCore
package import HoldfastPorts
package import HoldfastUploads

extension HTTPClient {
  /// Sends a request of a sync and returns the response, regardless of its status.
  ///
  /// - Parameter secret: The secret of the request; `nil` for a request without one.
  /// - Throws: `.captivePortal` for a login page, `.http` for a redirect and for an HTML page, or
  ///   another failure if no response arrived.
  package func answer(
    to call: HTTPCall, _ secret: String?
  ) async throws(LinkFailure) -> UploadAnswer {
    let redaction = Redaction([secret].compactMap(\.self))
    let fields = secret.map { [(name: Authorization.name, value: Authorization.field($0))] } ?? []
    let answer = try await send(call, with: (headers: fields, query: []), redaction)
    return try UploadAnswer(answer, to: call.url, redaction)
  }
}

extension UploadAnswer {
  /// Creates the answer of a server from a response.
  ///
  /// - Parameters:
  ///   - url: The URL of the request.
  ///   - redaction: A redaction that removes the secret from the failure.
  /// - Throws: `.captivePortal` for a login page of the network, and `.http` for a redirect or a web
  ///   page.
  package init(
    _ answer: HTTPAnswer, to url: String, _ redaction: Redaction
  ) throws(LinkFailure) {
    try answer.refusePage(from: url, redaction, note: SyncReply.reason)
    self.init(
      answer.status, answer.headers, answer.body,
      answer.failure(redaction, note: SyncReply.reason))
  }
}
