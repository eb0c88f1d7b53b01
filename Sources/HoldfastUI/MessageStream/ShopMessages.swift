import Foundation
public import Holdfast
public import Observation
import Synchronization

/// The messages of one shop for the screens of an app.
///
///     List(shop.messages) { Text($0.text) }
///       .refreshable { shop.refresh() }
///       .task { await shop.follow() }
///
/// All screens of a shop share one model. It is fed while it lives, so a `.task` that restarts
/// finds it whole.
@MainActor @Observable public final class ShopMessages {
  /// What is shown, oldest first, each message once.
  public private(set) var messages: [MessageRow] = []
  /// What the user sent and the server does not have yet, oldest first.
  public private(set) var waiting: [WaitingRow] = []
  /// How messages come in.
  public private(set) var connection = ConnectionState()
  /// Whether older messages may be loaded.
  public private(set) var hasOlder = true
  /// What went wrong last, and did not end anything.
  public private(set) var notice: StreamNotice?

  @ObservationIgnored private let stream: ShopStream
  @ObservationIgnored private let dates: Dates
  @ObservationIgnored private let feed = Feed()
  @ObservationIgnored private let backgroundTime: any BackgroundTime
  @ObservationIgnored private let holdings: Holdings

  init(_ stream: ShopStream, _ parts: HoldfastLinks.Parts, _ holdings: Holdings) {
    (self.stream, self.holdings) = (stream, holdings)
    dates = Dates(clock: parts.clock)
    backgroundTime = parts.backgroundTime
  }

  /// Keeps the model up to date until the task is cancelled or the shop is closed.
  ///
  /// Cancelling it stops nothing: the model is fed on, and is whole when a screen follows it again.
  public func follow() async {
    await feed.follow { [weak self, stream] in
      for await update in stream { self?.take(update) }
    }
  }

  /// Sends a message; it waits until the server has it.
  public func send(_ text: String) { stream.send(text) }

  /// Tries a failed message again.
  public func retry(_ row: WaitingRow) { stream.retry(row.id) }

  /// Discards a message that was not sent.
  public func discard(_ row: WaitingRow) { stream.discard(row.id) }

  /// Fetches what is new.
  public func refresh() { stream.refresh() }

  /// Loads the next page of older messages.
  public func loadOlder() { stream.loadOlder() }

  /// Tells whether the app is in front, where there is no lifecycle monitor.
  ///
  /// On the way to the background it asks for time until all that was accepted is stored.
  public func turn(_ lifecycle: Lifecycle) {
    guard lifecycle == .background else { return stream.turn(lifecycle) }
    let storing = Storing()
    let grant = backgroundTime.begin("storing messages") { storing.expire() }
    stream.turn(lifecycle)
    storing.begin(grant) { [stream] in await stream.settled(\.isStored) }
  }

  /// Closes the shop; what was accepted is stored. The app's links make a new model then.
  public func close() async {
    await stream.close()
    await holdings.close()
  }

  private func take(_ update: StreamUpdate) {
    switch update {
    case .status(let status): connection = ConnectionState(status, dates)
    case .messages(let new, via: _): for message in new { insert(MessageRow(message)) }
    case .edited(let changed): for message in changed { replace(MessageRow(message)) }
    case .outbox(let entry): put(WaitingRow(entry))
    case .outboxDone(let id, message: _): waiting.removeAll { $0.id == id }
    case .history(let hasMore): hasOlder = hasMore
    case .notice(let latest): notice = latest
    case .gap, .gapClosed: return
    }
  }

  private func insert(_ row: MessageRow) {
    // Nearly always the newest; an older page comes as a whole and in order.
    let place = messages.lastIndex { $0.message.key < row.message.key }.map { $0 + 1 } ?? 0
    messages.insert(row, at: place)
  }

  private func replace(_ row: MessageRow) {
    guard let place = messages.lastIndex(where: { $0.id == row.id }) else { return }
    messages.remove(at: place)
    insert(row)
  }

  private func put(_ row: WaitingRow) {
    if let place = waiting.firstIndex(where: { $0.id == row.id }) {
      waiting[place] = row
    } else {
      waiting.append(row)
    }
  }
}

/// Work under a grant of time, which is given back when the work ends or the time expires.
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

  /// Ends the wait; the task then gives the grant back.
  func expire() {
    let task = state.withLock { state in
      state.isExpired = true
      return state.task
    }
    task?.cancel()
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
      case .failed: .polling
      }
    self.init(
      phase: phase, retryAt: status.retryAt.map(dates.date), needsSignIn: status.reason == .signIn)
  }
}

extension HoldfastLinks {
  /// Returns the messages of a shop, one model for all screens until it is closed; opens it
  /// for the first one.
  ///
  /// - Throws: `LinkFailure` where this platform has no network yet, `StoreFailure` or `OpenError`.
  public func shop(_ id: ShopID) async throws -> ShopMessages {
    try await shared("shop \(id)") { [self] holdings in
      let stream = try await shopStreams().streams.open(
        StreamConfiguration(server: server.absoluteString, shop: id))
      return ShopMessages(stream, parts, holdings)
    }
  }

  private func shopStreams() async throws -> OpenStreams {
    try await shared("shops") { [self] holdings in
      let network = if let own = parts.network { own } else { try Platform.ownNetwork() }
      let store = holdings.keep(try await Platform.store(in: folder("shops")))
      return OpenStreams(
        ShopStreams(
          StreamEnvironment(
            network: network, store: store,
            reachability: parts.reachability ?? Platform.reachability(of: server.host ?? ""),
            lifecycle: parts.lifecycle, tokens: tokens, clock: parts.clock)))
    }
  }
}

/// The streams that share a store and a limit.
private final class OpenStreams: Sendable {
  let streams: ShopStreams

  init(_ streams: ShopStreams) { self.streams = streams }
}
