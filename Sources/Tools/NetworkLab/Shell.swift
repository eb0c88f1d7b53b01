import Foundation
import HoldfastChildProcesses

/// An error that reports a failed system command.
public struct NetworkLabError: Error, Equatable, CustomStringConvertible {
  /// The command and its arguments.
  public var command: [String]
  /// The exit status, or 127 if the command could not be started.
  public var status: Int32
  /// The combined output of standard output and standard error.
  public var output: String

  public var description: String {
    "`\(command.joined(separator: " "))` exited with \(status): \(output)"
  }
}

/// Functions that run short commands with a given standard input, and combine both output streams.
public enum Shell {
  /// The folders of administration tools, in addition to the caller's `PATH`.
  private static let folders = ["/usr/sbin", "/sbin", "/usr/local/sbin"]

  /// Returns the path of a command's executable file; `nil` if none is found.
  package static func find(_ name: String) -> String? {
    if name.contains("/") { return name }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    let searched = path.split(separator: ":").map(String.init) + folders
    return searched.map { $0 + "/" + name }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Runs a command and returns its output. Throws an error unless the exit status is 0.
  @discardableResult
  public static func run(_ arguments: [String], input: String = "") async throws -> String {
    let result = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(returning: Result { try wait(for: arguments, input: input) })
      }
    }
    return try result.get()
  }

  /// Runs a command on the calling thread and returns its output. Throws an error unless the exit
  /// status is 0.
  @discardableResult
  public static func wait(for arguments: [String], input: String = "") throws -> String {
    let (stdin, stdout) = (try Channel.pair(), try Channel.pair())
    let started = Result {
      try start(arguments, input: stdin.theirs, output: stdout.theirs, error: stdout.theirs)
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
        command: arguments, status: status, output: String(decoding: bytes, as: UTF8.self))
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Starts a command that inherits only its three streams.
  ///
  /// Foundation's `Process` is not used: it retains descriptors and memory of ended programs, and
  /// may miss the end of a program.
  static func start(
    _ arguments: [String], environment: [String: String] = [:], input: Int32, output: Int32,
    error: Int32, endsWithParent: Bool = false
  ) throws(NetworkLabError) -> ChildProcess {
    guard let name = arguments.first, let tool = find(name) else {
      throw NetworkLabError(command: arguments, status: 127, output: "not found")
    }
    var launch = ChildLaunch(tool, arguments)
    launch.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
      .map { "\($0)=\($1)" }
    (launch.input, launch.output, launch.error) = (input, output, error)
    launch.leadsGroup = endsWithParent
    do {
      return try ChildProcess(launch)
    } catch {
      throw NetworkLabError(
        command: arguments, status: 127, output: "not started: errno \(error.code)")
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
