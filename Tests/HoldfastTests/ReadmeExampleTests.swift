import Foundation
import Holdfast
import HoldfastBackend
import HoldfastRigs
import HoldfastTestKit
import Testing

/// Runs the example of the README. The README contains the lines between the two marks verbatim.
private func hold(_ url: String, _ show: (String) async -> Void) async throws {
  // README >
  var configuration = SocketConfiguration(url)
  configuration.outbox = .memory  // keeps messages while there is no connection
  let socket = try await HeldSocket(configuration)
  try await socket.send("hello")
  for await event in socket {
    if case .text(let text) = event { await show(text) }
  }
  if let failure = socket.failure { print("No retry can help: \(failure)") }
  // README <
}

/// Runs the example of docs/apps.md. The page contains the lines between the two marks verbatim.
private func follow(
  _ shop: ShopID, on server: String, tokens: TokenSource, storedIn directory: String,
  _ show: ([ShopMessage], StreamUpdate.Via) async -> Bool
) async throws {
  // docs/apps.md >
  let streams = try await ShopStreams(storage: .directory(directory), tokens: tokens)
  let stream = try await streams.open(StreamConfiguration(server: server, shop: shop))
  stream.enqueue("Two rye loaves, please")
  for await case .messages(let messages, let via) in stream {
    guard await show(messages, via) else { break }
  }
  if let failure = stream.failure { print("The stream has ended: \(failure)") }
  await streams.close()
  // docs/apps.md <
}

/// Runs the example of docs/session.md. The page contains the lines between the two marks verbatim.
private func ask(
  _ url: String, _ key: String, storedIn directory: String, _ show: (String) async -> Void
) async throws {
  // docs/session.md >
  let session = try await HeldSession(
    SessionConfiguration(url, storage: .directory(directory)) { key })
  do {
    let answer = try await session.answer(to: "What is left to do?", within: .seconds(60))
    await show(answer.text)
  } catch {
    print("There is no answer: \(error)")
  }
  await session.close()
  // docs/session.md <
}

/// Tests that the examples of the README and of the pages compile and work as described.
@Suite(.timeLimit(.minutes(60))) struct ReadmeExampleTests {
  @Test func `the example of the README reconnects, and ends if a retry cannot help`()
    async throws
  {
    let plan = [PlanEntry(expect: 1, send: [.text("welcome")], close: 4000), .refuse(403)]
    try await PeerServer.run(.holdfast, plan) { server in
      var seen: [String] = []
      try await hold(server.url) { seen.append($0) }
      #expect(seen == ["welcome"])
      #expect(try await server.got(1) == ["hello"])
    }
  }

  @Test func `the example of message streams sends and shows messages`() async throws {
    let harness = try await StreamBackendHarness.make()
    try await harness.post("Good morning")
    var seen: Set<String> = []
    try await follow(
      harness.shop, on: harness.configuration().server, tokens: harness.tokens.source,
      storedIn: harness.directory + "/reader"
    ) { messages, _ in
      seen.formUnion(messages.map(\.text))
      return seen.count < 2
    }
    #expect(seen == ["Good morning", "Two rye loaves, please"])
    await harness.end()
  }

  @Test func `the example of sessions shows the answer to a prompt`() async throws {
    let scratch = try Scratch()
    let backend = Backend(BackendConfiguration(dataDirectory: scratch("data")))
    let url = try await backend.start().session
    let key = try scratch.text(of: "data/session-key")
    var seen: [String] = []
    try await ask(url, key, storedIn: scratch("phone")) { seen.append($0) }
    #expect(seen == ["What is left to do?"])
    await backend.kill()
  }

  @Test(arguments: ["README", "docs/apps.md", "docs/session.md"])
  func `the page shows exactly the compiled lines`(mark: String) throws {
    let page = try Self.text(at: mark == "README" ? "README.md" : mark)
    let example = try Self.example(mark)
    #expect(Self.shows(example, in: page))
    #expect(!Self.shows(example.replacing("await", with: "try await"), in: page))
  }

  @Test func `the comment of a stream shows exactly the compiled lines`() throws {
    let source = try Self.text(at: "Sources/Holdfast/MessageStream/ShopStream.swift")
    let lines = try Self.example("docs/apps.md").split(separator: "\n")
    #expect(source.contains("///\n" + lines.map { "///     \($0)\n" }.joined() + "///\n"))
  }

  private static func shows(_ example: String, in page: String) -> Bool {
    !example.isEmpty && page.contains("```swift\n" + example + "\n```\n")
  }

  /// Returns the lines between the marks, without the indentation of the function's body.
  private static func example(_ mark: String) throws -> String {
    let lines = try text(at: "Tests/HoldfastTests/ReadmeExampleTests.swift")
      .split(separator: "\n", omittingEmptySubsequences: false)
    let first = try #require(lines.firstIndex(of: "  // \(mark) >"))
    let last = try #require(lines.firstIndex(of: "  // \(mark) <"))
    return lines[(first + 1)..<last].map { $0.dropFirst(2) }.joined(separator: "\n")
  }

  private static func text(at path: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }
}
