import Foundation
public import Holdfast
import HoldfastSession
public import Observation

/// A conversation in a session, for the screens of an app.
///
///     List(chat.turns) { Text($0.text) }
///       .task { await chat.follow() }
///
/// All screens share one model. The model receives updates as long as it exists, so it is complete
/// when a `.task` restarts.
///
/// The model exists before the session is open. Prompts that are sent in the meantime wait in
/// memory, and are stored once it is. A prompt that is sent to a closed model is shown as failed.
@MainActor @Observable public final class Conversation: SharedModel {
  /// The turns of the conversation, oldest first, without duplicates.
  public internal(set) var turns: [TurnRow] = []
  /// The state of the connection for answers.
  public internal(set) var connection = ConnectionState()
  /// The quality of the connection to the server, or `nil` while the session is not connected.
  public internal(set) var quality: LinkQuality?
  /// The reason why turns are missing, if the server no longer has them.
  public internal(set) var gap: SessionGap?
  /// The most recent problem that did not end the session.
  public internal(set) var notice: SessionNotice?
  /// The conversation's id, a lower-case UUID; `nil` until the session is open if none was chosen.
  public private(set) var id: String?
  /// Whether the session is open.
  public var phase: OpeningPhase { opening.phase }

  let opening: Opening<OpenConversation>
  @ObservationIgnored private let dates: Dates
  @ObservationIgnored private let feed = Feed()
  @ObservationIgnored private let moments = Moments()

  init(_ id: String?, _ opening: Opening<OpenConversation>, _ dates: Dates) {
    (self.id, self.opening, self.dates) = (id, opening, dates)
    opening.resources.onForeground = { [weak self] in self?.reconnectIfExhausted() }
    opening.onOpen = { [weak self] in self?.show($0) }
  }

  /// Shows the stored turns before the prompts that were sent while the session was being opened.
  private func show(_ open: OpenConversation) {
    let early = turns
    (id, turns) = (open.id, [])
    for entry in open.history { put(TurnRow(entry)) }
    for var row in early {
      row.conversation = open.id
      put(row)
    }
  }

  /// Starts updating the model. Returns when the task is cancelled or the session is closed.
  ///
  /// Cancelling the task does not stop the updates, so the model is complete when a screen follows
  /// it again.
  public func follow() async {
    guard let session = await opening.lasting()?.session else { return }
    await feed.follow(updates(of: session))
  }

  /// Returns a closure that processes updates until the session is closed.
  private func updates(of session: HeldSession) -> @MainActor () async -> Void {
    { [weak self] in
      for await update in session.lastingUpdates { self?.take(update, session) }
      self?.moments.end()
    }
  }

  /// Opens the session again after it could not be opened.
  public func retry() { opening.retry() }

  /// Sends a prompt. The prompt is kept until the server has received it.
  ///
  /// If the model was closed, or is closed and its session could not be opened, nothing is sent: the
  /// turn says so, and only `discard(_:)` has an effect on it.
  ///
  /// - Returns: The id of the prompt's turn.
  @discardableResult
  public func prompt(_ text: String) -> TurnRow.ID {
    let key = UUID128.random()
    if opening.feature == nil || opening.isClosed {
      let state = SessionPromptState(
        key: key, conversation: id ?? "", text: text, state: .queued)
      turns.append(TurnRow(state, date: dates.now))
    }
    opening.keep {
      $0.session.prompt(text, in: $0.id, key)
    } orElse: { [weak self] in
      self?.fail(key.description)
    }
    return key.description
  }

  /// Shows that a prompt cannot be sent by this model.
  private func fail(_ id: TurnRow.ID) {
    guard let index = turns.firstIndex(where: { $0.id == id }) else { return }
    turns[index].state = .failed
    turns[index].reason = "the session was closed before the prompt was stored"
  }

  /// Sends a prompt, and waits until `turns` contains its answer.
  ///
  /// Losses of the connection only prolong the wait. If the task is cancelled, only the wait ends.
  ///
  /// - Returns: The turn of the answer.
  /// - Throws: `AnswerError`, `OpenError` if the session cannot be opened or was closed, or
  ///   `CancellationError`.
  public func answer(to text: String) async throws -> TurnRow {
    let open = try await opening.opened()
    feed.start(updates(of: open.session))
    let entry = try await open.session.answer(to: text, in: open.id)
    await moments.wait { turn(of: entry.id) != nil }
    guard let row = turn(of: entry.id) else { throw opening.endOfWait }
    return row
  }

  private func turn(of id: TurnRow.ID) -> TurnRow? { turns.last { $0.id == id } }

