import LinkCore
import LinkHealth
import LinkWire
import Testing

@testable import LinkServerCore

/// Random inputs to each server: what it promises, and that a broken promise is found.
struct ServerTests {
  /// Checks that nothing fails, and that each case of the inputs and of the effects occurred.
  private func check<Generator: InputGenerator>(
    _ generator: Generator.Type, seeds: Range<UInt64>, acts: Int, inputs: String, effects: String
  ) {
    let outcome = RandomInputs<Generator>(seeds: seeds, acts: acts).run()
    #expect(outcome.failures == [])
    #expect(outcome.inputs == Set(inputs.split(separator: " ").map(String.init)))
    #expect(outcome.effects == Set(effects.split(separator: " ").map(String.init)))
  }

  @Test func `the shop server keeps its promises under random inputs`() {
    check(
      ShopInputs.self, seeds: 0..<60, acts: 120,
      inputs: """
        request abandoned upgrade heard overflowed gone stored removed removals drain
        """,
      effects: "append page head answer accept refuse send ping close drop finished")
  }

  @Test func `the relay keeps its promises under random inputs`() {
    check(
      RelayInputs.self, seeds: 0..<60, acts: 100,
      inputs: "restored phoneOpened heard phoneSaid phoneUnreadable overflowed phoneGone ask "
        + "abandoned pull minted stored pushed drain",
      effects: "accept refuse send ping close drop answer respond mint store push finished")
  }

  @Test func `the server of assistants keeps its promises under random inputs`() {
    check(
      MCPInputs.self, seeds: 0..<60, acts: 120, inputs: "request abandoned outcome drain",
      effects: "answer watch begin write end ask abandon")
  }

  @Test func `the session server keeps its promises under random inputs`() {
    check(
      SessionInputs.self, seeds: 0..<60, acts: 150,
      inputs: "restored opened heard said unreadable drained overflowed gone produced ended "
        + "stored drain",
      effects: "accept refuse send noticeDrain ping close drop run cancel store finished")
  }

  @Test func `the sync server keeps its promises under random inputs`() {
    check(
      SyncInputs.self, seeds: 0..<60, acts: 120,
      inputs: "request abandoned done drain restored announced cut",
      effects: "ingest check tell keep finish forget inform interrupt answer finished")
  }

  // Faults.

  static let shopFaults: [InjectedFault<ShopServer>] = [
    .init("only a request that waits is answered") { effect in
      if case .answer(let id, let answer) = effect {
        [.answer(RequestID(id.number + 1_000), answer)]
      } else {
        [effect]
      }
    },
    .init("a socket is sent each message once and in order") { effect in
      if case .send(.message, _) = effect { [effect, effect] } else { [effect] }
    },
    .init("a post is answered once it is durable") { effect in
      guard case .answer(let id, var answer) = effect, answer.status == 201,
        case .message(var message, let note) = answer.body
      else { return [effect] }
      message.id = UUID128(high: 1, low: 1)
      answer.body = .message(message, note: note)
      return [.answer(id, answer)]
    },
    .init("only an open socket is sent frames") { effect in
      if case .close(let id, _) = effect {
        [effect, .send(.draining(within: .zero), to: [id])]
      } else {
        [effect]
      }
    },
    .init("no socket outlives its token") { effect in
      if case .close(_, .expired) = effect { [] } else { [effect] }
    },
    .init("no socket outlives its membership") { effect in
      if case .close(_, .removed) = effect { [] } else { [effect] }
    },
    .init("no counter decreases") { shop, input, _ in
      if case .gone = input { shop.metrics.acceptedUpgrades = 0 }
    },
    .init("a drain ends by its limit") { shop, _, _ in
      if shop.isFinished { shop.mode = .serving }
    },
  ]

  @Test(arguments: shopFaults) func `faults of the shop server are found`(
    _ fault: InjectedFault<ShopServer>
  ) {
    #expect(fault.isFound(by: ShopInputs.self, acts: 100))
  }

