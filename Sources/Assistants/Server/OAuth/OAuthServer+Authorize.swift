import HoldfastCore
import HoldfastJSON
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastServerParts

/// A request for a code that has been checked.
struct OAuthSignIn: Sendable, Hashable {
  var client: OAuthClient
  var redirect: WebURL
  var state: String?
  /// The SHA-256 hash of the verifier (RFC 7636 section 4.2).
  var challenge: [UInt8]
  var scopes: OAuthScopes
  var resource: String?

  /// Checks the parameters of a request whose client and URI are known.
  init(
    _ parameters: OAuthParameters, _ client: OAuthClient, _ redirect: WebURL, at url: PublicURL
  ) throws(OAuthFault) {
    try parameters.checkRepeats()
    guard let type = parameters["response_type"] else {
      throw OAuthFault(.invalidRequest, "response_type is missing")
    }
    guard type == "code" else {
      throw OAuthFault(.unsupportedResponseType, "the only response_type is code")
    }
    guard parameters["code_challenge_method"] == "S256",
      let challenge = parameters["code_challenge"].flatMap({ Base64URL.decode($0) }),
      challenge.count == 32
    else {
      throw OAuthFault(
        .invalidRequest, "PKCE is required: code_challenge with code_challenge_method S256")
    }
    try parameters.checkResource(url)
    scopes = try parameters.scopes()
    (self.client, self.redirect, self.challenge) = (client, redirect, challenge)
    (state, resource) = (parameters["state"], parameters.resources.first)
  }

  /// The fields of the form that repeat the request.
  var fields: [OAuthField] {
    [
      OAuthField("response_type", "code"), OAuthField("client_id", client.id),
      OAuthField("redirect_uri", redirect.text),
      OAuthField("code_challenge", Base64URL.encode(challenge)),
      OAuthField("code_challenge_method", "S256"), OAuthField("scope", scopes.text),
    ] + (state.map { [OAuthField("state", $0)] } ?? [])
      + (resource.map { [OAuthField("resource", $0)] } ?? [])
  }
}

// The page that asks for word and code (OAuth 2.1 section 4.1.1).
extension OAuthServer {
  mutating func authorize(_ id: RequestID, _ call: OAuthCall, fresh: [UInt8]) {
    guard call.method == .get || isFromHere(call) else {
      return failPage(
        id, 403, "This form was sent by another site", "Return to your assistant and start again.")
    }
    guard call.method == .get || call.isForm else {
      return failPage(
        id, 415, "This form cannot be read", "Return to your assistant and start again.")
    }
    let parameters = OAuthParameters(call.parameters)
    guard parameters.repeated.isDisjoint(with: ["client_id", "redirect_uri"]),
      let name = parameters["client_id"]
    else { return unknownClient(id) }
    if let client = OAuthClient.registered(name, hashes) {
      return authorize(id, call, parameters, client, fresh: fresh)
    }
    guard OAuthClient.isDocument(name) else { return unknownClient(id) }
    switch documents.find(name, for: id, from: call.address, at: now) {
    case .client(let client): authorize(id, call, parameters, client, fresh: fresh)
    case .unusable(let fault): unusable(id, fault)
    case .busy(let wait): busyPage(id, wait)
    case .waits(let fetches):
      waiting[id] = .document(name, call.withoutBody, fresh: fresh)
      frame.emit(.watch(id))
      guard fetches else { return }
      frame.emit(.fetch(name, within: policy.fetchLimit, maxBytes: policy.maxDocumentBytes))
    }
  }

  /// Returns whether a form was sent by the page of this server.
  ///
  private func isFromHere(_ call: OAuthCall) -> Bool {
    call.fields.isForm(of: url.description)
      || call.fields.isForm(of: "http://\(call.fields.host ?? "")")
  }

  /// Continues the requests that waited for a document.
  mutating func fetched(_ name: String, _ fetch: OAuthFetch, wall: Timestamp) {
    let (requests, read) = documents.take(name, fetch, at: now)
    for id in requests {
      guard case .document(_, let call, let fresh)? = waiting.removeValue(forKey: id) else {
        continue
      }
      switch read {
      case .success(let client):
        authorize(
          id, call, OAuthParameters(call.parameters), client, fresh: fresh, isWatched: true)
      case .failure(let fault): unusable(id, fault)
      }
    }
  }

