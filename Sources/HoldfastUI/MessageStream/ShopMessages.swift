import Foundation
public import Holdfast
import HoldfastCore
public import HoldfastMessageData
import HoldfastMessageStream
import HoldfastPorts
public import Observation

/// The messages of one shop, for the screens of an app.
///
///     List(shop.messages) { Text($0.text) }
///       .refreshable { try? await shop.refresh() }
///       .task { await shop.follow() }
///
/// All screens of a shop share one model. The model receives updates as long as it exists, so it is
/// complete when a `.task` restarts.
///
/// The model exists before the shop is open. Messages that are sent in the meantime wait in memory,
/// and are stored once it is. A message that is sent to a closed model is shown as failed.
@MainActor @Observable public final class ShopMessages: SharedModel {
  /// The messages, oldest first, without duplicates.
  public private(set) var messages: [MessageRow] = []
  /// The gaps between messages, oldest first: messages that the server has and this device lacks.
  ///
  /// A gap precedes the message with the key `before`. `loadOlder()` fills the newest gap first.
  public var gaps: [ShopGap] { shownGaps.all }
  /// The user's messages that the server has not received yet, oldest first.
  public private(set) var waiting: [WaitingRow] = []
  /// The state of the connection for messages.
  public internal(set) var connection = ConnectionState()
  /// A Boolean value that indicates whether older messages may be available.
  public private(set) var hasOlder = true
  /// The most recent problem that did not end the stream; `nil` if there is none, its cause has
  /// ended or it was dismissed.
  public private(set) var notice: StreamNotice?

  /// Whether the shop is open.
  public var phase: OpeningPhase { opening.phase }
  /// The id of the shop.
  public let id: ShopID

  /// The images to which the messages refer.
  @ObservationIgnored public let images: ShopImages

  /// The part of each waiting message's image that the server has received, from 0 to 1, by the id of
  /// the row. A server that takes images only whole reports nothing until the end.
  public private(set) var uploads: [UUID128: Double] = [:]

  let opening: Opening<ShopStream>
  private var shownGaps = ShownGaps()
  /// The edits and deletions that the server has not confirmed.
  @ObservationIgnored private var pending = PendingChanges()
  /// The server's versions of the messages that are changed or hidden by `pending`.
  @ObservationIgnored private var changed: [MessageID: ShopMessage] = [:]
  @ObservationIgnored private let dates: Dates
  @ObservationIgnored private let feed = Feed()
  @ObservationIgnored private let backgroundTime: any BackgroundTime
  @ObservationIgnored private let moments = Moments()
  /// The marks that the stream has passed on after all earlier updates.
  @ObservationIgnored private var marks: Set<UUID128> = []
  /// The number of senders that wait for the row of their message.
  @ObservationIgnored private var sending = 0
  /// The messages that were deleted while there was such a sender.
  @ObservationIgnored private var deleted: Set<MessageID> = []
  /// The failure of the last fetch; `nil` since a refresh has begun.
  @ObservationIgnored private var fetchFailure: LinkFailure?

  init(
    _ id: ShopID, _ opening: Opening<ShopStream>, clock: any LinkClock,
    backgroundTime: any BackgroundTime
  ) {
    (self.id, self.opening, self.backgroundTime) = (id, opening, backgroundTime)
    images = ShopImages { try await opening.opened().image(at: $0) }
    dates = Dates(clock: clock)
    opening.resources.onForeground = { [weak self] in self?.reconnectIfExhausted() }
  }

  /// Starts updating the model. Returns when the task is cancelled or the shop is closed.
  ///
  /// Cancelling the task does not stop the updates, so the model is complete when a screen follows
  /// it again.
  public func follow() async {
    guard let stream = await opening.lasting() else { return }
    await feed.follow(updates(of: stream))
  }

  /// Returns a closure that processes updates until the stream is closed.
  private func updates(of stream: ShopStream) -> @MainActor () async -> Void {
    { [weak self] in
      let progress = Task { [weak self] in
        for await value in stream.imageProgress { self?.take(value) }
      }
      for await update in stream.lastingUpdates { self?.take(update) }
      progress.cancel()
      self?.moments.end()
    }
  }

  /// Opens the shop again after it could not be opened.
  public func retry() { opening.retry() }

