#if canImport(Glibc)
  import CLinux
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A program to be started in a process group of its own, with default signal handling.
package struct Spawn {
  private let path: String
  private let words: [String]
  private let environment: [String]?
  private let isClosed: Bool
  /// The descriptors of the three standard streams; `nil` is /dev/null.
  package var streams: (input: Int32?, output: Int32?, error: Int32?) = (nil, nil, nil)

  /// - Parameters:
  ///   - words: its arguments, of which the first is its name.
  ///   - environment: its variables, such as `LANG=C`; `nil` for those of this process.
  ///   - isClosed: whether it inherits no descriptors except the standard streams.
  package init(
    _ path: String, _ words: [String], environment: [String]? = nil, isClosed: Bool = false
  ) {
    (self.path, self.words, self.environment) = (path, words, environment)
    self.isClosed = isClosed
  }

  /// Starts the program and stores its number; returns the error number, 0 for success.
  package func start(_ identifier: inout Int32) -> Int32 {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t? = nil
      var attributes: posix_spawnattr_t? = nil
    #else
      var actions = unsafe posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #endif
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    let ends = [streams.input, streams.output, streams.error]
    for (number, end) in zip(Int32(0)..., ends) {
      if let end {
        unsafe posix_spawn_file_actions_adddup2(&actions, end, number)
      } else {
        let mode = number == 0 ? O_RDONLY : O_WRONLY
        unsafe posix_spawn_file_actions_addopen(&actions, number, "/dev/null", mode, 0)
      }
    }
    #if !canImport(Darwin)
      if isClosed { unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3) }
    #endif
    set(&attributes)
    return unsafe withCStrings(words) { words in
      guard let environment else {
        return unsafe posix_spawn(&identifier, path, &actions, &attributes, words, environ)
      }
      return unsafe withCStrings(environment) { environment in
        unsafe posix_spawn(&identifier, path, &actions, &attributes, words, environment)
      }
    }
  }

  #if canImport(Darwin)
    private typealias Attributes = posix_spawnattr_t?
  #else
    private typealias Attributes = posix_spawnattr_t
  #endif

  private func set(_ attributes: inout Attributes) {
    let base = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
    #if canImport(Darwin)
      let flags = isClosed ? base | POSIX_SPAWN_CLOEXEC_DEFAULT : base
    #else
      let flags = base
    #endif
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe posix_spawnattr_setsigmask(&attributes, &signals)
    unsafe sigfillset(&signals)
    unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
    unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
  }

  private func withCStrings<R>(
    _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> R
  ) -> R {
    let copies = unsafe texts.map { unsafe strdup($0) } + [nil]
    defer { unsafe copies.forEach { unsafe free($0) } }
    return unsafe body(copies)
  }
}
