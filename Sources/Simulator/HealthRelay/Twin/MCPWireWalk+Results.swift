import LinkCore
import LinkHealth
import LinkWire

// What a server answers.
extension MCPWireWalk {
  mutating func tryCopy() {
    for _ in 0..<4 {
      let (tree, lines) = (answer(), rejected())
      let kind: HealthQuestion.Kind = one([.healthData, .summary])
      for bytes in forms(tree, 2) {
        let object = HealthObject(succeeded: happens(2), bytes: bytes)
        let first = Timestamp(nanoseconds: Self.noon)
        let window = maybe(first...first.advanced(by: .seconds(one([0, 5]))))
        let found = MCPCallResult(object, of: kind, rejected: lines, window: window)
        let must = MCPWireCopy.result(object, kind, lines, window)
        compareCopy(found, must, of: bytes, lines)
        let version = number(0...4)
        compare(
          "a result told in \(version)", found.told(in: MCPVersion.allCases[version]),
          MCPWireScribe.told(must, version))
      }
    }
    var plain = MCPCallResult(text: "a", isError: happens(2))
    plain.brief = maybe("b")
    plain.structured = maybe([123, 125])
    compare("a result told", plain.told(in: .june2025), MCPWireScribe.told(plain, 2))
    if happens(9) {
      let long = [UInt8](repeating: 97, count: 262_144 + number(0...1))
      let found = MCPCallResult(object: long)
      compare("a long result's text", found.text, MCPWireScribe.repeated(long))
      compare("a long result's object", found.structured, long)
    }
  }

  mutating func compareCopy(
    _ found: MCPCallResult, _ must: MCPCallResult, of bytes: [UInt8], _ lines: [RejectedMetric]
  ) {
    compare("\(Self.text(bytes)) for an assistant, without \(lines),", found, must)
  }

  private static let noon: Int64 = 1_767_960_000_000_000_000

  private mutating func rejected() -> [RejectedMetric] {
    (0..<one([0, 0, 1, 2, 3])).map { place in
      RejectedMetric(
        place: number(0...4), valueType: "\"\(place)\"", reason: one(["no", "never\n"]))
    }
  }

  /// An answer of a phone, whose members may be of any type.
  private mutating func answer() -> SessionTree {
    let lines = (0..<number(0...3)).map { SessionTree.number("\($0)e2") }
    let type: SessionTree = one([.text("STEPS"), .null, .text(Self.long(1_001))])
    var members = [
      SessionBranch(name: "success", value: .flag(happens(2))),
      SessionBranch(name: "health_data", value: .list(lines)),
      SessionBranch(name: "count", value: one([.number("3"), .number("1.5"), .text("3"), .null])),
      SessionBranch(name: "value_type", value: type),
      SessionBranch(name: "results", value: one([.list(lines), .list(lines), .null])),
      SessionBranch(name: "error_message", value: one([.text("bad \""), .null])),
      SessionBranch(name: "answered_at", value: one(Self.clocks.map { .text($0) } + [.null])),
    ]
    for _ in 0..<number(0...4) { members.remove(at: number(0...members.count - 1)) }
    return .object(members)
  }

  /// Times around noon of 9 January 2026, which is when phones are asked here.
  private static let clocks = [
    "2026-01-09T12:00:00Z", "2026-01-09T12:00:30Z", "2026-01-09T12:00:30.001Z",
    "2026-01-09T12:00:35Z", "2026-01-09T12:00:36.5Z", "2026-01-09T11:59:30Z",
    "2026-01-09T11:59:29.5Z", "2026-01-09T11:59:00Z", "2026-01-09T13:00:31+01:00",
    "2026-01-09T15:00:00", "noon",
  ]

  mutating func tryResult() {
    let (version, id) = (number(0...4), id())
    let result = result()
    let response = result.response(to: id, in: MCPVersion.allCases[version])
    if result != .tools || happens(2) { compareResponse(response, to: result, id, version) }
    let error = RPCError(
      one(RPCError.Code.allCases), one(["no", "\"\n"]), requestedVersion: maybe("2030-01-01"))
    let wanted = maybe(id)
    compareResponse(error.response(to: wanted), to: error, wanted)
    compare("a welcome", Self.text(PlainToolCall.welcome()), MCPWireScribe.welcome.json)
    let (called, word) = (called(), maybe("gone"))
    compare(
      "a plain answer", Self.text(PlainToolCall.answer(called, refusal: word)),
      MCPWireScribe.answer(called, word).json)
    compare(
      "a detail", Self.text(PlainToolCall.detail("a", "b\"")), MCPWireScribe.detail("a", "b\"").json
    )
    compare("a refusal", MCPCallResult.refused("a", "b\""), MCPWireScribe.refused("a", "b\""))
    if happens(9) {
      compare(
        "the plain list", SessionTree(MCPTool.plainList()).map(MCPWireTools.bare),
        MCPWireTools.plain)
    }
  }

  mutating func compareResponse(
    _ response: [UInt8], to result: MCPResult, _ id: RPCID, _ version: Int
  ) {
    let must = MCPWireScribe.response(result, to: id, in: version)
    if result == .tools {
      compare("the tools", SessionTree(response).map(MCPWireTools.bare), must)
    } else {
      compare("the response to \(result)", Self.text(response), must.json)
    }
  }

  mutating func compareResponse(_ response: [UInt8], to error: RPCError, _ id: RPCID?) {
    let must = MCPWireScribe.response(error, to: id)
    compare("the response to \(error)", Self.text(response), must.json)
  }

  private mutating func called() -> MCPCallResult {
    MCPCallResult(
      text: one(["a", "\"b\""]), structured: maybe(Array(#"{"a": 1}"#.utf8)), brief: maybe("c"),
      isError: happens(2))
  }

  private mutating func result() -> MCPResult {
    switch number(0...5) {
    case 0: .initialized(one(MCPVersion.allCases))
    case 1: .discovered
    case 2: .pong
    case 3: .tools
    case _: .called(called())
    }
  }

  mutating func tryEvents() {
    let json = one(["{}", "{\n \"a\":\r\n[1]}", "{\"\u{C}é\"\t:0}"])
    compareEvent(MCPEvents.message(Array(json.utf8)), of: json)
    compare("a comment", Self.text(MCPEvents.comment), ": wait\r\n\r\n")
    let (id, waited, limit) = (id(), number(0...60), number(0...60))
    compare(
      "progress",
      Self.text(MCPEvents.progress(id, waited: Int64(waited), of: Int64(limit), message: "w\"")),
      MCPWireScribe.event(MCPWireScribe.progress(id, waited, limit, "w\"").json))
  }

  mutating func compareEvent(_ found: [UInt8], of json: String) {
    compare("an event", Self.text(found), MCPWireScribe.event(json))
  }

  mutating func tryVersion() {
    let (one, other) = (number(0...4), number(0...4))
    let (left, right) = (MCPVersion.allCases[one], MCPVersion.allCases[other])
    compare("the name of version \(one)", left.rawValue, MCPWireScribe.versions[one])
    compare("whether \(left) < \(right)", left < right, one < other)
    compare("whether \(left) has sessions", left.hasSessions, one < 4)
    compare("whether \(left) reads objects", left.takesStructured, one > 1)
    let agreed = MCPVersion.agreed(on: MCPWireScribe.versions[one]).rawValue
    compare("what \(left) agrees on", agreed, MCPWireScribe.versions[min(one, 3)])
    compare(
      "the version for an unknown one", MCPVersion.agreed(on: "2030-01-01").rawValue, "2025-11-25")
  }
}
