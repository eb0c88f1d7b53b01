import HoldfastAssistants
import HoldfastCore
import Testing

/// Tests for batches, which only version 2025-03-26 supports.
@Suite struct MCPBatchTests {
  private static let ping = #"{"jsonrpc":"2.0","id":1,"method":"ping"}"#
  private static let pong = #"{"jsonrpc":"2.0","id":1,"result":{}}"#
  private static let ready = #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#

  private static func steps(_ id: Int) -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"tools/call","params":{"name":"get_health_metrics","#
      + #""arguments":\#(MCPStage.metrics)}}"#
  }

  @Test func `the responses to a batch are sent together, in order, once all are known`() {
    var stage = MCPStage()
    let session = stage.initialize("2025-03-26")
    let id = stage.post(
      "[\(Self.steps(7)),\(Self.ping),\(Self.ready),\(Self.steps(8))]", session: session)
    #expect(stage[id] == MCPStage.Received())
    stage.complete(1, .data(#"{"success":true,"n":8}"#))
    #expect(stage[id] == MCPStage.Received())
    stage.complete(.data(#"{"success":true,"n":7}"#))
    let body = stage[id].body
    #expect(stage[id].reply?.status == 200)
    #expect(body.hasPrefix(#"[{"jsonrpc":"2.0","id":7,"#) && body.hasSuffix("}]"))
    let counts = [#""id":7"#, Self.pong, #""id":8"#].map { part in
      body.split(separator: part, omittingEmptySubsequences: false).count
    }
    #expect(counts == [2, 2, 2])
  }

  @Test func `a batch of notifications receives no response`() {
    var stage = MCPStage()
    let session = stage.initialize("2025-03-26")
    let id = stage.post("[\(Self.ready),\(Self.ready)]", session: session)
    #expect(stage[id] == MCPStage.Received(reply: MCPReply(202)))
  }

  @Test func `a client that accepts only streams receives one event`() {
    var stage = MCPStage()
    let session = stage.initialize("2025-03-26")
    let id = stage.post("[\(Self.ping)]", session: session) {
      $0.fields.accept = "text/event-stream"
    }
    #expect(stage[id].events.contains("data: [\(Self.pong)]"))
    #expect(stage[id].hasBegun && stage[id].hasEnded)
  }

  @Test(arguments: [(true, 1), (true, 0), (true, -1), (false, 1), (false, 0), (false, -1)])
  func `responses to a batch that are too long together are refused one by one`(
    isJSON: Bool, spare: Int
  ) {
    let whole = Self.response { _ in }
    // The size without the brackets and the comma.
    let sum = whole.utf8.count - 3
    let response = Self.response(isJSON: isJSON) {
      $0.maxBatchBytes = isJSON ? sum + spare : 99_999
      $0.maxEventBytes = isJSON ? 99_999 : sum + spare
    }
    #expect(response.contains("answer_too_large") == (spare < 0))
    #expect(response.contains(whole) == (spare >= 0))
    #expect(response.contains(#""id":7"#) && response.contains(#""id":8"#))
  }

  @Test func `a refusal longer than the remaining batch size leaves none for the next response`() {
    let response = Self.response { $0.maxBatchBytes = 10 }
    let limits = ["longer than 10 bytes", "longer than 0 bytes"]
    #expect(limits.filter { response.contains($0) } == limits)
  }

  /// Returns the response that a client receives for a batch with two answers of 9,000 bytes.
  private static func response(
    isJSON: Bool = true, _ change: (inout MCPPolicy) -> Void
  ) -> String {
    var stage = MCPStage(change)
    let session = stage.initialize("2025-03-26")
    let id = stage.post("[\(steps(7)),\(steps(8))]", session: session) {
      if !isJSON { $0.fields.accept = "text/event-stream" }
    }
    let answer = #"{"success":true,"x":"\#(String(repeating: "x", count: 9_000))"}"#
    for index in [1, 0] { stage.complete(index, .data(answer)) }
    return isJSON ? stage[id].body : stage[id].events
  }

  @Test func `an invalid message is answered within its batch`() {
    var stage = MCPStage()
    let session = stage.initialize("2025-03-26")
    let id = stage.post(
      #"[1,\#(Self.ping),{"jsonrpc":"2.0","id":9,"method":"initialize"}]"#, session: session)
    #expect(stage[id].reply?.status == 200)
    #expect(stage[id].body.contains(#""id":null,"error":{"code":-32600"#))
    #expect(stage[id].body.contains(#""id":9,"error":{"code":-32600"#))
    #expect(stage[id].body.contains(Self.pong))
  }

  @Test func `a client that disconnects cancels its whole batch`() {
    var stage = MCPStage()
    let session = stage.initialize("2025-03-26")
    let id = stage.post("[\(Self.steps(7)),\(Self.steps(8))]", session: session)
    stage.feed(.abandoned(id))
    #expect(stage.abandoned == [RequestID(.max - 1), RequestID(.max - 2)])
    #expect(stage[id] == MCPStage.Received())
  }

  @Test func `the client of a batch is watched once, like that of a concurrent call`() {
    var stage = MCPStage()
    let (old, new) = (stage.initialize("2025-03-26"), stage.initialize())
    let batch = stage.post("[\(Self.steps(7)),\(Self.steps(8))]", session: old)
    let call = stage.call("get_health_metrics", MCPStage.metrics, session: new)
    #expect(stage.watched == [batch, call])
  }

  @Test(arguments: ["2024-11-05", "2025-06-18", "2025-11-25"])
  func `other versions refuse batches with an explanation`(version: String) {
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
