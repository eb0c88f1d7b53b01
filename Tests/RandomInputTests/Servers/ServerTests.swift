import HoldfastAssistants
import HoldfastCore
import HoldfastHealth
import HoldfastMessageData
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastSessionData
import HoldfastSessionServer
import HoldfastSyncServer
import Testing

@testable import HoldfastMessageServer
@testable import HoldfastServerParts

/// Tests that each server keeps its promises under random inputs, and that broken promises are
/// detected.
struct ServerTests {
  @Test func `the shop server keeps its promises under random inputs`() {
    RandomInputs<ShopInputs>(seeds: 0..<50, acts: 120).expectSound(
      inputs: """
        request abandoned upgrade received overflowed gone stored removed removals nodes
        drain
        """,
      effects: """
        append shop page head heads tail tell forget answer accept refuse send ping close drop finished
        """)
  }

  @Test func `the relay keeps its promises under random inputs`() {
    RandomInputs<RelayInputs>(seeds: 0..<60, acts: 100).expectSound(
      inputs: """
        restored phoneOpened received phoneSaid phoneUnreadable overflowed phoneGone call abandoned
        pull tokenDrawn stored pushed synced drain
        """,
      effects: """
        accept refuse send ping close drop answer respond drawToken store push readSynced finished
        """)
  }

  @Test func `the MCP server keeps its promises under random inputs`() {
    RandomInputs<MCPInputs>(seeds: 0..<50, acts: 120).expectSound(
      inputs: "restored request abandoned outcome stored drain",
      effects: "answer watch begin write end call abandon store")
  }

  @Test func `the server over lines keeps its promises under random inputs`() {
    RandomInputs<MCPLineInputs>(seeds: 0..<60, acts: 120).expectSound(
      inputs: "line unreadable outcome importing ready ended",
      effects: "write ask cancel finish")
  }

  @Test func `the sign-in with OAuth keeps its promises under random inputs`() {
    RandomInputs<OAuthInputs>(seeds: 0..<60, acts: 150).expectSound(
      inputs: "request abandoned outcome fetched drain",
      effects: "answer watch call abandon fetch")
  }

  @Test func `the session server keeps its promises under random inputs`() {
    RandomInputs<SessionInputs>(seeds: 0..<60, acts: 150).expectSound(
      inputs: """
        restored opened received said unreadable drained overflowed gone produced ended stored drain
        erased
        """,
      effects: "accept refuse send noticeDrain ping close drop run cancel store finished")
  }

  @Test func `the sync server keeps its promises under random inputs`() {
    RandomInputs<SyncInputs>(seeds: 0..<60, acts: 120).expectSound(
      inputs: "request abandoned done drain restored announced cut disk",
      effects: "ingest check report upload answer finished stamp")
  }

  @Test func `the server of images keeps its promises under random inputs`() {
    RandomInputs<ImageInputs>(seeds: 0..<60, acts: 120).expectSound(
      inputs: "request abandoned done drain restored announced cut disk removals",
      effects: "store find open delete clean upload answer finished")
  }

  @Test func `the gate of the operator's backend keeps its promises under random inputs`() {
    RandomInputs<HookInputs>(seeds: 0..<60, acts: 150).expectSound(
      inputs: "ask withdraw tell ended", effects: "send decide report")
  }

  @Test func `injected faults of the gate of the operator's backend are detected`() {
    RandomInputs<HookInputs>.expectFound("only an answer or an open policy allows") {
      _, _, effects in
      effects = effects.map { effect in
        guard case .decide(let ticket, .unanswered) = effect else { return effect }
        return .decide(ticket, .allowed(nil))
      }
    }
    RandomInputs<HookInputs>.expectFound("only a question that waits is decided") {
      _, input, effects in
      if case .withdraw(let ticket) = input { effects.append(.decide(ticket, .unanswered)) }
    }
  }

