/// A seeded random source that is stored as state, so that the same seed gives the same run.
///
/// It uses SplitMix64 (Steele, Lea, Flood 2014): one addition and three mixing steps for each
/// number. Any seed is suitable.
public struct RandomSource: RandomNumberGenerator, Sendable, Hashable, Codable {
  private var state: UInt64

  public init(seed: UInt64) {
    state = seed
  }

  /// Returns the next 64 bits of the sequence.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Returns a number from 0 up to, but not including, 1.
  public mutating func unit() -> Double {
    Double(next() >> 11) * 0x1p-53
  }

  /// Returns a random duration, drawn uniformly from zero up to, but not including, `limit`.
  public mutating func duration(below limit: Duration) -> Duration {
    limit * unit()
  }
}
