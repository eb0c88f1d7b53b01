import Synchronization

/// A record of a client's activity on a fake network, for `nextSocket(advancing:)` and for the text
/// of a `WaitFailure`.
final class NetworkActivity: Sendable {
  private struct WeakSocket {
    weak var socket: FakeSocket?
  }

  private struct State {
    var sockets: [WeakSocket] = []
    var requests = 0
    var hasBegun = false
    var lastDelivery: UInt64 = 0
  }

  private let clock: TestClock?
  private let state = Mutex(State())

  init(clock: TestClock?) {
    self.clock = clock
  }

  /// The number of the clock's newest wait when the latest event was delivered to the client.
  var lastDelivery: UInt64 { state.withLock(\.lastDelivery) }

  /// One sentence for each thing that the client waits for, and for each open socket.
  var hints: [String] {
    let (sockets, requests, hasBegun) = state.withLock { state in
      (state.sockets.compactMap { $0.socket }, state.requests, state.hasBegun)
    }
    let count = requests > 0 ? ["HTTP requests without a response: \(requests)."] : []
    let open = sockets.compactMap(\.hint) + count
    if hasBegun, open.isEmpty, let clock, clock.deadlines.isEmpty { return [Self.ended] }
    return [clock?.hint].compactMap(\.self) + open
  }

  private static let ended =
    "The client has no open socket and waits for nothing: it was closed, or it has failed and "
    + "makes no more attempts, as its `failure` says."

  func opened(_ socket: FakeSocket) {
    state.withLock { state in
      state.hasBegun = true
      state.sockets.removeAll { $0.socket?.hint == nil }
      state.sockets.append(WeakSocket(socket: socket))
    }
  }

  /// Handles an event that is about to be delivered. It makes the client wait anew.
  func deliveryBegan() {
    guard let clock else { return }
    let ticket = clock.lastTicket
    state.withLock { $0.lastDelivery = max($0.lastDelivery, ticket) }
  }

  func requestBegan() {
    state.withLock { state in
      state.hasBegun = true
      state.requests += 1
    }
  }

  func requestEnded() { state.withLock { $0.requests -= 1 } }
}
