#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The leader of a program's process group. It kills the group when this process ends.
///
/// This also works if an uncatchable signal ends this process. The leader is a shell that reads
/// from a pipe. Only this process can write to the pipe, so the shell reaches the end of the file
/// once this process has ended. It ignores SIGHUP, which the kernel sends to a stopped group that has
/// lost its parent. The shell starts first, so the program never runs without it. Its
/// process ID identifies the group, and is released only after the program has ended.
struct GroupKeeper: Sendable {
  /// The process ID of the shell, which is also the ID of the group.
  let identifier: Int32
  private let pipe: Int32

  init() throws(ChildFailure) {
    let pipe = try Pipe()
    var launch = ChildLaunch(
      "/bin/sh", ["sh", "-c", "trap '' HUP INT TERM; read -r word; kill -KILL 0"])
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

  /// Ends only the shell, and releases its process ID. Processes that the program left behind
  /// continue to run.
  func end() {
    _ = kill(identifier, SIGKILL)
    var status: Int32 = 0
    while unsafe waitpid(identifier, &status, 0) < 0, errno == EINTR {}
    _ = close(pipe)
  }
}