  static let relayFaults: [InjectedFault<Restarting<RelayServer>>] = [
    .init("only a call that waits has an outcome") { effect in
      if case .answer(let id, let outcome) = effect {
        [.answer(AskID(id.number + 9_000), outcome)]
      } else {
        [effect]
      }
    },
    .init("an assistant is told its token once that is durable") { effect in
      guard case .answer(let id, .loggedIn(var grant)) = effect else { return [effect] }
      grant.accessToken += "x"
      return [.answer(id, .loggedIn(grant))]
    },
    .init("a phone is told its token once that is durable") { effect in
      guard case .send(let id, .connectionCode(var code)) = effect, code.resumeToken != nil else {
        return [effect]
      }
      code.resumeToken = "x"
      return [.send(id, .connectionCode(code))]
    },
    .init("a call has its outcome by its deadline") { effect in
      if case .answer(_, .refused(.phoneAway)) = effect { [] } else { [effect] }
    },
    .init("a token that is kept is known") { effect in
      guard case .answer(let id, .data) = effect else { return [effect] }
      return [.answer(id, .refused(.notSignedIn))]
    },
    .init("an address is confirmed once it is durable") { _, input, effects in
      guard case .pull(let id, .push, _, _) = input else { return }
      effects.insert(.respond(id, .registered), at: 0)
    },
    .init("a token that was logged out is worth nothing") { relay, input, effects in
      guard case .ask(let id, .question, let bearer?, _, _) = input,
        relay.server.accesses[bearer] == nil
      else { return }
      effects = [.answer(id, .data(.failure("")))]
    },
    .init("no token outlives its time") { _, input, effects in
      guard case .ask(let id, .question, _, _, _) = input,
        effects == [.answer(id, .refused(.tokenExpired))]
      else { return }
      effects = [.answer(id, .data(.failure("")))]
    },
    .init("no lease outlives its time") { _, input, effects in
      guard case .pull(let id, .result, _, _) = input else { return }
      effects = effects.map { effect in
        if case .respond(id, .refused) = effect { .respond(id, .taken) } else { effect }
      }
    },
    .init("only an open socket is pinged") { effect in
      if case .close(let id, _) = effect { [effect, .ping(id)] } else { [effect] }
    },
  ]

  @Test(arguments: relayFaults) func `faults of the relay are found`(
    _ fault: InjectedFault<Restarting<RelayServer>>
  ) {
    #expect(fault.isFound(by: RelayInputs.self, acts: 100))
  }

  static let assistantFaults: [InjectedFault<MCPServer>] = [
    .init("only a request that waits is answered") { effect in
      if case .answer(let id, let reply) = effect {
        [.answer(RequestID(id.number + 9_000), reply)]
      } else {
        [effect]
      }
    },
    .init("only a stream that began is written to") { effect in
      if case .begin = effect { [] } else { [effect] }
    },
    .init("an outcome ends its request") { _, input, effects in
      if case .outcome = input { effects = [] }
    },
    .init("a call shows the token of its request or of its session") { effect in
      guard case .ask(let id, let ask, _, let address) = effect,
        let other = TokenHash([UInt8](repeating: 9, count: 32))
      else { return [effect] }
      return [.ask(id, ask, bearer: .hash(other), from: address)]
    },
    .init("no stream is silent for longer than its interval") { _, input, effects in
      if input == nil { effects = [] }
    },
    .init("a deleted session is over") { effect in
      guard case .answer(let id, var reply) = effect, reply.status == 404 else { return [effect] }
      reply.status = 200
      return [.answer(id, reply)]
    },
  ]

  @Test(arguments: assistantFaults) func `faults of the server of assistants are found`(
    _ fault: InjectedFault<MCPServer>
  ) {
    #expect(fault.isFound(by: MCPInputs.self, acts: 100))
  }