  private mutating func authorize(
    _ id: RequestID, _ call: OAuthCall, _ parameters: OAuthParameters, _ client: OAuthClient,
    fresh: [UInt8], isWatched: Bool = false
  ) {
    guard let redirect = client.redirect(named: parameters["redirect_uri"]) else {
      return failPage(
        id, 400, "This address is not registered",
        "The assistant asks to return to an address that it has not registered. Remove it from "
          + "its settings and add it again.")
    }
    let signIn: OAuthSignIn
    do throws(OAuthFault) {
      signIn = try OAuthSignIn(parameters, client, redirect, at: url)
    } catch {
      let state = parameters.repeated.contains("state") ? nil : parameters["state"]
      return redirectBack(id, redirect, error, state: state)
    }
    guard call.method == .post else { return show(id, signIn) }
    guard parameters["deny"] == nil else {
      let denied = OAuthFault(.accessDenied, "the user refused the sign-in")
      return redirectBack(id, redirect, denied, state: signIn.state)
    }
    guard let word = parameters["word"], let code = parameters["code"] else {
      return show(id, signIn, error: "Give the words and the code that the phone shows.", 400)
    }
    guard hasRoom, codesAndSignIns < policy.maxCodes else {
      return show(
        id, signIn, error: "Too many people sign in now. Try again.", 503,
        retryAfter: policy.busyRetry)
    }
    let name = AssistantName(client.name)
    ask(
      id, .grant(word: word, code: code, assistant: name), from: call.address,
      isWatched: isWatched, .signIn(signIn, fresh: fresh))
  }

  /// Shows the form.
  private mutating func show(
    _ id: RequestID, _ signIn: OAuthSignIn, error: String? = nil, _ status: Int = 200,
    retryAfter: Duration? = nil
  ) {
    let form = OAuthPage.signIn(
      clientName: signIn.client.name, redirectHost: signIn.redirect.authority,
      documentHost: WebURL(signIn.client.id)?.authority, error: error,
      fields: signIn.fields)
    answer(
      id, page(form, status, target: signIn.redirect.policySources, retryAfter: retryAfter))
  }

  /// Sends the browser back with a code, or shows the form again.
  mutating func signedIn(
    _ id: RequestID, _ signIn: OAuthSignIn, _ outcome: RelayOutcome, fresh: [UInt8]
  ) {
    switch outcome {
    case .loggedIn(let grant):
      guard let secret = Base64URL.decode(grant.accessToken) else {
        return show(id, signIn, error: "The sign-in failed. Try again.", 500)
      }
      let code = Base64URL.encode(fresh)
      add(
        Code(
          secret: secret, grant: hashes.grant(secret), phone: grant.user,
          client: signIn.client.id, redirect: signIn.redirect.text,
          challenge: signIn.challenge, scopes: signIn.scopes,
          until: now.advanced(by: policy.codeLife)), as: hashes.key(of: code))
      send(id, to: signIn.redirect, [("code", code), ("state", signIn.state)])
    case .refused(let refusal):
      let status = refusal == .wrongPair ? 400 : refusal.status
      show(
        id, signIn, error: refusal.description, status == 401 ? 400 : status,
        retryAfter: refusal.retryAfter)
    case .renewed, .loggedOut, .data:
      show(id, signIn, error: "The sign-in failed. Try again.", 500)
    }
  }

  // MARK: Answers

  /// Sends the browser to the client, with `iss` (RFC 9207).
  private mutating func send(_ id: RequestID, to redirect: WebURL, _ items: [(String, String?)]) {
    let location = redirect.adding(items + [("iss", url.description)])
    answer(
      id,
      OAuthReply(
        302,
        [
          OAuthField("Location", location), OAuthField("Cache-Control", "no-store"),
          OAuthField("Referrer-Policy", "no-referrer"),
        ]))
  }

  private mutating func redirectBack(
    _ id: RequestID, _ redirect: WebURL, _ fault: OAuthFault, state: String?
  ) {
    metrics.faults[fault.code.rawValue, default: 0] += 1
    send(
      id, to: redirect,
      [("error", fault.code.rawValue), ("error_description", fault.text), ("state", state)])
  }

  private mutating func failPage(
    _ id: RequestID, _ status: Int, _ title: String, _ sentence: String,
    retryAfter: Duration? = nil
  ) {
    answer(id, page(.failed(title: title, sentence: sentence), status, retryAfter: retryAfter))
  }

  private mutating func unknownClient(_ id: RequestID) {
    failPage(
      id, 400, "This assistant is not known",
      "Remove the connection from your assistant and add it again.")
  }

  private mutating func unusable(_ id: RequestID, _ fault: OAuthDocuments.Fault) {
    let reason =
      switch fault {
      case .missing: "Its description could not be fetched."
      case .otherType: "Its description is not served as JSON (Content-Type application/json)."
      case .invalid: "Its description is not valid."
      }
    failPage(
      id, 400, "This assistant cannot be identified", "\(reason) Try again in a minute.")
  }

  private mutating func busyPage(_ id: RequestID, _ wait: Duration) {
    failPage(
      id, 503, "Too many requests", "Wait a moment, then load this page again.", retryAfter: wait)
  }
}
