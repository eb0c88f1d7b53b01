import LinkCore
import LinkProtocols
import LinkRuntime
import LinkServerCore
import LinkWire
import ServerSockets

extension ShopHandler {
  mutating func perform(_ effects: [ShopServer.Effect], on hub: SocketHub) {
    for effect in effects { perform(effect, on: hub) }
  }

  private mutating func perform(_ effect: ShopServer.Effect, on hub: SocketHub) {
    switch effect {
    case .append(let appends):
      append(appends)
    case .page(let token, let shop, let query):
      ask(token) { store throws(StoreFailure) in
        let page = try await store.page(query, of: shop)
        return .page(page, total: try await store.count(query, of: shop))
      }
    case .head(let token, let shop):
      ask(token) { store throws(StoreFailure) in try await Self.head(of: shop, in: store) }
    case .answer(let id, let answer):
      respond(id, answer, on: hub)
    case .accept(let id, let head, let after):
      accept(id, head: head, after: after, on: hub)
    case .refuse(let id, let answer):
      guard let exchange = upgrades.removeValue(forKey: id) else { return }
      note(.refused, exchange, status: answer.status, at: hub.now)
      hub.respond(
        to: exchange.request, status: answer.status, headers: answer.headers, body: answer.bytes)
    case .send(let frame, let listeners):
      hub.send(frame: WebSocketFrame.text(frame.payload), to: listeners.map(\.socket))
    case .ping(let id):
      hub.ping(id.socket)
    case .close(let id, let closure):
      noteClosing(id, closure)
      hub.close(id.socket, code: closure.code, reason: closure.reason)
    case .drop(let id):
      hub.drop(id.socket)
    case .finished:
      hasFinished = true
    }
  }

  /// The newest message comes with its position in one answer, so that both are of one moment.
  private static func head(
    of shop: ShopID, in store: any MessageLog
  ) async throws(StoreFailure) -> ShopServer.StoreAnswer {
    let page = try await store.page(.page(number: 1, limit: 1), of: shop)
    guard let head = page.head else { return .head(try await store.head(of: shop)) }
    return .head(head, newest: page.messages.first?.createdAt)
  }

  /// Has the store take messages, at once or with all others that come while it is busy.
  private mutating func append(_ appends: [ShopServer.Append]) {
    switch writing {
    case .idle: write(appends)
    case .busy(var waiting):
      writing = .idle
      waiting += appends
      writing = .busy(waiting: waiting)
    }
  }

  /// Hands a list to the store; its answers come to the loop together, in order.
  private mutating func write(_ appends: [ShopServer.Append]) {
    guard let inject else { return }
    writing = .busy(waiting: [])
    let (store, log) = (store, log)
    Task.detached {
      let entries = appends.map { LogEntry(message: $0.message, key: $0.key) }
      let results = await store.append(entries)
      let answers = appends.indices.map {
        Self.answer(results.indices.contains($0) ? results[$0] : .failure(.unanswered), log)
      }
      inject { handler, hub in
        handler.writeNext()
        for (append, answer) in zip(appends, answers) {
          handler.feed(.stored(append.token, answer), on: hub)
        }
      }
    }
  }

  /// The store goes on before its last answers are given, so that the disk has work meanwhile.
  private mutating func writeNext() {
    guard case .busy(let waiting) = writing else { return }
    writing = .idle
    if !waiting.isEmpty { write(waiting) }
  }

  private static func answer(
    _ result: Result<Appended, StoreFailure>, _ log: BackendLog
  ) -> ShopServer.StoreAnswer {
    switch result {
    case .success(let appended): return .appended(appended.message, isNew: appended.isNew)
    case .failure(let failure): return failed(failure, log)
    }
  }

  private static func failed(
    _ failure: StoreFailure, _ log: BackendLog
  ) -> ShopServer.StoreAnswer {
    var line = LogLine(.storeFailure)
    line.detail = "\(failure)"
    log.note(line)
    return .failed(failure)
  }

  /// Asks the store away from the loop and brings its answer back to it.
  private func ask(
    _ token: StoreToken,
    _ question:
      @escaping @Sendable (any MessageLog) async throws(StoreFailure) ->
      ShopServer.StoreAnswer
  ) {
    guard let inject else { return }
    let (store, log) = (store, log)
    Task.detached {
      let answer: ShopServer.StoreAnswer
      do throws(StoreFailure) {
        answer = try await question(store)
      } catch {
        answer = Self.failed(error, log)
      }
      inject { handler, hub in handler.feed(.stored(token, answer), on: hub) }
    }
  }

  private mutating func respond(
    _ id: LinkServerCore.RequestID, _ answer: Answer, on hub: SocketHub
  ) {
    var answer = answer
    if case .metrics(let page) = answer.body { answer.body = .metrics(page + otherMetrics) }
    guard let exchange = requests.removeValue(forKey: id) else { return }
    numbers[exchange.request] = nil
    note(.request, exchange, status: answer.status, at: hub.now)
    hub.respond(
      to: exchange.request, status: answer.status, headers: answer.headers, body: answer.bytes)
  }

  private mutating func accept(
    _ id: LinkServerCore.ConnectionID, head: Position?, after: Position?, on hub: SocketHub
  ) {
    guard let exchange = upgrades.removeValue(forKey: id) else { return }
    note(.opened, exchange, status: 101, at: hub.now)
    listeners[id] = Listener(user: exchange.user, shop: exchange.shop, since: hub.now)
    let positions = [(StreamHeader.head, head), (StreamHeader.after, after)]
    hub.accept(
      exchange.request,
      headers: positions.compactMap { name, position in position.map { (name, $0.description) } })
  }

  private func noteClosing(_ id: LinkServerCore.ConnectionID, _ closure: Closure) {
    var line = LogLine(.closing)
    line.connection = id.number
    line.user = listeners[id]?.user
    line.shop = listeners[id]?.shop
    line.code = closure.code
    line.detail = closure.reason
    log.note(line)
  }
}
