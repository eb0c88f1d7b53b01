import Glibc
import HoldfastCore
import HoldfastOwnerFiles

/// A function that reads a file or a pipe to its end, with a time limit and a size limit.
package enum DescriptorInput {
  package enum Ending {
    case end
    case late
    case tooLong
    case failed(Int32)
  }

  /// Returns the bytes that were read before the end or the failure, and the reason why reading
  /// ended.
  package static func read(
    _ descriptor: Int32, atMost maxBytes: Int, until end: ContinuousClock.Instant?
  ) -> (bytes: [UInt8], ending: Ending) {
    var content: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4_096)
    while content.count <= maxBytes {
      let left = end.map { ContinuousClock.now.duration(to: $0) }
      if let left, left <= .zero { return (content, .late) }
      var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let wait = left.map { Int32(min($0 / .milliseconds(1), 60_000)) + 1 } ?? -1
      guard unsafe poll(&waiting, 1, wait) > 0 else { continue }
      let count = unsafe SystemCall.read(descriptor, &piece, piece.count)
      if count < 0, errno == EAGAIN { continue }
      guard count >= 0 else { return (content, .failed(errno)) }
      guard count > 0 else { return (content, .end) }
      content += piece[..<count]
    }
    return (content, .tooLong)
  }
}

/// Functions for small files that people write by hand, such as policies and tokens.
package enum TextFile {
  /// The maximum size of a file, in bytes. A policy or a token needs far less.
  package static let maxBytes = 1 << 20
  /// The maximum time to wait for a writer of a pipe.
  private static let timeLimit = Duration.seconds(2)

  /// Returns the bytes of a file, or of standard input for `-`.
  ///
  /// - Parameter limit: The time within which the writer of a pipe must close it; `nil` for no
  ///   limit.
  package static func read(
    _ path: String, atMost maxBytes: Int = maxBytes, within limit: Duration? = nil
  ) throws(CommandFailure) -> [UInt8] {
    let name = path == "-" ? "standard input" : path
    // Without `O_NONBLOCK`, opening a pipe that has no writer would block indefinitely.
    let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK
    let descriptor = path == "-" ? STDIN_FILENO : unsafe open(path, flags)
    guard descriptor >= 0 else { throw failure(name, errno) }
    defer { if descriptor != STDIN_FILENO { close(descriptor) } }
    let end = limit.map { ContinuousClock.now + $0 }
    let start = path == "-" ? [] : try begin(descriptor, name, within: limit)
    let (content, ending) = DescriptorInput.read(descriptor, atMost: maxBytes, until: end)
    switch ending {
    case .end: return start + content
    case .late:
      throw CommandFailure(
        .failed, "\(name) did not end within \(limit?.text ?? "")",
        remedy: "its writer must close it")
    case .tooLong:
      throw CommandFailure(
        .failed, "\(name) has more than \(maxBytes) bytes", remedy: "use a smaller file")
    case .failed(let code): throw failure(name, code)
    }
  }

  /// Writes a file, replacing any previous content.
  package static func write(_ text: some Sequence<UInt8>, to path: String) throws(CommandFailure) {
    var text: [UInt8]? = Array(text)
    _ = try write(to: path) { text.take() }
  }

  /// Writes a file piece by piece, replacing any previous content. Returns the number of bytes.
  package static func write(
    to path: String, _ next: () -> [UInt8]?
  ) throws(CommandFailure) -> Int {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    defer { if descriptor >= 0 { close(descriptor) } }
    var (total, isWritten) = (0, descriptor >= 0)
    while isWritten, let piece = next() {
      isWritten = SystemCall.writeAll(piece, to: descriptor)
      total += piece.count
    }
    guard !isWritten else { return total }
    throw notWritten(path, errno)
  }

  /// Throws an error if no file can be written at a path.
  ///
  /// Call this before work whose result would otherwise be lost.
  package static func mustBeWritable(_ path: String) throws(CommandFailure) {
    var found = stat()
    if unsafe stat(path, &found) == 0 {
      if found.st_mode & S_IFMT == S_IFDIR { throw notWritten(path, EISDIR) }
      if unsafe access(path, W_OK) != 0 { throw notWritten(path, errno) }
    } else {
      guard errno == ENOENT else { throw notWritten(path, errno) }
      let parent = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
      if unsafe access(parent, W_OK | X_OK) != 0 { throw notWritten(path, errno) }
    }
  }

  private static func notWritten(_ path: String, _ code: Int32) -> CommandFailure {
    CommandFailure(
      .failed, "\(path) cannot be written: \(SystemCall.reason(of: code))",
      remedy: "check the directory and the free space")
  }

  /// Waits for a writer of a pipe. Returns the bytes that were read while waiting.
  private static func begin(
    _ descriptor: Int32, _ name: String, within limit: Duration?
  ) throws(CommandFailure) -> [UInt8] {
    guard SystemCall.isPipe(descriptor) else { return [] }
    switch SystemCall.awaitWriter(of: descriptor, within: min(limit ?? timeLimit, timeLimit)) {
    case .readable, .silent: return []
    case .read(let byte): return [byte]
    case .failed(let code): throw failure(name, code)
    case .noWriter:
      throw CommandFailure(
        .failed, "\(name) is a pipe that no program writes to",
        remedy: "start the program that writes to it first")
    }
  }

  /// Throws an error if a path names a pipe, a device or a directory.
  ///
  /// A missing file causes no error until it is opened.
  package static func mustBeFile(
    _ path: String, option: String, _ code: ExitCode = .failed
  ) throws(CommandFailure) {
    var found = stat()
    guard unsafe stat(path, &found) == 0, found.st_mode & S_IFMT != S_IFREG else { return }
    throw CommandFailure(
      code, "\(path) is not a regular file, but is opened more than once",
      remedy: "give \(option) a file")
  }

  /// Returns whether users other than the owner can read or change a file.
  static func isOpenToOthers(_ path: String) -> Bool {
    var found = stat()
    return unsafe stat(path, &found) == 0 && found.st_mode & 0o077 != 0
  }

  private static func failure(_ name: String, _ code: Int32) -> CommandFailure {
    CommandFailure(
      .failed, "\(name) cannot be read: \(SystemCall.reason(of: code))",
      remedy: "check its name and its permissions")
  }
}
