import HoldfastPorts
import HoldfastMessageStream
import Foundation
public import Holdfast
public import Observation
import Synchronization

/// The messages of one shop, for the screens of an app.
///
///     List(shop.messages) { Text($0.text) }
///       .refreshable { shop.refresh() }
///       .task { await shop.follow() }
///
/// All screens of a shop share one model. The model receives updates as long as it exists, so it is
/// complete when a `.task` restarts.
@MainActor @Observable public final class ShopMessages {
  /// The messages, oldest first, without duplicates.
  public private(set) var messages: [MessageRow] = []
  /// The user's messages that the server has not received yet, oldest first.
  public private(set) var waiting: [WaitingRow] = []
  /// The state of the connection for messages.
  public private(set) var connection = ConnectionState()
  /// A Boolean value that indicates whether older messages may be available.
  public private(set) var hasOlder = true
  /// The most recent problem that did not end the stream; `nil` if there is none, its cause has
  /// ended or it was dismissed.
  public private(set) var notice: StreamNotice?

  @ObservationIgnored private let stream: ShopStream
  @ObservationIgnored private let dates: Dates
  @ObservationIgnored private let feed = Feed()
  @ObservationIgnored private let backgroundTime: any BackgroundTime
  @ObservationIgnored private let resources: SharedResources

  init(_ stream: ShopStream, _ links: HoldfastLinks, _ resources: SharedResources) {
    (self.stream, self.resources) = (stream, resources)
    dates = Dates(clock: links.ports.clock)
    backgroundTime = links.backgroundTime
    resources.onForeground = { [weak self] in self?.reconnectIfExhausted() }
  }

  /// Starts updating the model. Returns when the task is cancelled or the shop is closed.
  ///
  /// Cancelling the task does not stop the updates, so the model is complete when a screen follows
  /// it again.
  public func follow() async {
    await feed.follow { [weak self, stream] in
      for await update in stream.lastingUpdates { self?.take(update) }
    }
  }

  /// Sends a message, and returns at once. The message is kept until the server has received it.
  ///
  /// `waiting` shows the message until then, and `connection` why it has to wait.
  ///
  /// - Returns: The id of the message's row in `waiting`.
  @discardableResult
  public func send(_ text: String) -> UUID128 { stream.enqueue(text) }

  /// Retries a failed message.
  public func retry(_ row: WaitingRow) { stream.retry(row.id) }

  /// Discards a message that has not been sent. Its row goes away.
  public func discard(_ row: WaitingRow) { stream.discard(row.id) }

  /// Removes the notice, for example because the user has read it.
  public func dismissNotice() { notice = nil }

  /// Fetches new messages.
  public func refresh() { stream.refresh() }

  /// Connects again after the stream has failed, for example because the user has signed in.
  public func reconnect() { stream.reconnect() }

  /// Loads the next page of older messages.
  public func loadOlder() { stream.loadOlder() }

  /// Reports whether the app is in the foreground. It is for platforms without a lifecycle monitor.
  ///
  /// When the app enters the background, the model requests background time until all accepted
  /// messages are stored. In the foreground, a stream that gave up after its last attempt connects
  /// again.
  public func setLifecycle(_ lifecycle: AppLifecycle) {
    guard lifecycle == .background else {
      stream.setLifecycle(lifecycle)
      return reconnectIfExhausted()
    }
    let storing = Storing()
    let grant = backgroundTime.begin("storing messages") { storing.expire() }
    stream.setLifecycle(lifecycle)
    storing.begin(grant) { [stream] in await stream.waitUntil(\.isStored) }
  }

  private func reconnectIfExhausted() { if connection.isExhausted { reconnect() } }

  /// Closes the shop after all accepted messages have been stored.
  ///
  /// On the next request, `HoldfastLinks` creates a new model.
  public func close() async {
    await stream.close()
    await resources.close()
  }

