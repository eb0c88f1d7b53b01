import HoldfastCore
import HoldfastTestKit
import Testing

@testable import HoldfastDriver

/// Tests of notes in a journal, which explain a run and which no machine receives.
@Suite(.timeLimit(.minutes(60)))
struct JournalNoteTests {
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  private static let opening = ConnectionNote.opening(
    .init(
      resolve: .microseconds(1_500), connect: .milliseconds(20), tls: .milliseconds(41),
      upgrade: .milliseconds(7)))

  private static let step = JournalStep<Bell>(
    at: Instant(nanoseconds: 4), cause: .input(.say(1)), effects: [.said(1)])

  private func write(_ entries: [JournalEntry<Bell>], to name: String = "j") async throws {
    let header = JournalHeader<Bell>(
      birth: Bell.Birth(name: "s"), seed: 7, startedAt: Timestamp(nanoseconds: 5))
    let journal = try await Journal(path: scratch(name), header: header) { _ in }
    for entry in entries {
      switch entry {
      case .step(let step): journal.record(step)
      case .note(let note): journal.record(note)
      }
    }
    await journal.close()
  }

  private static func note(
    _ note: ConnectionNote, at: Int64 = 3, _ attempt: UInt64 = 2
  ) -> JournalNote {
    JournalNote(at: Instant(nanoseconds: at), attempt: AttemptID(attempt), note)
  }

  @Test(arguments: [
    (
      Self.opening,
      #""opening":{"connect":20000000,"resolve":1500000,"tls":41000000,"upgrade":7000000}"#
    ),
    (
      .opening(.init(resolve: .zero, connect: .seconds(5), failed: .connect)),
      #""opening":{"connect":5000000000,"failed":"connect","resolve":0}"#
    ),
    (.opening(.init(failed: .resolve)), #""opening":{"failed":"resolve"}"#),
    (
      .traffic(received: .max, sent: 0),
      #""traffic":{"received":18446744073709551615,"sent":0}"#
    ),
  ])
  func `the bytes of a note`(note: ConnectionNote, fields: String) async throws {
    try await write([.note(Self.note(note)), .step(Self.step)])
    let lines = try scratch.text(of: "j").split(separator: "\n").map(String.init)
    #expect(
      Array(lines.dropFirst()) == [
        #"{"at":3,"note":{"attempt":2,\#(fields)}}"#, #"{"at":4,"in":{"say":{"_0":1}}}"#,
        #"{"at":4,"out":[{"said":{"_0":1}}]}"#,
      ])
    var reader = try JournalReader<Bell>(path: scratch("j"))
    var seen: [JournalNote] = []
    let step = try reader.next { note, line in
      seen.append(note)
      #expect(line == 2)
    }
    #expect(step == Self.step)
    #expect(reader.line == 3)
    #expect(seen == [Self.note(note)])
  }

  @Test func `a journal with notes replays exactly as without`() async throws {
    let steps = (1...5).map {
      JournalStep<Bell>(at: .second(Double($0)), cause: .input(.say($0)), effects: [.said($0)])
    }
    try await write(steps.map { .step($0) }, to: "without")
    let note = JournalEntry<Bell>.note(Self.note(Self.opening))
    try await write([note] + steps.flatMap { [.step($0), note, note] }, to: "with")
    var (notes, found): (Int, [JournalStep<Bell>]) = (0, [])
    let with = try Replay<Bell>.run(
      journal: scratch("with"), watch: { step, _, _ in found.append(step) },
      notes: { _, _ in notes += 1 })
    let without = try Replay<Bell>.run(journal: scratch("without"))
    #expect((with.steps, with.diverged) == (without.steps, without.diverged))
    #expect(with.machine.ring == without.machine.ring)
    #expect(found == steps)
    #expect(notes == 11)
  }

  @Test func `a note may stand anywhere, even between a cause and its effects`() async throws {
    try await write([.step(Self.step), .step(Self.step)])
    let lines = try scratch.text(of: "j").split(separator: "\n").map(String.init)
    let note = #"{"at":1,"note":{"attempt":1,"traffic":{"received":1,"sent":2}}}"#
    for place in 1...lines.count {
      var changed = lines
      changed.insert(note, at: place)
      try scratch.write((changed.joined(separator: "\n") + "\n").utf8, to: "k")
      var count = 0
      let result = try Replay<Bell>.run(journal: scratch("k"), notes: { _, _ in count += 1 })
      #expect((result.steps, result.diverged, count) == (2, 0, 1))
    }
  }

