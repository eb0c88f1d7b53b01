import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

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
    let theirs = Child.Streams(input: stdin.theirs, output: stdout.theirs, error: stdout.theirs)
    let started = Result { try Child(words, streams: theirs) }
    TCP.close(stdin.theirs)
    TCP.close(stdout.theirs)
    Channel.write(input, to: stdin.ours)
    TCP.close(stdin.ours)
    var bytes: [UInt8] = []
    while case let more = Channel.read(stdout.ours), !more.isEmpty { bytes += more }
    TCP.close(stdout.ours)
    let status = try started.get().wait()
    guard status == 0 else {
      throw NetworkLabError(
        command: words, status: status, output: String(decoding: bytes, as: UTF8.self))
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension Child {
  /// Waits for its end on the calling thread.
  fileprivate func wait() -> Int32 {
    let ended = DispatchSemaphore(value: 0)
    let status = Mutex<Int32>(0)
    whenEnded { word in
      status.withLock { $0 = word }
      ended.signal()
    }
    ended.wait()
    return status.withLock(\.self)
  }
}
