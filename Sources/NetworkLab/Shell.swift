import ChildProcesses
import Foundation

/// A command of the system that failed.
public struct NetworkLabError: Error, Equatable, CustomStringConvertible {
  /// The words of the command.
  public var command: [String]
  /// Its exit status; 127 when it could not be started.
  public var status: Int32
  /// What it printed, both streams together.
  public var output: String

  public var description: String {
    "`\(command.joined(separator: " "))` exited with \(status): \(output)"
  }
}

/// Runs short commands to their end; standard input is a text, both outputs are read as one.
public enum Shell {
  /// Where administration tools are, on top of what the caller's `PATH` says.
  private static let folders = ["/usr/sbin", "/sbin", "/usr/local/sbin"]

  /// The file behind a command's name; nil when there is none.
  static func find(_ name: String) -> URL? {
    if name.contains("/") { return URL(filePath: name) }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    let places = path.split(separator: ":").map(String.init) + folders
    return places.map { $0 + "/" + name }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
      .map { URL(filePath: $0) }
  }

  /// Runs a command by its words and returns what it printed; throws unless it exits with 0.
  @discardableResult
  public static func run(_ words: [String], input: String = "") async throws -> String {
    let result = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(returning: Result { try wait(for: words, input: input) })
      }
    }
    return try result.get()
  }

  /// The same, on the calling thread.
  @discardableResult
  public static func wait(for words: [String], input: String = "") throws -> String {
    let (stdin, stdout) = (try Channel.pair(), try Channel.pair())
    let started = Result {
      try start(words, input: stdin.theirs, output: stdout.theirs, error: stdout.theirs)
    }
    Channel.close(stdin.theirs)
    Channel.close(stdout.theirs)
    Channel.write(input, to: stdin.ours)
    Channel.close(stdin.ours)
    var bytes: [UInt8] = []
    while case let more = Channel.read(stdout.ours), !more.isEmpty { bytes += more }
    Channel.close(stdout.ours)
    let status = try started.get().wait()?.number ?? 127
    guard status == 0 else {
      throw NetworkLabError(
        command: words, status: status, output: String(decoding: bytes, as: UTF8.self))
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Starts a command by its words: it inherits its three streams and little else.
  ///
  /// Foundation's `Process` keeps descriptors and memory of ended programs, and may miss an end.
  static func start(
    _ words: [String], environment: [String: String] = [:], input: Int32, output: Int32,
    error: Int32
  ) throws(NetworkLabError) -> ChildProcess {
    guard let name = words.first, let tool = find(name) else {
      throw NetworkLabError(command: words, status: 127, output: "not found")
    }
    var launch = ChildLaunch(tool.path, words)
    launch.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
      .map { "\($0)=\($1)" }
    (launch.input, launch.output, launch.error) = (input, output, error)
    do {
      return try ChildProcess(launch)
    } catch {
      throw NetworkLabError(
        command: words, status: 127, output: "not started: errno \(error.code)")
    }
  }
}

extension ChildProcess.Ending {
  /// The exit status, or the number of the signal.
  var number: Int32 {
    switch self {
    case .exited(let number), .signalled(let number): number
    }
  }
}
