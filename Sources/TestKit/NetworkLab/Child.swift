import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A process that was started: it inherits its three streams and little else, and is always reaped.
///
/// Foundation's `Process` keeps descriptors and memory of ended programs, and may miss an end.
final class Child: Sendable {
  /// The standard streams, as descriptors of this process.
  struct Streams {
    var input: Int32
    var output: Int32
    var error: Int32
  }

  private enum Ending {
    case running([@Sendable (Int32) -> Void])
    case ended(Int32)
  }

  let identifier: pid_t
  private let ending = Mutex(Ending.running([]))

  init(_ words: [String], environment: [String: String] = [:], streams: Streams) throws {
    guard let name = words.first, let tool = Shell.find(name) else {
      throw NetworkLabError(command: words, status: 127, output: "not found")
    }
    let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    var identifier: pid_t = 0
    let code = Self.spawn(
      &identifier, tool.path, words, variables.map { "\($0)=\($1)" }, streams)
    guard code == 0 else {
      throw NetworkLabError(command: words, status: 127, output: "not started: errno \(code)")
    }
    self.identifier = identifier
    Thread.detachNewThread { self.reap() }
  }

  /// Sends a signal while it runs.
  func signal(_ number: Int32) {
    ending.withLock {
      if case .running = $0 { _ = kill(identifier, number) }
    }
  }

  /// Waits for its end; returns the exit status, or the signal that ended it.
  func exit() async -> Int32 {
    await withCheckedContinuation { continuation in
      whenEnded { continuation.resume(returning: $0) }
    }
  }

  /// Calls `body` once with the status; at once when it has ended.
  func whenEnded(_ body: @escaping @Sendable (Int32) -> Void) {
    let status: Int32? = ending.withLock {
      switch $0 {
      case .running(let waiting):
        $0 = .running(waiting + [body])
        return nil
      case .ended(let status): return status
      }
    }
    if let status { body(status) }
  }

  /// Waits without freeing the number, which is done under the lock: no signal hits a stranger.
  private func reap() {
    var info = unsafe siginfo_t()
    while unsafe waitid(P_PID, id_t(identifier), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    var status: Int32 = 0
    var waiting: [@Sendable (Int32) -> Void] = []
    ending.withLock {
      var word: Int32 = 0
      _ = unsafe waitpid(identifier, &word, 0)
      // The low seven bits are the signal, zero after an exit; the status stands in the next byte.
      status = word & 0x7f == 0 ? (word >> 8) & 0xff : word & 0x7f
      if case .running(let bodies) = $0 { waiting = bodies }
      $0 = .ended(status)
    }
    for body in waiting { body(status) }
  }

  private static func spawn(
    _ identifier: inout pid_t, _ path: String, _ words: [String], _ variables: [String],
    _ streams: Streams
  ) -> Int32 {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t? = nil
    #else
      var actions = unsafe posix_spawn_file_actions_t()
    #endif
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for (number, stream) in [streams.input, streams.output, streams.error].enumerated() {
      unsafe posix_spawn_file_actions_adddup2(&actions, stream, Int32(number))
    }
    return unsafe withCStrings(words) { arguments in
      unsafe withCStrings(variables) { environment in
        unsafe posix_spawn(&identifier, path, &actions, nil, arguments, environment)
      }
    }
  }

  private static func withCStrings<R>(
    _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> R
  ) -> R {
    let copies = unsafe texts.map { unsafe strdup($0) } + [nil]
    defer { unsafe copies.forEach { unsafe free($0) } }
    return unsafe body(copies)
  }
}

/// What connects this process to a child.
enum Channel {
  /// Two ends; a child inherits one only as a stream of its own.
  ///
  /// A socket pair: unlike a pipe, it is closed to children from its first moment, and can be
  /// written to without a signal when nobody reads.
  static func pair() throws(NetworkLabError) -> (ours: Int32, theirs: Int32) {
    #if os(Linux) || os(Android)
      let stream = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    #else
      let stream = SOCK_STREAM
    #endif
    var ends: [Int32] = [0, 0]
    guard unsafe socketpair(AF_UNIX, stream, 0, &ends) == 0 else {
      throw NetworkLabError(command: ["socketpair"], status: errno, output: "")
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  /// Writes all of `text`; what nobody reads is lost.
  static func write(_ text: String, to socket: Int32) {
    #if os(Linux) || os(Android)
      let flags = Int32(MSG_NOSIGNAL)
    #else
      let flags: Int32 = 0
    #endif
    var left = Array(text.utf8)[...]
    while !left.isEmpty {
      let count = unsafe left.withUnsafeBytes {
        unsafe send(socket, $0.baseAddress, $0.count, flags)
      }
      guard count > 0 else { return }
      left = left.dropFirst(count)
    }
  }

  /// Waits for bytes; empty at the end.
  static func read(_ descriptor: Int32) -> ArraySlice<UInt8> {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
      if count >= 0 { return buffer[..<count] }
      if errno != EINTR { return [] }
    }
  }
}
