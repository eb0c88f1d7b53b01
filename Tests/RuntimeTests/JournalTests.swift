import Foundation
import HoldfastCore
import HoldfastTestKit
import Testing

@testable import HoldfastDriver

@Suite(.timeLimit(.minutes(60)))
struct JournalTests {
  let scratch: Scratch
  let notices = Mailbox<JournalError>()

  init() throws {
    scratch = try Scratch()
  }

  @Test
  func `writes a header and two lines a step`() async throws {
    let journal = try await open()
    for step in samples.prefix(3) { journal.record(step) }
    await journal.close()
    let lines = try scratch.text(of: "j").split(separator: "\n", omittingEmptySubsequences: false)
    #expect(
      lines[0] == #"{"journal":2,"machine":"bell","name":"s","part":1,"seed":7,"startedAt":5}"#)
    #expect(
      lines.dropFirst() == [
        #"{"at":0,"in":{"say":{"_0":0}}}"#, #"{"at":0,"out":[{"said":{"_0":0}}]}"#,
        #"{"at":1,"in":{"say":{"_0":1}}}"#, #"{"at":1,"out":[{"said":{"_0":1}}]}"#,
        #"{"at":2,"tick":true}"#, #"{"at":2,"out":[]}"#, "",
      ])
  }

  @Test
  func `reads back what was written`() async throws {
    let journal = try await open()
    for step in samples { journal.record(step) }
    await journal.flush()
    #expect(try read("j").steps == samples)
    #expect(try read("j").header == header)
    #expect(notices.count == 0)
  }

  @Test
  func `creates a file that only its owner can access`() async throws {
    try await open().close()
    #expect(try scratch.mode(of: "j") == 0o600)
  }

  @Test
  func `restricts an existing empty file to its owner`() async throws {
    try scratch.write([], to: "j")
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: scratch("j"))
    try await open().close()
    #expect(try scratch.mode(of: "j") == 0o600)
    #expect(try read("j").steps.isEmpty)
  }

  @Test
  func `keeps every earlier run, with both of its files`() async throws {
    let limit = try await headerSize() + 150
    for _ in 1...3 {
      let journal = try await open(limit: limit)
      for step in samples.prefix(3) { journal.record(step) }
      await journal.close()
    }
    for name in ["j", "j.old1", "j.old2"] {
      #expect(try read(name + ".1").steps + read(name).steps == Array(samples.prefix(3)))
      let replayed = try Replay<Bell>.run(journal: scratch(name))
      #expect(replayed.steps == 3)
    }
  }

  @Test(arguments: [(998, true), (999, false)])
  func `keeps up to 999 earlier runs`(earlier: Int, isTaken: Bool) async throws {
    try await open().close()
    for number in 1...earlier { try scratch.write([], to: "j.old\(number)") }
    #expect(((try? await open()) != nil) == isTaken)
  }

  @Test(arguments: [
    ("j", "precious\n"), ("j", "{}\n"), ("j", "no line end"), ("j.1", "precious\n"),
  ])
  func `refuses a file with other content and leaves it unchanged`(
    name: String, text: String
  ) async throws {
    if name != "j" { try await open().close() }
    try scratch.write(text.utf8, to: name)
    await #expect(throws: JournalError(path: scratch(name), .taken)) { try await open() }
    #expect(try scratch.text(of: name) == text)
    #expect(!FileManager.default.fileExists(atPath: scratch("j.old1")))
  }

  @Test
  func `refuses symbolic links, directories and paths in missing directories`() async throws {
    try scratch.write([1], to: "target")
    try FileManager.default.createSymbolicLink(
      atPath: scratch("j"), withDestinationPath: scratch("target"))
    await #expect(throws: JournalError.self) { try await open() }
    #expect(try scratch.bytes(of: "target") == [1])
    await #expect(throws: JournalError.self) {
      try await Journal<Bell>(path: scratch.path, header: header) { _ in }
    }
    await #expect(throws: JournalError.self) {
      try await Journal<Bell>(path: scratch("no/where"), header: header) { _ in }
    }
  }

  @Test
  func `continues in a new part when a file is full`() async throws {
    let limit = try await headerSize() + 150
    let journal = try await open(limit: limit)
    for step in samples.prefix(3) { journal.record(step) }
    await journal.flush()
    #expect(try read("j.1").steps + read("j").steps == Array(samples.prefix(3)))
    #expect(try read("j.1").header.part == 1)
    #expect(try read("j").header.part == 2)
    #expect(try scratch.mode(of: "j") == 0o600)
    for name in ["j", "j.1"] {
      #expect(try scratch.bytes(of: name).count <= limit)
    }
  }

  @Test
  func `a write failure turns the journal off with one notice and does not stop the driver`()
    async throws
  {
    let journal = try await open(limit: 1)
    try FileManager.default.removeItem(atPath: scratch.path)
    let work = Work(Bell(), clock: TestClock(), journal: journal)
    try await work.run {
      for number in 0..<50 {
        await work.driver.post(.say(number))
        #expect(await work.effects.next() == .said(number))
      }
      await journal.flush()
    }
    #expect(await notices.next() != nil)
    #expect(notices.count == 0)
    #expect(!journal.isOn)
  }

  @Test
  func `the journal turns off when steps waiting for a slow disk reach the limit`() {
    var waiting = WaitingSteps<Bell>()
    #expect(waiting.add(.step(samples[0])) == .write)
    for _ in 1..<WaitingSteps<Bell>.bound { #expect(waiting.add(.step(samples[0])) == .nothing) }
    var emptied = waiting
    #expect(emptied.takeAll().count == WaitingSteps<Bell>.bound)
    #expect(emptied.add(.step(samples[0])) == .nothing)
    #expect(emptied.takeAll().count == 1)
    #expect(emptied.takeAll().isEmpty)
    #expect(emptied.add(.step(samples[0])) == .write)
    #expect(waiting.add(.step(samples[0])) == .giveUp)
    #expect(!waiting.isOn)
    #expect(waiting.add(.step(samples[0])) == .nothing)
    #expect(waiting.takeAll().isEmpty)
  }

  @Test(arguments: [(99, true), (100, true), (101, false)])
  func `reads lines up to the limit`(length: Int, fits: Bool) throws {
    let line = [UInt8](repeating: UInt8(ascii: "x"), count: length)
    try scratch.write(Array("first\n".utf8) + line + Array("\nlast".utf8), to: "lines")
    var lines = try LineReader(path: scratch("lines"), longest: 100)
    #expect(try lines.next()?.bytes == Array("first".utf8))
    guard fits else {
      do throws(JournalError) {
        _ = try lines.next()
        Issue.record("a line over the limit was read")
      } catch {
        #expect(error == JournalError(path: scratch("lines"), line: 2, .tooLong))
      }
      return
    }
    #expect(try lines.next()?.bytes == line)
    let last = try #require(try lines.next())
    #expect((last.bytes, last.number, last.isWhole) == (Array("last".utf8), 3, false))
    #expect(try lines.next() == nil)
  }

  @Test
  func `records nothing after it was closed`() async throws {
    let journal = try await open()
    journal.record(samples[0])
    await journal.close()
    journal.record(samples[1])
    await journal.flush()
    #expect(try read("j").steps == [samples[0]])
    #expect(notices.count == 0)
  }

  @Test
  func `a file cut off anywhere in its last step yields the steps before it`() async throws {
    let journal = try await open()
    for step in samples { journal.record(step) }
    await journal.close()
    let bytes = try scratch.bytes(of: "j")
    let ends = bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }
    let lastStep = ends[ends.count - 3] + 1
    for end in lastStep..<bytes.count {
      try scratch.write(bytes[..<end], to: "torn")
      #expect(try read("torn").steps == Array(samples.dropLast()))
    }
  }

  @Test(arguments: [
    (1, "x", JournalError.Problem.Kind.header), (2, "x", .line), (3, "{}", .form),
    (3, #"{"at":1,"tick":true}"#, .order), (4, #"{"at":1,"out":[]}"#, .order),
    (5, #"{"at":9,"out":[]}"#, .order), (4, #"{"at":1}"#, .order), (2, "", .line),
    (1, #"{"journal":3}"#, .version), (1, #"{"journal":0}"#, .version),
  ])
  fileprivate func `the error names the damaged line`(
    line: Int, text: String, kind: JournalError.Problem.Kind
  ) async throws {
    let journal = try await open()
    for step in samples { journal.record(step) }
    await journal.close()
    var lines = try scratch.text(of: "j").components(separatedBy: "\n")
    lines[line - 1] = text
    try scratch.write(lines.joined(separator: "\n").utf8, to: "j")
    let error = try #require(throws: JournalError.self) { try read("j") }
    #expect(error.line == line)
    #expect(error.problem.kind == kind)
    #expect(error.description.hasPrefix("\(scratch("j")):\(line): "))
  }

  @Test(arguments: [
    ("nonsense", "it is not JSON"), ("{}", "at is missing"), ("[]", "the line is of another type"),
    (#"{"at":"x"}"#, "at is of another type"), (#"{"at":null}"#, "at is null"),
    (#"{"at":0,"in":{"say":{"_0":true}}}"#, "in.say._0 is of another type"),
    (#"{"at":0,"in":{"shout":{}}}"#, "in is of another type"),
    (#"{"at":0,"out":[{"said":{}}]}"#, "out[0].said._0 is missing"),
  ])
  func `describes the fault of a line in plain words`(text: String, expected: String) async throws {
    let journal = try await open()
    await journal.close()
    let whole = try scratch.text(of: "j") + text + "\n"
    try scratch.write(whole.utf8, to: "j")
    let error = try #require(throws: JournalError.self) { try read("j") }
    let isJSON = expected != "it is not JSON"
    #expect(
      error
        == JournalError(
          path: scratch("j"), line: 2, isJSON ? .form(expected, version: 2) : .line(expected)))
  }

  @Test(arguments: [1, 2])
  func `a journal of another version of the software is named as such`(format: Int) throws {
    let header = #"{"journal":\#(format),"machine":"bell","name":"s","part":1,"seed":7"#
    try scratch.write((header + "}\n").utf8, to: "j")
    let error = try #require(throws: JournalError.self) { try read("j") }
    #expect(
      error.description == "\(scratch("j")):1: this version of the software cannot read the line, "
        + "which is in format \(format): startedAt is missing. Replay it with the version of the "
        + "software that wrote it, unless the file was changed.")
    let lines = [header + #","startedAt":5}"#, #"{"at":0,"in":{"shout":{}}}"#]
    try scratch.write((lines.joined(separator: "\n") + "\n").utf8, to: "j")
    let later = try #require(throws: JournalError.self) { try read("j") }
    #expect(later.line == 2)
    #expect(later.problem == .form("in is of another type", version: format))
  }

  @Test
  func `random damage causes a typed error or a different reading, never a crash`() async throws {
    let journal = try await open()
    for step in samples { journal.record(step) }
    await journal.close()
    let bytes = try scratch.bytes(of: "j")
    var generator = RandomSource(seed: 11)
    for _ in 0..<2_000 {
      var damaged = bytes
      for _ in 0...Int(generator.next() % 3) {
        damaged[Int(generator.next() % UInt64(bytes.count))] = UInt8(
          truncatingIfNeeded: generator.next())
      }
      try scratch.write(damaged, to: "damaged")
      do throws(JournalError) {
        _ = try Replay<Bell>.run(journal: scratch("damaged"))
      } catch {
        #expect(!error.description.isEmpty)
      }
    }
  }

  private var header: JournalHeader<Bell> {
    JournalHeader(birth: Bell.Birth(name: "s"), seed: 7, startedAt: Timestamp(nanoseconds: 5))
  }

  private var samples: [JournalStep<Bell>] {
    [
      JournalStep(at: .zero, cause: .input(.say(0)), effects: [.said(0)]),
      JournalStep(at: Instant(nanoseconds: 1), cause: .input(.say(1)), effects: [.said(1)]),
      JournalStep(at: Instant(nanoseconds: 2), cause: .tick, effects: []),
      JournalStep(at: .second(3), cause: .input(.ring(at: .second(4))), effects: []),
      JournalStep(at: .second(4), cause: .tick, effects: [.rang(.second(4)), .said(-1)]),
    ]
  }

  private func open(limit: Int = 1 << 20) async throws -> Journal<Bell> {
    try await Journal(path: scratch("j"), header: header, limit: limit) { [notices] error in
      notices.put(error)
    }
  }

  private func headerSize() async throws -> Int {
    let journal = try await Journal<Bell>(path: scratch("empty"), header: header) { _ in }
    await journal.close()
    return try scratch.bytes(of: "empty").count
  }

  private func read(
    _ name: String
  ) throws -> (header: JournalHeader<Bell>, steps: [JournalStep<Bell>]) {
    var reader = try JournalReader<Bell>(path: scratch(name))
    var steps: [JournalStep<Bell>] = []
    while let step = try reader.next() { steps.append(step) }
    return (reader.header, steps)
  }
}

extension JournalError.Problem {
  fileprivate enum Kind: Sendable {
    case file, taken, header, version, tooLong, line, form, order, beginning, machine
  }

  fileprivate var kind: Kind {
    switch self {
    case .file: .file
    case .taken: .taken
    case .header: .header
    case .version: .version
    case .tooLong: .tooLong
    case .line: .line
    case .form: .form
    case .order: .order
    case .beginning: .beginning
    case .machine: .machine
    }
  }
}
