import HoldfastCore
import HoldfastHealthSamples
import HoldfastTestKit
import Testing

/// Tests that compare readings of damaged exports with a golden file.
@Suite struct KeptExportTests {
  private static let sound = Export.generated(seed: 7, days: 1, density: 0.01)

  /// Returns the bytes of the undamaged export with random changes.
  private static func damaged(_ seed: UInt64) -> [UInt8] {
    var generator = RandomSource(seed: seed)
    var bytes = sound
    let odd = Array("<>\"'/=&;!?[]-:+.x09 \u{0B}".utf8)
    for _ in 0..<(1 + generator.next() % 60) {
      let position = Int(generator.next() % UInt64(bytes.count))
      switch generator.next() % 5 {
      case 0: bytes[position] = UInt8(truncatingIfNeeded: generator.next())
      case 1, 2: bytes[position] = odd[Int(generator.next() % UInt64(odd.count))]
      case 3: bytes.removeSubrange(position..<min(bytes.count, position + 1 + Int(seed % 20)))
      case _:
        bytes.insert(contentsOf: bytes[position..<min(bytes.count, position + 50)], at: position)
      }
    }
    return bytes
  }

  private static func line(_ seed: UInt64) -> String {
    do throws(HealthExportError) {
      let export = try Export(damaged(seed), pieces: 100 + Int(seed))
      let keys = export.samples.flatMap { "\($0.key) \($0.zone ?? "") \($0.device ?? "")".utf8 }
      let counts = export.counts
      let skipped = counts.skipped.map { "\($0.reason) \($0.count)" }.joined(separator: ", ")
      let types = counts.skippedOfType.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
      return "\(seed): \(export.samples.count) samples, \(GoldenText.digest(keys)), "
        + "\(export.digests.count) stretches, \(counts.bytes) bytes, version "
        + "\(counts.version.map(String.init) ?? "none"), repaired \(counts.repaired), "
        + "\(counts.isWhole ? "whole" : "cut off"), left out: \(skipped); by type: "
        + GoldenText.digest(types.joined(separator: " ").utf8)
    } catch {
      return "\(seed): \(error)"
    }
  }

  @Test func `readings of damaged exports match the golden file`() throws {
    let lines = (0..<200).map { Self.line($0) }
    #expect(try GoldenText("damaged.txt").difference(lines) == nil)
  }
}
