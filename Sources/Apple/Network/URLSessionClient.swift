#if canImport(Network)
  import Foundation
  public import HoldfastCore
  public import HoldfastPorts
  import HoldfastProtocols
  import HoldfastSocketEngine
  import Synchronization

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// An HTTP client over `URLSession`, without cookies, caches and redirects.
  ///
  /// The limit of a body applies to its decompressed size. `URLSession` cannot require HTTP/2, so a
  /// request that requires it fails with `.protocolError`. It also rejects a GET request that has a
  /// body, and sends an idempotent request again if a connection that carried an earlier request is
  /// lost before the answer. The requirements of App Transport Security apply, unlike to the sockets
  /// of `NetworkDial`.
  public final class URLSessionClient: HTTPClient {
    private let clock: any LinkClock
    private let allowsPlaintext: Bool
    private let exchanges = URLExchanges()
    private let session: Mutex<URLSession>

    /// Creates a client. By default, plaintext is allowed only to loopback.
    public init(clock: any LinkClock = BootClock(), allowsPlaintext: Bool = false) {
      (self.clock, self.allowsPlaintext) = (clock, allowsPlaintext)
      session = Mutex(exchanges.newSession())
    }

    deinit {
      session.withLock { $0.finishTasksAndInvalidate() }
    }

    /// Performs one exchange. If the task is cancelled, the exchange fails with `.local`.
    public func send(_ request: HTTPCall) async throws(LinkFailure) -> HTTPAnswer {
      let secrets = Secrets(headers: request.headers, query: request.query)
      do throws(LinkFailure) {
        guard !request.requiresHTTP2 else {
          throw .protocolError(detail: "URLSession cannot require HTTP/2.")
        }
        return try await answer(to: try urlRequest(request), request).get()
      } catch {
        throw secrets.clean(error)
      }
    }

    /// Replaces the session. Requests in progress continue, and their connections close afterwards.
    public func forgetConnections() async {
      let new = exchanges.newSession()
      session.withLock { session in
        session.finishTasksAndInvalidate()
        session = new
      }
    }

    private func urlRequest(_ request: HTTPCall) throws(LinkFailure) -> URLRequest {
      let address = try WebAddress(
        request.url, query: request.query, schemes: ["http": false, "https": true])
      try address.demandPrivacy(allowsPlaintext: allowsPlaintext)
      guard let url = URL(string: address.url) else { throw .local(detail: "Bad URL.") }
      guard request.method.isToken else { throw .local(detail: "The method is not an HTTP token.") }
      var urlRequest = URLRequest(url: url)
      urlRequest.httpMethod = request.method
      urlRequest.httpShouldHandleCookies = false
      // The system's own limit applies to silences, and must not end the request first.
      urlRequest.timeoutInterval = (request.timeout * 2) / .seconds(1)
      if !request.body.isEmpty { urlRequest.httpBody = Data(request.body) }
      for (name, value) in request.headers {
        guard name.isToken, value.isFieldValue else {
          throw .local(detail: "A header's name or value contains a character that HTTP forbids.")
        }
        urlRequest.addValue(value, forHTTPHeaderField: name)
      }
      return urlRequest
    }

    private func answer(
      to urlRequest: URLRequest, _ request: HTTPCall
    ) async -> URLExchanges.Outcome {
      let task = session.withLock { $0.dataTask(with: urlRequest) }
      let key = ObjectIdentifier(task)
      exchanges.add(key, maxBodyBytes: request.maxBodyBytes)
      let timer = Task { [clock, exchanges] in
        guard (try? await clock.wait(until: clock.now.advanced(by: request.timeout))) != nil else {
          return
        }
        exchanges.reject(key, .timeout(.response))
        task.cancel()
      }
      defer { timer.cancel() }
      return await withTaskCancellationHandler {
        task.resume()
        return await exchanges.result(of: key)
      } onCancel: {
        task.cancel()
      }
    }
  }
#endif
