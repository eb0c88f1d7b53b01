#if canImport(Darwin) || canImport(BackgroundSession)
  import Foundation
  import HoldfastCore
  import HoldfastFeaturePorts
  import HoldfastPorts
  import HoldfastSocketEngine
  import HoldfastUploads
  #if canImport(BackgroundSession)
    import BackgroundSession
    import class FoundationNetworking.HTTPURLResponse
    import struct FoundationNetworking.URLRequest
  #endif

  extension UploadAnswer {
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
      let field = request?.value(forHTTPHeaderField: Authorization.name)
      let answer = HTTPAnswer(
        status: isRedirected ? 302 : response.statusCode, headers: headers, body: body,
        retryAfter: retryAfter)
      try self.init(
        answer, to: request?.url?.absoluteString ?? "",
        Redaction([Authorization.token(of: field)].compactMap(\.self)))
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
