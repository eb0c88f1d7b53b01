import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastPorts
import HoldfastSocket

/// The effect handler of a message stream. It uses the sockets, the REST interface and the store,
/// and delivers updates.
actor StreamEffectHandler: EffectHandler {
  let thread: EventThread
  let sink = InputSink<StreamModel>()
  let updates: UpdateChannel<StreamUpdate>
  let outcomes = SendOutcomes()
  private let configuration: StreamConfiguration
  private let clock: any LinkClock
  let store: any TimelineStore
  let signals = ChangeSignals()
  private let vault: TokenVault
  let api: ShopAPI
  let images: OutboxImages
  let uploads: ImageUploads
  private let sockets: SocketPool
  private let tasks: EffectTasks<StreamModel, UUID128>
  private let backpressure: StoreBackpressure
  private var isReaderBehind = false
  /// The latest change to the files of images; the next change waits for it.
  private var filing: Task<Void, Never>?

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.unownedExecutor }

  init(_ configuration: StreamConfiguration, _ parts: StreamParts) {
    let network = parts.network
    thread = network.eventThread(or: "holdfast.stream")
    clock = parts.ports.clock
    self.configuration = configuration
    store = parts.store
    vault = TokenVault(
      parts.tokens, limit: configuration.policy.gate.refreshTimeout, clock: clock
    ) { [sink] event, user in
      await sink.post((user.map { [.user($0)] } ?? []) + [.credentials(event)])
    }
    let credentials = RequestCredentials.vault(vault, configuration.authentication.placement)
    api = ShopAPI(configuration, network, credentials)
    images = OutboxImages(of: configuration.shop, in: parts.store.directory)
    uploads = ImageUploads(api.images, images, of: configuration.shop, clock: clock)
    sockets = SocketPool(network, policy: configuration.policy, credentials: credentials)
    tasks = EffectTasks(sink)
    updates = UpdateChannel(overflow: Self.overflow, unreadOverflow: Self.unreadOverflow)
    backpressure = StoreBackpressure(clock: clock, timeLimit: StoreBackpressure.timeLimit)
  }

  /// Drops notices, and replaces a status with the next one.
  ///
  /// Other updates are not bounded here, because the model sends no messages while the reader is
  /// behind.
  @Sendable private static func overflow(_ waiting: inout [StreamUpdate], _ next: StreamUpdate) {
    switch (next, waiting.last) {
    case (.notice, _): return
    case (.status, .status): waiting.removeLast()
    case (.status, _), (.messages, _), (.edited, _), (.deleted, _), (.gap, _), (.gapClosed, _),
      (.outbox, _), (.outboxDone, _), (.history, _):
      break
    }
    waiting.append(next)
  }

  /// Replaces the last status and drops all other updates while no loop has to read them.
  @Sendable private static func unreadOverflow(
    _ waiting: inout [StreamUpdate], _ next: StreamUpdate
  ) {
    guard case .status = next else { return }
    // Without an earlier status, the newest update makes room.
    waiting.remove(at: waiting.lastIndex { $0.isStatus } ?? waiting.count - 1)
    waiting.append(next)
  }

  func perform(_ effect: StreamModel.Effect) async {
    switch effect {
    case .open(let attempt, let after): await open(attempt, after: after)
    case .close(let attempt, let reason): sockets.close(attempt, code: reason.closeCode)
    case .ping(let attempt, let id): await sockets.ping(attempt, id: id)
    case .refreshCredentials: tasks.renew(vault)
    case .fetch(let id, let query):
      tasks.start { [api, backpressure] () throws(LinkFailure) in
        let page = try await api.page(query)
        await backpressure.pass(page.messages.count)
        return .fetched(id, page)
      } failing: {
        .fetchFailed(id, $0)
      }
    case .post(let entry, let number):
      images.noteSent(entry.id)
      post(entry, number)
    case .upload(let entry, let number): upload(entry, number)
    case .load(let limit): load(limit)
    case .commit(let id, let change): commit(id, change)
    case .readOlder(let key, let limit): readOlder(than: key, limit)
    case .update(let update): deliver(update)
    }
  }

  private func deliver(_ update: StreamUpdate) {
    if case .status(let status) = update {
      updates.put(update, failure: status.isFinal ? status.failure : nil)
    } else {
      updates.put(update)
    }
    outcomes.note(update)
    switch update {
    case .outboxDone(let id, let message): removeImage(of: id, isSent: message != nil)
    case .status(let status) where status.state == .connected: deleteAbandonedImages()
    case _: break
    }
    watchReader()
  }

  private func post(_ entry: OutboxEntry, _ number: TryID) {
    tasks.start { [api] () throws(LinkFailure) in
      switch entry.action {
      case .post: .posted(entry.id, try await api.post(entry))
      case .edit(let message): .edited(entry.id, try await api.edit(message, entry))
      case .delete(let message): .deleted(entry.id, try await api.delete(message))
      }
    } failing: { [outcomes, images] failure in
      outcomes.note(failure, of: entry.id)
      if failure.isCertainRefusal, let url = entry.image?.url {
        images.noteUploaded(entry.id, url: url)
      }
      return .postFailed(entry.id, try: number, failure)
    }
  }

  /// Uploads the image of an entry. An earlier attempt that goes on is cancelled.
  private func upload(_ entry: OutboxEntry, _ number: TryID) {
    tasks.start(entry.id) { [uploads, outcomes] in
      let result = await uploads.upload(entry, number)
      if case .postFailed(_, _, let failure) = result { outcomes.note(failure, of: entry.id) }
      return result
    }
  }

  /// Removes the image of an entry that left the outbox, if it has one.
  ///
  /// The files are changed on the shared threads, because the sockets wait for the thread of the
  /// network.
  private func removeImage(of id: UUID128, isSent: Bool) {
    guard !isSent || images.isKnown(id) else { return }
    filing = Task { [images, filing, weak self] in
      await filing?.value
      images.remove(id, isSent: isSent)
      if !isSent { await self?.deleteAbandonedImages() }
    }
  }

  /// Deletes the images on the server that discarded entries left there. Those that cannot be deleted
  /// now are deleted after the next connect or start.
  private func deleteAbandonedImages() {
    tasks.start { [uploads] in
      await uploads.deleteAbandoned()
      return nil
    }
  }

  /// Reports to the model when the app's loop leaves too many updates unread, and when it has
  /// caught up.
  private func watchReader() {
    guard !isReaderBehind, updates.isFull else { return }
    isReaderBehind = true
    tasks.start { [weak self, updates, sink] in
      await sink.post([.reader(isBehind: true)])
      await updates.room()
      await sink.post([.reader(isBehind: false)])
      await self?.readsOn()
      return nil
    }
  }

  private func readsOn() {
    isReaderBehind = false
    watchReader()
  }

  func stop() async {
    backpressure.open()
    tasks.stop()
    signals.close()
    outcomes.end()
    uploads.progress.end()
    await filing?.value
    await sockets.stop()
    await vault.end()
  }

  func forgetToken() async { await vault.end() }

  private func open(_ attempt: AttemptID, after: ShopPosition?) async {
    var request = SocketRequest(
      url: configuration.socketURL(.stream(configuration.shop)),
      headers: [(StreamHeader.events, StreamHeader.wantsEvents)]
        + (after.map { [(StreamHeader.after, $0.description)] } ?? []),
      openTimeout: configuration.policy.establish.openTimeout,
      maxMessageBytes: MessageLimits().maxFrameBytes)
    request.note = sink.notes(of: attempt)
    let (shop, sink, backpressure, clock) = (configuration.shop, sink, backpressure, clock)
    await sockets.open(attempt, request) { events, redaction in
      await backpressure.pass(events.count)
      let wall = clock.wall
      let inputs: [StreamModel.Input] = events.map { event in
        event.input(of: attempt) { headers in
          Self.opened(attempt, headers)
        } message: {
          .frame(attempt, Self.frame($0, shop: shop, redaction))
        } link: {
          .link($0, at: wall)
        }
      }
      await sink.post(inputs)
    }
  }

  private func load(_ limit: Int) {
    tasks.start {
      [store, images, clock, shop = configuration.shop, weak self] () throws(StoreFailure) in
      let stored = try await Self.newest(limit, of: shop, in: store)
      images.removeUnknown(keeping: stored.outbox, at: clock.wall)
      await self?.deleteAbandonedImages()
      return .loaded(stored)
    } failing: {
      .loadFailed($0)
    }
  }

  /// Reads the newest messages page by page, up to the limits of number and memory.
  private static func newest(
    _ limit: Int, of shop: ShopID, in store: any TimelineStore
  ) async throws(StoreFailure) -> TimelineSnapshot {
    let page = StreamSettings.loadPage
    var stored = try await store.load(shop, limit: min(limit, page))
    var bytes = stored.messages.reduce(0) { $0 + $1.footprint }
    while stored.hasOlder, stored.messages.count < limit, bytes < StreamSettings.memoryBytes,
      let oldest = stored.messages.first
    {
      let count = min(limit - stored.messages.count, page)
      let older = try await store.older(than: oldest.key, in: shop, limit: count)
      stored.messages.insert(contentsOf: older, at: 0)
      stored.hasOlder = older.count == count
      bytes += older.reduce(0) { $0 + $1.footprint }
    }
    return stored
  }

  private func commit(_ id: CommitID, _ change: TimelineChange) {
    backpressure.close()
    let (store, backpressure, signals) = (store, backpressure, signals)
    let shop = configuration.shop
    tasks.start(on: thread) { () throws(StoreFailure) in
      defer { backpressure.open() }
      let commit = try await store.commit(change, to: shop)
      if !commit.isEmpty { signals.ring() }
      return .committed(id, commit)
    } failing: {
      .commitFailed(id, $0)
    }
  }

  private func readOlder(than key: TimelineKey, _ limit: Int) {
    tasks.start { [store, shop = configuration.shop] () throws(StoreFailure) in
      .older(try await store.older(than: key, in: shop, limit: limit))
    } failing: {
      .olderFailed($0)
    }
  }

  private static func opened(
    _ attempt: AttemptID, _ headers: [String: String]
  ) -> StreamModel.Input {
    .opened(
      attempt, head: position(StreamHeader.head, in: headers),
      after: position(StreamHeader.after, in: headers),
      events: headers[StreamHeader.events.lowercased()] == StreamHeader.wantsEvents ? true : nil)
  }

  private static func position(_ name: String, in headers: [String: String]) -> ShopPosition? {
    headers[name.lowercased()].flatMap { ShopPosition($0) }
  }

  private static func frame(
    _ message: SocketMessage, shop: ShopID, _ redaction: Redaction
  ) -> StreamModel.Frame {
    guard message.isText, let bytes = message.bytes else {
      return .malformed(.malformed(detail: "a binary frame instead of text"))
    }
    do throws(MessageError) {
      switch try StreamCodec.decode(bytes, shop: shop) {
      case .message(let message): return .message(message)
      case .edited(let message): return .edited(message)
      case .deleted(let deletion): return .deleted(deletion)
      case .draining(let window): return .draining(within: window)
      case .unknown(let type): return .unknown(type: redaction.clean(type))
      }
    } catch {
      return .malformed(error.mapText { redaction.clean($0) })
    }
  }
}

extension LinkFailure {
  /// Whether the server has not stored what the request was to store.
  fileprivate var isCertainRefusal: Bool {
    switch self {
    case .http(let status, _, _): (400..<500).contains(status) && status != 408
    case .refused, .dns, .unreachable, .captivePortal, .tls: true
    case _: false
    }
  }
}

extension StreamUpdate {
  fileprivate var isStatus: Bool { if case .status = self { true } else { false } }
}
