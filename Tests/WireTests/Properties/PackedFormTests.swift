import HoldfastCore
import HoldfastTestKit
import Testing

@testable import HoldfastBottleData

/// The packed binary form of a bottle's values: its valid lengths, its decoder and its encoder.
struct PackedForm: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let counts: Set<Int>
  /// A function that decodes bytes and encodes the value again. Throws an error if the bytes do not
  /// represent a value.
  let rewritten: @Sendable ([UInt8]) throws -> [UInt8]

  static let all = [
    PackedForm(testDescription: "state", counts: [14]) { try BottleState($0).bytes },
    PackedForm(testDescription: "configuration", counts: [12]) {
      try BottleConfiguration($0).bytes
    },
    PackedForm(testDescription: "control", counts: [8]) { try BottleSync($0).bytes },
    PackedForm(testDescription: "records", counts: Set((0...20).map { 6 + 14 * $0 })) {
      try BottleChunk($0).bytes
    },
    PackedForm(testDescription: "command", counts: [3, 4, 5, 13]) { try BottleCommand($0).bytes },
    PackedForm(testDescription: "settings", counts: [4]) { try BottleSwitches($0).bytes },
    PackedForm(testDescription: "activity", counts: [12]) { try BottleActivity($0).bytes },
    PackedForm(testDescription: "motions", counts: Set((0...10).map { 4 + 8 * $0 })) {
      try BottleActivityChunk<BottleMotion>($0).bytes
    },
    PackedForm(testDescription: "backpacks", counts: Set((0...5).map { 4 + 12 * $0 })) {
      try BottleActivityChunk<BottleBackpack>($0).bytes
    },
    PackedForm(testDescription: "calibration", counts: [12]) { try BottleCalibration($0).bytes },
  ]
}

@Suite struct PackedFormTests {
  /// Returns random bytes that often represent a value. Codes and counts are small numbers.
  private static func bytes(_ form: PackedForm, _ generator: inout RandomSource) -> [UInt8] {
    let count = generator.one(Array(form.counts).sorted())
    var bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    for index in [0, 2, 4, 5, 6, 10, 14] where index < count && generator.flag() {
      bytes[index] = UInt8.random(in: 0...3, using: &generator)
    }
    switch form.testDescription {
    case "records": bytes[4] = UInt8((count - 6) / 14)
    case "motions": bytes[2] = UInt8((count - 4) / 8)
    case "backpacks": bytes[2] = UInt8((count - 4) / 12)
    case _: break
    }
    return bytes
  }

  @Test(arguments: PackedForm.all)
  func `random bytes are refused, or read as a value that survives writing and reading`(
    form: PackedForm
  ) throws {
    var generator = RandomSource(seed: 21)
    var found = 0
    for _ in 0..<1_000 {
      let bytes = Self.bytes(form, &generator)
      guard let written = try? form.rewritten(bytes) else { continue }
      found += 1
      // The length stays the same. Only unused bits may differ, and the first encoding clears them.
      #expect(written.count == bytes.count)
      #expect(try form.rewritten(written) == written)
    }
    #expect(found > 10)
  }

  @Test(arguments: PackedForm.all)
  func `bytes of another length are refused`(form: PackedForm) {
    var generator = RandomSource(seed: 22)
    for count in (0...300).filter({ !form.counts.contains($0) }) {
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...20, using: &generator) }
      #expect(throws: BottleFormatError.self) { try form.rewritten(bytes) }
    }
  }

  @Test func `random radio bytes either decode to frames that encode again, or end the connection`()
  {
    var generator = RandomSource(seed: 23)
    for _ in 0..<1_000 {
      let count = Int.random(in: 0...40, using: &generator)
      let kind = generator.one([1, 2, 3, 4, 5, 16, 17, 18, 19, 20, 21, 22]) as UInt8
      let content = (0..<count).map { _ in UInt8.random(in: 0...127, using: &generator) }
      var reader = RadioFrameReader()
      guard let frames = try? reader.take([kind, UInt8(count), 0] + content) else { continue }
      var again = RadioFrameReader()
      #expect((try? again.take(frames.flatMap(\.bytes))) == frames)
      #expect(frames.count == 1)
    }
  }
}