  static let sessionFaults: [InjectedFault<Restarting<SessionServer>>] = [
    .init("a prompt runs once") { effect in
      if case .run = effect { [effect, effect] } else { [effect] }
    },
    .init("a program runs once for a key") { effect in
      guard case .run(let id, let prompt) = effect else { return [effect] }
      return [effect, .run(SessionPromptID(id.number + 1), prompt)]
    },
    .init("a start is durable before it") { _, input, effects in
      guard case .said(_, .prompt(let prompt), _, _) = input else { return }
      effects.append(.run(SessionPromptID(9_999), prompt))
    },
    .init("a prompt is acknowledged once it is durable") { _, input, effects in
      guard case .said(let id, .prompt(let prompt), _, _) = input, !effects.isEmpty,
        case .store = effects[0]
      else { return }
      effects.append(
        .send(id, .ack(message: "Prompt received", idempotencyKey: prompt.idempotencyKey)))
    },
    .init("an answer is sent once it is durable") { effect in
      guard case .send(let id, .response(var response)) = effect else { return [effect] }
      response.id = "other"
      return [.send(id, .response(response))]
    },
    .init("a number names one message to a client") { effect in
      guard case .send(let id, .response(var response)) = effect else { return [effect] }
      response.number = response.number.map { _ in 1 }
      return [.send(id, .response(response))]
    },
    .init("a conversation does not go back") { effect in
      guard case .send(let id, .history(var history)) = effect else { return [effect] }
      history.place = .offset(next: 9, signature: "", isReplaced: false)
      var again = history
      again.place = .offset(next: 8, signature: "", isReplaced: false)
      return [.send(id, .history(history)), .send(id, .history(again))]
    },
    .init("a handler ends in time or is cancelled") { effect in
      if case .cancel = effect { [] } else { [effect] }
    },
    .init("only an open socket is sent messages") { effect in
      if case .close(let id, _) = effect { [effect, .send(id, .pong)] } else { [effect] }
    },
  ]

  @Test(arguments: sessionFaults) func `faults of the session server are found`(
    _ fault: InjectedFault<Restarting<SessionServer>>
  ) {
    #expect(fault.isFound(by: SessionInputs.self, acts: 120))
  }

  static let syncFaults: [InjectedFault<Restarting<SyncServer>>] = [
    .init("only a request that waits is answered") { effect in
      if case .answer(let id, let answer) = effect {
        [.answer(RequestID(id.number + 9_000), answer)]
      } else {
        [effect]
      }
    },
    .init("bytes are written behind the last") { effect in
      guard case .keep(let token, let id, let record, let offset, let bytes) = effect else {
        return [effect]
      }
      return [.keep(token, id, record, at: offset + 1, bytes)]
    },
    .init("an upload is written by one request at a time") { effect in
      guard case .keep(let token, let id, let record, let offset, let bytes) = effect else {
        return [effect]
      }
      return [effect, .keep(StoreToken(token.number + 1), id, record, at: offset, bytes)]
    },
    .init("the offset that is told is that of the file") { effect in
      guard case .answer(let id, var answer) = effect, !answer.fields.isEmpty else {
        return [effect]
      }
      answer.fields = answer.fields.map { UploadField($0.name, $0.value + "0") }
      return [.answer(id, answer)]
    },
    .init("only the file of an upload is removed") { effect in
      if case .forget = effect { [effect, effect] } else { [effect] }
    },
    .init("a batch is answered once it is stored") { effect in
      guard case .answer(let id, var answer) = effect, answer.status == 503 else {
        return [effect]
      }
      answer.status = 200
      return [.answer(id, answer)]
    },
    .init("only a known user is served") { effect in
      guard case .answer(let id, var answer) = effect, answer.status == 401 else {
        return [effect]
      }
      answer.status = 204
      return [.answer(id, answer)]
    },
  ]

  @Test(arguments: syncFaults) func `faults of the sync server are found`(
    _ fault: InjectedFault<Restarting<SyncServer>>
  ) {
    #expect(fault.isFound(by: SyncInputs.self, acts: 100))
  }
}
