import HoldfastCore
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastServerParts

// Sign-ins on a page, for clients that can ask their user to open one. The word, the code and the
// token then reach neither the client nor a model.
extension MCPServer {
  /// The answer to a call of a client that is not signed in.
  enum SignInStep {
    /// The call goes on with this token, if there is one.
    case proceed(Bearer?)
    case ask(MCPElicitation, state: String)
    case refuse
  }

  /// Returns how the call of a tool goes on.
  mutating func signInStep(
    _ tool: MCPTool, _ params: MCPParams, _ form: RPCForm, _ call: MCPCall, bearer: Bearer?
  ) -> SignInStep {
    guard bearer == nil, call.route == .code, let url = policy.publicURL, tool.questionKind != nil,
      elicits(params, form)
    else { return .proceed(bearer) }
    if let (id, found) = params.requestState.flatMap({ elicitations.find(state: $0) }) {
      switch found.progress {
      case .signedIn(let token): return .proceed(.hash(token))
      case .denied: return .refuse
      case .open:
        return params.refusesInput ? .refuse : .ask(url.elicitation(id), state: found.state)
      }
    }
    if let session = form.session, let id = elicitations.open(in: session) {
      return .ask(url.elicitation(id), state: "")
    }
    let client = form.session.flatMap { sessions[$0]?.client } ?? params.meta?.client
    let added = fresh.flatMap {
      elicitations.insert(
        $0, client: client, session: form.session, from: call.address, at: now)
    }
    guard let id = added, let state = elicitations[id]?.state else { return .proceed(nil) }
    return .ask(url.elicitation(id), state: state)
  }

  /// Returns whether a client can ask its user to open a page. Versions before 2025-11-25 do not
  /// define it.
  private func elicits(_ params: MCPParams, _ form: RPCForm) -> Bool {
    guard let name = form.session else { return params.meta?.elicitsURL == true }
    return form.version == .november2025 && sessions[name]?.elicitsURL == true
  }

  /// Answers a call that cannot go on. A client that can open the page is asked to.
  mutating func pause(
    _ request: RequestID, _ tool: MCPTool, _ step: SignInStep, _ form: RPCForm, _ call: MCPCall
  ) {
    guard case .ask(let elicitation, let state) = step else {
      metrics.called(tool, RelayRefusal.notSignedIn.name)
      let sentence = "The user did not sign in. Ask again if they want to."
      return finish(request, .rpc(form), .refused(RelayRefusal.notSignedIn.name, sentence))
    }
    metrics.called(tool, "sign_in_page")
    guard form.version.hasSessions else {
      let result = MCPResult.inputRequired(elicitation, state: state)
      let json = result.response(to: form.id, in: form.version, from: call.provider)
      return respond(request, json, form.accepts)
    }
    var error = RPCError(.elicitationRequired, elicitation.message)
    error.elicitation = elicitation
    respond(request, error.response(to: form.id), form.accepts)
  }

  // MARK: - The page

  /// Handles a request of a browser for the page, or its form.
  mutating func takePage(_ request: RequestID, _ call: MCPCall) {
    guard call.method != .post || call.fields.isForm(of: policy.publicURL?.description ?? "") else {
      return answer(
        request, .page(.failed("This form was sent by another site", Self.again), 403))
    }
    guard [.get, .post].contains(call.method) else {
      return refuseMethod(request, allow: "GET, POST")
    }
    func field(_ name: String) -> String? { call.query.first { $0.name == name }?.value }
    guard let id = field("id"), let elicitation = elicitations[id] else {
      return answer(request, .page(.failed("This link has expired", Self.again), 404))
    }
    switch elicitation.progress {
    case .signedIn: return answer(request, .page(.done, 200))
    case .denied: return answer(request, .page(.failed("You refused", Self.again), 200))
    case .open: break
    }
    guard call.method == .post else { return showPage(request, id) }
    guard field("deny") == nil else {
      elicitations.set(id, .denied)
      return answer(request, .page(.failed("You refused", Self.again), 200))
    }
    guard let word = field("word"), let code = field("code") else {
      return showPage(request, id, error: "Give the words and the code that the phone shows.", 400)
    }
    guard waiting.count < policy.maxCalls else {
      return showPage(request, id, error: "Too many people sign in now. Try again.", 503)
    }
    wait(request, Waiting(tool: .directLogin, form: .page(id), since: now))
    let login = RelayCall.login(word: word, code: code, assistant: elicitation.client)
    frame.emit([.watch(request), .call(request, login, bearer: nil, from: call.address)])
  }

  private static let again = "Ask your assistant again; it then gives you a new link."

  /// Shows the form.
  private mutating func showPage(
    _ request: RequestID, _ id: String, error: String? = nil, _ status: Int = 200
  ) {
    let name = elicitations[id]?.client?.name ?? "An assistant"
    answer(
      request,
      .page(
        .signIn(
          clientName: name, redirectHost: "no other page",
          linkAge: elicitations.age(of: id, at: now),
          error: error,
          fields: [OAuthField("id", id)]), status))
  }

  /// Answers the form with the outcome of its login.
  mutating func concludePage(
    _ request: RequestID, _ id: String, _ outcome: RelayOutcome, _ token: TokenHash?
  ) {
    switch outcome {
    case .loggedIn:
      guard let token else { return showPage(request, id, error: "Try again.", 500) }
      elicitations.set(id, .signedIn(token))
      if let session = elicitations[id]?.session { sessions.signIn(session, token) }
      answer(request, .page(.done, 200))
    case .refused(let refusal):
      let status = refusal.status == 401 ? 400 : refusal.status
      showPage(request, id, error: refusal.description, status)
    case .renewed, .loggedOut, .data: showPage(request, id, error: "Try again.", 500)
    }
  }
}

extension PublicURL {
  /// Returns the request to open the page of a sign-in.
  fileprivate func elicitation(_ id: String) -> MCPElicitation {
    MCPElicitation(
      id: id, url: "\(description)\(MCPRoute.signIn.rawValue)?id=\(id)",
      message: "Sign in with the words and the code that your phone shows.")
  }
}

extension OAuthPage {
  fileprivate static func failed(_ title: String, _ sentence: String) -> OAuthPage {
    .failed(title: title, sentence: sentence)
  }
}

extension MCPReply {
  /// Returns a page for a browser.
  fileprivate static func page(_ page: OAuthPage, _ status: Int) -> MCPReply {
    var reply = MCPReply(status, OAuthPages.html(page))
    reply.isPage = true
    return reply
  }
}
