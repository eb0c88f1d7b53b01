import Glibc
import HoldfastChildProcesses
import Synchronization
import Testing

/// Tests of child programs that read an input, and whose output is read while they run.
@Suite(.timeLimit(.minutes(60))) struct ChildRunTests {
  /// The output, errors and ending of a program.
  private struct Result: Equatable, Sendable {
    var output: String
    var errors: String
    var ending: ChildProcess.Ending
  }

  /// A recorder of the output and the ending of a run.
  private final class Recorder: Sendable {
    let pieces: AsyncStream<[UInt8]>
    let ends: AsyncStream<(ChildProcess.Ending, [UInt8])>
    private let piece: AsyncStream<[UInt8]>.Continuation
    private let end: AsyncStream<(ChildProcess.Ending, [UInt8])>.Continuation

    init() {
      (pieces, piece) = AsyncStream.makeStream()
      (ends, end) = AsyncStream.makeStream()
    }

    func run(_ script: String, input: [UInt8] = []) throws -> ChildRun {
      try ChildRun(ChildLaunch("/bin/sh", ["sh", "-c", script]), input: input) { [piece] in
        piece.yield($0)
      } ended: { [piece, end] in
        end.yield(($0, $1))
        piece.finish()
        end.finish()
      }
    }
  }

  /// Runs a shell script to its end.
  private static func run(_ script: String, input: [UInt8] = []) async throws -> Result {
    let recorder = Recorder()
    let run = try recorder.run(script, input: input)
    defer { withExtendedLifetime(run) {} }
    var output: [UInt8] = []
    for await piece in recorder.pieces { output += piece }
    var ends: [(ChildProcess.Ending, [UInt8])] = []
    for await end in recorder.ends { ends.append(end) }
    #expect(ends.count == 1)
    let (ending, errors) = try #require(ends.first)
    return Result(
      output: String(decoding: output, as: UTF8.self),
      errors: String(decoding: errors, as: UTF8.self), ending: ending)
  }

  @Test func `a run passes on its input and reports its output, errors and exit status`()
    async throws
  {
    let result = try await Self.run("cat; echo no >&2; exit 3", input: Array("a\nb".utf8))
    #expect(result == Result(output: "a\nb", errors: "no\n", ending: .exited(3)))
  }

  @Test func `a run without input reads the end of file at once`() async throws {
    #expect(
      try await Self.run("cat; echo end")
        == Result(output: "end\n", errors: "", ending: .exited(0)))
  }

  @Test func `input and output of a megabyte pass at the same time`() async throws {
    let input = (0..<1_000_000).map { UInt8(ascii: "a") + UInt8($0 % 26) }
    let result = try await Self.run("cat", input: input)
    #expect(result.output.utf8.elementsEqual(input))
    #expect(result.ending == .exited(0))
  }

  @Test func `a program that does not read its input ends with its own exit status`() async throws {
    let input = [UInt8](repeating: 0, count: 1_000_000)
    #expect(
      try await Self.run("echo one; exit 1", input: input)
        == Result(output: "one\n", errors: "", ending: .exited(1)))
  }

  @Test(arguments: [1_999, 2_000, 2_001])
  func `the last 2,000 bytes of a run's errors are kept`(count: Int) async throws {
    let result = try await Self.run(
      "printf a >&2; head -c \(count - 1) /dev/zero | tr '\\0' b >&2")
    #expect(
      result.errors
        == (count > 2_000 ? "" : "a") + String(repeating: "b", count: min(count - 1, 2_000)))
  }

  @Test func `a descriptor held by a background process does not delay the end`() async throws {
    let result = try await Self.run("sleep 1000 & echo $!")
    #expect(result.ending == .exited(0))
    let left = try #require(Int32(result.output.dropLast()))
    #expect(kill(left, SIGKILL) == 0)
  }

  @Test func `a kill ends the whole process group`() async throws {
    let recorder = Recorder()
    // The inner shell reports that it is running. The outer shell would end only after the inner
    // one.
    let run = try recorder.run("sh -c 'echo $$; sleep 1000; echo late'; echo late")
    var pieces = recorder.pieces.makeAsyncIterator()
    let first = await pieces.next()
    #expect(first?.last == UInt8(ascii: "\n"))
    run.kill()
    #expect(await pieces.next() == nil)
    for await (ending, errors) in recorder.ends {
      #expect(ending == .signalled(SIGKILL))
      #expect(errors == [])
    }
    run.kill()
  }

  @Test func `a run that is released is killed`() async throws {
    let recorder = Recorder()
    let held = Mutex<ChildRun?>(try recorder.run("echo ready; sleep 1000"))
    var pieces = recorder.pieces.makeAsyncIterator()
    #expect(await pieces.next() == Array("ready\n".utf8))
    held.withLock { $0 = nil }
    for await (ending, _) in recorder.ends { #expect(ending == .signalled(SIGKILL)) }
  }

  @Test func `a run inherits the standard streams and added variables, but no other descriptor`()
    async throws
  {
    let pipe = try HoldfastChildProcesses.Pipe()
    defer { for end in [pipe.reading, pipe.writing] { close(end) } }
    #expect(fcntl(pipe.writing, F_SETFD, 0) == 0)
    let script =
      "echo $ONE; for one in 0 1 2 \(pipe.writing); do "
      + "if [ -e /proc/self/fd/$one ]; then echo $one; fi; done"
    var launch = ChildLaunch("/bin/sh", ["sh", "-c", script])
    launch.additions = ["ONE=1"]
    let (pieces, sink) = AsyncStream<[UInt8]>.makeStream()
    let run = try ChildRun(launch, input: []) {
      sink.yield($0)
    } ended: { _, _ in
      sink.finish()
    }
    var output: [UInt8] = []
    for await piece in pieces { output += piece }
    #expect(String(decoding: output, as: UTF8.self) == "1\n0\n1\n2\n")
    withExtendedLifetime(run) {}
  }

  @Test func `a program that is missing cannot be started`() {
    let failure = #expect(throws: ChildFailure.self) {
      try ChildRun(ChildLaunch("/nonexistent/program", ["program"]), input: [1]) { _ in
      } ended: { _, _ in
      }
    }
    #expect(failure?.code == ENOENT)
    #expect(failure?.reason == "No such file or directory")
  }
}
