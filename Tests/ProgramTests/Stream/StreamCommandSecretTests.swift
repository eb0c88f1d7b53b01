import Foundation
import HoldfastTestKit
import Testing

/// Tests that a command reveals its token only to the server.
@Suite(.timeLimit(.minutes(60))) struct StreamCommandSecretTests {
  @Test(arguments: ["header", "query"])
  func `a token leaves no trace`(way: String) async throws {
    try await CommandShop.run { shop in
      let token = try await shop.token()
      let arguments = ["--token", token, "--auth", way] + files(shop)
      let stream = CommandEvents(try CommandProcess.start(shop.arguments("stream", arguments)))
      var output = [await stream.line(with: "CONNECTED")]
      #expect(traces(of: [token], in: try commandLine(of: stream)) == [])
      stream.process.send("typed")
      output.append(await stream.line(with: #""event":"sent""#))
      await shop.kill()
      output.append(await stream.line(with: "RECONNECTING"))
      output += await stream.end().lines
      for await line in stream.process.diagnostics { output.append(line) }
      #expect(traces(of: [token], in: output + (try contents(below: shop.directory))) == [])
    }
  }

  @Test(arguments: ["header", "query"])
  func `tokens from a command leave no trace, and a refused token is replaced`(
    way: String
  ) async throws {
    try await CommandShop.run { shop in
      try await CommandProcess.scratch { tokens in
        let texts = [try await shop.token(ttl: .seconds(-10)), try await shop.token("bob")]
        for (index, text) in texts.enumerated() {
          try text.write(toFile: "\(tokens)/\(index)", atomically: true, encoding: .utf8)
        }
        let command = "cat \(tokens)/0; cp \(tokens)/1 \(tokens)/0"
        let arguments = ["--token-command", command, "--auth", way] + files(shop)
        let stream = CommandEvents(
          try CommandProcess.start(
            shop.arguments("stream", arguments), environment: ["HOLDFAST_TOKEN": ""]))
        var output = [await stream.line(with: "CONNECTED")]
        #expect(output != [""])
        output += await stream.end().lines
        for await line in stream.process.diagnostics { output.append(line) }
        #expect(traces(of: texts, in: output + (try contents(below: shop.directory))) == [])
      }
    }
  }

  @Test(arguments: ["--token", "--token="])
  func `send hides its token from the process list`(option: String) async throws {
    try await CommandShop.run { shop in
      let token = try await shop.token()
      let given = option.hasSuffix("=") ? [option + token] : [option, token]
      let send = try CommandProcess.start(
        ["send", "--server", "http://127.0.0.1:1", "--shop", "bakery", "hello", "--timeout", "60s"]
          + given)
      // The command prints nothing before its time-out, so the test reads its arguments until the
      // token is hidden.
      let hidden = String(repeating: "x", count: token.utf8.count)
      var line: [String] = []
      while !line.contains(where: { $0.hasSuffix(hidden) }) {
        await Task.yield()
        line = try commandLine(of: send)
      }
      #expect(traces(of: [token], in: line) == [])
      send.signal(SIGKILL)
      _ = await send.exit()
    }
  }

  @Test func `the checker finds a token`() {
    #expect(traces(of: ["abc.def.ghi"], in: ["nothing", "at the end: ghi"]) == ["at the end: ghi"])
  }

  private func files(_ shop: CommandShop) -> [String] {
    [
      "--json", "--send-stdin", "--data", shop.directory, "--journal", shop.directory + ".journal",
    ]
  }

  /// Returns the texts that contain the signature of a token. The signature occurs only in the
  /// token.
  private func traces(of tokens: [String], in texts: [String]) -> [String] {
    let signatures = tokens.compactMap { $0.split(separator: ".").last }
    return texts.filter { text in signatures.contains { text.contains($0) } }
  }

  private func commandLine(of events: CommandEvents) throws -> [String] {
    try commandLine(of: events.process)
  }

  private func commandLine(of process: LabProcess) throws -> [String] {
    let path = "/proc/\(process.identifier)/cmdline"
    let bytes = try Data(contentsOf: URL(filePath: path))
    return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Returns the contents of all files, including the journal next to the directory.
  private func contents(below directory: String) throws -> [String] {
    let files = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String }
    let paths = (files ?? []).map { "\(directory)/\($0)" } + [directory + ".journal"]
    #expect(paths.count > 2)
    return paths.compactMap { FileManager.default.contents(atPath: $0) }
      .map { String(decoding: $0, as: UTF8.self) }
  }
}
