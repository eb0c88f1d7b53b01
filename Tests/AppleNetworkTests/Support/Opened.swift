import HoldfastPorts
import HoldfastTestKit

/// A requested socket and its events.
struct Opened: Sendable {
  let handle: any SocketHandle
  let events = Mailbox<SocketEvent>()

  init(_ dialer: some SocketDialer, _ request: SocketRequest) async {
    handle = await dialer.open(request) { [events] event in events.put(event) }
  }

  func next() async -> SocketEvent? { await events.next() }

  /// Returns the next event that is not the opening of the socket.
  func nextAfterOpening() async -> SocketEvent? {
    while let event = await events.next() {
      guard case .opened = event else { return event }
    }
    return nil
  }
}

extension SocketRequest {
  /// Returns a request with a time-out that suffices even on a busy machine.
  static func to(
    _ url: String, headers: [(name: String, value: String)] = [],
    query: [(name: String, value: String)] = [], openTimeout: Duration = .seconds(120),
    maxMessageBytes: Int = 1_048_576
  ) -> SocketRequest {
    SocketRequest(
      url: url, headers: headers, query: query, openTimeout: openTimeout,
      maxMessageBytes: maxMessageBytes)
  }
}
