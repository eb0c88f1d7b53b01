import Foundation
import Glibc
import HoldfastTestKit
import Testing

/// Tests of `holdfast bottle` with invalid paths, files and scripts, and with a bottle that lost
/// its memory.
@Suite(.timeLimit(.minutes(60)))
struct BottleTroubleTests {
  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func `handles a signal that arrives before a watch has printed anything`(signal: Int32)
    async throws
  {
    let scratch = try Scratch()
    let policy = "\(scratch.path)/policy"
    try await Shell.run(["mkfifo", "-m", "600", policy])
    let phone = try BottlePhone(scratch, ["watch", "--policy", policy])
    // The pipe can be opened for writing once the program reads it, before it opens any other file.
    let writer = try #require(FileHandle(forWritingAtPath: policy))
    phone.process.signal(signal)
    try writer.write(contentsOf: Data(#"{"preset":"bottle-link"}"#.utf8))
    try writer.close()
    if signal == SIGHUP {
      try await phone.reaches("scanning")
      #expect(try await phone.end().status == 0)
    } else {
      #expect(try await phone.rest().status == 0)
    }
  }

  @Test func `a script is parsed as a whole before the bottle starts`() async throws {
    let scratch = try Scratch()
    let file = "\(scratch.path)/script"
    try Data("move # wake it\n\nafter 10ms pour 250\nafter 1s jump\n".utf8).write(
      to: URL(filePath: file))
    let outcome = try await CommandProcess.run(
      "bottle", "virtual", "--socket", "\(scratch.path)/radio", "--script", file)
    #expect(outcome.status == 2)
    #expect(outcome.errors.first?.contains("line 4 is not valid") == true)
    #expect(outcome.errors.contains { $0.contains("ML is 1 to 1000") })
  }

  @Test func `a script may have CRLF line endings`() async throws {
    let scratch = try Scratch()
    let file = "\(scratch.path)/script"
    try Data("move\r\nafter 10ms pour 250\r\n# end\r\nquit\r\n".utf8).write(
      to: URL(filePath: file))
    let outcome = try await CommandProcess.run(
      "bottle", "virtual", "--socket", "\(scratch.path)/radio", "--script", file, "--json")
    #expect(outcome.status == 0)
    #expect(outcome.output.contains { $0.contains(#""amountML":250"#) })
  }

  @Test func `a radio path that is not a socket is reported immediately`() async throws {
    let scratch = try Scratch()
    let file = "\(scratch.path)/file"
    try Data().write(to: URL(filePath: file))
    for (arguments, status, said) in [
      (["ping", "--radio", file], 1, "\(file) is not a socket"),
      (["watch", "--radio", scratch.path], 1, "\(scratch.path) is not a socket"),
      (["ping", "--radio", "\(file)/radio"], 1, "\(file)/radio: Not a directory"),
      (["virtual", "--socket", file], 1, "\(file): File exists"),
      (["virtual", "--name", String(repeating: "x", count: 65)], 2, "1 to 64 bytes"),
      (["virtual", "--name", ""], 2, "1 to 64 bytes"),
    ] {
      let outcome = try await CommandProcess.run(["bottle"] + arguments)
      #expect(outcome.status == Int32(status), "\(arguments)")
      #expect(outcome.errors.first?.contains(said) == true, "\(outcome.errors)")
    }
  }

  @Test func `a bottle that leaves and returns repeatedly is in range`() async throws {
    let scratch = try Scratch()
    let bottle = try BottleProgram(scratch)
    for _ in 1...20 { bottle.act("gone", "back") }
    bottle.act("move", "still")
    #expect(try await bottle.result(of: ["ping"], in: scratch) == "done")
    #expect(await bottle.quit() == 0)
  }

  @Test func `ids continue after a bottle was cleared and restarted`() async throws {
    let scratch = try Scratch()
    for id in 1...2 {
      let bottle = try BottleProgram(scratch)
      bottle.act("move", "still", "pour 250")
      // The bottle advertises once it is moved, perhaps before it records the drink.
      try await bottle.records(id)
      for (arguments, result) in [(["refresh"], "synced 1"), (["clear"], "done")] {
        #expect(try await bottle.result(of: arguments, in: scratch) == result, "\(id)")
      }
      #expect(await bottle.quit() == 0)
    }
    #expect(try await BottlePhone.stored(scratch) == [1, 2])
  }

  @Test func `the next watch prints every drink that many refreshes have stored`() async throws {
    let scratch = try Scratch()
    for run in 0..<3 { try await refresh((600 * run + 1)...(600 * run + 600), scratch) }
    let phone = try BottlePhone(scratch)
    var drinks: [Int] = []
    while drinks.count < 1_800 { drinks.append(try await phone.drink()) }
    #expect(drinks == Array(1...1_800))
    #expect(try await phone.end().status == 0)
  }

  @Test func `drinks that a watch prints while it ends are not printed again`() async throws {
    let scratch = try Scratch()
    try await refresh(1...600, scratch)
    let bottle = try BottleProgram(scratch)
    bottle.act("move", "still")
    let slow = try LabProcess([
      "python3", "-c", Self.slowReader, CommandProcess.path, "bottle", "watch", "--radio",
      "\(scratch.path)/radio", "--data", "\(scratch.path)/data", "--json",
    ])
    try await bottle.reaches("connected")
    slow.send("end it")
    // Most drinks are printed after the link was closed.
    try await bottle.reaches("disconnected")
    slow.send("read the rest")
    let outcome = await CommandProcess.outcome(of: slow)
    #expect(outcome.output == ["600 drinks, status 0"])
    let next = try BottlePhone(scratch)
    try await next.reaches("scanning")
    #expect(try await next.end().drinks == [])
    #expect(await bottle.quit() == 0)
  }

  /// A Python script that reads the beginning of a command's output, ends the command on request,
  /// and then reads the rest on request.
  private static let slowReader = """
    import fcntl, os, subprocess, sys
    reader, writer = os.pipe()
    fcntl.fcntl(writer, 1031, 4096)  # F_SETPIPE_SZ
    run = subprocess.Popen(sys.argv[1:], stdout=writer)
    os.close(writer)
    read = b""
    while b"drink" not in read: read += os.read(reader, 512)
    sys.stdin.readline()
    run.terminate()
    sys.stdin.readline()
    while part := os.read(reader, 65536): read += part
    count = read.count(b'"event":"drink"')
    print(f"{count} drinks, status {run.wait()}")
    """

  /// Stores the drinks of a bottle whose records have these ids, without showing them.
  private func refresh(_ ids: ClosedRange<Int>, _ scratch: Scratch) async throws {
    let lines = ids.map { "\($0) \(1_795_370_000 + $0) 50 100 1 0\n" }.joined()
    try Data(lines.utf8).write(to: URL(filePath: "\(scratch.path)/flash"))
    let bottle = try BottleProgram(scratch)
    bottle.act("move", "still")
    let result = try await bottle.result(of: ["refresh"], in: scratch)
    // A refresh that was too late has stored some of them.
    #expect(result.contains("synced"))
    #expect(try await BottlePhone.stored(scratch) == Array(1...ids.upperBound))
    #expect(await bottle.quit() == 0)
  }

  @Test func `an invalid flash file is refused with its line number`() async throws {
    let scratch = try Scratch()
    let file = "\(scratch.path)/flash"
    for (text, line) in [
      ("1 60 250 350 1 0\n1 75 50 300 0 0\n", 2), ("1 60 250 350 1\n", 1),
      ("next 5\n6 60 250 350 1 0\n", 2), ("7 60 250 350 1 0\nnext 7\n", 2), ("next x", 1),
    ] {
      try Data(text.utf8).write(to: URL(filePath: file))
      let outcome = try await CommandProcess.run(
        "bottle", "virtual", "--socket", "\(scratch.path)/radio", "--flash", file)
      #expect(outcome.status == 1, "\(text)")
      #expect(outcome.errors.first?.contains("line \(line) ") == true, "\(outcome.errors)")
    }
  }

  @Test func `no drink is lost if a bottle without a clock loses its memory`() async throws {
    let scratch = try Scratch()
    let bottle = try BottleProgram(scratch)
    let phone = try BottlePhone(scratch)
    bottle.act("move", "still", "pour 250")
    #expect(try await phone.drink() == 1)
    bottle.act("erase", "still", "pour 150")
    #expect(try await phone.drink() == 1)
    #expect(try await phone.end().status == 0)
    #expect(await bottle.quit() == 0)
    #expect(try await BottlePhone.stored(scratch) == [1, 1])
  }

  @Test func `deleting a record that is not stored is reported`() async throws {
    let scratch = try Scratch()
    let bottle = try BottleProgram(scratch)
    bottle.act("move", "still")
    let outcome = try await CommandProcess.run(
      "bottle", "delete", "77", "--radio", "\(scratch.path)/radio", "--data",
      "\(scratch.path)/data")
    #expect(outcome.output == ["done"])
    #expect(outcome.errors.first?.contains("no stored drink has the id 77") == true)
    #expect(await bottle.quit() == 0)
  }
}