  /// Sends a message, and returns at once. The message is kept until the server has received it.
  ///
  /// `waiting` shows the message until then, and `connection` why it has to wait. If the model was
  /// closed, or is closed and its shop could not be opened, nothing is sent: the row says so, and
  /// only `discard(_:)` has an effect on it.
  ///
  /// - Returns: The id of the message's row in `waiting`.
  @discardableResult
  public func send(_ text: String) -> UUID128 { enqueue(MessageContent(text)) }

  /// Sends a reply to a message, and returns at once, as `send(_:)` does.
  @discardableResult
  public func send(_ text: String, replyingTo parent: MessageRow) -> UUID128 {
    enqueue(MessageContent(text, parent: parent.id))
  }

  /// Sends a message, and returns at once, also in an asynchronous function.
  @discardableResult func enqueue(_ content: MessageContent) -> UUID128 {
    let id = UUID128.random()
    if opening.feature == nil || opening.isClosed { show(id, content) }
    opening.keep {
      $0.enqueue(content, id: id)
    } orElse: { [weak self] in
      self?.fail(id)
    }
    return id
  }

  /// Sends a message, and waits until the server has stored it and `messages` contains it.
  ///
  /// Losses of the connection only prolong the wait. If the task is cancelled, only the wait ends.
  ///
  /// - Returns: The row of the message.
  /// - Throws: `SendError`, which says whether the message is sent later, or that it was deleted at
  ///   once; `OpenError` if the shop
  ///   cannot be opened, and then nothing is sent, or if it was closed after the server had stored the
  ///   message; or `CancellationError`.
  @discardableResult
  public func send(_ text: String) async throws -> MessageRow {
    try await delivered { try await $0.send(text) }
  }

  /// Sends a reply to a message, and waits as `send(_:)` does.
  @discardableResult
  public func send(_ text: String, replyingTo parent: MessageRow) async throws -> MessageRow {
    try await delivered { try await $0.send(text, parent: parent.id) }
  }

  /// Sends a message with a closure, and waits until `messages` contains it.
  func delivered(
    _ send: (ShopStream) async throws -> MessageID
  ) async throws -> MessageRow {
    let stream = try await opening.opened()
    feed.start(updates(of: stream))
    sending += 1
    defer {
      sending -= 1
      if sending == 0 { deleted = [] }
    }
    let id = try await send(stream)
    await moments.wait { row(of: id) != nil || deleted.contains(id) }
    if let row = row(of: id) { return row }
    guard deleted.contains(id) else { throw opening.endOfWait }
    throw SendError(id: id, .refused(.local(detail: "the message was deleted")))
  }

  private func row(of id: MessageID) -> MessageRow? { messages.last { $0.id == id } }

  /// Shows a message that waits for the opening.
  private func show(_ id: UUID128, _ content: MessageContent) {
    let entry = OutboxEntry(
      id: id, shop: self.id, content: content, createdAt: dates.clock.wall)
    put(WaitingRow(entry))
  }

  /// Shows that a message cannot be sent by this model.
  private func fail(_ id: UUID128) {
    guard let index = waiting.firstIndex(where: { $0.id == id }) else { return }
    waiting[index].entry.state = .failed(
      reason: "the shop was closed before the message was stored")
  }

  /// Replaces the text of a message of the user, and returns at once. The row has the new text
  /// unless the server refuses it. The edit is kept until the server has answered.
  ///
  /// - Parameter images: What becomes of the images of the message. By default, the message keeps
  ///   them unless the text has a reference to an image itself.
  public func edit(
    _ row: MessageRow, text: String, images: ShopStream.EditedImages = .keep
  ) {
    let new = self.text(text, of: row, images)
    opening.whenOpen { $0.enqueueEdit(row.id, new, images: .remove) }
  }

  /// Returns the new text of a message, with the references to the images that it keeps.
  func text(_ text: String, of row: MessageRow, _ images: ShopStream.EditedImages) -> String {
    let present = self.row(of: row.id) ?? row
    return images == .keep ? ImageReference.text(text, keepingThoseOf: present.text) : text
  }

  /// Deletes a message of the user, or of anybody if the user is an admin of the shop, and returns
  /// at once. The row is hidden, and shown again if the server refuses the deletion.
  public func delete(_ row: MessageRow) { opening.whenOpen { $0.enqueueDeletion(row.id) } }

  /// Sends an edit or a deletion again that was refused.
  public func retryChange(of row: MessageRow) {
    if let change = row.change { opening.whenOpen { $0.retry(change.id) } }
  }

