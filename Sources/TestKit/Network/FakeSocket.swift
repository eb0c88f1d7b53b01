public import Foundation
public import HoldfastCore
public import HoldfastPorts
import Synchronization

/// The server's end of one socket of a `FakeNetwork`.
///
/// A method that sends returns once the client has processed the event, just as a slow reader
/// delays a real socket.
public final class FakeSocket: FarSocket {
  /// The client's request.
  public let request: SocketRequest
  /// The client's actions that the test has not read yet.
  public let actions: Mailbox<ClientAction>
  let activity: NetworkActivity
  private let deliver: @Sendable (SocketEvent) async -> Void
  private let state = Mutex(State())
  private let turns = Mailbox<Void>()

  private struct State {
    var phase = Phase.opening
    var answersPings = true
    var unreadLimit = 1_024
    var timer: Task<Void, Never>?
  }

  private enum Phase { case opening, open, ended }

  init(
    request: SocketRequest, activity: NetworkActivity,
    deliver: @escaping @Sendable (SocketEvent) async -> Void
  ) {
    self.request = request
    self.activity = activity
    self.deliver = deliver
    actions = Mailbox(of: "the client's next action on \(request.url)") { activity.hints }
    turns.put(())
  }

  deinit {
    state.withLock { $0.timer?.cancel() }
  }

  /// Accepts the upgrade.
  public func accept(headers: [String: String] = [:]) async {
    await emit(.opened(headers: lowercased(headers)), from: [.opening])
  }

  /// Accepts the upgrade, and returns this socket.
  ///
  ///     let socket = try await network.nextSocket().accepted()
  public func accepted(headers: [String: String] = [:]) async -> FakeSocket {
    await accept(headers: headers)
    return self
  }

  public func reject(status: Int) async {
    await fail(.http(status: status, retryAfter: nil, detail: ""))
  }

  /// Fails the socket, or the attempt to open it.
  public func fail(_ failure: LinkFailure) async {
    await emit(.failed(failure), from: [.opening, .open], to: .ended)
  }

  /// Sends a text message.
  public func send(_ text: String) async {
    await send(text: Array(text.utf8))
  }

  /// Sends a binary message.
  public func send(_ data: Data) async {
    await send(binary: Array(data))
  }

  public func send(text: [UInt8]) async {
    await send(text, as: .text(text))
  }

  public func send(binary: [UInt8]) async {
    await send(binary, as: .binary(binary))
  }

  public func ping() async {
    await emit(.ping)
  }

  /// Sends a late pong. This is only useful after `answerPings(false)`.
  public func pong(id: UInt64) async {
    await emit(.pong(id: id))
  }

  public func close(code: UInt16, reason: String) async {
    await fail(.closed(code: code, reason: reason))
  }

  public func drop() async {
    await fail(.ended)
  }

  /// Returns the client's next action.
  ///
  /// A `HeldSocket` sends a ping after messages, to learn whether they arrived.
  ///
  /// - Parameter limit: The maximum real time of the wait.
  public func nextAction(
    within limit: Duration = WaitFailure.usualLimit
  ) async throws(WaitFailure) -> ClientAction {
    try await actions.next(within: limit)
  }

  /// Returns the client's next text message. Pings and other actions before it are dropped.
  ///
  /// - Parameter limit: The maximum real time of the wait for each action.
  public func nextText(
    within limit: Duration = WaitFailure.usualLimit
  ) async throws(WaitFailure) -> String {
    while true {
      if let text = try await actions.next(within: limit).text { return text }
    }
  }

  public func received() async throws(WaitFailure) -> ClientAction? {
    do throws(WaitFailure) {
      return try await actions.next(within: WaitFailure.usualLimit)
    } catch {
      guard error.reason == .closed else { throw error }
      return nil
    }
  }

  /// Sets whether pings are answered; they are by default. A half-open link answers none.
  public func answerPings(_ answers: Bool) {
    state.withLock { $0.answersPings = answers }
  }

  /// Sets the maximum number of unread client messages. Beyond it, the client's `send` is refused.
  /// The default is 1,024.
  public func limitUnread(to limit: Int) {
    state.withLock { $0.unreadLimit = limit }
  }

  private func send(_ bytes: [UInt8], as event: SocketEvent) async {
    let isTooLong = bytes.count > request.maxMessageBytes
    await emit(isTooLong ? .oversized(bytes: UInt64(bytes.count)) : event)
  }

  private func timeOut() async {
    await emit(.failed(.timeout(.connect)), from: [.opening], to: .ended)
  }

