import HoldfastAssistants
import HoldfastCore
import HoldfastHealth
import HoldfastServerFixtures
import Testing

/// Tests of the server for one assistant over lines: `holdfast mcp`.
@Suite struct MCPLineTests {
  private typealias Stage = MCPLineStage
  private static let meta =
    #""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#
    + #""io.modelcontextprotocol/clientCapabilities":{}}"#

  @Test(
    arguments: [
      ("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"),
      ("2025-11-25", "2025-11-25"), ("2026-07-28", "2025-11-25"), ("soon", "2025-11-25"),
    ])
  func `a handshake agrees on a version`(offered: String, agreed: String) {
    var stage = Stage()
    stage.say(Stage.request(1, "initialize", #"{"protocolVersion":"\#(offered)"}"#))
    let line = stage.take().first ?? ""
    #expect(line.hasPrefix(#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"\#(agreed)","#))
    #expect(line.contains("There is nothing to log in to"))
  }

  @Test func `a version without a handshake is discovered and used`() {
    var stage = Stage()
    stage.say(
      Stage.request(1, "server/discover", "{\(Self.meta)}"),
      Stage.request(2, "tools/list", "{\(Self.meta)}"),
      Stage.request(3, "ping", "{\(Self.meta)}"))
    let lines = stage.take()
    #expect(lines.count == 3)
    #expect(lines[0].contains(#""supportedVersions":["2026-07-28"]"#))
    #expect(lines[1].contains(#""resultType":"complete""#))
    #expect(lines[2].contains("-32601"))
  }

  @Test func `the tools are those of a phone without the login and its token`() {
    var stage = Stage.greeted()
    stage.say(Stage.request(1, "tools/list"))
    let line = stage.take().first ?? ""
    #expect(line.contains(#""name":"get_health_metrics""#))
    #expect(line.contains(#""name":"get_summary""#))
    for name in ["direct_login", "logout", "access_token"] { #expect(!line.contains(name)) }
    stage.say(Stage.request(2, "tools/call", #"{"name":"direct_login"}"#))
    #expect(stage.take().first?.contains("Unknown tool: direct_login") == true)
  }

  @Test func `a question before the handshake is refused, and a ping is answered`() {
    var stage = Stage()
    stage.say(Stage.steps(1), Stage.request(2, "ping"))
    let lines = stage.take()
    #expect(lines.first?.contains("Initialize first") == true)
    #expect(lines.last == #"{"jsonrpc":"2.0","id":2,"result":{}}"#)
    #expect(stage.asks == [])
  }

  @Test(
    arguments: [
      (#"{"jsonrpc":"2.0","id":1,"#, #""id":null"#, -32700),
      ("hello", #""id":null"#, -32700), ("\0\0\0", #""id":null"#, -32700),
      ("\u{1}", #""id":null"#, -32700), ("7", #""id":null"#, -32600),
      (#"{"id":1,"method":"ping"}"#, #""id":1"#, -32600),
      (#"{"jsonrpc":"2.0","id":1,"method":"x/y"}"#, #""id":1"#, -32601),
      (#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, #""id":1"#, -32602),
      (#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, #""id":1"#, -32602),
      (#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, #""id":null"#, -32600),
    ])
  func `an invalid line is answered with an error, and the next one is handled`(
    line: String, id: String, code: Int
  ) {
    var stage = Stage.greeted()
    stage.say(line)
    let error = stage.take()
    #expect(error.count == 1)
    #expect(error.first?.contains(id) == true)
    #expect(error.first?.contains(#""code":\#(code)"#) == true)
    stage.say(Stage.request(2, "ping"))
    #expect(stage.take() == [#"{"jsonrpc":"2.0","id":2,"result":{}}"#])
  }

  @Test func `a version that is not known is refused with those that are`() {
    var stage = Stage()
    stage.say(
      Stage.request(
        1, "tools/list", "{\(Self.meta.replacing("2026-07-28", with: "2030-01-01"))}"))
    let line = stage.take().first ?? ""
    #expect(line.contains(#""code":-32022"#))
    #expect(line.contains(#""supported":["2026-07-28"],"requested":"2030-01-01""#))
  }

  @Test func `lines that are too long or not UTF-8 are told, blank ones are not`() {
    var stage = Stage.greeted { $0.maxLine = 100 }
    stage.give(.unreadable(.tooLong(bytes: 101)))
    stage.give(.unreadable(.notText))
    stage.say("", "  \t\r")
    let lines = stage.take()
    #expect(lines.count == 2)
    #expect(lines.first?.contains("a line of 101 bytes; the longest may have 100") == true)
    #expect(lines.last?.contains("-32700") == true)
  }

  @Test func `four questions are answered at once, and the others wait for their turn`() {
    var stage = Stage.greeted()
    for id in 1...6 { stage.say(Stage.steps(id)) }
    #expect(stage.asks.count == 4)
    stage.answer()
    #expect(stage.asks.count == 4)
    #expect(stage.take().first?.hasPrefix(#"{"jsonrpc":"2.0","id":1,"result""#) == true)
    for _ in 0..<5 { stage.answer() }
    #expect(stage.take().count == 5)
    #expect(stage.asks == [])
  }

  @Test func `an answer has the form of a phone's, in one line`() {
    var stage = Stage.greeted()
    stage.say(Stage.steps(1))
    stage.answer("\"success\":true,\r\n \"health_data\":[]")
    #expect(
      stage.take() == [
        #"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"success\":true,"#
          + #"\"healthData\":[]}"}],"structuredContent":{"success":true,"healthData":[]},"#
          + #""isError":false}}"#
      ])
    stage.say(Stage.steps(2))
    stage.answer(#""success":false,"error_message":"no such day""#)
    let refused = stage.take().first ?? ""
    #expect(refused.contains(#""error":"refused","message":"no such day""#))
    #expect(refused.contains(#""isError":true"#))
  }

  @Test func `without data the answer names the command that imports`() {
    var stage = Stage.greeted()
    stage.say(Stage.steps(1))
    stage.give(.outcome(RequestID(2), .noData(remedy: "Run `x`.")))
    let line = stage.take().first ?? ""
    #expect(
      line.contains(#""error":"no_data","message":"There are no health data here yet. Run `x`.""#))
    #expect(line.contains(#""isError":true"#))
  }

  @Test func `during the first import of another program the answer says so`() {
    var stage = Stage.greeted()
    stage.say(Stage.steps(1))
    stage.give(.outcome(RequestID(2), .importing("Another program imports")))
    let line = stage.take().first ?? ""
    #expect(
      line.contains(
        #""error":"importing","message":"Another program imports. Ask again in a minute.""#))
    #expect(line.contains(#""isError":true"#))
  }

  @Test func `invalid arguments are refused, and so is an id in use`() {
    var stage = Stage.greeted()
    stage.say(Stage.request(1, "tools/call", #"{"name":"get_health_metrics","arguments":{}}"#))
    #expect(stage.take().first?.contains("value_type is missing") == true)
    stage.say(Stage.steps(2), Stage.steps(2))
    #expect(stage.take().first?.contains("id is in use") == true)
    stage.answer()
    #expect(stage.take().count == 1)
  }

  @Test func `a cancelled question has no answer, and makes room`() {
    var stage = Stage.greeted { $0.maxRunning = 1 }
    stage.say(Stage.steps(1), Stage.steps(2), Stage.steps(3))
    let first = stage.asks
    stage.say(Stage.cancel(2), Stage.cancel(1), Stage.cancel(9))
    #expect(stage.cancelled == first)
    #expect(stage.asks.count == 1)
    stage.answer()
    for id in first { stage.give(.outcome(id, .data(Stage.object("")))) }
    let lines = stage.take()
    #expect(lines.count == 1)
    #expect(lines.first?.contains(#""id":3"#) == true)
  }

  @Test(arguments: [(255, true), (256, false)])
  func `lines are read until 256 calls are pending`(count: Int, hasRoom: Bool) {
    var stage = Stage.greeted()
    for id in 1...count { stage.say(Stage.steps(id)) }
    #expect(stage.server.hasRoom == hasRoom)
    stage.answer()
    #expect(stage.server.hasRoom)
  }
}

extension MCPLineTests {
  @Test func `a slow call reports its progress`() {
    var stage = Stage.greeted()
    stage.say(Stage.steps(1, token: 7), Stage.steps(2))
    stage.pass(.milliseconds(4_999))
    #expect(stage.take() == [])
    stage.pass(.milliseconds(1))
    #expect(
      stage.take() == [
        #"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"#
          + #""progress":5,"total":45,"message":"Reading health data"}}"#
      ])
    stage.pass(.seconds(5))
    #expect(stage.take().count == 1)
    stage.answer()
    _ = stage.take()
    stage.pass(.seconds(60))
    #expect(stage.take() == [])
  }

  @Test func `questions wait for the first import, and see its progress`() {
    var stage = Stage.greeted()
    stage.give(.importing("a.zip is being imported"))
    stage.say(Stage.steps(1, token: 7), Stage.request(2, "tools/list"))
    #expect(stage.take().count == 1)
    stage.give(.importing("a.zip is being imported: 40 % read"))
    stage.pass(.seconds(5))
    #expect(stage.take().first?.contains("40 % read") == true)
    #expect(stage.asks == [])
    stage.give(.ready)
    #expect(stage.asks.count == 1)
    stage.answer()
    #expect(stage.take().first?.contains(#""id":1"#) == true)
  }

  @Test(arguments: [(44_999, 0), (45_000, 1), (45_001, 1)])
  func `a question waits 45 s for the first import`(milliseconds: Int, refused: Int) {
    var stage = Stage.greeted()
    stage.give(.importing("a.zip is being imported: 40 % read"))
    stage.say(Stage.steps(1))
    stage.pass(.milliseconds(milliseconds))
    let lines = stage.take()
    #expect(lines.count == refused)
    guard let line = lines.first else { return }
    #expect(line.contains(#""error":"importing""#))
    #expect(line.contains("40 % read. Ask again in a minute."))
  }

  @Test func `the end of the input ends the server after the last answer`() {
    var stage = Stage.greeted()
    stage.say(Stage.steps(1))
    stage.give(.ended)
    stage.say(Stage.steps(2))
    #expect(!stage.isFinished)
    stage.answer()
    #expect(stage.take().count == 1)
    #expect(stage.isFinished)
    var idle = Stage()
    idle.give(.ended)
    #expect(idle.isFinished)
  }

  @Test func `a batch is answered together, in the version that has batches`() {
    var stage = Stage.greeted("2025-03-26")
    let ready = #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#
    stage.say("[\(Stage.steps(7)),\(ready),\(Stage.request(8, "ping")),\(Stage.steps(9))]")
    #expect(stage.take() == [])
    stage.say(Stage.cancel(9))
    stage.answer()
    let line = stage.take().first ?? ""
    #expect(line.hasPrefix(#"[{"jsonrpc":"2.0","id":7,"result""#))
    #expect(line.hasSuffix(#",{"jsonrpc":"2.0","id":8,"result":{}}]"#))
    stage.say("[\(ready)]")
    #expect(stage.take() == [])
    stage.say(#"[{"jsonrpc":"2.0","id":1,"method":"initialize"}]"#, "[]")
    let refused = stage.take()
    #expect(refused.first?.contains("initialize in a batch") == true)
    #expect(refused.last?.contains("a batch has 1 to 32 messages") == true)
  }

  @Test(arguments: [(0, true), (-1, false)])
  func `an answer above the limit is not repeated as text`(spare: Int, isWhole: Bool) {
    func line(_ most: Int) -> String {
      var stage = Stage.greeted { $0.maxResponse = most }
      stage.say(Stage.steps(1))
      stage.answer(#""success":true,"text":"\#(String(repeating: "x", count: 900))""#)
      return stage.take().first ?? ""
    }
    let whole = line(.max)
    let got = line(whole.utf8.count + spare)
    #expect((got == whole) == isWhole)
    #expect(got.contains("too long to repeat here") == !isWhole)
  }
}
