import Foundation
import HoldfastCore
import HoldfastTestKit
import Testing

/// Tests that the fuzzer's seeds and its earlier findings keep all promises.
@Suite struct CorpusTests {
  private static let corpus = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "Corpus")

  private static func inputs(of target: FuzzTarget) throws -> [URL] {
    try FileManager.default.contentsOfDirectory(
      at: corpus.appending(path: target.rawValue), includingPropertiesForKeys: nil
    ).sorted { $0.path < $1.path }
  }

  @Test(arguments: FuzzTarget.allCases)
  func `every corpus input keeps the promises of its target`(_ target: FuzzTarget) throws {
    let inputs = try Self.inputs(of: target)
    #expect(!inputs.isEmpty)
    for input in inputs {
      let bytes = try [UInt8](Data(contentsOf: input))
      #expect(throws: Never.self, "\(input.lastPathComponent)") { try target.check(bytes) }
      // Prefixes of the input are checked because the corpus rarely contains any.
      for count in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 16)) {
        #expect(throws: Never.self, "\(input.lastPathComponent), first \(count) octets") {
          try target.check(Array(bytes[..<count]))
        }
      }
      // Each input is also damaged in a few places.
      var generator = RandomSource(seed: 90)
      for _ in 0..<30 {
        let damaged = generator.damaged(bytes)
        #expect(throws: Never.self, "\(input.lastPathComponent), damaged: \(damaged)") {
          try target.check(damaged)
        }
      }
    }
  }

  @Test func `every corpus folder has a target, and every target has a folder`() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path).sorted()
    #expect(folders == FuzzTarget.allCases.map(\.rawValue).sorted())
  }
}
