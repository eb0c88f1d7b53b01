import Foundation
import LinkProtocols
import Testing

/// What a fuzzer starts from, and what it once found, keeps its promises.
@Suite struct CorpusTests {
  private static let corpus = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "Corpus")

  private static func inputs(of target: FuzzTarget) throws -> [URL] {
    try FileManager.default.contentsOfDirectory(
      at: corpus.appending(path: target.rawValue), includingPropertiesForKeys: nil
    ).sorted { $0.path < $1.path }
  }

  @Test(arguments: FuzzTarget.allCases)
  func `every input of the corpus keeps what its target promises`(_ target: FuzzTarget) throws {
    let inputs = try Self.inputs(of: target)
    #expect(!inputs.isEmpty)
    for input in inputs {
      let bytes = try [UInt8](Data(contentsOf: input))
      #expect(throws: Never.self, "\(input.lastPathComponent)") { try target.check(bytes) }
      // The same with something missing: an input is seldom its own neighbour's.
      for count in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 16)) {
        #expect(throws: Never.self, "\(input.lastPathComponent), first \(count) octets") {
          try target.check(Array(bytes[..<count]))
        }
      }
    }
  }

  @Test func `no folder of the corpus is without a target`() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path).sorted()
    #expect(folders == FuzzTarget.allCases.map(\.rawValue).sorted())
  }

  @Test func `a decoder that depends on how octets came is found out`() {
    #expect(throws: Broken("octet by octet is as all at once")) {
      try sameHoweverCut([1, 2, 3]) { $0.count }
    }
    #expect(throws: Broken("in pieces is as all at once")) {
      try sameHoweverCut(Array(repeating: 1, count: 40)) { pieces in
        pieces.contains { $0.count > 1 && $0.count < 40 }
      }
    }
  }

  @Test func `a promise that is broken is told`() {
    #expect(throws: Broken("two is one")) { try hold(2 == 1, "two is one") }
    #expect(throws: Broken.self) {
      try WebSocketProperty.isBounded(
        Heard(events: [.ping(Array(repeating: 0, count: 126))], output: [], state: .open),
        End(choice: 0).limits)
    }
  }
}
