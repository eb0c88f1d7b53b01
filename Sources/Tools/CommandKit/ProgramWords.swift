/// The words that this program was started with.
enum ProgramWords {
  /// Room for the arguments of a process: the limit of Linux is 6 MiB with usual settings.
  private static let maxBytes = 8 << 20

  /// Returns the words after the program's name; `nil` stands for one that is not UTF-8.
  static func read() -> [String?] {
    #if os(Linux)
      // Swift finds them by the place of the environment, which a preloaded library may have moved:
      // then it finds none.
      if let bytes = try? TextFile.read("/proc/self/cmdline", atMost: maxBytes) {
        return words(of: bytes)
      }
    #endif
    return (1..<max(1, Int(CommandLine.argc))).map { index in
      unsafe CommandLine.unsafeArgv[index].flatMap { unsafe String(validatingCString: $0) }
    }
  }

  /// Reads words that each end with a zero byte; drops the first one.
  static func words(of bytes: [UInt8]) -> [String?] {
    var pieces = bytes.split(separator: 0, omittingEmptySubsequences: false)
    if pieces.last?.isEmpty == true { pieces.removeLast() }
    return pieces.dropFirst().map { String(validating: $0, as: UTF8.self) }
  }
}