  @Test func `injected faults of the shop server are detected`() {
    typealias Inputs = RandomInputs<ShopInputs>
    Inputs.expectFound("a socket is sent each event once and in order") { _, _, effects in
      effects = effects.flatMap { effect -> [ShopServer.Effect] in
        if case .send(.message, _) = effect { [effect, effect] } else { [effect] }
      }
    }
    Inputs.expectFound("a drain ends within its time limit") { shop, _, _ in
      if shop.isFinished { shop.frame = ServerFrame(at: shop.now) }
    }
  }

  @Test func `injected faults of the relay are detected`() {
    typealias Inputs = RandomInputs<RelayInputs>
    Inputs.expectFound("an assistant receives its token once it is durable") { _, _, effects in
      effects = effects.map { effect in
        guard case .answer(let id, .loggedIn(var grant)) = effect else { return effect }
        grant.accessToken += "x"
        return .answer(id, .loggedIn(grant))
      }
    }
    Inputs.expectFound("there is a connection for ping") { _, _, effects in
      for case .close(let id, _) in effects { effects.append(.ping(id)) }
    }
  }

  @Test func `an injected fault of the server over lines is detected`() {
    RandomInputs<MCPLineInputs>.expectFound("a line has no line break") { _, _, effects in
      effects = effects.map { effect in
        guard case .write(let line) = effect else { return effect }
        return .write(line + [0x0A])
      }
    }
  }

  @Test func `injected faults of the MCP server are detected`() {
    RandomInputs<MCPInputs>.expectFound("a page logs in with its own form") { _, _, effects in
      effects = effects.map { effect in
        guard case .call(let id, .login(_, let code, let name), let bearer, let address) = effect
        else { return effect }
        return .call(
          id, .login(word: "x", code: code, assistant: name), bearer: bearer, from: address)
      }
    }
    RandomInputs<MCPInputs>.expectFound("only a stream that began is written to") { _, _, effects in
      effects.removeAll { if case .begin = $0 { true } else { false } }
    }
  }

  @Test func `an injected fault of the sign-in is detected`() {
    let promise = "a redirect leads to a registered URI, with the issuer"
    RandomInputs<OAuthInputs>.expectFound(promise) { _, _, effects in
      effects = effects.map { effect in
        guard case .answer(let id, var reply) = effect else { return effect }
        for index in reply.fields.indices where reply.fields[index].name == "Location" {
          reply.fields[index].value = "https://b.example/cb"
        }
        return .answer(id, reply)
      }
    }
  }

  @Test func `injected faults of the session server are detected`() {
    typealias Inputs = RandomInputs<SessionInputs>
    Inputs.expectFound("a start is durable before its prompt runs") { _, input, effects in
      guard case .said(_, .prompt(let prompt), _, _) = input else { return }
      effects.append(.run(SessionPromptID(9_999), prompt))
    }
    Inputs.expectFound("an answer is sent once it is durable") { _, _, effects in
      effects = effects.map { effect in
        guard case .send(let id, .response(var response)) = effect else { return effect }
        response.id = "other"
        return .send(id, .response(response))
      }
    }
  }

  @Test func `injected faults of the server of images are detected`() {
    typealias Inputs = RandomInputs<ImageInputs>
    Inputs.expectFound("an image has the type of its content") { _, _, effects in
      effects = effects.map { effect in
        guard case .store(let token, let id, let shop, let user, _, let bytes) = effect else {
          return effect
        }
        return .store(token, id, shop, user: user, .gif, bytes)
      }
    }
    Inputs.expectFound("only the file of an upload is removed") { _, _, effects in
      effects = effects.flatMap { effect -> [ImageServer.Effect] in
        if case .upload(.forget) = effect { [effect, effect] } else { [effect] }
      }
    }
  }

  @Test func `an injected fault of the sync server is detected`() {
    RandomInputs<SyncInputs>.expectFound("only the file of an upload is removed") { _, _, effects in
      effects = effects.flatMap { effect -> [SyncServer.Effect] in
        if case .upload(.forget) = effect { [effect, effect] } else { [effect] }
      }
    }
  }
}