  /// Discards an edit or a deletion. The row then has the server's text.
  public func discardChange(of row: MessageRow) {
    if let change = row.change { opening.whenOpen { $0.discard(change.id) } }
  }

  /// Retries a failed message.
  public func retry(_ row: WaitingRow) { opening.whenOpen { $0.retry(row.id) } }

  /// Discards a message that has not been sent. Its row goes away.
  public func discard(_ row: WaitingRow) {
    if opening.isClosed { waiting.removeAll { $0.id == row.id && $0.hasFailed } }
    opening.whenOpen { $0.discard(row.id) }
  }

  /// Removes the notice, for example because the user has read it.
  public func dismissNotice() { notice = nil }

  /// Fetches new messages.
  public func refresh() { opening.whenOpen { $0.refresh() } }

  /// Fetches new messages, and waits until `messages` contains all that the server has.
  ///
  /// - Throws: The `LinkFailure` for which they cannot be fetched at present, an `OpenError` if the
  ///   shop cannot be opened or was closed, or `CancellationError`.
  public func refresh() async throws {
    let stream = try await opening.opened()
    feed.start(updates(of: stream))
    fetchFailure = nil
    stream.refresh()
    let mark = UUID128.random()
    let fetching = Task {
      await stream.waitUntil(\.isWhole)
      // The answer follows the updates of all messages, so that the model then shows them.
      if !Task.isCancelled { stream.discard(mark) }
    }
    defer { fetching.cancel() }
    await moments.wait { marks.contains(mark) || obstacle != nil }
    guard marks.remove(mark) == nil else { return }
    throw obstacle ?? opening.endOfWait
  }

  /// The reason why nothing can be fetched; `nil` if there is none.
  private var obstacle: (any Error)? {
    if let fetchFailure { return fetchFailure }
    switch connection.reason {
    case .offline, .captivePortal, .background, .signIn:
      return connection.failure ?? .unreachable(detail: connection.text)
    case .server, .interrupted, .security, .waiting, .closed, .device, nil:
      return connection.phase == .off ? connection.failure : nil
    }
  }

  /// Connects again after the stream has failed, for example because the user has signed in.
  public func reconnect() { opening.whenOpen { $0.reconnect() } }

  /// Loads the next page of older messages. While there are gaps, it belongs to the newest gap.
  public func loadOlder() { opening.whenOpen { $0.loadOlder() } }

  /// Reports whether the app is in the foreground. It is for platforms without a lifecycle monitor.
  ///
  /// When the app enters the background, the model requests background time until all accepted
  /// messages are stored. In the foreground, a stream that gave up after its last attempt connects
  /// again.
  public func setLifecycle(_ lifecycle: AppLifecycle) {
    guard lifecycle == .background else {
      opening.whenOpen { $0.setLifecycle(lifecycle) }
      return reconnectIfExhausted()
    }
    let expiry = Expiry()
    let grant = backgroundTime.begin("storing messages") { expiry.expire() }
    opening.whenOpen { $0.setLifecycle(lifecycle) }
    let storing = Task { [opening] in
      await opening.lasting()?.waitUntil(\.isSettled)
      grant?.giveBack()
    }
    expiry.onExpiry { storing.cancel() }
  }

  private func reconnectIfExhausted() { if connection.isExhausted { reconnect() } }

  /// Closes the shop after all accepted messages have been stored.
  ///
  /// On the next request, `HoldfastLinks` creates a new model.
  public func close() async {
    await opening.close { await $0.close() }
    await feed.finish()
    moments.end()
  }

  func clear() {
    (messages, waiting, notice) = ([], [], nil)
    uploads = [:]
    (shownGaps, hasOlder) = (ShownGaps(), true)
    (pending, changed) = (PendingChanges(), [:])
    images.clear()
  }

  func take(_ progress: ShopStream.ImageProgress) {
    guard waiting.contains(where: { $0.id == progress.entry }), progress.size > 0 else { return }
    uploads[progress.entry] = Double(progress.sent) / Double(progress.size)
  }

