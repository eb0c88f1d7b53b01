import HoldfastHealth
import HoldfastRelayServer
import Testing

/// Tests of the tool that lists the stored types.
@Suite struct MCPTypesTests {
  /// Returns the result of the tool if the phone's outcome is `outcome`.
  private static func result(_ outcome: RelayOutcome) -> String {
    var stage = MCPStage()
    let session = stage.initialize()
    let id = stage.call("list_health_types", session: session)
    #expect(stage.asks.first?.ask == .question(.types))
    stage.complete(outcome)
    return stage[id].body
  }

  @Test func `the phone's list is passed on`() {
    let list = #"{"success":true,"count":1,"types":[{"value_type":"STEPS"}]}"#
    #expect(Self.result(.data(list)).contains(#""structuredContent":\#(list),"isError":false"#))
  }

  @Test func `a phone that knows no such question is said to be too old`() {
    let unknown = Self.result(
      .data(#"{"success":false,"error_message":"messages of this type are not understood"}"#))
    #expect(unknown.contains("messages of this type are not understood. The app on the phone may"))
    #expect(unknown.contains(#""error":"phone_refused""#))
    #expect(unknown.hasSuffix(#""isError":true}}"#))
    let silent = Self.result(.refused(.timedOut(after: .seconds(45))))
    #expect(silent.contains("The app on the phone may be too old to list its kinds of data"))
  }

  @Test func `the tool takes no arguments`() {
    var stage = MCPStage()
    let session = stage.initialize()
    let id = stage.call("list_health_types", #"{"value_type":"STEPS"}"#, session: session)
    #expect(stage.asks.isEmpty)
    #expect(stage[id].body.contains(#""error":"invalid_arguments""#))
  }
}