  func take(_ update: StreamUpdate) {
    if let notice, notice.isEnded(by: update) { dismissNotice() }
    switch update {
    case .status(let status): connection = ConnectionState(status, dates)
    case .messages(let new, via: _): for message in new { insert(MessageRow(message)) }
    case .edited(let changed): for message in changed { replace(MessageRow(message)) }
    case .outbox(let entry): put(WaitingRow(entry))
    case .outboxDone(let id, message: _): waiting.removeAll { $0.id == id }
    case .history(let hasMore): hasOlder = hasMore
    case .notice(.storeRecovered): return
    case .notice(let latest): notice = latest
    case .gap, .gapClosed: return
    }
  }

  private func insert(_ row: MessageRow) {
    // The row is nearly always the newest. Pages of older messages arrive complete and in order.
    let index = messages.lastIndex { $0.message.key < row.message.key }.map { $0 + 1 } ?? 0
    messages.insert(row, at: index)
  }

  private func replace(_ row: MessageRow) {
    guard let index = messages.lastIndex(where: { $0.id == row.id }) else { return }
    messages.remove(at: index)
    insert(row)
  }

  private func put(_ row: WaitingRow) {
    if let index = waiting.firstIndex(where: { $0.id == row.id }) {
      waiting[index] = row
    } else {
      waiting.append(row)
    }
  }
}

/// Work under a grant of background time. The grant is given back when the work ends or the time
/// expires.
private final class Storing: Sendable {
  private let state = Mutex<(task: Task<Void, Never>?, isExpired: Bool)>((nil, false))

  func begin(_ grant: TimeGrant?, _ work: @escaping @Sendable () async -> Void) {
    let task = Task {
      await work()
      grant?.giveBack()
    }
    let isExpired = state.withLock { state in
      state.task = task
      return state.isExpired
    }
    if isExpired { task.cancel() }
  }

  /// Cancels the work. The task then gives the grant back.
  func expire() {
    let task = state.withLock { state in
      state.isExpired = true
      return state.task
    }
    task?.cancel()
  }
}

extension StreamNotice {
  /// Returns whether an update shows that the cause of this notice has ended.
  fileprivate func isEnded(by update: StreamUpdate) -> Bool {
    switch (self, update) {
    case (.fetchFailed, .messages(_, let via)): via != .live
    case (.sendFailed, .outboxDone), (.store, .notice(.storeRecovered)): true
    case (.fetchFailed, .status(let status)), (.draining, .status(let status)),
      (.signIn, .status(let status)), (.forbidden, .status(let status)),
      (.security, .status(let status)):
      status.state == .connected
    case _: false
    }
  }
}

extension ConnectionState {
  init(_ status: StreamStatus, _ dates: Dates) {
    let phase: Phase =
      switch status.state {
      case .disconnected: .off
      case .connecting: .connecting
      case .connected: .live
      case .reconnecting: .reconnecting
      case .polling: .polling
      }
    self.init(
      phase, retryAt: status.retryAt.map(dates.date), status.reason, status.failure,
      text: status.description, isFinal: status.isFinal)
  }
}

extension HoldfastLinks {
  /// Returns the model of a shop's messages. All screens share the model until it is closed.
  ///
  /// The first call opens the shop.
  ///
  /// - Throws: `StoreFailure` or `OpenError`.
  public func shop(_ id: ShopID) async throws -> ShopMessages {
    try await shared("shop \(id)") { [self] resources in
      let stream = try await shopStreams().streams.open(
        StreamConfiguration(server: server, shop: id))
      return ShopMessages(stream, self, resources)
    }
  }

  private func shopStreams() async throws -> OpenStreams {
    try await shared("shops") { [self] resources in
      let store = resources.keep(try await HoldfastPlatform.store(in: folder("shops")))
      return OpenStreams(
        try await ShopStreams(storage: .store(store), tokens: tokens, ports: ports))
    }
  }
}

/// The streams, which share a store and a limit.
private final class OpenStreams: Sendable {
  let streams: ShopStreams

  init(_ streams: ShopStreams) { self.streams = streams }
}