  func take(_ update: StreamUpdate) {
    defer { moments.changed() }
    if let notice, notice.isEnded(by: update) { dismissNotice() }
    switch update {
    case .status(let status): connection = ConnectionState(status, dates)
    case .messages(let new, let via):
      for message in new { show(message, isNew: true) }
      if via == .history { shownGaps.fill(with: new) }
    case .edited(let edits):
      for message in edits where isKnown(message.id) {
        forgetImages(of: message.id, keeping: MessageRow(message).images)
        show(message)
      }
    case .deleted(let deletions): remove(Set(deletions.map(\.id)))
    case .outbox(let entry): if !takeChange(update) { put(WaitingRow(entry)) }
    case .outboxDone(let id, message: _):
      if takeChange(update) { return }
      if !waiting.contains(where: { $0.id == id }) { marks.insert(id) }
      waiting.removeAll { $0.id == id }
      if uploads[id] != nil { uploads[id] = nil }
    case .history(let hasMore): hasOlder = hasMore
    case .notice(.storeRecovered): return
    case .notice(let latest):
      notice = latest
      if case .fetchFailed(let failure) = latest { fetchFailure = failure }
    case .gap(let gap): shownGaps.open(gap)
    case .gapClosed(let gap): shownGaps.close(gap)
    }
  }

  /// Applies an update about an edit or a deletion. Returns false if it is about a message.
  private func takeChange(_ update: StreamUpdate) -> Bool {
    guard let id = pending.take(update) else { return false }
    if let message = changed[id] ?? row(of: id)?.message { show(message) }
    return true
  }

  /// Removes the images of a message from memory, except those to which it still refers.
  private func forgetImages(of id: MessageID, keeping kept: [String] = []) {
    let old = (changed[id].map { MessageRow($0) } ?? row(of: id))?.images ?? []
    if !old.isEmpty { images.forget(old.filter { !kept.contains($0) }) }
  }

  private func isKnown(_ id: MessageID) -> Bool { changed[id] != nil || row(of: id) != nil }

  /// Shows the server's version of a message with the user's changes.
  private func show(_ message: ShopMessage, isNew: Bool = false) {
    let (shown, entry) = (pending.shown(message), pending.entry(of: message.id))
    changed[message.id] = entry == nil ? nil : message
    let row = shown.map { MessageRow($0, change: entry) }
    guard !isNew, let index = messages.lastIndex(where: { $0.id == message.id }) else {
      if let row { insert(row) }
      return
    }
    if let row { messages[index] = row } else { messages.remove(at: index) }
  }

  private func insert(_ row: MessageRow) {
    // The row is nearly always the newest. Pages of older messages arrive complete and in order.
    let index = messages.lastIndex { $0.message.key < row.message.key }.map { $0 + 1 } ?? 0
    messages.insert(row, at: index)
  }

  private func remove(_ ids: Set<MessageID>) {
    for id in ids { forgetImages(of: id) }
    messages.removeAll { ids.contains($0.id) }
    for id in ids { changed[id] = nil }
    if sending > 0 { deleted.formUnion(ids) }
  }

  private func put(_ row: WaitingRow) {
    if let index = waiting.firstIndex(where: { $0.id == row.id }) {
      waiting[index] = row
    } else {
      waiting.append(row)
    }
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
      phase, retryAt: status.retryAt.map(dates.date), status.reason, attempt: status.attempt,
      status.failure,
      text: status.description, isFinal: status.isFinal)
  }
}

extension HoldfastLinks {
  /// Returns the model of a shop's messages. All screens share the model until it is closed.
  ///
  /// The first call begins to open the shop. The model's `phase` says whether it is open.
  public func shop(_ id: ShopID) -> ShopMessages {
    shared("shop \(id)") { resources in
      let opening = opening(resources) { (links, _) in
        try await links.shopStreams().open(StreamConfiguration(server: links.server, shop: id))
      }
      return ShopMessages(
        id, opening, clock: ports.clock, backgroundTime: backgroundTime)
    }
  }

  /// Returns the streams of all shops, which share a store and a limit.
  private func shopStreams() async throws -> ShopStreams {
    let shops: OpenShops = shared("shops") { resources in
      OpenShops(
        opening(resources) { (links, resources) in
          let store = resources.keep(
            try await HoldfastPlatform.store(in: links.folder(.shops)))
          return try await ShopStreams(
            storage: .store(store), tokens: links.tokens, ports: links.ports)
        })
    }
    shops.opening.retry()
    return try await shops.opening.opened()
  }
}

/// The streams of all open shops.
private final class OpenShops: SharedModel {
  let opening: Opening<ShopStreams>

  init(_ opening: Opening<ShopStreams>) { self.opening = opening }

  func close() async { await opening.close { await $0.close() } }

  func clear() {}
}
