#if canImport(Glibc)
  import CHoldfastLinux
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A program to start, with its arguments, environment and streams.
package struct ChildLaunch: Sendable {
  /// The path of the program's file.
  var path: String
  /// The arguments of the program. The first argument is the program's name.
  var arguments: [String]
  /// The environment of the program as `NAME=VALUE`; `nil` for the environment of this process.
  package var environment: [String]?
  /// Additional variables as `NAME=VALUE`. They replace variables with the same name.
  package var additions: [String] = []
  /// The descriptor that becomes the standard input; `nil` for an empty input.
  package var input: Int32?
  /// The descriptor that becomes the standard output; `nil` to discard the output.
  package var output: Int32?
  /// The descriptor that becomes the standard error; `nil` to discard the output.
  package var error: Int32?
  /// Whether the program has its own process group, with default signal handling. The group ends
  /// when this process ends, for whatever reason.
  package var leadsGroup = false
  /// The process group that the program joins; 0 if the program leads its own group.
  var group: Int32 = 0
  /// Whether the program inherits only the standard streams and no other open descriptors.
  package var closesOthers = false

  /// Creates a description of a program to start. The first argument is the program's name.
  package init(_ path: String, _ arguments: [String]) {
    self.path = path
    self.arguments = arguments
  }

  /// Starts the program and returns its process ID.
  func spawn() throws(ChildFailure) -> Int32 {
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
    for (number, stream) in zip(Int32(0)..., [input, output, error]) {
      if let stream {
        unsafe posix_spawn_file_actions_adddup2(&actions, stream, number)
      } else {
        let mode = number == STDIN_FILENO ? O_RDONLY : O_WRONLY
        unsafe posix_spawn_file_actions_addopen(&actions, number, "/dev/null", mode, 0)
      }
    }
    #if canImport(Glibc)
      if closesOthers { unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3) }
    #endif
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe posix_spawnattr_setsigmask(&attributes, &signals)
    unsafe sigfillset(&signals)
    unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
    unsafe posix_spawnattr_setflags(&attributes, flags)
    unsafe posix_spawnattr_setpgroup(&attributes, group)
    var child: pid_t = 0
    let code = unsafe withArguments { arguments, environment in
      unsafe posix_spawn(&child, path, &actions, &attributes, arguments, environment)
    }
    guard code == 0 else { throw ChildFailure(code: code) }
    return child
  }

  /// The flags that enable the attributes.
  private var flags: Int16 {
    var flags: Int32 = 0
    if leadsGroup {
      flags |= Int32(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)
    }
    #if canImport(Darwin)
      if closesOthers { flags |= Int32(POSIX_SPAWN_CLOEXEC_DEFAULT) }
    #endif
    return Int16(flags)
  }

  /// Calls `body` with the arguments and the environment as C strings.
  private func withArguments(
    _ body: (
      _ arguments: [UnsafeMutablePointer<CChar>?],
      _ environment: UnsafePointer<UnsafeMutablePointer<CChar>?>
    ) -> Int32
  ) -> Int32 {
    let arguments = unsafe arguments.map { unsafe strdup($0) } + [nil]
    let own = unsafe variables.map { unsafe strdup($0) } + [nil]
    defer { unsafe (arguments + own).forEach { unsafe free($0) } }
    guard environment == nil, additions.isEmpty else { return unsafe body(arguments, own) }
    return unsafe body(arguments, environ)
  }

  /// The environment of the program, including the additions.
  private var variables: [String] {
    guard !additions.isEmpty else { return environment ?? [] }
    let names = additions.map { $0.prefix { $0 != "=" } + "=" }
    let rest = (environment ?? Self.inherited).filter { variable in
      !names.contains { variable.hasPrefix($0) }
    }
    return rest + additions
  }

  /// The environment of this process.
  private static var inherited: [String] {
    var variables: [String] = []
    var next = unsafe environ
    while let variable = unsafe next.pointee {
      unsafe variables.append(String(cString: variable))
      unsafe next += 1
    }
    return variables
  }
}
