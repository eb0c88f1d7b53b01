#if canImport(Network)
  import Foundation
  import HoldfastCore
  import HoldfastPorts
  import HoldfastSocketEngine
  import Synchronization

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// The exchanges in progress of all sessions of a client.
  ///
  /// The delegate queue of a session calls the object. The result of an exchange is kept until
  /// `result` takes it, because a task that is cancelled early ends before anyone waits for it.
  final class URLExchanges: NSObject, URLSessionDataDelegate {
    typealias Outcome = Result<HTTPAnswer, LinkFailure>

    private let exchanges = Mutex<[ObjectIdentifier: Exchange]>([:])

    /// Returns a session that stores nothing and reports to this object.
    func newSession() -> URLSession {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpCookieStorage = nil
      configuration.httpShouldSetCookies = false
      configuration.urlCache = nil
      configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
      configuration.urlCredentialStorage = nil
      return URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    }

    /// Begins to collect the answer to a task that has not been resumed.
    func add(_ key: ObjectIdentifier, maxBodyBytes: Int) {
      exchanges.withLock { $0[key] = Exchange(maxBodyBytes: maxBodyBytes) }
    }

    /// Waits for the result of an exchange, and removes the exchange.
    func result(of key: ObjectIdentifier) async -> Outcome {
      let outcome = await withCheckedContinuation { continuation in
        let known = exchanges.withLock { exchanges in
          if exchanges[key]?.outcome == nil { exchanges[key]?.waiter = continuation }
          return exchanges[key]?.outcome
        }
        if let known { continuation.resume(returning: known) }
      }
      exchanges.withLock { _ = $0.removeValue(forKey: key) }
      return outcome
    }

    /// Sets the failure with which an exchange will end, unless one is set.
    func reject(_ key: ObjectIdentifier, _ failure: LinkFailure) {
      exchanges.withLock { $0[key]?.reject(failure) }
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
      completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      // FoundationNetworking (Linux) loses the body of a 3xx response that has no Location, for which
      // neither system calls this method. Apple's framework delivers it.
      completionHandler(nil)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      let fits = exchanges.withLock { $0[ObjectIdentifier(dataTask)]?.take(data) }
      if fits == false { dataTask.cancel() }
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
      let waiter = exchanges.withLock { exchanges in
        exchanges[ObjectIdentifier(task)]?.end(task.response, error)
      }
      if let (waiter, outcome) = waiter { waiter?.resume(returning: outcome) }
    }
  }

  /// An exchange in progress.
  private struct Exchange {
    private let maxBodyBytes: Int
    private var body: [UInt8] = []
    /// The reason why the exchange was ended on this side.
    private var rejection: LinkFailure?
    /// The result; `nil` until the task has ended.
    private(set) var outcome: URLExchanges.Outcome?
    /// The caller that waits for the result.
    var waiter: CheckedContinuation<URLExchanges.Outcome, Never>?

    init(maxBodyBytes: Int) { self.maxBodyBytes = maxBodyBytes }

    mutating func reject(_ failure: LinkFailure) { rejection = rejection ?? failure }

    /// Appends a part of the body. Returns false if the body is too large, or no longer wanted.
    mutating func take(_ data: Data) -> Bool {
      if data.count > maxBodyBytes - body.count {
        reject(.protocolError(detail: "The body is over \(maxBodyBytes) bytes."))
      }
      guard rejection == nil else { return false }
      body += data
      return true
    }

    /// Sets the result. Returns it with the caller that waits for it.
    mutating func end(
      _ response: URLResponse?, _ error: (any Error)?
    ) -> (CheckedContinuation<URLExchanges.Outcome, Never>?, URLExchanges.Outcome) {
      let outcome = rejection.map { .failure($0) } ?? Self.outcome(response, body, error)
      self.outcome = outcome
      return (waiter, outcome)
    }

    private static func outcome(
      _ response: URLResponse?, _ body: [UInt8], _ error: (any Error)?
    ) -> URLExchanges.Outcome {
      if let error { return .failure(URLFailures.failure(error)) }
      guard let response = response as? HTTPURLResponse else {
        return .failure(.protocolError(detail: "The answer is not of HTTP."))
      }
      var headers: [String: String] = [:]
      for (name, value) in response.allHeaderFields {
        headers["\(name)".lowercased()] = "\(value)"
      }
      let retryAfter = RetryAfter.duration(
        headers["retry-after"], date: headers["date"], now: RetryAfter.now)
      return .success(
        HTTPAnswer(
          status: response.statusCode, headers: headers, body: body, retryAfter: retryAfter))
    }
  }
#endif
