import HoldfastCore
import HoldfastPorts
import HoldfastTestKit

/// A requested socket and its events.
final class Opened {
  let handle: any SocketHandle
  private var events: AsyncStream<SocketEvent>.Iterator

  init(_ dialer: any SocketDialer, _ request: SocketRequest) async {
    let (stream, continuation) = AsyncStream<SocketEvent>.makeStream()
    events = stream.makeAsyncIterator()
    handle = await dialer.open(request) { event in
      continuation.yield(event)
      if case .failed = event { continuation.finish() }
    }
  }

  func next() async -> SocketEvent? {
    await events.next(isolation: #isolation)
  }

  /// Returns the next event that is not the opening of the socket.
  func nextAfterOpening() async -> SocketEvent? {
    while let event = await events.next(isolation: #isolation) {
      guard case .opened = event else { return event }
    }
    return nil
  }

  /// Returns the failure that ends the socket, and skips the events before it.
  func failure() async -> LinkFailure? {
    while let event = await events.next(isolation: #isolation) {
      if case .failed(let failure) = event { return failure }
    }
    return nil
  }
}

extension SocketRequest {
  /// Returns a request with a time-out that suffices even on a busy machine.
  static func to(
    _ url: String, headers: [(name: String, value: String)] = [],
    query: [(name: String, value: String)] = [], openTimeout: Duration = WaitFailure.usualLimit,
    maxMessageBytes: Int = 1_048_576
  ) -> SocketRequest {
    SocketRequest(
      url: url, headers: headers, query: query, openTimeout: openTimeout,
      maxMessageBytes: maxMessageBytes)
  }
}

extension HTTPCall {
  /// Returns a request with a time-out that suffices even on a busy machine.
  static func to(
    _ url: String, method: String = "GET", headers: [(name: String, value: String)] = [],
    query: [(name: String, value: String)] = [], body: [UInt8] = [],
    timeout: Duration = WaitFailure.usualLimit, maxBodyBytes: Int = 65_536
  ) -> HTTPCall {
    HTTPCall(
      method: method, url: url, headers: headers, query: query, body: body, timeout: timeout,
      maxBodyBytes: maxBodyBytes)
  }
}

/// Returns the failure that `body` throws, or nil if it succeeds.
func failure<T>(_ body: () async throws(LinkFailure) -> T) async -> LinkFailure? {
  do throws(LinkFailure) {
    _ = try await body()
    return nil
  } catch {
    return error
  }
}

/// Returns the failure of an attempt that ends by a time-out in a phase.
///
/// A busy machine may need the time for the phases before it, so such an attempt is repeated with
/// twice the time.
func timeout(
  in phase: LinkFailure.Phase, _ attempt: (Duration) async throws -> LinkFailure?
) async rethrows -> LinkFailure? {
  var limit = Duration.milliseconds(150)
  while true {
    let failure = try await attempt(limit)
    guard case .timeout(let actual)? = failure, actual != phase, limit < WaitFailure.usualLimit
    else { return failure }
    limit *= 2
  }
}
