import Foundation
import HoldfastTestKit
import Testing

/// Tests of `holdfast replay --html` without a browser.
@Suite(.timeLimit(.minutes(60))) struct PictureCommandTests {
  @Test func `a page is readable only by its owner, and numbers the runs of a link`() async throws {
    try await CommandProcess.scratch { directory in
      let journal = directory + "/stream.journal"
      try await RecordedLinks.streams(journal)
      let page = directory + "/run.html"
      try "old".write(toFile: page, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: page)
      // The runs are in order of time, whatever the order of the arguments.
      let outcome = try await CommandProcess.run(
        "replay", "--json", "--html", page, journal, journal + ".old1")
      #expect(outcome.status == 0, "\(outcome)")
      let drawn = try [String: Any].reading(outcome.output.last)
      #expect(drawn["event"] as? String == "drawn")
      #expect(drawn["links"] as? [String] == ["shop bakery, run 1", "shop bakery, run 2"])
      #expect(try mode(page) == 0o600)
      let text = try String(contentsOfFile: page, encoding: .utf8)
      let headers = text.split(separator: "\n").filter { $0.hasPrefix(#"{"trace":1,"#) }
      #expect(headers.count == 2)
      #expect(headers.first?.contains(#""name":"shop bakery, run 1","#) == true)
      #expect(headers.last?.contains(#""run":2,"#) == true)
      #expect(text.contains(#"\u003cb>one\u003c/b>\u003c/script>"#))
      #expect(!text.contains("<b>one"))
      #expect(try names(in: directory) == ["run.html", "stream.journal", "stream.journal.old1"])
    }
  }

  @Test(arguments: ["", "hello\n", "\u{0}\u{1}\n", #"{"journal":1,"machine":"kettle"}"# + "\n"])
  func `a file that is not a journal is named, and no page is written`(text: String) async throws {
    try await CommandProcess.scratch { directory in
      let (journal, page) = (directory + "/a.journal", directory + "/a.html")
      try text.write(toFile: journal, atomically: true, encoding: .utf8)
      let outcome = try await CommandProcess.run("replay", "--html", page, journal)
      #expect(outcome.status == 1)
      #expect(outcome.errors.first?.hasPrefix("holdfast replay: \(journal):1: ") == true)
      #expect(try names(in: directory) == ["a.journal"])
    }
  }

  @Test func `a damaged line is named and leaves the page as it was; a torn end is left out`()
    async throws
  {
    try await CommandProcess.scratch { directory in
      let (journal, page) = (directory + "/a.journal", directory + "/a.html")
      try await RecordedLinks.socket(journal)
      let bytes = try Data(contentsOf: URL(filePath: journal))
      try bytes.dropLast(20).write(to: URL(filePath: journal))
      #expect(try await CommandProcess.run("replay", "--html", page, journal).status == 0)
      let drawn = try String(contentsOfFile: page, encoding: .utf8)
      var lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
      lines[6] = #"{"at":"#
      try lines.joined(separator: "\n").write(toFile: journal, atomically: true, encoding: .utf8)
      let outcome = try await CommandProcess.run("replay", "--html", page, journal)
      #expect(outcome.status == 1)
      #expect(outcome.errors.first?.contains("\(journal):7: the line cannot be read") == true)
      #expect(try String(contentsOfFile: page, encoding: .utf8) == drawn)
      #expect(try names(in: directory) == ["a.html", "a.journal"])
    }
  }

  @Test func `a journal without steps is left out, and one alone is an error`() async throws {
    try await CommandProcess.scratch { directory in
      let (journal, page) = (directory + "/a.journal", directory + "/a.html")
      let empty = directory + "/b.journal"
      try await RecordedLinks.socket(journal)
      let text = try String(contentsOfFile: journal, encoding: .utf8)
      try (text.prefix { $0 != "\n" } + "\n").write(
        toFile: empty, atomically: true, encoding: .utf8)
      let alone = try await CommandProcess.run("replay", "--html", page, empty)
      #expect(alone.status == 1)
      #expect(alone.errors.last?.contains("there is nothing to show") == true)
      #expect(try !names(in: directory).contains("a.html"))
      let both = try await CommandProcess.run("replay", "--html", page, empty, journal)
      #expect(both.status == 0)
      #expect(both.errors.first?.contains("\(empty) contains no steps") == true)
    }
  }

  @Test func `a journal under two spellings of its path is drawn once`() async throws {
    try await CommandProcess.scratch { directory in
      let (journal, page) = (directory + "/a.journal", directory + "/a.html")
      try await RecordedLinks.socket(journal)
      let link = directory + "/b.journal"
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: journal)
      let outcome = try await CommandProcess.run(
        "replay", "--json", "--html", page, journal, "\(directory)/./a.journal", journal, link)
      #expect(outcome.status == 0, "\(outcome)")
      let drawn = try [String: Any].reading(outcome.output.last)
      #expect((drawn["links"] as? [String])?.count == 1, "\(drawn)")
    }
  }

  @Test func `the page does not replace a journal, a folder or a device`() async throws {
    try await CommandProcess.scratch { directory in
      let journal = directory + "/a.journal"
      try await RecordedLinks.socket(journal)
      for (file, reason) in [
        (journal, "--html would replace \(journal)"), ("/dev/null", "is not a regular file"),
        ("\(directory)//a.journal", "--html would replace"),
        (journal + ".1", "--html would replace \(journal).1"), ("-", "cannot be standard output"),
        (directory, "cannot be written"), (directory + "/none/a.html", "cannot be written"),
      ] {
        let outcome = try await CommandProcess.run("replay", "--html", file, journal)
        #expect(outcome.status != 0)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.first?.contains(reason) == true, "\(outcome)")
      }
      #expect(try await CommandProcess.run("replay", journal).status == 0)
    }
  }

  @Test func `a journal that has no picture is refused with those that have one`() async throws {
    try await CommandProcess.scratch { directory in
      let journal = directory + "/pull.journal"
      try (#"{"journal":1,"machine":"health-pull","part":1,"seed":1}"# + "\n").write(
        toFile: journal, atomically: true, encoding: .utf8)
      let outcome = try await CommandProcess.run(
        "replay", "--html", directory + "/a.html", journal)
      #expect(outcome.status == 2)
      let said = outcome.errors.joined(separator: " ")
      #expect(said.contains("is a journal of health-pull, which has no picture"))
      #expect(said.contains("--html shows message-stream, health-relay, held-socket"))
    }
  }

  private func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  private func names(in directory: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
  }
}
