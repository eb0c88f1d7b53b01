import HoldfastAssistants
import HoldfastCore
import HoldfastHealth
import HoldfastRelayServer

/// The properties of a backend for assistants that receives events in any order: requests in
/// sessions, pending calls, streams, batches, clients that leave, outcomes, the passing of time,
/// and a drain.
struct MCPServerProperty {
  private var server = MCPServer(at: .zero)
  private var now = Instant.zero
  private var lastRequest: UInt64 = 0
  private var lastFresh: UInt8 = 0
  private var sessions: [String] = []
  private var asks: [RequestID] = []

  static func check(_ bytes: [UInt8]) throws(Broken) {
    var property = MCPServerProperty()
    var choices = Choices(bytes)
    for _ in 0..<100 where !choices.isEmpty { try property.step(&choices) }
  }

  private mutating func step(_ choices: inout Choices) throws(Broken) {
    let (kind, choice) = (choices.byte() % 12, choices.byte())
    switch kind {
    case 0, 1: try initialize(choice)
    case 2, 3, 4: try post(message(choice), choice)
    case 5: try post("[\(message(choice)),\(message(choices.byte()))]", choice)
    case 6: try post(choices.text(), choice)
    case 7: try send(choice & 1 == 0 ? .get : .delete, "", choice)
    case 8: try take(.abandoned(RequestID(lastRequest - min(lastRequest, UInt64(choice % 8)))))
    case 9, 10: try answerCall(choice)
    case _: try pass(choice)
    }
  }

  private mutating func initialize(_ choice: UInt8) throws(Broken) {
    let version = ["2025-03-26", "2025-06-18", "2025-11-25"][Int(choice) % 3]
    try post(
      #"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"\#(version)"}}"#,
      nil)
  }

  /// Returns a message with one of four identifiers.
  private func message(_ choice: UInt8) -> String {
    let id = choice >> 3 & 3
    let (head, call) = (#"{"jsonrpc":"2.0","id":\#(id),"#, #""method":"tools/call","params":"#)
    let day = #""start_time":"2026-03-01","end_time":"2026-03-02""#
    switch choice & 7 {
    case 0, 1:
      let arguments = #"{"value_type":"STEPS",\#(day)}"#
      return head + call + #"{"name":"get_health_metrics","arguments":\#(arguments)}}"#
    case 2:
      let meta = #""_meta":{"progressToken":\#(id)}"#
      return head + call + #"{"name":"get_summary","arguments":{\#(day)},\#(meta)}}"#
    case 3:
      return head + call
        + #"{"name":"direct_login","arguments":{"word":"anchor","code":"000001"}}}"#
    case 4: return head + call + #"{"name":"logout","arguments":{}}}"#
    case 5:
      return #"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":\#(id)}}"#
    case 6: return head + #""method":"ping"}"#
    case _: return head + #""method":"none"}"#
    }
  }

  private mutating func post(_ body: String, _ choice: UInt8?) throws(Broken) {
    try send(.post, body, choice)
  }

  /// Sends a request in one of the sessions, or outside any session if `choice` is nil.
  private mutating func send(
    _ method: MCPCall.Method, _ body: String, _ choice: UInt8?
  ) throws(Broken) {
    var call = MCPCall(method, .mcp, address: "home", body: Array(body.utf8))
    call.fields.host = "localhost"
    call.fields.contentType = "application/json"
    let takesStreams = choice.map { $0 & 0x40 == 0 } ?? true
    call.fields.accept = takesStreams ? "application/json, text/event-stream" : "application/json"
    if let choice, !sessions.isEmpty {
      call.fields.session = sessions[Int(choice) % sessions.count]
      // The name has 32 bytes, as a hash has.
      call.fields.sessionHash = call.fields.session.flatMap { TokenHash(Array($0.utf8)) }
    }
    if let choice, choice & 0x80 != 0 { call.fields.origin = "http://localhost:3000" }
    lastRequest += 1
    lastFresh &+= 1
    let fresh = MCPSessionID(random: Array(repeating: lastFresh, count: 16))
    try take(.request(RequestID(lastRequest), call, fresh: fresh))
  }

  /// Supplies the outcome of one of the pending calls.
  private mutating func answerCall(_ choice: UInt8) throws(Broken) {
    guard !asks.isEmpty else { return }
    let ask = asks.remove(at: Int(choice) % asks.count)
    let grant = RelayGrant(accessToken: "secret", expiresIn: .seconds(7_200), user: "u")
    let outcomes: [RelayOutcome] = [
      .loggedIn(grant), .loggedOut, .refused(.wrongPair),
      .data(HealthObject(succeeded: true, bytes: Array(#"{"success":true}"#.utf8))),
    ]
    let token = TokenHash([UInt8](repeating: choice, count: 32))
    try take(
      .outcome(
        ask, outcomes[Int(choice) % outcomes.count], token: token, wall: Timestamp(nanoseconds: 0)))
  }

  private mutating func pass(_ choice: UInt8) throws(Broken) {
    if choice == 255 { return try take(.drain) }
    let end = now.advanced(by: .seconds(choice < 250 ? Int(choice) : 7_200))
    while let due = server.deadline, due <= end {
      try hold(due >= now, "no deadline of the assistants' server is in the past")
      now = due
      try perform(server.tick(at: now))
    }
    now = end
  }

  private mutating func take(_ input: MCPServer.Input) throws(Broken) {
    try perform(server.handle(input, at: now))
  }

  private mutating func perform(_ effects: [MCPServer.Effect]) throws(Broken) {
    let broken = server.brokenInvariants(.thorough)
    try hold(broken == [], "the assistants' server keeps its invariants: \(broken)")
    for effect in effects {
      switch effect {
      case .call(let ask, _, _, _): asks.append(ask)
      case .abandon(let ask): asks.removeAll { $0 == ask }
      case .answer(_, let reply): note(reply.session)
      case .begin(_, let session, _): note(session)
      case .store(let token, _): try take(.stored(token, failure: nil))
      case .watch, .write, .end: break
      }
    }
  }

  private mutating func note(_ session: MCPSessionID?) {
    if let session { sessions.append(session.text) }
  }
}