  private func advance(from: [Phase], to phase: Phase) -> Bool {
    state.withLock { state in
      guard from.contains(state.phase) else { return false }
      if state.phase != phase { state.timer?.cancel() }
      state.phase = phase
      return true
    }
  }

  /// Delivers an event once the client has processed the previous one, unless the socket is in
  /// another phase by then.
  private func emit(_ event: SocketEvent, from: [Phase] = [.open], to phase: Phase = .open) async {
    guard await turns.next() != nil else { return }
    if advance(from: from, to: phase) {
      activity.deliveryBegan()
      await deliver(event)
      if phase == .ended { actions.close() }
    }
    turns.put(())
  }
}

/// The methods that the network calls.
extension FakeSocket {
  /// Starts the time-out of the attempt, unless the test has already answered it.
  func startTimer(until deadline: Instant, on clock: any LinkClock) {
    state.withLock { state in
      guard state.phase == .opening else { return }
      state.timer = Task { [weak self] in
        guard (try? await clock.wait(until: deadline)) != nil else { return }
        await self?.timeOut()
      }
    }
  }

  /// The sentence in a `WaitFailure` about this socket; `nil` once it has ended.
  var hint: String? {
    switch state.withLock(\.phase) {
    case .opening: "The socket to \(request.url) is not accepted yet."
    case .open: "The socket to \(request.url) is open; unread actions: \(actions.count)."
    case .ended: nil
    }
  }
}

/// The methods that the client's handle calls.
extension FakeSocket {
  func take(_ message: ClientAction) -> SocketSending {
    guard let limit = state.withLock({ $0.phase == .open ? $0.unreadLimit : nil }) else {
      return .closed
    }
    guard actions.count < limit else { return .full }
    return actions.put(message) ? .queued : .closed
  }

  func take(ping id: UInt64) {
    let answers: Bool? = state.withLock { $0.phase == .open ? $0.answersPings : nil }
    guard let answers else { return }
    actions.put(.ping(id: id))
    guard answers else { return }
    Task { await emit(.pong(id: id)) }
  }

  /// Ends the socket on behalf of the client. No event is delivered afterwards.
  func leave(_ action: ClientAction) {
    guard advance(from: [.opening, .open], to: .ended) else { return }
    actions.put(action)
    actions.close()
  }
}

/// The client's end of a `FakeSocket`.
final class FakeSocketHandle: SocketHandle {
  private let socket: FakeSocket

  init(socket: FakeSocket) {
    self.socket = socket
  }

  deinit {
    socket.leave(.dropped)
  }

  func send(text: [UInt8]) async -> SocketSending {
    socket.take(.text(text))
  }

  func send(binary: [UInt8]) async -> SocketSending {
    socket.take(.binary(binary))
  }

  func ping(id: UInt64) async {
    socket.take(ping: id)
  }

  func close(code: UInt16, reason: String) async {
    socket.leave(.closed(code: code, reason: reason))
  }
}

/// A client's action on a socket, as the server observes it.
public enum ClientAction: Sendable, Equatable {
  /// A complete text message.
  case text([UInt8])
  /// A complete binary message.
  case binary([UInt8])
  /// A ping. `id` is `nil` if the server cannot read it.
  case ping(id: UInt64?)
  /// A close frame.
  case closed(code: UInt16, reason: String)
  /// The connection ended without a close frame.
  case dropped

  /// The text of a text message; `nil` for other actions, and if it is not valid UTF-8.
  public var text: String? {
    guard case .text(let bytes) = self else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }

  /// The content of a binary message; `nil` for other actions.
  public var data: Data? {
    guard case .binary(let bytes) = self else { return nil }
    return Data(bytes)
  }
}

/// The server's end of one WebSocket, controlled by a test.
///
/// It answers pings and close frames automatically.
public protocol FarSocket: Sendable {
  /// Accepts the upgrade.
  func accept(headers: [String: String]) async
  /// Refuses the upgrade with an HTTP status.
  func reject(status: Int) async
  /// Sends a text message. The bytes must be valid UTF-8.
  func send(text: [UInt8]) async
  /// Sends a binary message.
  func send(binary: [UInt8]) async
  /// Sends a ping.
  func ping() async
  /// Sends a close frame and ends the connection.
  func close(code: UInt16, reason: String) async
  /// Ends the connection without a close frame.
  func drop() async
  /// Returns the client's next action, or `nil` if no action remains.
  ///
  /// - Throws: An error if the wait takes too long.
  func received() async throws -> ClientAction?
}
