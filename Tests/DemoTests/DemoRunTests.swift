import Foundation
import HoldfastCommandKit
import HoldfastTestKit
import Testing

@testable import HoldfastDemo

/// Tests of the demo, which runs a backend, a network, a phone and an assistant on real sockets.
@Suite(.timeLimit(.minutes(60))) struct DemoRunTests {
  @Test func `ends with a clean ledger and leaves nothing behind`() async throws {
    try await CommandProcess.scratch { directory in
      let outcome = try await CommandProcess.run(
        "demo", "--json", "--seed", "7", "--work", "600s", environment: ["TMPDIR": directory])
      let narration = outcome.output.joined(separator: "\n")
      #expect(outcome.status == 0, "\(narration)")
      #expect(outcome.errors == [])
      let events = try outcome.output.map { try [String: Any].reading($0) }
      let titles = events.compactMap { $0["title"] as? String }
      #expect(
        titles == [
          "Steady traffic", "The link is cut", "The token expires",
          "Half-open: nothing arrives, nothing closes", "The server restarts",
          "Refused, polling, and back up", "The phone is killed", "An assistant asks the phone",
          "Prompts in a session, each answered once", "Any WebSocket, held",
          "Health samples reach the server once", "A bottle wakes, and each drink is stored once",
          "Calm",
        ])
      let ledger = try #require(events.last)
      #expect(ledger["event"] as? String == "ledger")
      #expect(ledger["clean"] as? Bool == true, "\(narration)")
      let sent = try #require(ledger["sent"] as? Int)
      #expect(sent > 200 && ledger["shown"] as? Int == sent)
      for fault in ["lost", "duplicated", "outOfOrder", "altered", "unknown"] {
        #expect(ledger[fault] as? Int == 0, "\(fault)")
      }
      let questions = try #require(ledger["questions"] as? [String: Int])
      #expect(questions == ["asked": 3, "answeredOnce": 3, "unanswered": 0, "wrong": 0])
      try Self.checkChapters(ledger, narration)
      let troubles = try #require(ledger["troubles"] as? [[String: Any]])
      #expect(troubles.compactMap { $0["trouble"] as? String } == Trouble.all.map(\.name))
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
    }
  }

  /// Checks the counts of all chapters except those of messages and questions.
  private static func checkChapters(_ ledger: [String: Any], _ narration: String) throws {
    let feed = try #require(ledger["feed"] as? [String: Int])
    #expect(feed["lines"] ?? 0 > 60 && feed["shown"] == feed["lines"], "\(narration)")
    #expect(feed["sent"] == 3 && feed["arrivedOnce"] == 3, "\(narration)")
    #expect(feed["repeated"] == 0 && feed["outOfOrder"] == 0, "\(narration)")
    let session = try #require(ledger["session"] as? [String: Int])
    #expect(session["asked"] == 24 && session["repeated"] == 0, "\(narration)")
    #expect(session["unanswered"] == 0, "\(narration)")
    let sync = try #require(ledger["sync"] as? [String: Int])
    #expect(sync["samples"] ?? 0 > 1_000, "\(narration)")
    #expect(sync["lost"] == 0 && sync["surplus"] == 0, "\(narration)")
    let drinks = try #require(ledger["drinks"] as? [String: Int])
    let whole = ["poured": 53, "storedOnce": 53, "lost": 0, "hidden": 0, "repeated": 0]
    #expect(drinks == whole, "\(narration)")
  }

  @Test func `plays a single chapter`() async throws {
    try await CommandProcess.scratch { directory in
      let outcome = try await CommandProcess.run(
        "demo", "--json", "--chapter", "feed", "--work", "600s", environment: ["TMPDIR": directory])
      #expect(outcome.status == 0, "\(outcome.output.joined(separator: "\n"))")
      let events = try outcome.output.map { try [String: Any].reading($0) }
      #expect(events.compactMap { $0["title"] as? String } == ["Any WebSocket, held"])
      let ledger = try #require(events.last)
      #expect(ledger["clean"] as? Bool == true && ledger["sent"] == nil)
    }
  }

  @Test func `a bottle and its phone are killed, and each drink is stored and shown once`()
    async throws
  {
    try await CommandProcess.scratch { directory in
      let outcome = try await CommandProcess.run(
        "demo", "--json", "--chapter", "bottle", "--work", "600s",
        environment: ["TMPDIR": directory]
      )
      let narration = outcome.output.joined(separator: "\n")
      #expect(outcome.status == 0, "\(narration)")
      let ledger: [String: Any] = try .reading(outcome.output.last)
      let troubles = try #require(ledger["troubles"] as? [[String: Any]])
      #expect(
        troubles.compactMap { $0["trouble"] as? String } == ["bottleAsleep", "bottleKilled"])
      #expect(troubles.compactMap { $0["held"] as? Bool } == [true, true], "\(narration)")
      #expect(narration.contains("drinks stored and none acknowledged"))
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
      #expect(Self.processes(naming: directory) == [])
    }
  }

  @Test func `a chapter that needs messages is played with the first and the last chapter`() {
    func names(_ chosen: Set<String>) -> [String] { Demo.scenarios(named: chosen).map(\.name) }
    #expect(names(["cut"]) == ["steady", "cut", "calm"])
    #expect(names(["feed", "assistant"]) == ["assistant", "feed"])
    #expect(names(["feed", "kill"]) == ["steady", "kill", "feed", "calm"])
    #expect(names([]) == Demo.names)
    #expect(Set(Demo.names).count == Demo.names.count)
  }

  @Test func `an unknown chapter is refused, and the error lists the valid ones`() async throws {
    let outcome = try await CommandProcess.run("demo", "--chapter", "encore")
    #expect(outcome.status == 2)
    #expect(outcome.errors.first?.contains("one of steady, cut, expiry") == true)
  }

  @Test(arguments: ["phone      connected", "assistant  asks the same again"])
  func `ends cleanly and at once when interrupted`(after moment: String) async throws {
    try await CommandProcess.scratch { directory in
      let demo = try CommandProcess.start(
        ["demo", "--work", "600s"], environment: ["TMPDIR": directory])
      for await line in demo.lines where line.contains(moment) {
        demo.signal(SIGINT)
      }
      var errors: [String] = []
      for await line in demo.diagnostics { errors.append(line) }
      #expect(await demo.exit() == 1)
      #expect(errors == ["holdfast demo: interrupted before its end"])
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
      #expect(Self.processes(naming: directory) == [])
    }
  }

  @Test func `its help names every chapter`() async throws {
    let outcome = try await CommandProcess.run("demo", "--help")
    let parts = outcome.output.joined(separator: " ").split(separator: " ")
    let text = parts.joined(separator: " ")
    for title in Demo.titles + ClusterDemo.titles { #expect(text.contains(title), "\(title)") }
  }

  @Test func `reports why the phone could not connect`() async throws {
    let narrator = Narrator(.people(Style(isColourful: false)))
    let demo = Demo(program: "false", seed: 1, narrator: narrator) { _ in }
    await #expect(throws: DemoFailure.setup("the phone did not connect (status 1)")) {
      try await demo.run()
    }
  }

  /// Returns the command lines of running processes that contain `text`.
  static func processes(naming text: String) -> [String] {
    let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return numbers.filter { $0.allSatisfy(\.isNumber) }.compactMap {
      guard let line = FileManager.default.contents(atPath: "/proc/\($0)/cmdline") else {
        return nil
      }
      let command = String(decoding: line, as: UTF8.self)
      return command.contains(text) ? command : nil
    }
  }
}
