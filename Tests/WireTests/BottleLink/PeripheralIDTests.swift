import Foundation
import HoldfastBottleData
import HoldfastCore
import Testing

/// Tests of the ids that a radio assigns to peripherals.
@Suite struct PeripheralIDTests {
  @Test func `a peripheral id is encoded as its UUID and decoded from it`() throws {
    let id = UUID128(high: 1, low: 2)
    let written = try JSONEncoder().encode(PeripheralID(id))
    #expect(try JSONDecoder().decode(UUID128.self, from: written) == id)
    #expect(try JSONDecoder().decode(PeripheralID.self, from: written) == PeripheralID(id))
  }
}