  @Test(arguments: [
    "{}", "7", #""x""#, "[1]", #"{"attempt":1}"#, #"{"attempt":1,"weather":{"rain":1}}"#,
    #"{"attempt":-1,"traffic":{"received":1,"sent":1}}"#,
    #"{"attempt":1,"traffic":{"received":-1,"sent":1}}"#,
    #"{"attempt":1,"opening":{"resolve":"x"}}"#, #"{"attempt":1,"opening":{"failed":"pong"}}"#,
  ])
  func `a note of another kind is not a damaged line`(content: String) async throws {
    try await write([.step(Self.step)])
    let text = try scratch.text(of: "j") + #"{"at":9,"note":\#(content)}"# + "\n"
    try scratch.write(text.utf8, to: "j")
    var count = 0
    let result = try Replay<Bell>.run(journal: scratch("j"), notes: { _, _ in count += 1 })
    #expect((result.steps, result.diverged, count) == (1, 0, 0))
  }

  @Test(
    arguments: [
      (-1, false), (0, true), (31_536_000_000_000_000, true),
      (31_536_000_000_000_001, false),
    ] as [(Int64, Bool)])
  func `a phase lasts no less than zero and no more than a year`(
    nanoseconds: Int64, isKept: Bool
  ) async throws {
    try await write([.step(Self.step)])
    let note = #"{"at":9,"note":{"attempt":1,"opening":{"tls":\#(nanoseconds)}}}"#
    try scratch.write((try scratch.text(of: "j") + note + "\n").utf8, to: "j")
    var found: [ConnectionNote] = []
    _ = try Replay<Bell>.run(journal: scratch("j"), notes: { note, _ in found.append(note.note) })
    #expect(found == [.opening(.init(tls: isKept ? .nanoseconds(nanoseconds) : nil))])
  }

  @Test func `random bytes in notes never change a replay`() async throws {
    try await write([.note(Self.note(Self.opening)), .step(Self.step), .step(Self.step)])
    let text = try scratch.bytes(of: "j")
    let lines = text.split(separator: UInt8(ascii: "\n"))
    var generator = RandomSource(seed: 5)
    for _ in 0..<500 {
      var note = Array(lines[1])
      for _ in 0...Int(generator.next() % 4) {
        note[8 + Int(generator.next() % UInt64(note.count - 9))] =
          UInt8(truncatingIfNeeded: 0x20 + generator.next() % 0x5f)
      }
      let all = [Array(lines[0]), note] + lines.dropFirst(2).map(Array.init)
      try scratch.write(all.joined(separator: [UInt8(ascii: "\n")]) + [0x0a], to: "k")
      do throws(JournalError) {
        let result = try Replay<Bell>.run(journal: scratch("k"))
        #expect((result.steps, result.diverged) == (2, 0))
      } catch {
        // The bytes are no longer the JSON of a note.
        #expect(error.line == 2)
      }
    }
  }

  @Test func `notes are dropped where steps would turn the journal off`() {
    var waiting = WaitingSteps<Bell>()
    let note = JournalEntry<Bell>.note(Self.note(Self.opening))
    for _ in 1..<WaitingSteps<Bell>.bound { _ = waiting.add(.step(Self.step)) }
    #expect(waiting.add(note) == .nothing)
    #expect(waiting.add(note) == .nothing)
    #expect(waiting.isOn)
    #expect(waiting.takeAll().count == WaitingSteps<Bell>.bound)
  }

  @Test func `a journal of version 1 is read`() throws {
    let text = """
      {"journal":1,"machine":"bell","name":"s","part":1,"seed":7,"startedAt":5}
      {"at":0,"in":{"say":{"_0":1}}}
      {"at":0,"out":[{"said":{"_0":1}}]}

      """
    try scratch.write(text.utf8, to: "j")
    let result = try Replay<Bell>.run(journal: scratch("j"))
    #expect((result.steps, result.diverged) == (1, 0))
  }

  @Test func `a driver without a journal takes no notes`() async throws {
    let silent = Driver(machine: Bell(Bell.Birth(), seed: 1), clock: TestClock()) { _, _ in }
    #expect(silent.notes(of: AttemptID(1)) == nil)
    let header = JournalHeader<Bell>(
      birth: Bell.Birth(), seed: 7, startedAt: Timestamp(nanoseconds: 5))
    let journal = try await Journal(path: scratch("j"), header: header) { _ in }
    let driver = Driver(
      machine: Bell(Bell.Birth(), seed: 1), clock: TestClock(), journal: journal
    ) { _, _ in }
    driver.notes(of: AttemptID(3))?(.traffic(received: 1, sent: 2))
    await journal.close()
    #expect(try scratch.text(of: "j").contains(#""attempt":3,"traffic":{"received":1,"sent":2}"#))
    #expect(driver.notes(of: AttemptID(3)) == nil)
  }
}
