import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

// Arguments of tools, and what becomes of calls.
extension MCPServerWalk {
  /// Arguments for a tool, which it takes mostly.
  mutating func arguments(_ tool: MCPTool) -> String {
    var all: [String]
    switch tool {
    case .directLogin:
      all = [
        #""word":"\#(mostly(["calm fox", "", String(repeating: "w", count: 513)]))""#,
        #""code":\#(mostly(["\"012345\"", "123456", "1.5", "null", "[]"], 6))"#,
      ]
    case .logout: all = []
    case .getHealthMetrics: all = line() + span()
    case .getSummary:
      let lines = (0..<(happens(20) ? one([32, 33]) : number(0...3))).map { _ in
        let more = happens(15) ? [#""x":1"#] : []
        return happens(30) ? "1" : "{\((line() + more).joined(separator: ","))}"
      }
      all = span()
      if !happens(4) {
        all.append(#""metrics":\#(mostly(["[\(lines.joined(separator: ","))]", "\"\"", "1"], 9))"#)
      }
    }
    let tokens = ["\"secret\"", "\"\"", "5", "null"]
    if happens(5) { all.append(#""access_token":\#(mostly(tokens, 3))"#) }
    if happens(25) { all.append(one([#""x":1"#, #""max_bytes":5"#, #""y":null"#])) }
    if happens(25), !all.isEmpty { all.removeFirst() }
    return "{\(all.joined(separator: ","))}"
  }

  private mutating func line() -> [String] {
    let types = ["\"STEPS\"", "\"sleep\"", "\"odd\"", "\"\"", "5"]
    let spans = ["\"day\"", "\"TOTAL\"", "\"odd\"", "null"]
    var all = [#""value_type":\#(mostly(types, 4))"#]
    if happens(4) { all.append(#""group_by":\#(one(spans))"#) }
    if happens(4) { all.append(#""statistic":\#(one(["\"SUM\"", "\"latest\"", "\"odd\"", "1"]))"#) }
    return all
  }

  private mutating func span() -> [String] {
    let times = ["2026-01-09", "2026-01-09T08:00:00", "2026-02-30", "0001-01-01", "soon", ""]
    var all = [
      #""start_time":"\#(mostly(times, 8))""#, #""end_time":"\#(mostly(times, 8))""#,
    ]
    if happens(6) {
      all.append(
        #""max_bytes":\#(one(["2000", "1999", "8388608", "8388609", "1.5", "\"5000\"", "null"]))"#)
    }
    return all
  }

  // Outcomes.

  mutating func outcome(of ask: RelayAsk) -> RelayOutcome {
    if happens(5) { return .refused(refusal()) }
    switch ask {
    case .login:
      return .loggedIn(
        RelayGrant(accessToken: "secret", expiresIn: .milliseconds(7_200_900), user: "u"))
    case .logout: return .loggedOut
    case .question(let question): return .data(answer(question.kind))
    }
  }

  private mutating func answer(_ kind: HealthQuestion.Kind) -> HealthObject {
    if happens(12) {
      return one([
        HealthObject(succeeded: true, bytes: Array("[]".utf8)),
        HealthObject(
          succeeded: false, bytes: Array(#"{"success":false,"error_message":"no"}"#.utf8)),
      ])
    }
    let filler = String(repeating: "f", count: one([0, 0, 100, 250, 400, number(0...900)]))
    let isGood = !happens(4)
    let notes = MCPHouse.Result.notes
    var json = #"{"success":\#(isGood),"filler":"\#(filler)","notes":\#(notes),"#
    switch kind {
    case .healthData: json += #""health_data":[{"value":1}],"count":1,"value_type":"STEPS""#
    case .summary:
      let line = #"{"value_type":"STEPS","success":\#(isGood)}"#
      json += #""results":[\#(one(["", line, line, line + "," + line]))]"#
    }
    json += happens(2) ? #","answered_at":"2026-01-10T00:00:00Z"}"# : "}"
    return HealthObject(succeeded: isGood, bytes: Array(json.utf8))
  }

  private mutating func refusal() -> RelayRefusal {
    let wait = Duration.seconds(number(1...300))
    return one([
      .wrongPair, .lockedOut(retryAfter: wait), .notSignedIn, .tokenExpired,
      .signedOut(one([.byUser, .byAnother(limit: 8)])),
      .phoneAway(since: wait, one(RelayRefusal.Away.allCases)), .phoneReplaced,
      .timedOut(after: wait), .cancelled, .tooManyWaiting(retryAfter: wait),
      .malformed(reason: "odd"), .answerTooLarge(limit: 5), .storeFailed(retryAfter: wait),
      .stopping(retryAfter: wait),
    ])
  }
}
