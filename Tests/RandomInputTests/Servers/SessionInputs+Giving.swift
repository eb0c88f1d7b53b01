import HoldfastCore
import HoldfastIdentity
import HoldfastSessionData
import HoldfastSessionServer

@testable import HoldfastServerParts

// MARK: Inputs from clients, handlers and the store
extension SessionInputs {
  private static let talks = ["a", "b", "c"]

  mutating func arrive() {
    let id = ConnectionID(notes.fresh())
    var arrival = SessionServer.Arrival(address: one(["x", "x", "y"]), challenge: "c\(id.number)")
    if oneIn(4) { arrival.credential = credential() }
    give(.opened(id, arrival, wall: wall))
    if !oneIn(6) { enter(id) }
  }

  private mutating func credential() -> Credential {
    if oneIn(9) { return one([.invalid(reason: "odd"), .unchecked(retryAfter: .seconds(1))]) }
    let claims = Claims(
      user: one(["u", "v"]), name: "", shops: [],
      expiresAt: wall.advanced(by: .seconds(one([0, 1, 40, 9_999_999]))))
    return .valid(claims)
  }

  mutating func enter(_ id: ConnectionID?) {
    let all = SessionFeature.allCases
    var connect = SessionConnect(
      session: one(["p", "q", "r"]), features: Set(one([[], all, [one(all)]])),
      received: oneIn(2) ? nil : UInt64(number(0...12)))
    if oneIn(9) { connect.version = one([nil, "0.3.9", "0.4.0", "0.4.9", "odd", "1.0.0"]) }
    let skew = one([0, 30, 31, -30, -31])
    if !oneIn(9) { connect.timestamp = wall.advanced(by: .seconds(skew)) }
    let proof: SessionServer.Proof = one([.key, .key, .key, .challenge])
    say(.connect(connect), on: id, proof: oneIn(20) ? .none : proof)
  }

  private mutating func say(
    _ message: SessionClientMessage, on id: ConnectionID? = nil,
    proof: SessionServer.Proof = .none
  ) {
    let id = id ?? anySocket()
    if !oneIn(9) { give(.received(id)) }
    give(.said(id, message, proof: proof, wall: wall))
  }

  mutating func speak() {
    let talk = one(Self.talks)
    switch number(0...14) {
    case 0...6: say(.prompt(prompt(talk)))
    case 7...8: say(.messageAck(sent.isEmpty || oneIn(9) ? "none" : one(sent)))
    case 9: say(.subscribe(subscription(talk)))
    case 10: say(.subscribeBatch(Self.talks.prefix(number(1...3)).map { subscription($0) }))
    case 11: say(.setMaxMessageSize(kilobytes: one([1, 2, 3, 64, 16_384])))
    case 12: say(oneIn(2) ? .killSession(conversation: talk) : .unsubscribe(conversation: talk))
    case 13: say(.ping)
    case _: say(oneIn(4) ? .disconnect(reason: "done") : .unknown(type: "news"))
    }
  }

  private mutating func prompt(_ talk: String) -> SessionPrompt {
    if !oneIn(4) { lastKey += 1 }
    let text = oneIn(20) ? String(repeating: "x", count: 1_001) : "ask \(number(0...3))"
    let key = max(0, lastKey - (oneIn(9) ? number(0...5) : 0))
    var prompt = SessionPrompt(
      text: text, conversation: talk, isNew: oneIn(3), idempotencyKey: oneIn(9) ? nil : "k\(key)")
    if !oneIn(3) { prompt.number = UInt64(max(1, lastKey)) }
    if oneIn(9) { prompt.systemPrompt = one(["s", "ss"]) }
    return prompt
  }

  private mutating func subscription(_ talk: String) -> SessionSubscription {
    let position = UInt64(number(0...7))
    let signature = oneIn(2) ? stored.conversations[talk]?.signature : one([nil, "other"])
    return SessionSubscription(
      conversation: talk,
      cursor: oneIn(3) ? .sequence(position) : .offset(position, signature: signature))
  }

  /// Reports the outcome of the oldest pending change of the store.
  mutating func write() {
    guard let token = writes.first?.token else { return }
    give(.stored(token, failure: oneIn(12) ? storeFailure() : nil, wall: wall))
  }

  /// Passes output of a handler to the server, or ends the handler.
  mutating func work() {
    guard !handlers.isEmpty else { return }
    let id = one(handlers.sorted())
    let sizes = [3, 50, 700, 1_500, 4_001]
    let text = oneIn(4) ? String(repeating: "y", count: one(sizes)) : "re \(number(0...9))"
    if oneIn(2) { return give(.produced(id, text)) }
    let result: SessionResponse.Result =
      oneIn(5) ? .failure(error: "it failed") : .success(text: oneIn(9) ? "re\n" : text)
    give(.ended(id, result, wall: wall))
  }

  mutating func leave() {
    give(.gone(notes.ending.first ?? anySocket(), wall: wall))
  }

  mutating func seldom() {
    switch number(0...9) {
    case 0: give(.overflowed(anySocket()))
    case 1: give(.unreadable(anySocket(), detail: "odd", field: one([nil, "text", "last_seq"])))
    case 2: for id in notes.open { give(.received(id)) }
    case 3: if oneIn(2) { give(.drain(within: .seconds(3))) }
    case 4: give(.drained(anySocket()))
    case 5: give(.stored(StoreToken(777_777), failure: nil, wall: wall))
    case 6: give(.ended(SessionPromptID(777_777), .success(text: "late"), wall: wall))
    case 7: for id in notes.ending { give(.gone(id, wall: wall)) }
    case 8: give(.erased(user: one(["u", "v"])))
    case _: if oneIn(3) || machine.isFinished { beginAnew() }
    }
  }

  /// Restarts the process after the store has completed some of the pending changes, in order.
  private mutating func beginAnew() {
    var stored = stored
    for write in writes.prefix(number(0...writes.count)) {
      for change in write.changes { stored.apply(change) }
    }
    let seed = run.seed &+ notes.fresh()
    restart(SessionServer(policy: policy, seed: seed, at: now))
    give(.restored(stored, wall: wall))
  }
}
