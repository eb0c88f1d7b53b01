import LinkCore
import Testing

/// Assistants that do anything in any order.
struct AssistantsTests {
  @Test(arguments: UInt64(1)...200)
  func `the assistants' server keeps its invariants`(seed: UInt64) throws {
    var chance = Chance(seed: seed)
    let bytes = (0..<400).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
    try MCPServerProperty.check(bytes)
  }
}
