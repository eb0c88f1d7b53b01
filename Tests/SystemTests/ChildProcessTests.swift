import Glibc
import HoldfastChildProcesses
import Testing

/// Tests of child processes.
@Suite(.timeLimit(.minutes(60))) struct ChildProcessTests {
  @Test func `each waiter is notified of the end once`()
    async throws
  {
    // The program keeps running while the writing end of the pipe is open.
    let input = try HoldfastChildProcesses.Pipe()
    defer { for end in [input.reading, input.writing] { close(end) } }
    var launch = ChildLaunch("/bin/cat", ["cat"])
    launch.input = input.reading
    let child = try ChildProcess(launch)
    let (endings, ended) = AsyncStream.makeStream(of: (Int, ChildProcess.Ending).self)
    for waiter in 1...3 { child.whenEnded { ended.yield((waiter, $0)) } }
    #expect(child.signal(SIGKILL))
    var notified: [Int] = []
    for await (waiter, ending) in endings {
      #expect(ending == .signalled(SIGKILL))
      notified.append(waiter)
      if notified.count == 3 { break }
    }
    #expect(notified == [1, 2, 3])
    #expect(await child.ended() == .signalled(SIGKILL))
    #expect(child.wait() == .signalled(SIGKILL))
    #expect(!child.signal(SIGKILL))
  }
}
