import HoldfastCore
import Testing

@testable import HoldfastHealth

/// Tests of the distance between two moments.
@Suite struct DistanceTests {
  private static let distances: [(Int64, Int64, Double)] = [
    (1_767_454_200_000_000_001, 1_767_454_200_000_000_002, 1),
    (1_767_454_200_000_000_002, 1_767_454_200_000_000_001, -1),
    (.min, .max, 0x1p64), (.max, .min, -0x1p64),
  ]

  @Test(arguments: distances)
  func `a distance between instants is exact to the nanosecond over the whole range of time`(
    from: Int64, to: Int64, distance: Double
  ) {
    let (start, end) = (Timestamp(nanoseconds: from), Timestamp(nanoseconds: to))
    #expect(start.distance(to: end) == distance)
  }
}
