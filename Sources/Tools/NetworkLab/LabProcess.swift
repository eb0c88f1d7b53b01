import Foundation
package import HoldfastChildProcesses

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A program that runs as a child process, alone or in a namespace of a `NetworkLab`.
public final class LabProcess: Sendable {
  /// The maximum number of unread lines of each stream. Older lines are dropped.
  public static let lineLimit = 10_000

  /// The lines of standard output. The sequence ends when the program closes standard output.
  public let lines: AsyncStream<String>
  /// The lines of standard error. The sequence ends when the program closes standard error.
  public let diagnostics: AsyncStream<String>

  private let child: ChildProcess
  private let input: Int32

  /// Starts a program with its arguments. `environment` is added to this process's environment.
  ///
  /// - Parameter endsWithParent: Whether the program, and what it starts, is killed when this process
  ///   ends for any reason, even by SIGKILL.
  /// - Throws: `NetworkLabError` if the program cannot be started.
  public init(
    _ arguments: [String], environment: [String: String] = [:], endsWithParent: Bool = false
  ) throws {
    let (input, output, error) = (try Channel.pair(), try Channel.pair(), try Channel.pair())
    self.input = input.ours
    lines = Self.lines(of: output.ours)
    diagnostics = Self.lines(of: error.ours)
    defer { for end in [input.theirs, output.theirs, error.theirs] { Channel.close(end) } }
    child = try Shell.start(
      arguments, environment: environment, input: input.theirs, output: output.theirs,
      error: error.theirs, endsWithParent: endsWithParent)
    child.whenEnded { _ in }
  }

  deinit {
    child.signal(SIGKILL)
    Channel.close(input)
  }

  /// The program's process ID.
  public var identifier: Int32 { child.identifier }

  /// Writes a line to standard input. The line is dropped if the program no longer reads its input.
  public func send(_ line: String) {
    Channel.write(line + "\n", to: input)
  }

  /// Closes standard input.
  public func endInput() { Channel.end(input) }

  /// Sends a signal. `SIGTERM` requests that the program end.
  public func signal(_ number: Int32) {
    child.signalAlone(number)
  }

  /// Waits for the program to end. Returns its exit status, or the number of the signal that ended
  /// it.
  public func exit() async -> Int32 {
    await ended().number
  }

  /// Waits for the program to end. Returns its exit status or the signal that ended it.
  package func ended() async -> ChildProcess.Ending { await child.ended() }

  /// Returns the lines of a stream.
  ///
  /// A separate thread reads the stream, so that even a large amount of output does not block the
  /// program for long.
  private static func lines(of reader: Int32) -> AsyncStream<String> {
    let (stream, sink) = AsyncStream.makeStream(
      of: String.self, bufferingPolicy: .bufferingNewest(lineLimit))
    Thread.detachNewThread {
      var rest: [UInt8] = []
      while true {
        let bytes = Channel.read(reader)
        if bytes.isEmpty { break }
        rest += bytes
        var pieces = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        rest = Array(pieces.removeLast())
        for piece in pieces { sink.yield(String(decoding: piece, as: UTF8.self)) }
      }
      if !rest.isEmpty { sink.yield(String(decoding: rest, as: UTF8.self)) }
      Channel.close(reader)
      sink.finish()
    }
    return stream
  }
}
