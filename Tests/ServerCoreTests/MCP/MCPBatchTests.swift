import LinkCore
import LinkServerCore
import LinkWire
import Testing

/// Batches, which version 2025-03-26 has.
@Suite struct MCPBatchTests {
  private static let ping = #"{"jsonrpc":"2.0","id":1,"method":"ping"}"#
  private static let pong = #"{"jsonrpc":"2.0","id":1,"result":{}}"#
  private static let ready = #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#

  private static func steps(_ id: Int) -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"tools/call","params":{"name":"get_health_metrics","#
      + #""arguments":\#(MCPStage.metrics)}}"#
  }

  @Test func `the responses to a batch come together, in its order, once all are known`() {
    var stage = MCPStage()
    let session = stage.initialize("2025-03-26")
    let id = stage.post(
      "[\(Self.steps(7)),\(Self.ping),\(Self.ready),\(Self.steps(8))]", session: session)
    #expect(stage[id] == MCPStage.Told())
    stage.settle(1, .data(#"{"success":true,"n":8}"#))
    #expect(stage[id] == MCPStage.Told())
    stage.settle(.data(#"{"success":true,"n":7}"#))
    let body = stage[id].body
    #expect(stage[id].reply?.status == 200)
    #expect(body.hasPrefix(#"[{"jsonrpc":"2.0","id":7,"#) && body.hasSuffix("}]"))
    let places = [#""id":7"#, Self.pong, #""id":8"#].map { part in
      body.split(separator: part, omittingEmptySubsequences: false).count
    }
    #expect(places == [2, 2, 2])
  }

  @Test func `a batch of notifications alone has no answer`() {
    var stage = MCPStage()
    let session = stage.initialize("2025-03-26")
    let id = stage.post("[\(Self.ready),\(Self.ready)]", session: session)
    #expect(stage[id] == MCPStage.Told(reply: MCPReply(202)))
  }

  @Test func `a client that takes streams alone gets one event`() {
    var stage = MCPStage()
    let session = stage.initialize("2025-03-26")
    let id = stage.post("[\(Self.ping)]", session: session) {
      $0.fields.accept = "text/event-stream"
    }
    #expect(stage[id].events.contains("data: [\(Self.pong)]"))
    #expect(stage[id].hasBegun && stage[id].hasEnded)
  }

  @Test func `a message that is none is answered within its batch`() {
    var stage = MCPStage()
    let session = stage.initialize("2025-03-26")
    let id = stage.post(
      #"[1,\#(Self.ping),{"jsonrpc":"2.0","id":9,"method":"initialize"}]"#, session: session)
    #expect(stage[id].reply?.status == 200)
    #expect(stage[id].body.contains(#""id":null,"error":{"code":-32600"#))
    #expect(stage[id].body.contains(#""id":9,"error":{"code":-32600"#))
    #expect(stage[id].body.contains(Self.pong))
  }

  @Test func `who leaves has taken back the whole batch`() {
    var stage = MCPStage()
    let session = stage.initialize("2025-03-26")
    let id = stage.post("[\(Self.steps(7)),\(Self.steps(8))]", session: session)
    stage.feed(.abandoned(id))
    #expect(stage.abandoned == [AskID(1), AskID(2)])
    #expect(stage[id] == MCPStage.Told())
  }

  @Test(arguments: ["2024-11-05", "2025-06-18", "2025-11-25"])
  func `other versions have no batches, and are told so`(version: String) {
    var stage = MCPStage()
    let session = stage.initialize(version)
    let id = stage.post("[\(Self.ping)]", session: session)
    #expect(stage[id].reply?.status == 400)
    #expect(stage[id].body.contains("only protocol version 2025-03-26"))
  }

  @Test(arguments: [(0, 400), (1, 200), (32, 200), (33, 400)])
  func `a batch has 1 to 32 messages`(count: Int, status: Int) {
    var stage = MCPStage()
    let session = stage.initialize("2025-03-26")
    let body = "[" + Array(repeating: Self.ping, count: count).joined(separator: ",") + "]"
    let id = stage.post(body, session: session)
    #expect(stage[id].reply?.status == status)
  }
}
