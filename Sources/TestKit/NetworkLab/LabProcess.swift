import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A program that runs in a place of a `NetworkLab`.
public final class LabProcess: Sendable {
  /// Lines kept of each stream while nobody reads them; beyond it the oldest go.
  public static let lineLimit = 10_000

  /// What it prints on standard output, line by line; ends when it closes it.
  public let lines: AsyncStream<String>
  /// What it prints on standard error, line by line; ends when it closes it.
  public let diagnostics: AsyncStream<String>

  private enum Ending {
    case running([CheckedContinuation<Int32, Never>])
    case ended(Int32)
  }

  private let process: Process
  private let input: CommandInput
  private let ending: Mutex<Ending>

  init(_ words: [String], environment: [String: String]) throws {
    guard let name = words.first, let tool = Shell.find(name) else {
      throw NetworkLabError(command: words, status: 127, output: "not found")
    }
    let (stdout, stderr) = (Pipe(), Pipe())
    process = Process()
    input = try CommandInput()
    ending = Mutex(.running([]))
    lines = Self.lines(of: stdout.fileHandleForReading)
    diagnostics = Self.lines(of: stderr.fileHandleForReading)
    process.executableURL = tool
    process.arguments = Array(words.dropFirst())
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = input.reader
    process.standardOutput = stdout
    process.standardError = stderr
    process.terminationHandler = { [weak self] in self?.ended(with: $0.terminationStatus) }
    try process.run()
    try? input.reader.close()
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
  }

  /// The process of the program itself.
  public var identifier: Int32 { process.processIdentifier }

  /// Writes a line to its standard input; nothing happens when it no longer reads.
  public func send(_ line: String) {
    input.write(line + "\n")
  }

  /// Sends it a signal; `SIGTERM` asks it to end.
  public func signal(_ number: Int32) {
    if process.isRunning { kill(process.processIdentifier, number) }
  }

  /// Waits for its end; returns the exit status, or the signal that ended it.
  public func exit() async -> Int32 {
    await withCheckedContinuation { continuation in
      let status: Int32? = ending.withLock {
        switch $0 {
        case .running(let waiting):
          $0 = .running(waiting + [continuation])
          return nil
        case .ended(let status): return status
        }
      }
      if let status { continuation.resume(returning: status) }
    }
  }

  private func ended(with status: Int32) {
    let waiting: [CheckedContinuation<Int32, Never>] = ending.withLock {
      guard case .running(let waiting) = $0 else { return [] }
      $0 = .ended(status)
      return waiting
    }
    for continuation in waiting { continuation.resume(returning: status) }
  }

  /// Reads on a thread of its own, so that a program that talks much is never blocked for long.
  private static func lines(of handle: FileHandle) -> AsyncStream<String> {
    let (stream, sink) = AsyncStream.makeStream(
      of: String.self, bufferingPolicy: .bufferingNewest(lineLimit))
    Thread.detachNewThread {
      var rest: [UInt8] = []
      while true {
        let data = handle.availableData
        if data.isEmpty { break }
        rest += data
        var pieces = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        rest = Array(pieces.removeLast())
        for piece in pieces { sink.yield(String(decoding: piece, as: UTF8.self)) }
      }
      if !rest.isEmpty { sink.yield(String(decoding: rest, as: UTF8.self)) }
      try? handle.close()
      sink.finish()
    }
    return stream
  }
}