  /// Retries a failed prompt.
  public func retry(_ row: TurnRow) {
    guard let key = row.key else { return }
    opening.whenOpen { $0.session.retry(key) }
  }

  /// Discards a failed prompt.
  public func discard(_ row: TurnRow) {
    guard let key = row.key else { return }
    opening.whenOpen { $0.session.discard(key) }
    turns.removeAll { $0.id == row.id && $0.hasFailed }
  }

  /// Cancels the answer that is being produced.
  public func cancel() { opening.whenOpen { $0.session.cancel(conversation: $0.id) } }

  /// Connects again after a failure, for example because the user has signed in.
  public func reconnect() { opening.whenOpen { $0.session.reconnect() } }

  /// Reports whether the app is in the foreground. It is for platforms without a lifecycle monitor.
  ///
  /// In the foreground, a session that gave up after its last attempt connects again.
  public func setLifecycle(_ lifecycle: AppLifecycle) {
    opening.whenOpen { $0.session.setLifecycle(lifecycle) }
    if lifecycle == .foreground { reconnectIfExhausted() }
  }

  private func reconnectIfExhausted() { if connection.isExhausted { reconnect() } }

  /// Closes the session. Prompts without an answer wait for the next run.
  ///
  /// On the next request, `HoldfastLinks` creates a new model, possibly for another conversation.
  public func close() async {
    await opening.close { await $0.session.close() }
    await feed.finish()
    moments.end()
  }

  func clear() {
    (turns, id) = ([], nil)
    (quality, gap, notice) = (nil, nil, nil)
  }

  private func take(_ update: SessionUpdate, _ session: HeldSession) {
    defer { moments.changed() }
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
      phase, retryAt: status.retryAt.map(dates.date), status.reason, attempt: status.attempt,
      status.failure,
      text: status.description, isFinal: status.isFinal)
  }
}

/// An open session, and what a screen shows of it at first.
struct OpenConversation: Sendable {
  let session: HeldSession
  /// The id of the conversation.
  let id: String
  let history: [SessionEntry]

  /// The number of turns that are loaded at first.
  private static let page = 200

  init(_ session: HeldSession) async throws {
    self.session = session
    do {
      id = await session.conversation
      // The id is empty only if the opening was cancelled.
      guard !id.isEmpty else { throw CancellationError() }
      history = try await session.history(of: id, limit: Self.page)
    } catch {
      await session.close()
      throw error
    }
  }
}

extension HoldfastLinks {
  /// Returns the model of a conversation. All screens share the model until it is closed.
  ///
  /// The first call begins to open the session. The app's token is used as the session's key. Only
  /// one conversation can be open at a time: the model of another one has the phase `.failed` until
  /// the open one is closed and `retry()` is called.
  ///
  /// - Parameters:
  ///   - id: The conversation's id, a lower-case UUID. `nil` selects the open conversation or, if
  ///     there is none, the most recently used one or a new one.
  ///   - path: The path of the socket on the server.
  public func conversation(_ id: String? = nil, path: String = "session") -> Conversation {
    if let open = openConversation, id == nil || open.id == id { return open }
    return shared("session \(id ?? "")") { resources in
      let opening = opening(resources) { (links, resources) in
        try await links.session(id, path: path, resources)
      }
      return Conversation(id, opening, Dates(clock: ports.clock))
    }
  }

  /// The conversation that is open or being opened.
  private var openConversation: Conversation? {
    models.values.lazy.compactMap { $0 as? Conversation }.first { $0.phase.error == nil }
  }

  private func session(
    _ id: String?, path: String, _ resources: SharedResources
  ) async throws -> OpenConversation {
    let others = models.values.compactMap { $0 as? Conversation }
      .filter { $0.resources !== resources && $0.phase == .open }
    if let other = others.first?.id {
      throw OpenError.configuration("the conversation \(other) is open; close it first")
    }
    // The store is suspended and resumed with the other stores of the app.
    let store = resources.keep(try await HoldfastPlatform.sessionStore(in: folder(.session)))
    var configuration = SessionConfiguration(
      server.appending(path: path).socketText, storage: .store(store), tokens: tokens)
    configuration.conversation = id
    configuration.ports = ports
    return try await OpenConversation(HeldSession(configuration))
  }
}

extension URL {
  /// The WebSocket URL that corresponds to the URL of a server.
  fileprivate var socketText: String {
    absoluteString.hasPrefix("http") ? "ws" + absoluteString.dropFirst(4) : absoluteString
  }
}
