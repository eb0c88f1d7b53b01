import HoldfastHealth
import HoldfastTestKit
import Testing

@testable import HoldfastAssistants

/// Tests of what the tools say about types.
@Suite struct MCPTypeToolTests {
  private static let tools = MCPResult.tools.response(to: .number(1), in: .july2026).text

  @Test func `the description of a type names the sixteen words with what they hold`() {
    for type in HealthValueType.allCases {
      #expect(Self.tools.contains("\(type.rawValue) (\(type.summary)"), "\(type.rawValue)")
      #expect(!type.summary.isEmpty)
    }
    #expect(Self.tools.contains("WEIGHT (body weight, kilogram)"))
    #expect(Self.tools.contains("STEPS (steps of walking and running)"))
  }

  @Test func `the words that the descriptions explain are known`() {
    let known = Set(HealthValueType.known)
    #expect(HealthValueType.usual.allSatisfy { known.contains($0) })
    #expect(Set(HealthValueType.usual).count == HealthValueType.usual.count)
    for word in ["DIETARY_IRON", "CYCLING_POWER", "HEADACHE", "PREGNANCY_TEST"] {
      #expect(HealthValueType(rawValue: word)?.isKnown == true)
    }
  }

  @Test func `the list of tools with all descriptions is below 18.5 kB`() {
    #expect(Self.tools.utf8.count < 18_500, "\(Self.tools.utf8.count)")
  }

  @Test func `a store has no clock of a phone, and no synced samples`() {
    let store = MCPResult.tools.response(to: .number(1), in: .july2026, from: .store).text
    for name in ["clock_warning", "clock_difference_seconds", "as_of", "source"] {
      #expect(Self.tools.contains("\"\(name)\":{"), "\(name)")
      #expect(!store.contains("\"\(name)\":{"), "\(name)")
    }
    #expect(store.contains("\"last_import\":{"))
  }

  @Test func `a word that no version knows is passed on, and a text that is no word is refused`()
    throws
  {
    func valueType(_ word: String) throws -> String {
      let text =
        #"{"value_type":"\#(word)","start_time":"2026-03-01","end_time":"2026-03-02"}"#
      let arguments = try #require(MCPArguments(Array(text.utf8)))
      return try arguments.healthDataQuery().valueType.rawValue
    }
    #expect(try valueType("new thing") == "NEW_THING")
    #expect(try valueType("HKQuantityTypeIdentifierBodyMass") == "WEIGHT")
    #expect(throws: MCPArguments.Fault.self) { try valueType("STEPS;") }
  }
}
