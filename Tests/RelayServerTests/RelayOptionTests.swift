import HoldfastCore
import HoldfastHealth
import HoldfastRelayData
import HoldfastRelayFixtures
import HoldfastRelayServer
import Testing

/// Tests of answers to questions with options, of phones that know the options and of older ones.
@Suite struct RelayOptionTests {
  private static func asking(_ change: (inout HealthOptions) -> Void) -> HealthQuestion {
    guard case .healthData(var query) = RelayStage.question() else { return RelayStage.summary }
    query.groupBy = .day
    change(&query.options)
    return .healthData(query)
  }

  private static let trend = asking { $0.trend = true }

  /// Returns the data that an assistant receives if the phone answers with a text, or the fault.
  private static func received(
    _ text: String, to question: HealthQuestion
  ) -> (reason: String?, fault: String?) {
    var relay = Relayed.paired()
    _ = relay.ask(.question(question), bearer: "token-1")
    let object = HealthObject(succeeded: true, bytes: Array(text.utf8))
    let effects = relay.said(1, .healthData(RelayStage.request("a-1"), object))
    guard case .answer(_, let outcome)? = effects.first else { return ("no answer", nil) }
    switch outcome {
    case .data(let data): return (data.succeeded ? nil : data.reason, nil)
    case .refused(.malformed(let reason)): return (nil, reason)
    case _: return ("another outcome", nil)
    }
  }

  @Test func `an answer that names the option is passed on`() {
    let text = #"{"success":true,"health_data":[],"applied":["trend"]}"#
    #expect(Self.received(text, to: Self.trend) == (nil, nil))
  }

  @Test func `an answer of an older phone is replaced by a refusal that names the option`() {
    let text = #"{"success":true,"health_data":[]}"#
    let (reason, _) = Self.received(text, to: Self.trend)
    #expect(
      reason
        == "the phone's app is older than trend and ignored it, so its answer is left out. Ask "
        + "without trend, or ask the user to update the app")
  }

  @Test func `an older phone may send points instead of a table, and those of each source`() {
    let text = #"{"success":true,"health_data":[]}"#
    let question = Self.asking { ($0.format, $0.bySource) = (.table, true) }
    #expect(Self.received(text, to: question) == (nil, nil))
  }

  @Test(arguments: [
    (#""columns":["a"],"rows":[[1],[null]],"count":2"#, nil),
    (#""columns":[],"rows":[],"count":0"#, nil),
    (#""columns":["a"],"rows":[[1],[2]],"count":1"#, "count is 1, but there are 2 points"),
    (#""columns":["a"],"rows":[[1,2]]"#, "a row has not a value for each column"),
    (#""columns":["a"],"rows":[[1],[]]"#, "a row has not a value for each column"),
    (#""rows":[[1]]"#, "a row has not a value for each column"),
    (#""columns":["a"],"rows":[1]"#, "rows contains an element that is not a list"),
    (#""columns":["a"],"rows":{}"#, "rows is not a list"),
    (#""columns":{},"rows":[]"#, "columns is not a list"),
    (#""columns":[1],"rows":[]"#, "a name of columns is not a text"),
    (#""columns":["a"]"#, "it has no health_data"),
  ])
  func `a table has a value for each column`(members: String, fault: String?) {
    let question = Self.asking { $0.format = .table }
    #expect(Self.received(#"{"success":true,\#(members)}"#, to: question) == (nil, fault))
  }
}
