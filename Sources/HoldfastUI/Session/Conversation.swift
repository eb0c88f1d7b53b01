import HoldfastSession
import Foundation
public import Holdfast
public import Observation

/// A conversation in a session, for the screens of an app.
///
///     List(chat.turns) { Text($0.text) }
///       .task { await chat.follow() }
///
/// All screens share one model. The model receives updates as long as it exists, so it is complete
/// when a `.task` restarts.
@MainActor @Observable public final class Conversation {
  /// The turns of the conversation, oldest first, without duplicates.
  public private(set) var turns: [TurnRow] = []
  /// The state of the connection for answers.
  public private(set) var connection = ConnectionState()
  /// The quality of the connection to the server, or `nil` while the session is not connected.
  public private(set) var quality: LinkQuality?
  /// The reason why turns are missing, if the server no longer has them.
  public private(set) var gap: SessionGap?
  /// The most recent problem that did not end the session.
  public private(set) var notice: SessionNotice?
  /// The conversation's id, a lower-case UUID.
  public let id: String

  @ObservationIgnored private let session: HeldSession
  @ObservationIgnored private let dates: Dates
  @ObservationIgnored private let resources: SharedResources
  @ObservationIgnored private let feed = Feed()

  init(_ session: HeldSession, _ dates: Dates, _ resources: SharedResources) async throws {
    (self.session, self.dates, self.resources) = (session, dates, resources)
    // The id is available once the session has restored the content of the store.
    await session.waitUntil { !$0.conversation.isEmpty }
    id = await session.conversation
    for entry in try await session.history(of: id, limit: Self.page) { put(TurnRow(entry)) }
    resources.onForeground = { [weak self] in self?.reconnectIfExhausted() }
  }

  /// The number of turns that are loaded at first.
  private static let page = 200

  /// Starts updating the model. Returns when the task is cancelled or the session is closed.
  ///
  /// Cancelling the task does not stop the updates, so the model is complete when a screen follows
  /// it again.
  public func follow() async {
    await feed.follow { [weak self, session] in
      for await update in session.lastingUpdates { self?.take(update) }
    }
  }

  /// Sends a prompt. The prompt is kept until the server has received it.
  ///
  /// - Returns: The id of the prompt's turn.
  @discardableResult
  public func prompt(_ text: String) -> TurnRow.ID { session.prompt(text, in: id).description }

  /// Retries a failed prompt.
  public func retry(_ row: TurnRow) {
    if let key = row.key { session.retry(key) }
  }

  /// Discards a failed prompt.
  public func discard(_ row: TurnRow) {
    guard let key = row.key else { return }
    session.discard(key)
    turns.removeAll { $0.id == row.id && $0.hasFailed }
  }

  /// Cancels the answer that is being produced.
  public func cancel() { session.cancel(conversation: id) }

  /// Connects again after a failure, for example because the user has signed in.
  public func reconnect() { session.reconnect() }

  /// Reports whether the app is in the foreground. It is for platforms without a lifecycle monitor.
  ///
  /// In the foreground, a session that gave up after its last attempt connects again.
  public func setLifecycle(_ lifecycle: AppLifecycle) {
    session.setLifecycle(lifecycle)
    if lifecycle == .foreground { reconnectIfExhausted() }
  }

  private func reconnectIfExhausted() { if connection.isExhausted { reconnect() } }

  /// Closes the session. Prompts without an answer wait for the next run.
  ///
  /// On the next request, `HoldfastLinks` creates a new model, possibly for another conversation.
  public func close() async {
    await session.close()
    await resources.close()
  }

  private func take(_ update: SessionUpdate) {
    switch update {
    case .status(let status):
      connection = ConnectionState(status, dates)
      if connection.phase != .live { quality = nil }
    case .quality(let latest, roundTrip: _): quality = latest
    case .pending(let prompts): for prompt in prompts { put(TurnRow(prompt)) }
    case .prompt(let state, let news):
      put(TurnRow(state, date: dates.now))
      if let news { session.markShown(through: news) }
    case .message(let entry, via: _, let news):
      put(TurnRow(entry))
      session.markShown(through: news)
    case .gap(let conversation, let latest):
      if conversation == nil || conversation == id { gap = latest }
    case .notice(let latest): notice = latest
    case .part, .record: return
    }
  }

  private func put(_ row: TurnRow) {
    guard row.conversation == id else { return }
    if let index = turns.lastIndex(where: { $0.id == row.id }) {
      turns[index].update(row)
    } else {
      turns.append(row)
    }
  }
}

extension ConnectionState {
  init(_ status: LinkStatus, _ dates: Dates) {
    let phase: Phase =
      switch status.phase {
      case .disconnected, .failed: .off
      case .held, .connecting: .connecting
      case .connected: .live
      case .reconnecting: .reconnecting
      case .standby: .polling
      }
    self.init(
      phase, retryAt: status.retryAt.map(dates.date), status.reason, status.failure,
      text: status.description, isFinal: status.isFinal)
  }
}

extension HoldfastLinks {
  /// Returns the model of a conversation. All screens share the model until it is closed.
  ///
  /// The first call opens the session. The app's token is used as the session's key. Only one
  /// conversation can be open at a time.
  ///
  /// - Parameters:
  /// - id: The conversation's id, a lower-case UUID. `nil` selects the most recently used
  ///   conversation or, if there is none, a new one.
  /// - path: The path of the socket on the server.
  /// - Throws: `OpenError` if this platform has no network adapter yet or another conversation is
  ///   open, or `StoreFailure`.
  public func conversation(
    _ id: String? = nil, path: String = "session"
  ) async throws -> Conversation {
    let open: Conversation = try await shared("session") { [self] resources in
      // The store is suspended and resumed with the other stores of the app.
      let store = resources.keep(try await HoldfastPlatform.sessionStore(in: folder("session")))
      var configuration = SessionConfiguration(
        server.appending(path: path).socketText, storage: .store(store), tokens: tokens)
      configuration.conversation = id
      configuration.ports = ports
      return try await Conversation(
        HeldSession(configuration), Dates(clock: ports.clock), resources)
    }
    guard id == nil || open.id == id else {
      throw OpenError.configuration("the conversation \(open.id) is open; close it first")
    }
    return open
  }
}

extension URL {
  /// The WebSocket URL that corresponds to the URL of a server.
  fileprivate var socketText: String {
    absoluteString.hasPrefix("http") ? "ws" + absoluteString.dropFirst(4) : absoluteString
  }
}
