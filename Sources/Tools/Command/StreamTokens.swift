import CommandKit
import Dispatch
import Holdfast
import LinkCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// What a text must be to travel as a token.
enum StreamToken {
  /// More than any token has, and less than servers take in a header.
  private static let maxBytes = 8_192

  /// Without white space around it; `nil` for what no header can carry.
  static func clean(_ text: String) -> String? {
    let words = text.split(whereSeparator: \.isWhitespace)
    guard words.count == 1, let word = words.first, word.utf8.count <= maxBytes,
      word.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    return String(word)
  }

  /// The token in a file, or on standard input for `-`.
  static func read(_ path: String) throws(CommandFailure) -> String {
    let text = String(decoding: try TextFile.read(path), as: UTF8.self)
    guard let token = clean(text) else { throw unfit(path == "-" ? "standard input" : path) }
    return token
  }

  static func unfit(_ place: String) -> CommandFailure {
    CommandFailure(
      .usage, "\(place) holds no token",
      remedy: "one word of at most \(maxBytes) printable ASCII characters is wanted")
  }
}

/// A file that somebody else keeps fresh.
struct FileTokens: TokenSource {
  let path: String
  let note: @Sendable (String) -> Void

  func token() throws(TokenFailure) -> String {
    do throws(CommandFailure) {
      return try StreamToken.read(path)
    } catch {
      note(error.line)
      throw .unavailable
    }
  }
}

/// A command that prints a new token each time.
struct ShellTokens: TokenSource {
  let command: String
  /// It is ended when it takes longer.
  let limit: Duration
  let note: @Sendable (String) -> Void

  /// The exit status that means: only the user can help.
  private static let signIn: Int32 = 3

  func token() async throws(TokenFailure) -> String {
    let (status, output) = await run()
    switch status {
    case 0:
      guard let token = StreamToken.clean(String(decoding: output, as: UTF8.self)) else {
        note("the token command printed no token")
        throw .unavailable
      }
      return token
    case Self.signIn: throw .rejected
    case nil: note("the token command did not end within \(limit.text), or could not be started")
    case let status?: note("the token command failed with status \(status)")
    }
    throw .unavailable
  }

  private func run() async -> (status: Int32?, output: [UInt8]) {
    await withCheckedContinuation { continuation in
      // A queue of its own, so that a slow command holds up nothing else.
      DispatchQueue(label: "holdfast.command.token").async {
        continuation.resume(returning: ShellRun.output(of: command, within: limit))
      }
    }
  }
}

/// One run of a command line by the shell.
private enum ShellRun {
  private static let maxBytes = 65_536

  /// Its exit status, `nil` when it did not end by itself, and what it printed.
  static func output(of command: String, within limit: Duration) -> (Int32?, [UInt8]) {
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { return (nil, []) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let started = spawn(command, writingTo: ends[1])
    close(ends[1])
    defer { close(ends[0]) }
    guard let child = started else { return (nil, []) }
    let end = ContinuousClock.now + limit
    let output = read(ends[0], until: end)
    let word = output == nil ? nil : wait(for: child, until: end)
    guard let output, let word else {
      // Whatever it started goes too; only a child in the kernel's hands outlives this.
      kill(-child, SIGKILL)
      if word == nil { _ = wait(for: child, until: ContinuousClock.now + .seconds(1)) }
      return (nil, [])
    }
    // The low seven bits name a signal, zero after an exit; the status stands in the next byte.
    guard word & 0x7F == 0 else { return (nil, []) }
    return ((word >> 8) & 0xFF, output)
  }

  /// How it ended; `nil` when it has not by then.
  private static func wait(for child: pid_t, until end: ContinuousClock.Instant) -> Int32? {
    var word: Int32 = 0
    while true {
      let ended = unsafe waitpid(child, &word, WNOHANG)
      if ended == child { return word }
      if ended < 0, errno != EINTR { return nil }
      guard ContinuousClock.now < end else { return nil }
      // Nothing tells of a child's end that works everywhere; its output has ended, so this is
      // short.
      _ = poll(nil, 0, 5)
    }
  }

  /// Everything up to the end; `nil` when that does not come in time or there is too much.
  private static func read(_ descriptor: Int32, until end: ContinuousClock.Instant) -> [UInt8]? {
    var output: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4_096)
    while output.count <= maxBytes {
      let left = ContinuousClock.now.duration(to: end)
      guard left > .zero else { return nil }
      var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let ready = unsafe poll(&waiting, 1, Int32(min(left / .milliseconds(1), 60_000)) + 1)
      guard ready > 0 else { continue }
      let count = unsafe piece.withUnsafeMutableBytes {
        #if canImport(Glibc)
          unsafe Glibc.read(descriptor, $0.baseAddress, $0.count)
        #else
          unsafe Darwin.read(descriptor, $0.baseAddress, $0.count)
        #endif
      }
      if count == 0 { return output }
      if count > 0 { output += piece[..<count] }
    }
    return nil
  }

  /// It gets no input, our standard error, and signals as if we had never touched them.
  private static func spawn(_ command: String, writingTo output: Int32) -> pid_t? {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t? = nil
      var attributes: posix_spawnattr_t? = nil
    #else
      var actions = unsafe posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #endif
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawnattr_init(&attributes)
    defer {
      unsafe posix_spawn_file_actions_destroy(&actions)
      unsafe posix_spawnattr_destroy(&attributes)
    }
    unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe posix_spawnattr_setsigmask(&attributes, &signals)
    unsafe sigfillset(&signals)
    unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
    unsafe posix_spawnattr_setflags(
      &attributes,
      Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETPGROUP))
    // A group of its own, which can be ended as a whole.
    unsafe posix_spawnattr_setpgroup(&attributes, 0)
    var child: pid_t = 0
    let texts = ["sh", "-c", command]
    let words = unsafe texts.map { unsafe strdup($0) } + [nil]
    defer { unsafe words.forEach { unsafe free($0) } }
    let code = unsafe posix_spawn(&child, "/bin/sh", &actions, &attributes, words, environ)
    return code == 0 ? child : nil
  }
}
