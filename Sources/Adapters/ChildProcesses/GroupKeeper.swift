#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The leader of a program's process group, which kills the group when this process ends, also by a
/// signal that cannot be caught.
///
/// It is a shell that reads a pipe. No other process can write to that, so it finds the end of the
/// file once this process is gone. It is there before the program is, which thus never runs
/// without it. Its number names the group and is free only after the program's end.
struct GroupKeeper: Sendable {
  /// The number of the shell, and of the group.
  let identifier: Int32
  private let pipe: Int32

  init() throws(ChildFailure) {
    let pipe = try Pipe()
    var launch = ChildLaunch("/bin/sh", ["sh", "-c", "read -r word; kill -KILL 0"])
    launch.environment = []
    launch.input = pipe.reading
    (launch.leadsGroup, launch.closesOthers) = (true, true)
    defer { _ = close(pipe.reading) }
    do throws(ChildFailure) {
      identifier = try launch.spawn()
    } catch {
      _ = close(pipe.writing)
      throw error
    }
    self.pipe = pipe.writing
  }

  /// Ends it alone, and frees its number; what the program left behind stays.
  func end() {
    _ = kill(identifier, SIGKILL)
    var word: Int32 = 0
    while unsafe waitpid(identifier, &word, 0) < 0, errno == EINTR {}
    _ = close(pipe)
  }
}
