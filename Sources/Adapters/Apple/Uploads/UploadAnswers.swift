#if canImport(Darwin) || canImport(BackgroundSession)
  import Foundation
  import HoldfastCore
  import HoldfastFeaturePorts
  import HoldfastPorts
  import HoldfastSocketEngine
  import HoldfastWire
  #if canImport(BackgroundSession)
    import BackgroundSession
    import class FoundationNetworking.HTTPURLResponse
    import struct FoundationNetworking.URLRequest
  #endif

  /// The field of a request that contains its token.
  enum Authorization {
    static let name = "Authorization"
    private static let scheme = "Bearer "

    static func field(_ secret: String) -> String { scheme + secret }

    /// Returns the token of a field; `nil` if it contains none.
    static func secret(of field: String?) -> String? {
      guard let field, field.hasPrefix(scheme) else { return nil }
      return String(field.dropFirst(scheme.count))
    }

    /// Returns the filter that removes the token of a field from failures.
    static func secrets(of field: String?) -> Secrets {
      Secrets(headers: field.map { [(name: name, value: $0)] } ?? [], query: [])
    }
  }

  extension HTTPClient {
    /// Sends a request of a sync that is not an upload.
    func answer(to call: HTTPCall, _ secret: String) async throws(LinkFailure) -> UploadAnswer {
      let field = Authorization.field(secret)
      var call = call
      call.headers = [("Accept", "application/json"), (Authorization.name, field)]
      let answer: HTTPAnswer
      do throws(LinkFailure) {
        answer = try await send(call)
      } catch {
        throw Authorization.secrets(of: field).clean(error)
      }
      return try UploadAnswer(answer, to: call.url, authorization: field)
    }
  }

  extension UploadAnswer {
    /// Creates the answer of a server.
    ///
    /// - Throws: `.captivePortal` for a login page of the network, and `.http` for a redirect or a
    ///   web page.
    init(_ answer: HTTPAnswer, to url: String, authorization: String?) throws(LinkFailure) {
      let head = AnswerHead(
        status: answer.status, contentType: answer.headers["content-type"],
        location: answer.headers["location"])
      let failure = Authorization.secrets(of: authorization).clean(
        .http(
          status: answer.status, retryAfter: answer.retryAfter,
          detail: head.summary ?? SyncReply.reason(of: answer.body) ?? ""))
      if head.isLoginPage(from: url) { throw .captivePortal }
      if head.isForPeople { throw failure }
      self.init(answer.status, answer.headers, answer.body, failure)
    }

    /// Creates the answer to an upload that the system made.
    init(_ response: HTTPURLResponse, body: [UInt8], to request: URLRequest?) throws(LinkFailure) {
      var headers: [String: String] = [:]
      for (name, value) in response.allHeaderFields {
        guard let name = name as? String, let value = value as? String else { continue }
        headers[name.lowercased()] = value
      }
      // The system follows redirects. What another address answers is not the server's answer, so it
      // is handled like the redirect.
      let isRedirected = request?.url.map { !response.isFrom($0) } ?? false
      if isRedirected { headers["location"] = response.url?.absoluteString }
      let retryAfter = RetryAfter.duration(
        headers["retry-after"], date: headers["date"], now: RetryAfter.now)
      try self.init(
        HTTPAnswer(
          status: isRedirected ? 302 : response.statusCode, headers: headers, body: body,
          retryAfter: retryAfter),
        to: request?.url?.absoluteString ?? "",
        authorization: request?.value(forHTTPHeaderField: Authorization.name))
    }
  }

  extension HTTPURLResponse {
    /// Returns whether the address that was asked has answered, also if the system asked it with
    /// `https` instead of `http`.
    fileprivate func isFrom(_ asked: URL) -> Bool {
      guard let url, let end = URLComponents(string: url.absoluteString),
        let start = URLComponents(string: asked.absoluteString)
      else { return true }
      return end.host?.lowercased() == start.host?.lowercased() && end.path == start.path
        && (end.scheme == start.scheme
          ? end.port == start.port : (start.scheme, end.scheme) == ("http", "https"))
    }
  }
#endif
