import LinkCore
import LinkProtocols
import LinkRuntime
import LinkServerCore
import LinkWire
import ServerSockets

extension RelayHandler {
  /// The longest message of a phone: a plain one sends its answer whole, so many bytes with it.
  private static let maxMessageBytes = PhoneMessage.maxBytes

  mutating func perform(_ effects: [RelayServer.Effect], on hub: SocketHub) {
    var drawn: [RelayServer.Minted] = []
    for effect in effects {
      if case .mint(let mint) = effect {
        drawn.append(RelaySecrets.draw(mint))
      } else {
        perform(effect, on: hub)
      }
    }
    for minted in drawn { feed(.minted(minted), on: hub) }
  }

  private mutating func perform(_ effect: RelayServer.Effect, on hub: SocketHub) {
    switch effect {
    case .accept(let id): accept(id, on: hub)
    case .refuse(let id, let answer): refuse(id, answer, on: hub)
    case .send(let id, let message): hub.send(text: message.bytes, to: id.socket)
    case .ping(let id): hub.ping(id.socket)
    case .close(let id, let closure):
      var line = LogLine(.closing)
      line.connection = id.number
      line.route = RelayRoute.phone.rawValue
      (line.code, line.detail) = (closure.code, closure.reason)
      log.note(line)
      hub.close(id.socket, code: closure.code, reason: closure.reason)
    case .drop(let id): hub.drop(id.socket)
    case .answer(let ask, let outcome): answer(ask, outcome, on: hub)
    case .respond(let id, let reply): respond(id, reply, on: hub)
    case .mint: break
    case .store(let token, let changes):
      writes?.yield(StoreWrite(token: token, changes: changes))
    case .push(let phone, let address, let expiresAt): push(phone, address, expiresAt)
    case .finished: hasFinished = true
    }
  }

  private mutating func accept(_ id: LinkServerCore.ConnectionID, on hub: SocketHub) {
    guard let exchange = upgrades.removeValue(forKey: id) else { return }
    note(.opened, exchange, status: 101, at: hub.now)
    phones[id] = hub.now
    hub.accept(exchange.request, maxMessageBytes: Self.maxMessageBytes)
  }

  private mutating func refuse(
    _ id: LinkServerCore.ConnectionID, _ answer: Answer, on hub: SocketHub
  ) {
    guard let exchange = upgrades.removeValue(forKey: id) else { return }
    note(.refused, exchange, status: answer.status, at: hub.now)
    hub.respond(
      to: exchange.request, status: answer.status, headers: answer.headers, body: answer.bytes)
  }

  private mutating func answer(_ ask: AskID, _ outcome: RelayOutcome, on hub: SocketHub) {
    guard let call = calls.removeValue(forKey: ask) else { return }
    var line = LogLine(.asked)
    line.route = call.kind
    line.outcome = outcome.word
    line.took = call.since.duration(to: hub.now)
    log.note(line)
    outcomes.append((ask, outcome))
  }

  private mutating func respond(
    _ id: LinkServerCore.RequestID, _ reply: RelayReply, on hub: SocketHub
  ) {
    guard let exchange = pulls.removeValue(forKey: id) else { return }
    forget(exchange)
    let response = reply.response
    note(.request, exchange, status: response.status, at: hub.now)
    hub.respond(
      to: exchange.request, status: response.status, headers: response.headers,
      body: response.body)
  }

  private func push(_ phone: PhoneID, _ address: PushAddress, _ expiresAt: Timestamp) {
    guard let inject, let pushes else { return }
    let push = Push(address: address, expiresAt: expiresAt, collapseID: phone.description)
    let log = log
    Task.detached {
      let outcome = await pushes.send(push)
      var line = LogLine(.pushed)
      line.outcome = outcome.word
      if case .failed(let cause) = outcome { line.detail = cause }
      log.note(line)
      inject { handler, hub in handler.feed(.pushed(phone, to: address, outcome), on: hub) }
    }
  }
}

/// A change on its way to the store.
struct StoreWrite: Sendable {
  var token: StoreToken
  var changes: [RelayChange]

  /// Hands changes to the store one after the other, away from the loop, and brings its answers
  /// back to it.
  ///
  /// Has no bound of its own: the rules let nothing new begin while the store is far behind.
  static func queue(
    into store: any RelayStore, log: BackendLog, inject: @escaping RelayHandler.Inject
  ) -> AsyncStream<StoreWrite>.Continuation {
    let (writes, continuation) = AsyncStream.makeStream(of: StoreWrite.self)
    Task.detached {
      for await write in writes {
        var failure: StoreFailure?
        do throws(StoreFailure) {
          try await store.apply(write.changes)
        } catch {
          failure = error
          var line = LogLine(.storeFailure)
          line.detail = "\(error)"
          log.note(line)
        }
        let token = write.token
        inject { [failure] handler, hub in
          handler.feed(.stored(token, failure: failure), on: hub)
        }
      }
    }
    return continuation
  }
}

extension RelayAsk {
  /// Its name in the log.
  var word: String {
    switch self {
    case .login: "login"
    case .question(let question): question.kind.rawValue
    case .logout: "logout"
    }
  }
}

extension PushOutcome {
  fileprivate var word: String {
    switch self {
    case .delivered: "delivered"
    case .gone: "gone"
    case .tooMany: "too_many"
    case .failed: "failed"
    }
  }
}
