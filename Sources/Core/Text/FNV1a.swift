/// A hash that tells bytes that changed by accident, not on purpose: FNV-1a with 64 bits.
package enum FNV1a {
  /// Returns the hash of all bytes.
  package static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}
