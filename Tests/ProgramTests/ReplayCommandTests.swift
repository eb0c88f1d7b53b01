import Foundation
import HoldfastTestKit
import Testing

@Suite(.timeLimit(.minutes(60))) struct ReplayCommandTests {
  @Test func `a recorded stream replays without divergence`() async throws {
    try await recorded { path, _ in
      let outcome = try await CommandProcess.run("replay", path)
      #expect(outcome.status == 0)
      #expect(outcome.output.count == 1)
      #expect(outcome.output.first?.hasPrefix("\(path): ") == true)
      #expect(outcome.output.first?.hasSuffix(" steps, none diverged") == true)
      let json = try [String: Any].reading(
        try await CommandProcess.run("replay", path, "--json").output.last)
      #expect(json["event"] as? String == "replayed")
      #expect(json["path"] as? String == path)
      #expect(json["diverged"] as? Int == 0)
      #expect((json["steps"] as? Int ?? 0) > 5)
    }
  }

  @Test func `a recorded stream is printed in sentences, with the phases of its attempts`()
    async throws
  {
    try await recorded { path, lines in
      #expect(lines.contains { $0.contains(#""note":{"attempt":1,"opening":{"connect":"#) })
      let outcome = try await CommandProcess.run("replay", "--trace", path)
      #expect(outcome.status == 0)
      #expect(outcome.output.allSatisfy { $0.hasPrefix("+") || $0.hasPrefix(path) })
      let phases = #/\+[\d.]+ s: Connection 1 opened in .+: name .+, connection .+, upgrade .+\./#
      #expect(outcome.output.contains { $0.wholeMatch(of: phases) != nil })
      let json = try await CommandProcess.run("replay", "--trace", "--json", path).output
      #expect(json.count == outcome.output.count)
      let facts = try json.dropLast().map { try [String: Any].reading($0) }
      #expect(
        facts.allSatisfy { $0["event"] as? String == "fact" && $0["path"] as? String == path })
      let kinds = facts.compactMap { ($0["fact"] as? [String: Any])?["kind"] as? String }
      #expect(kinds.count == facts.count && kinds.contains("phases"))
    }
  }

  private func judge(_ arguments: String...) async throws -> CommandProcess.Outcome {
    try await CommandProcess.run(["judge"] + arguments, of: "holdfast-sim")
  }

  @Test func `the simulator's checkers pass a recorded stream`() async throws {
    try await recorded { path, lines in
      let outcome = try await judge(path)
      #expect(outcome.status == 0)
      for kind in ["duplicated", "reordered", "stuck", "storm", "early", "late", "unbounded"] {
        #expect(outcome.output.contains { $0.hasPrefix(kind + " ") && $0.hasSuffix(" nothing") })
      }
      #expect(outcome.output.contains { $0.hasPrefix("lost ") && $0.contains(" not checked") })
      let json = try [String: Any].reading(try await judge(path, "--json").output.last)
      #expect(json["event"] as? String == "judged")
      #expect((json["findings"] as? [Any])?.isEmpty == true)
      #expect((json["checked"] as? [String])?.contains("storm") == true)
      #expect((json["unchecked"] as? [String])?.contains("lost") == true)
      let index = try #require(lines.firstIndex { $0.contains(#""refreshCredentials""#) })
      var changed = lines
      let at = try #require(try [String: Any].reading(lines[index])["at"] as? Int)
      changed[index] = #"{"at":\#(at),"out":[]}"#
      try write(changed, to: path)
      let diverged = try await judge(path)
      #expect(diverged.status == 1)
      #expect(diverged.errors.first?.contains("see them with holdfast replay") == true)
    }
  }

  @Test func `judge refuses a file that is not a journal`() async throws {
    try await CommandProcess.scratch { directory in
      try "hello\n".write(toFile: directory + "/a", atomically: true, encoding: .utf8)
      let outcome = try await judge(directory + "/a")
      #expect(outcome.status == 1)
      #expect(
        outcome.errors.first?.hasPrefix(
          "holdfast-sim judge: \(directory)/a:1: the first line is not a journal header") == true)
    }
  }

  @Test func `a diverged step is shown with its line`() async throws {
    try await recorded { path, lines in
      let index = try #require(lines.firstIndex { $0.contains(#""refreshCredentials""#) })
      var changed = lines
      let at = try #require(try [String: Any].reading(lines[index])["at"] as? Int)
      changed[index] = #"{"at":\#(at),"out":[]}"#
      try write(changed, to: path)
      let outcome = try await CommandProcess.run("replay", path)
      #expect(outcome.status == 1)
      #expect(outcome.output.first?.hasPrefix("\(path):\(index): ") == true)
      #expect(outcome.output.dropFirst().first == "  expected nothing")
      #expect(outcome.output.dropFirst(2).first?.contains("refreshCredentials") == true)
      #expect(outcome.errors.first?.contains("1 of ") == true)
    }
  }

  @Test func `a torn last line is ignored, and a torn line in the middle is an error`() async throws
  {
    try await recorded { path, lines in
      try (lines.joined(separator: "\n") + "\n{\"at\":1").write(
        toFile: path, atomically: true, encoding: .utf8)
      #expect(try await CommandProcess.run("replay", path).status == 0)
      var torn = lines
      torn[3] = String(torn[3].dropLast(5))
      try write(torn, to: path)
      let outcome = try await CommandProcess.run("replay", path)
      #expect(outcome.status == 1)
      #expect(
        outcome
          == .failure(
            1,
            "holdfast replay: \(path):4: the line cannot be read: it is not JSON. "
              + "The file was changed or damaged: keep only the lines before this one."))
    }
  }

  @Test func `a file that is not a journal is refused`() async throws {
    try await CommandProcess.scratch { directory in
      try "hello\n".write(toFile: directory + "/a", atomically: true, encoding: .utf8)
      let outcome = try await CommandProcess.run("replay", directory + "/a")
      #expect(outcome.status == 1)
      #expect(
        outcome.errors.first?.hasPrefix(
          "holdfast replay: \(directory)/a:1: the first line is not a journal header") == true)
      let missing = try await CommandProcess.run("replay", directory + "/b")
      #expect(missing.status == 1)
      #expect(missing.errors.first?.contains("cannot open it") == true)
    }
  }

  /// Runs `body` with the path and the lines of a journal of a short stream.
  private func recorded(_ body: (String, [String]) async throws -> Void) async throws {
    try await CommandShop.run { shop in
      let path = shop.directory + ".journal"
      let stream = try await shop.stream("--journal", path)
      await stream.live()
      try await shop.post("recorded")
      #expect(await stream.line(with: "message", "recorded") != "")
      #expect(await stream.end().status == 0)
      let text = try String(contentsOfFile: path, encoding: .utf8)
      try await body(path, text.split(separator: "\n").map(String.init))
    }
  }

  private func write(_ lines: [String], to path: String) throws {
    try (lines.joined(separator: "\n") + "\n").write(
      toFile: path, atomically: true, encoding: .utf8)
  }
}
