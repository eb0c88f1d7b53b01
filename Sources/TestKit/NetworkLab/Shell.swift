import Foundation

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

/// Runs short commands to their end.
enum Shell {
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

  /// Runs `words` with `input`, waits, and returns what was printed.
  @discardableResult
  static func run(_ words: [String], input: String = "") async throws -> String {
    let result = await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: wait(for: words, input: input)) }
    }
    return try result.get()
  }

  /// The same, on the calling thread.
  static func wait(for words: [String], input: String = "") -> Result<String, NetworkLabError> {
    func failed(_ status: Int32, _ output: String) -> Result<String, NetworkLabError> {
      .failure(NetworkLabError(command: words, status: status, output: output))
    }
    guard let name = words.first, let tool = find(name) else { return failed(127, "not found") }
    let process = Process()
    let stdout = Pipe()
    process.executableURL = tool
    process.arguments = Array(words.dropFirst())
    process.standardOutput = stdout
    process.standardError = stdout
    do {
      let stdin = try CommandInput()
      process.standardInput = stdin.reader
      try process.run()
      try stdin.reader.close()
      stdin.write(input)
      stdin.end()
    } catch {
      return failed(127, "\(error)")
    }
    let data = (try? stdout.fileHandleForReading.readToEnd()) ?? Data()
    try? stdout.fileHandleForReading.close()
    process.waitUntilExit()
    let output = String(decoding: data, as: UTF8.self)
    return process.terminationStatus == 0
      ? .success(output) : failed(process.terminationStatus, output)
  }
}
