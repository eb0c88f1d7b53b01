import Foundation
import Holdfast
import HoldfastTestKit
import Testing

/// The lines between the two marks stand in the README, word for word.
private func follow(
  _ shop: ShopID, on server: String, tokens: any TokenSource, keptIn directory: String,
  _ show: ([Message], Via) async -> Bool
) async throws {
  // README >
  let streams = ShopStreams(
    StreamEnvironment(
      network: try Platform.network(), store: try await Platform.store(in: directory),
      reachability: Platform.reachability(of: "127.0.0.1"), lifecycle: AlwaysForeground(),
      tokens: tokens))
  let stream = try await streams.open(StreamConfiguration(server: server, shop: shop))
  stream.send("Two rye loaves, please")
  for await case .messages(let messages, let via) in stream {
    guard await show(messages, via) else { break }
  }
  await stream.close()
  // README <
}

/// What the README shows is compiled, and does what it says.
@Suite(.timeLimit(.minutes(10))) struct ReadmeExampleTests {
  @Test func `the example of the README sends and shows messages`() async throws {
    let bench = try await StreamBench.make()
    try await bench.post("Good morning")
    var seen: Set<String> = []
    try await follow(
      bench.shop, on: bench.configuration().server, tokens: bench.tokens,
      keptIn: bench.directory + "/reader"
    ) { messages, _ in
      seen.formUnion(messages.map(\.text))
      return seen.count < 2
    }
    #expect(seen == ["Good morning", "Two rye loaves, please"])
    await bench.end()
  }

  @Test func `the README shows exactly these lines`() throws {
    let readme = try Self.text(at: "README.md")
    #expect(Self.shows(try Self.example(), in: readme))
  }

  @Test func `a line that differs is found`() throws {
    let readme = try Self.text(at: "README.md")
    let other = try Self.example().replacing("rye", with: "wheat")
    #expect(!Self.shows(other, in: readme))
  }

  private static func shows(_ example: String, in page: String) -> Bool {
    !example.isEmpty && page.contains("```swift\n" + example + "\n```\n")
  }

  /// The lines between the marks, without the indentation of a body.
  private static func example() throws -> String {
    let lines = try text(at: "Tests/HoldfastTests/ReadmeExampleTests.swift")
      .split(separator: "\n", omittingEmptySubsequences: false)
    let first = try #require(lines.firstIndex(of: "  // README >"))
    let last = try #require(lines.firstIndex(of: "  // README <"))
    return lines[(first + 1)..<last].map { $0.dropFirst(2) }.joined(separator: "\n")
  }

  private static func text(at path: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }
}
