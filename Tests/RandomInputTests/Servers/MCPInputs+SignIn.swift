import HoldfastCore

@testable import HoldfastAssistants
@testable import HoldfastRelayServer

// Sign-ins on a page: the requests of browsers, with any query or form, and the next tries of the
// clients that were asked for them.
extension MCPInputs {
  /// A sign-in that a client was asked for.
  struct SignIn {
    let session: String?
    /// The secret that a client without sessions sends with its next try.
    let state: String?
    /// The tokens of the logins on its page.
    var tokens: Set<TokenHash> = []
  }

  static let place = "https://relay.example"
  /// The capabilities of a client that can open a page for its user.
  static let opensPages = #"{"elicitation":{"url":{}}}"#

  /// Returns a request of a browser for the page. The id, the form and its origin may be invalid.
  mutating func signIn() -> MCPCall {
    let method: MCPCall.Method =
      oneIn(12) ? one(MCPCall.Method.allCases) : one([.get, .post, .post])
    var call = call(method, .signIn)
    (call.fields.origin, call.fields.site) = one([
      (nil, nil), ("null", "same-origin"), (Self.place, "same-origin"), (nil, "none"),
      ("https://evil.example", nil), (Self.place, "cross-site"), ("null", nil),
    ])
    var pairs = [("id", pageID())]
    if !oneIn(5) { pairs += [("word", "calm fox"), ("code", "012345")] }
    if oneIn(7) { pairs.append(("deny", "1")) }
    if oneIn(4) { pairs.append((one(["id", "word", "code", "x", ""]), text())) }
    call.query = pairs.shuffled(using: &generator).map { MCPCall.Pair($0.0, $0.1) }
    return call
  }

  /// Returns the id of a sign-in, or rarely another text.
  private mutating func pageID() -> String {
    let all = pages.keys.sorted()
    guard let newest = newestPage, !oneIn(6) else { return text() }
    let id = oneIn(4) ? one(all) : newest
    switch number(0...15) {
    case 0: return String(id.dropLast())
    case 1: return id + "0"
    case 2: return id.uppercased()
    case 3: return pages[id]?.state ?? id
    case _: return id
    }
  }

  private mutating func text() -> String {
    one(["", " ", "0", "calm fox", "\u{0}", "é\u{202E}", String(repeating: "a", count: 5_000)])
  }

  /// Returns more members for the parameters of a call: the state of a sign-in, and what its user
  /// did. They may be invalid.
  mutating func nextTry() -> String {
    let states = pages.values.compactMap(\.state).sorted()
    guard !states.isEmpty, !oneIn(3) else { return "" }
    let newest = newestPage.flatMap { pages[$0]?.state }
    let state = oneIn(4) ? one(states) : newest ?? one(states)
    let text = one([state, state, state, String(state.prefix(state.count / 2)), state + "0", ""])
    let answers = [
      "", #","inputResponses":{"sign_in":{"action":"accept"}}"#,
      #","inputResponses":{"sign_in":{"action":"decline"}}"#, #","inputResponses":[7]"#,
      #","inputResponses":{"sign_in":null}"#,
    ]
    return #","requestState":\#(oneIn(12) ? "7" : "\"\(text)\"")"# + one(answers)
  }

  // MARK: Promises

  /// Returns the id of the sign-in that a request names.
  func page(of call: MCPCall) -> String? {
    call.route == .signIn ? call.query.first { $0.name == "id" }?.value : nil
  }

  /// Checks an answer, and notes the sign-in that it asks for.
  mutating func noteSignIn(_ bytes: [UInt8], to call: MCPCall) {
    let text = String(decoding: bytes, as: UTF8.self)
    if call.route == .signIn { require(!text.contains("secret"), "no token is on a page") }
    guard call.route == .code, let id = member(after: "\(Self.place)/mcp/sign-in?id=", text) else {
      return
    }
    let state = member(after: #""requestState":""#, text)
    require(call.fields.session == nil || state == nil, "a session needs no state")
    require(state?.hasSuffix(id) != true, "the address of a page contains no state")
    if pages[id] == nil { pages[id] = SignIn(session: call.fields.session, state: state) }
    newestPage = id
    require(
      pages[id]?.session == call.fields.session && (state == nil || pages[id]?.state == state),
      "a sign-in belongs to the client that was asked for it")
  }

  private func member(after start: String, _ text: String) -> String? {
    text.firstRange(of: start).map { String(text[$0.upperBound...].prefix { $0 != "\"" }) }
  }

  /// Checks a call that was made for the form of a page.
  mutating func noteForm(_ call: MCPCall, _ wants: RelayCall, _ bearer: MCPServer.Bearer?) {
    func field(_ name: String) -> String? { call.query.first { $0.name == name }?.value }
    guard case .login(let word, let code, _) = wants, let id = page(of: call) else {
      return run.fail("a page only logs in")
    }
    require(
      call.method == .post && call.fields.isForm(of: Self.place) && pages[id] != nil
        && field("deny") == nil && word == field("word") && code == field("code") && bearer == nil,
      "a page logs in with its own form")
  }

  /// Returns whether a token is that of the sign-in of a call's session, or of the one whose state
  /// the call names.
  func isOfPage(_ token: TokenHash, _ call: MCPCall) -> Bool {
    let body = String(decoding: call.body, as: UTF8.self)
    return pages.values.contains { page in
      guard page.tokens.contains(token) else { return false }
      guard let state = page.state else { return page.session == call.fields.session }
      return body.contains(#""requestState":"\#(state)""#)
    }
  }
}
