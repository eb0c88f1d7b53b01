import LinkCore
import LinkRuntime
import LinkWire
import MessageStream

/// Carries out what the model asks for: it translates, and decides nothing.
actor StreamShell {
  private let configuration: StreamConfiguration
  private let network: any SocketDialer & HTTPClient
  private let store: any TimelineStore
  private let vault: TokenVault
  private let api: ShopAPI
  private let updates: UpdateChannel<StreamUpdate>
  private var sockets = Sockets()
  private var tasks: [UInt64: Task<Void, Never>] = [:]
  /// Sockets that say goodbye; the last thing that is waited for.
  private var closing: [UInt64: Task<Void, Never>] = [:]
  private var lastTask: UInt64 = 0
  private var isReaderBehind = false
  /// Leads back to the driver, which holds the shell; gone once stopped, so that both can go.
  private var post: Post?
  private let sluice: Sluice

  /// Brings inputs to the driver, in order.
  typealias Post = @Sendable ([StreamModel.Input]) async -> Void

  init(
    _ configuration: StreamConfiguration, network: any SocketDialer & HTTPClient,
    store: any TimelineStore, vault: TokenVault, updates: UpdateChannel<StreamUpdate>,
    clock: any LinkClock
  ) {
    self.configuration = configuration
    self.network = network
    self.store = store
    self.vault = vault
    self.updates = updates
    sluice = Sluice(clock: clock)
    api = ShopAPI(configuration: configuration, http: network, vault: vault)
  }

  /// Says where inputs go; before the first effect.
  func connect(_ post: @escaping Post) async {
    self.post = post
    await vault.connect { [vault] event in
      if let user = await vault.user { await post([.user(user)]) }
      await post([.credentials(event)])
    }
  }

  func perform(_ effect: StreamModel.Effect) async {
    switch effect {
    case .open(let attempt, let after): await open(attempt, after: after)
    case .close(let attempt, let code): close(attempt, code: code)
    case .ping(let attempt, let id): await sockets[attempt]?.ping(id: id)
    case .refreshCredentials:
      start { [vault, post] in
        let event = await vault.refresh()
        if let user = await vault.user { await post?([.user(user)]) }
        return .credentials(event)
      }
    case .fetch(let id, let query): fetch(id, query)
    case .post(let entry): send(entry)
    case .load, .commit, .readOlder: keep(effect)
    case .update(let update):
      updates.put(update)
      watchReader()
    }
  }

  /// Tells the model when the app has left too much unread, and when it has read on.
  private func watchReader() {
    guard !isReaderBehind, updates.isFull else { return }
    isReaderBehind = true
    start { [weak self, updates, post] in
      await post?([.reader(isBehind: true)])
      await updates.room()
      await post?([.reader(isBehind: false)])
      await self?.readsOn()
      return nil
    }
  }

  private func readsOn() {
    isReaderBehind = false
    watchReader()
  }

  /// Ends everything that is under way; nothing is begun any more.
  func stop() async {
    // It holds the driver, which holds this.
    post = nil
    sluice.open()
    let open = sockets.end()
    for task in tasks.values { task.cancel() }
    tasks = [:]
    for attempt in open { close(attempt, code: 1000) }
    for task in closing.values { await task.value }
    updates.end()
    await vault.end()
  }

  func forgetToken() async { await vault.end() }

  func forgetConnections() async { await network.forgetConnections() }

  private func open(_ attempt: AttemptID, after: Position?) async {
    let text = await vault.token
    let token = api.credentials(text)
    let redaction = Redaction([text].compactMap(\.self))
    let limits = MessageLimits()
    let request = SocketRequest(
      url: configuration.socketURL(.stream(configuration.shop)),
      headers: token.headers + (after.map { [(StreamHeader.after, $0.description)] } ?? []),
      query: token.query, openTimeout: configuration.policy.establish.openTimeout,
      maxMessageBytes: limits.maxFrameBytes)
    guard let post else { return }
    let (shop, policy) = (configuration.shop, configuration.policy)
    sockets.begin(attempt)
    let socket = await network.openInTurns(request) { [vault, sluice, weak self] events in
      if case .failed(let failure) = events.last, policy.verdict(on: failure) == .refresh {
        await vault.refused(text)
      }
      let inputs = events.map { Self.input(attempt, $0, shop: shop, redaction) }
      await sluice.pass(inputs.count)
      await post(inputs)
      if case .failed = events.last { await self?.forget(attempt) }
    }
    sockets.keep(socket, for: attempt)
  }

  private func forget(_ attempt: AttemptID) { sockets.forget(attempt) }

  private func close(_ attempt: AttemptID, code: UInt16) {
    guard let socket = sockets.take(attempt) else { return }
    // Closed because its way fell silent or went away: idle REST connections went the same way.
    if code == 1001 {
      start { [network] in
        await network.forgetConnections(); return nil
      }
    }
    lastTask += 1
    let id = lastTask
    closing[id] = Task {
      await socket.close(code: code, reason: "")
      self.closing[id] = nil
    }
  }

  private func fetch(_ id: FetchID, _ query: PageQuery) {
    start { [api, sluice] in
      do throws(LinkFailure) {
        let page = try await api.page(query)
        await sluice.pass(page.messages.count)
        return .fetched(id, page)
      } catch {
        return .fetchFailed(id, error)
      }
    }
  }

  private func send(_ entry: OutboxEntry) {
    start { [api] in
      do throws(LinkFailure) {
        return .posted(entry.id, try await api.post(entry))
      } catch {
        return .postFailed(entry.id, error)
      }
    }
  }

  private func keep(_ effect: StreamModel.Effect) {
    let shop = configuration.shop
    guard case .commit = effect else {
      return start { [store] in await Self.keep(effect, in: store, of: shop) }
    }
    sluice.close()
    start { [store, sluice] in
      defer { sluice.open() }
      return await Self.keep(effect, in: store, of: shop)
    }
  }

  private static func keep(
    _ effect: StreamModel.Effect, in store: any TimelineStore, of shop: ShopID
  ) async -> StreamModel.Input? {
    switch effect {
    case .load(let limit):
      do throws(StoreFailure) {
        return .loaded(try await store.load(shop, limit: limit))
      } catch {
        return .loadFailed(error)
      }
    case .commit(let id, let change):
      do throws(StoreFailure) {
        return .committed(id, try await store.commit(change, to: shop))
      } catch {
        return .commitFailed(id, error)
      }
    case .readOlder(let key, let limit):
      do throws(StoreFailure) {
        return .older(try await store.older(than: key, in: shop, limit: limit))
      } catch {
        return .olderFailed(error)
      }
    case .open, .close, .ping, .refreshCredentials, .fetch, .post, .update:
      return nil  // not the store's
    }
  }

  /// Runs work beside the driver and posts what comes of it.
  private func start(_ work: @escaping @Sendable () async -> StreamModel.Input?) {
    lastTask += 1
    let id = lastTask
    tasks[id] = Task { [post] in
      if let input = await work(), !Task.isCancelled { await post?([input]) }
      self.finished(id)
    }
  }

  private func finished(_ id: UInt64) { tasks[id] = nil }

  private static func input(
    _ attempt: AttemptID, _ event: SocketEvent, shop: ShopID, _ redaction: Redaction
  ) -> StreamModel.Input {
    switch event {
    case .opened(let headers):
      .opened(
        attempt, head: position(StreamHeader.head, in: headers),
        after: position(StreamHeader.after, in: headers))
    case .text(let bytes): .frame(attempt, frame(bytes, shop: shop, redaction))
    case .binary:
      .frame(attempt, .malformed(.malformed(detail: "a binary frame where text is spoken")))
    case .ping: .ping(attempt)
    case .pong(let id): .pong(attempt, id)
    case .oversized(let bytes): .oversized(attempt, bytes: bytes)
    case .failed(let failure): .lost(attempt, redaction.clean(failure))
    }
  }

  private static func position(_ name: String, in headers: [String: String]) -> Position? {
    headers[name.lowercased()].flatMap { Position($0) }
  }

  private static func frame(
    _ bytes: [UInt8], shop: ShopID, _ redaction: Redaction
  ) -> StreamModel.Frame {
    do throws(MessageError) {
      switch try StreamCodec.decode(bytes, shop: shop) {
      case .message(let message): return .message(message)
      case .draining(let window): return .draining(within: window)
      case .unknown(let type): return .unknown(type: redaction.clean(type))
      }
    } catch {
      return .malformed(error.mapText { redaction.clean($0) })
    }
  }
}
