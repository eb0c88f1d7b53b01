import LinkCore

/// A seeded generator, told a second time (SplitMix64; Steele, Lea, Flood 2014).
struct LinkDice: Sendable {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func bits() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    let one = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    let two = (one ^ (one >> 27)) &* 0x94D0_49BB_1331_11EB
    return two ^ (two >> 31)
  }

  /// A number below 1 of 53 bits.
  mutating func share() -> Double { Double(bits() / 2_048) / 9_007_199_254_740_992 }

  /// A part of a duration.
  mutating func part(of duration: Duration) -> Duration { duration * share() }

  /// A duration, longer or shorter by up to a share of itself.
  mutating func around(_ duration: Duration, _ jitter: Double) -> Duration {
    duration * (1 - jitter + 2 * jitter * share())
  }
}
