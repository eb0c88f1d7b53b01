import ChildProcesses
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A program that runs as a child, alone or in a place of a `NetworkLab`.
public final class LabProcess: Sendable {
  /// Lines kept of each stream while nobody reads them; beyond it the oldest go.
  public static let lineLimit = 10_000

  /// What it prints on standard output, line by line; ends when it closes it.
  public let lines: AsyncStream<String>
  /// What it prints on standard error, line by line; ends when it closes it.
  public let diagnostics: AsyncStream<String>

  private let child: ChildProcess
  private let input: Int32

  /// Starts a program by its words; `environment` adds to this process's own.
  ///
  /// Throws `NetworkLabError` when it cannot be started.
  public init(_ words: [String], environment: [String: String] = [:]) throws {
    let (input, output, error) = (try Channel.pair(), try Channel.pair(), try Channel.pair())
    self.input = input.ours
    lines = Self.lines(of: output.ours)
    diagnostics = Self.lines(of: error.ours)
    defer { for end in [input.theirs, output.theirs, error.theirs] { Channel.close(end) } }
    child = try Shell.start(
      words, environment: environment, input: input.theirs, output: output.theirs,
      error: error.theirs)
    child.whenEnded { _ in }
  }

  deinit {
    child.signal(SIGKILL)
    Channel.close(input)
  }

  /// The process of the program itself.
  public var identifier: Int32 { child.identifier }

  /// Writes a line to its standard input; nothing happens when it no longer reads.
  public func send(_ line: String) {
    Channel.write(line + "\n", to: input)
  }

  /// Ends its standard input.
  public func endInput() { Channel.end(input) }

  /// Sends it a signal; `SIGTERM` asks it to end.
  public func signal(_ number: Int32) {
    child.signal(number)
  }

  /// Waits for its end; returns the exit status, or the signal that ended it.
  public func exit() async -> Int32 {
    await child.ended().number
  }

  /// Reads on a thread of its own, so that a program that talks much is never blocked for long.
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
